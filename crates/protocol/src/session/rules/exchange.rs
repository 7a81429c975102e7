//! What a turn leaves in memory when it ends, and where (ST-07, ST-14, F-11).

use super::{World, append, human, message};
use crate::{
    fixtures::agent::json,
    session::{
        finish::FinishAgent,
        patch::Patch,
        turn::{self, Answered},
    },
};
use cardwire_model::{CardId, Speaker, Timestamp, TurnId, TurnPayload};

const TURN: u128 = 7;

pub(super) fn ended(turn: u128, settings: &str) -> Answered {
    let box_id = crate::fixtures::box_id(1);
    Answered {
        turn_id: TurnId::from_uuid(uuid::Uuid::from_u128(turn)),
        payload: TurnPayload {
            profile_box: box_id,
            context_box: box_id,
            output_box: box_id,
            runtime_config: json(settings),
            display_name: None,
        },
        key: super::key("s"),
        began: Timestamp::from_micros(0),
        deliverable: CardId::from_uuid(uuid::Uuid::from_u128(1)),
    }
}

fn exchange(settings: &str) -> Patch {
    turn::exchange(
        &ended(TURN, settings),
        Some(json(r#""the question""#)),
        &[json(r#""yes""#)],
        json(r#""the answer""#),
    )
}

/// What a team tells of an agent on the way.
fn round(number: usize) -> Patch {
    let turn = TurnId::from_uuid(uuid::Uuid::from_u128(TURN));
    let said = message(Some(&format!("{turn}_{number}_0_said")), Speaker::Ai, &format!("said {number}"));
    let message_id = Some(format!("{turn}_{number}_0"));
    let finish = FinishAgent { message_id, ..FinishAgent::new("a".parse().unwrap(), "completed") };
    Patch { finish_agent: Some(finish), ..append(vec![said]) }
}

const TEAM: &str = r#"{"session_id":"s","team_card_id":"c"}"#;
const RESULT: &str = "【RESULT】agent=a status=completed";

/// F-11, ST-07, ST-14: the question stands before what the team has said to it, whatever was said before.
#[test]
fn the_question_of_a_team_stands_before_its_answers() {
    let mut world = World::new();
    world.patch(&append(vec![human("h", "before")]));
    world.patch(&round(1));
    world.patch(&append(vec![message(None, Speaker::Ai, "of others")]));
    world.patch(&round(2));
    let answered = exchange(TEAM);
    assert!(world.patch(&answered).changed);
    let told =
        ["before", "the question", "said 1", RESULT, "of others", "said 2", RESULT, "yes", "the answer"];
    assert_eq!(world.texts(), told);
    assert!(!world.patch(&answered).changed, "no duplicates");
    assert_eq!(world.texts(), told);
    assert_eq!(world.state.checkpoint.messages, 9);
}

/// ST-07: where nothing was told on the way, question and answer come last.
#[test]
fn an_exchange_without_rounds_is_added_at_the_end() {
    for settings in [TEAM, r#"{"session_id":"s"}"#] {
        let mut world = World::new();
        world.patch(&append(vec![human("h", "before")]));
        world.patch(&exchange(settings));
        assert_eq!(world.texts(), ["before", "the question", "yes", "the answer"]);
    }
}

//! Commits as a whole: all or nothing, expectations first, writes in order; and the load that precedes them.

use super::case::{Case, append, create_head, enqueue, open, put, update_inbox};
use crate::fixtures::{
    BoxBuilder, ProjectBuilder, TokenBuilder, agent_id, agent_row, answer, at, audit, edge, event,
    identity_edge, idle_head, live_head, profile, step, text_card, tool_call, turn_item,
};
use cardwire_model::{
    BoxId, Card, CardFact, CardId, ChainHead, Commit, Conflict, EdgePhase, Expect, Generation, InboxItem,
    InboxStatus, Keys, LiveState, Nudge, Primitive, Project, ProjectSettings, Realm, Revision, Snapshot,
    Step, ToolCall, Write,
};
use cardwire_store::Store;
use std::sync::Arc;

/// A commit that touches every kind of row of the case's project, and must leave none of them.
fn everything(case: &mut Case, box_id: BoxId, card: CardId) -> Commit {
    let (fresh, new_box, token) = (case.ids.card(), case.ids.card_box(), case.ids.token());
    let mut commit = case.commit([
        put(text_card(fresh, "never seen")),
        append(box_id, Generation::FIRST, &[fresh]),
        Write::DeleteCard { card_id: card, at: at(1) },
        Write::CreateBox(BoxBuilder::new(new_box).cards(&[fresh]).build()),
        Write::UpdateProject(ProjectBuilder::new(case.project.clone()).title("never seen").build()),
        Write::CreateToken(TokenBuilder::new(token, case.project.clone()).build()),
        Write::RememberAnswer(answer("tok_a", "k1", "never seen", at(1))),
    ]);
    commit.writes.extend(everything_of_a_turn(case, new_box));
    commit.events.push(event(case.ids.event(), "never seen", None));
    commit.audit.push(audit("never seen"));
    commit
}

/// The same for the rows around turns, each new and then changed.
fn everything_of_a_turn(case: &mut Case, output_box: BoxId) -> Vec<Write> {
    let item = turn_item(&mut case.ids, "agent", output_box);
    let (first, call) = (step("step_1", &item), tool_call(&item, "call_1"));
    let (idle, live) = (idle_head(agent_id("agent")), LiveState::Dispatched);
    let leased = live_head(&mut case.ids, agent_id("agent"), live);
    let edge = edge(&mut case.ids, Primitive::Enqueue, EdgePhase::Request, "corr");
    vec![
        create_head(&idle),
        Write::MoveHead { guard: idle.guard(), to: Box::new(leased.clone()), queued: 0, is_copied: true },
        Write::NudgeHead { guard: leased.guard(), nudge: Nudge { queued: 1, ..Nudge::default() } },
        enqueue(&item),
        update_inbox(item.status, &InboxItem { retry_count: 1, ..item.clone() }),
        Write::AddEdge(Box::new(edge)),
        Write::CreateStep(Box::new(first.clone())),
        Write::UpdateStep(Box::new(Step { output_len: 3, ..first })),
        Write::OpenCall(Box::new(call.clone())),
        Write::UpdateCall(Box::new(ToolCall { waiting: true, ..call })),
        Write::PutProfile { was: None, profile: Box::new(profile(&mut case.ids, "p")) },
        Write::PutAgent { was: None, agent: Box::new(agent_row(&mut case.ids, "agent")) },
        Write::AddIdentityEdge(Box::new(identity_edge(&mut case.ids, "agent"))),
    ]
}

/// NF-01, DESIGN "one idea": a commit is applied whole or not at all.
pub async fn a_late_conflict_leaves_nothing_behind(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let box_id = case.create_box(&cards[..1]).await;
    let absent = case.ids.card_box();
    let unknown = turn_item(&mut case.ids, "agent", absent);
    let taken = edge(&mut case.ids, Primitive::Enqueue, EdgePhase::Request, "corr");
    let late = [
        (put(text_card(cards[0], "other")), Conflict::Card),
        (append(box_id, Generation::FIRST, &cards[..1]), Conflict::Entry),
        (Write::SealBox { box_id: absent }, Conflict::Box),
        (Write::CreateProject(ProjectBuilder::new(case.project.clone()).build()), Conflict::Project),
        (Write::RevokeToken { token_id: case.ids.token(), at: at(1) }, Conflict::Token),
        (Write::RememberAnswer(answer("tok_a", "k1", "second", at(1))), Conflict::Answer),
        (Write::SealAudit { seq: 77, head: ChainHead::START }, Conflict::Chain),
        (create_head(&idle_head(agent_id("agent"))), Conflict::Head),
        (update_inbox(InboxStatus::Pending, &unknown), Conflict::Inbox),
        (Write::AddEdge(Box::new(taken)), Conflict::Edge),
        (Write::UpdateStep(Box::new(step("step_2", &unknown))), Conflict::Step),
        (Write::UpdateCall(Box::new(tool_call(&unknown, "call_2"))), Conflict::Call),
        (Write::PutAgent { was: None, agent: Box::new(agent_row(&mut case.ids, "agent")) }, Conflict::Roster),
    ];
    for (write, conflict) in late {
        let mut commit = everything(&mut case, box_id, cards[1]);
        commit.writes.push(write);
        case.refuse(commit, conflict).await;
        let key = answer("tok_a", "k1", "", at(0)).key;
        assert_eq!(case.answer(&case.realm, &key).await, None);
    }
    assert_eq!(case.store.last_position(&case.project).await.unwrap(), 0);
    assert_eq!(case.store.health().await.unwrap().unsealed_audit, 0);
    // Without the last write the same commit is applied.
    let commit = everything(&mut case, box_id, cards[1]);
    case.apply(commit).await;
    assert_eq!(case.head(box_id).await.len, 2);
}

/// NF-01: the same for preconditions.
pub async fn an_expectation_that_fails_leaves_nothing_behind(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let box_id = case.create_box(&cards[..1]).await;
    let failing = [
        (open(box_id, 5, 9), Conflict::Box),
        (Expect::ProjectAt(Revision::new(2)), Conflict::Project),
        (Expect::ChainAt(ChainHead { position: 1, ..ChainHead::START }), Conflict::Chain),
        (Expect::OutputFree { box_id: case.ids.card_box(), agent_id: Some(agent_id("a")) }, Conflict::Box),
    ];
    for (expect, conflict) in failing {
        let mut commit = everything(&mut case, box_id, cards[1]);
        commit.expect = vec![open(box_id, 1, 1), Expect::ProjectAt(Revision::FIRST), expect];
        case.refuse(commit, conflict).await;
        let key = answer("tok_a", "k1", "", at(0)).key;
        assert_eq!(case.answer(&case.realm, &key).await, None);
    }
    let mut commit = everything(&mut case, box_id, cards[1]);
    let start = ChainHead::START;
    commit.expect = vec![open(box_id, 1, 1), Expect::ProjectAt(Revision::FIRST), Expect::ChainAt(start)];
    case.apply(commit).await;
}

/// DESIGN "one idea": a commit is a list, so each write sees what the ones before it did.
pub async fn writes_of_one_commit_apply_in_order(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.ids.cards(4);
    let box_id = case.ids.card_box();
    let mut writes: Vec<_> = cards.iter().map(|id| put(text_card(*id, "x"))).collect();
    let new = BoxBuilder::new(box_id).cards(&cards[..1]).build();
    let next = BoxBuilder::next_of(&new.head).cards(&cards[3..]).build();
    writes.extend([
        Write::CreateBox(new),
        append(box_id, Generation::FIRST, &cards[1..2]),
        append(box_id, Generation::FIRST, &cards[2..3]),
        Write::RewriteBox(next),
        append(box_id, Generation::new(2), &cards[..1]),
        Write::SealBox { box_id },
        Write::DeleteCard { card_id: cards[0], at: at(4) },
    ]);
    case.write(writes).await;
    assert_eq!(case.card_ids(box_id, Generation::FIRST).await, cards[..3]);
    assert_eq!(case.card_ids(box_id, Generation::new(2)).await, [cards[3], cards[0]]);
    let head = case.head(box_id).await;
    assert_eq!((head.generation, head.len, head.entries, head.sealed), (Generation::new(2), 2, 2, true));
    assert_eq!((case.card(cards[0]).await.deleted_at, case.deletions().await), (Some(at(4)), 1));

    // And the wrong way round each is a conflict.
    let (box_id, card_id) = (case.ids.card_box(), case.ids.card());
    let create = Write::CreateBox(BoxBuilder::new(box_id).build());
    let early = case.commit([append(box_id, Generation::FIRST, &cards[..1]), create.clone()]);
    case.refuse(early, Conflict::Box).await;
    let sealed = [create, Write::SealBox { box_id }, append(box_id, Generation::FIRST, &cards[..1])];
    case.refuse(case.commit(sealed), Conflict::Box).await;
    let early = [Write::DeleteCard { card_id, at: at(1) }, put(text_card(card_id, "x"))];
    case.refuse(case.commit(early), Conflict::Card).await;
}

/// The contract of `Store::commit`: expectations are about the rows the decision was made on.
pub async fn expectations_are_checked_before_any_write(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b"]).await;
    let box_id = case.create_box(&cards[..1]).await;
    let next = ProjectBuilder::new(case.project.clone()).revision(Revision::new(2)).build();
    let mut commit =
        case.commit([append(box_id, Generation::FIRST, &cards[1..]), Write::UpdateProject(next.clone())]);
    commit.expect = vec![open(box_id, 1, 1), Expect::ProjectAt(Revision::FIRST)];
    case.apply(commit).await;
    // What the commit itself would bring about does not count.
    let fresh = case.ids.card_box();
    let mut commit = case.commit([Write::CreateBox(BoxBuilder::new(fresh).build())]);
    commit.expect.push(open(fresh, 0, 0));
    case.refuse(commit, Conflict::Box).await;
    let mut commit = case.commit([Write::UpdateProject(Project { revision: Revision::new(3), ..next })]);
    commit.expect.push(Expect::ProjectAt(Revision::new(3)));
    case.refuse(commit, Conflict::Project).await;
}

/// A decision may have nothing to write.
pub async fn an_empty_commit_changes_nothing(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    case.put(&["a"]).await;
    let before = case.dump().await;
    case.apply(case.commit([])).await;
    case.apply(Commit::new(Realm::System)).await;
    before.assert_same(&case.dump().await, "an empty commit changed something");
}

/// The contract of `Store::load`: what is there of what was named, and nothing else.
pub async fn load_gives_exactly_what_the_keys_name(store: Arc<dyn Store>) {
    let mut case = Case::new(store).await;
    let cards = case.put(&["a", "b", "c"]).await;
    let box_id = case.create_box(&cards[..2]).await;
    let other = case.create_box(&cards[2..]).await;
    let next = BoxBuilder::next_of(&case.head(box_id).await).cards(&cards[1..2]).build();
    let token = TokenBuilder::new(case.ids.token(), case.project.clone()).build();
    let foreign = TokenBuilder::new(case.ids.token(), Realm::System).build();
    let remembered = answer("tok_a", "k", "{}", at(3));
    let mut system = Commit::new(Realm::System);
    system.writes.push(Write::CreateToken(foreign.clone()));
    case.apply(system).await;
    case.write([
        Write::RewriteBox(next),
        Write::CreateToken(token.clone()),
        Write::RememberAnswer(remembered.clone()),
        Write::DeleteCard { card_id: cards[0], at: at(8) },
    ])
    .await;

    let load = |keys: Keys| {
        let (store, realm) = (Arc::clone(&case.store), case.realm.clone());
        async move { store.load(&realm, &keys).await.unwrap() }
    };
    assert_eq!(load(Keys::default()).await, Snapshot::default());

    let asked = Keys {
        project: true,
        // Ids of one kind whose value is an id of the other kind must not meet.
        cards: vec![cards[0], cards[2], CardId::from_uuid(box_id.uuid()), cards[0]],
        boxes: vec![box_id, BoxId::from_uuid(cards[0].uuid())],
        members: Some((box_id, cards.clone())),
        token: Some(token.id),
        answer: Some(remembered.key.clone()),
        ..Keys::default()
    };
    let fact = |card: Card| {
        let facts = CardFact {
            fact_hash: card.fact_hash,
            kind: card.kind,
            tool_call_id: card.tool_call_id,
            author_id: card.author_id,
            origin: card.origin,
            deleted_at: card.deleted_at,
            expires_at: card.expires_at,
        };
        (card.id, facts)
    };
    let expected = Snapshot {
        project: Some(Project {
            deletions: 1,
            settings: ProjectSettings::default(),
            ..ProjectBuilder::new(case.project.clone()).build()
        }),
        cards: [fact(case.card(cards[0]).await), fact(case.card(cards[2]).await)].into(),
        boxes: [(box_id, case.head(box_id).await)].into(),
        // Only the current generation counts: the first card was an entry of the one before.
        members: [cards[1]].into(),
        token: Some(token),
        answer: Some(remembered),
        ..Snapshot::default()
    };
    assert_eq!(load(asked).await, expected);

    // Nothing for what is not there, or not in this realm.
    let unknown = Keys {
        cards: vec![case.ids.card()],
        boxes: vec![case.ids.card_box(), other],
        members: Some((other, vec![cards[0]])),
        token: Some(foreign.id),
        answer: Some(answer("tok_b", "k", "", at(0)).key),
        ..Keys::default()
    };
    let only_box = Snapshot { boxes: [(other, case.head(other).await)].into(), ..Snapshot::default() };
    assert_eq!(load(unknown).await, only_box);
}

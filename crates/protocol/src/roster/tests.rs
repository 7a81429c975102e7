//! Who writes the roster (PM-01).

use crate::{
    Rejection,
    access::{Needed, permit},
    fixtures::{agent::TestAgent, project, token},
    turn::{Command, release::Release, report::AfterExecution},
};
use cardwire_model::{Realm, Scope, Write, card::ToolStatus};

/// Who may do no more than work is refused where the roster, profiles and documents are written: those routes ask for
/// `operate`.
#[test]
fn pm_01_a_worker_may_not_write_the_roster() {
    let needed = Needed { scope: Scope::Operate, global: false };
    let home = Realm::from(project());
    for realm in [home.clone(), Realm::System] {
        for (scopes, allowed) in [
            (&[][..], false),
            (&[Scope::Read], false),
            (&[Scope::Work], false),
            (&[Scope::Read, Scope::Work], false),
            (&[Scope::Operate], true),
            (&[Scope::Admin], true),
        ] {
            match permit(&token(realm.clone(), scopes), &home, needed) {
                Ok(()) => assert!(allowed, "{scopes:?}"),
                Err(Rejection::Forbidden(_)) => assert!(!allowed, "{scopes:?}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

/// And nothing that the holder of a turn can say about it leads there.
#[test]
fn pm_01_no_word_of_a_turn_writes_the_roster() {
    let (idle, fence) = TestAgent::running();
    let mut calling = idle.clone();
    calling.run(&calling.tool_call(&fence, "call_1")).unwrap();
    let release = Release { fence: fence.clone(), defer_seconds: None, reason: None, keep_calls: false };
    for (agent, command) in [
        (&idle, Command::Start(fence.clone())),
        (&idle, Command::Heartbeat(fence.clone())),
        (&idle, idle.append(&fence, "agent.thought", r#""x""#, None)),
        (&idle, TestAgent::finish(&fence)),
        (&idle, Command::Release(release)),
        (&calling, TestAgent::suspend(&fence, &["call_1"])),
        (&calling, TestAgent::report(&fence, "call_1", ToolStatus::Success, AfterExecution::Suspend)),
    ] {
        let commit = agent.decide(&command).unwrap().commit;
        let is_resource = |write: &&Write| {
            matches!(
                write,
                Write::PutAgent { .. }
                    | Write::AddIdentityEdge(_)
                    | Write::PutProfile { .. }
                    | Write::PutResource { .. }
                    | Write::CreateProject(_)
                    | Write::UpdateProject(_)
            )
        };
        assert_eq!(commit.writes.iter().find(is_resource), None, "{command:?}");
    }
}

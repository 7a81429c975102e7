//! The same for agents that rest, and for the boxes that turns are given: whoever knows these rows can dispatch a turn without
//! reading. The commit says how they must be; whatever is wrong is found out by reading, and refused then.

use super::super::dispatch::{self, Dispatch, Dispatched};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    Agent, AgentId, BoxHead, BoxId, CanonicalJson, Commit, Expect, Head, ProjectId, Snapshot, Write,
};

/// The heads that the commit leaves at rest. That nothing waits then is taken for granted: who dispatches expects it.
pub fn rested(commit: &Commit) -> impl Iterator<Item = Head> {
    commit.writes.iter().filter_map(|write| {
        let Write::MoveHead { to, .. } = write else { return None };
        to.live.is_none().then(|| Head { queued: 0, ..to.as_ref().clone() })
    })
}

/// The agents whose rows in the roster the commit changes.
pub fn listed(commit: &Commit) -> impl Iterator<Item = &AgentId> {
    commit
        .writes
        .iter()
        .filter_map(|write| if let Write::PutAgent { agent, .. } = write { Some(&agent.id) } else { None })
}

/// The boxes that the commit makes or changes, as it leaves them, but for how long they are. A commit that sends turns makes
/// boxes for those, which nobody gives to another turn.
pub fn boxes(commit: &Commit, known: impl Fn(BoxId) -> Option<BoxHead>) -> Vec<BoxHead> {
    let sends = commit.writes.iter().any(|write| matches!(write, Write::Enqueue(_)));
    let mut left: Vec<BoxHead> = vec![];
    for write in &commit.writes {
        if let Write::CreateBox(new) | Write::RewriteBox(new) = write
            && !sends
        {
            left.push(new.head.clone());
        } else if let Write::SealBox { box_id } = write {
            let head = left.iter().rfind(|head| head.box_id == *box_id).cloned().or_else(|| known(*box_id));
            left.extend(head.map(|head| BoxHead { sealed: true, ..head }));
        }
    }
    left
}

/// Whether the next turn of the agent would be leased at once.
pub fn is_at_rest(head: &Head) -> bool {
    head.live.is_none() && head.queued == 0
}

/// What a dispatch looks at in a row of the roster.
pub fn of_roster(agent: &Agent) -> Agent {
    let (display_name, metadata, tags) = (None, CanonicalJson::empty_object(), vec![]);
    Agent { display_name, metadata, tags, ..agent.clone() }
}

impl Dispatch {
    /// The agent and the boxes of a turn that can be dispatched on recalled rows: every name that it gives is new, or its
    /// commit does not hold. How deep a parent is, and what an output box holds, has to be read.
    pub fn recallable(&self) -> Option<(&AgentId, [BoxId; 2])> {
        let reads = self.parent_turn.is_some() || self.output_box.is_some();
        let agent = self.agent_id.as_ref().filter(|_| !reads)?;
        Some((agent, [self.profile_box?, self.context_box?]))
    }
}

/// Dispatches on rows that were not read: of the agent at rest, of the roster, and of the boxes. Boxes are never deleted, nor
/// opened again, so that a sealed one is as it was.
pub fn dispatch(
    rows: &Snapshot,
    project: &ProjectId,
    command: &Dispatch,
    moment: &Moment,
) -> Result<Decision<Dispatched>, Rejection> {
    let mut decision = dispatch::decide(rows, project, command, moment)?;
    let commit = &mut decision.commit;
    for write in &mut commit.writes {
        if let Write::MoveHead { guard, .. } = write {
            guard.roster = rows.agent.as_ref().map(|agent| agent.revision);
        }
    }
    let context = command.context_box.and_then(|id| rows.boxes.get(&id));
    commit.expect.extend(context.filter(|head| !head.sealed).map(|head| Expect::OpenBox {
        box_id: head.box_id,
        generation: head.generation,
        min_len: 0,
        max_len: u32::MAX,
    }));
    Ok(decision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{
            agent::{CONTEXT, PROFILE, TestAgent},
            box_id, project,
        },
        turn::Command,
    };
    use cardwire_model::{NewBox, Revision, Status, Timestamp};

    /// An agent whose turn has ended, and the rows that are known of it.
    fn at_rest() -> (TestAgent, Snapshot) {
        let (mut agent, fence) = TestAgent::running();
        let end = agent.decide(&TestAgent::finish(&fence)).unwrap().commit;
        let heads: Vec<_> = rested(&end).collect();
        agent.apply(end);
        let [head] = &heads[..] else { panic!("{heads:?}") };
        let boxes = [PROFILE, CONTEXT].map(box_id).map(|id| (id, agent.boxes[&id].0.clone()));
        let rows = Snapshot {
            agent: Some(of_roster(&agent.roster())),
            head: Some(head.clone()),
            boxes: boxes.into(),
            ..Snapshot::default()
        };
        (agent, rows)
    }

    /// DP-13: it comes to the same on which of the two a turn is dispatched, but that the agent has to be listed as it was.
    #[test]
    fn an_agent_at_rest_is_known_as_it_would_be_read() {
        let (agent, rows) = at_rest();
        assert_eq!(rows.head, agent.head);
        let command = agent.dispatch_command();
        let read = agent.for_dispatch(&command);
        assert!(rows.boxes.iter().all(|(id, head)| read.boxes.get(id) == Some(head)));
        let mut decided = dispatch(&rows, &project(), &command, &agent.moment).unwrap().commit;
        let mut listed = vec![];
        for write in &mut decided.writes {
            if let Write::MoveHead { guard, .. } = write {
                assert_eq!((guard.status, guard.queued), (Status::Idle, (0, 0)));
                listed.extend(guard.roster.take());
            }
        }
        assert_eq!(listed, [Revision::FIRST]);
        let other = dispatch::decide(&read, &project(), &command, &agent.moment).unwrap().commit;
        let kinds =
            |commit: &Commit| -> Vec<_> { commit.writes.iter().map(std::mem::discriminant).collect() };
        assert_eq!((kinds(&decided), decided.expect), (kinds(&other), other.expect));
    }

    /// the event of sealing says at which generation, and that may have changed.
    #[test]
    fn a_box_that_is_sealed_only_now_has_to_be_as_it_was() {
        let (agent, mut rows) = at_rest();
        let context = rows.boxes.get_mut(&box_id(CONTEXT)).unwrap();
        context.sealed = false;
        let open = Expect::OpenBox {
            box_id: context.box_id,
            generation: context.generation,
            min_len: 0,
            max_len: u32::MAX,
        };
        let command = agent.dispatch_command();
        let commit = dispatch(&rows, &project(), &command, &agent.moment).unwrap().commit;
        assert!(commit.expect.contains(&open), "{:?}", commit.expect);
        assert!(commit.writes.contains(&Write::SealBox { box_id: box_id(CONTEXT) }));
    }

    #[test]
    fn what_has_to_be_read_is() {
        let (agent, fence) = TestAgent::running();
        let command = agent.dispatch_command();
        let boxes = [PROFILE, CONTEXT].map(box_id);
        assert_eq!(command.recallable(), Some((&"a".parse().unwrap(), boxes)));
        let with = |change: &dyn Fn(&mut Dispatch)| {
            let mut command = command.clone();
            change(&mut command);
            command.recallable().is_some()
        };
        assert!(with(&|command| command.correlation_id = Some("c".to_owned())));
        assert!(!with(&|command| command.parent_turn = Some(fence.turn_id)));
        assert!(!with(&|command| command.output_box = Some(box_id(3))));
        assert!(!with(&|command| command.agent_id = None));
        assert!(!with(&|command| command.profile_box = None));
        assert!(!with(&|command| command.context_box = None));
    }

    /// A turn that goes on, or is followed by the next, leaves nobody at rest.
    #[test]
    fn only_agents_without_a_turn_rest() {
        let (mut agent, fence) = TestAgent::running();
        let resting = |commit: &Commit| rested(commit).count();
        let suspended = agent.decide(&TestAgent::suspend(&fence, &["c1"])).unwrap().commit;
        assert_eq!(resting(&suspended), 0);
        assert_eq!(resting(&agent.decide(&Command::Heartbeat(fence.clone())).unwrap().commit), 0);
        assert_eq!(resting(&agent.decide(&TestAgent::finish(&fence)).unwrap().commit), 1);
        agent.dispatch();
        assert_eq!(resting(&agent.decide(&TestAgent::finish(&fence)).unwrap().commit), 0);
    }

    /// DP-14: those that waited may have been put away by the commit, whose head still counts them.
    #[test]
    fn nobody_waits_behind_an_agent_at_rest() {
        let (agent, mut rows) = at_rest();
        let head = rows.head.take().unwrap();
        let (guard, to) = (head.guard_move(), Box::new(Head { queued: 3, ..head }));
        let writes = vec![Write::MoveHead { guard, to, queued: -3, is_copied: false }];
        rows.head = rested(&Commit { writes, ..Commit::new(project()) }).next();
        assert!(rows.head.as_ref().is_some_and(is_at_rest));
        let decided = dispatch(&rows, &project(), &agent.dispatch_command(), &agent.moment).unwrap();
        let Dispatched::Accepted(receipt) = decided.outcome else { panic!("{:?}", decided.outcome) };
        assert!(receipt.epoch.is_some());
    }

    #[test]
    fn boxes_are_known_as_commits_leave_them() {
        let head = |number| BoxHead::empty(box_id(number), Timestamp::from_micros(0));
        let new = |number| NewBox { head: head(number), entries: vec![] };
        let seal = |number| Write::SealBox { box_id: box_id(number) };
        let left = |writes: Vec<Write>, known: Option<BoxHead>| {
            let commit = Commit { writes, ..Commit::new(project()) };
            let known = |id| known.clone().filter(|head| head.box_id == id);
            let boxes = boxes(&commit, known);
            boxes.into_iter().map(|head| (head.box_id, head.sealed)).collect::<Vec<_>>()
        };
        assert_eq!(left(vec![Write::CreateBox(new(1))], None), [(box_id(1), false)]);
        assert_eq!(left(vec![Write::RewriteBox(new(1))], Some(head(1))), [(box_id(1), false)]);
        let both = left(vec![Write::CreateBox(new(1)), seal(1)], None);
        assert_eq!(both.last(), Some(&(box_id(1), true)));
        assert_eq!(left(vec![seal(1)], Some(head(1))), [(box_id(1), true)]);
        assert_eq!(left(vec![seal(1)], Some(head(2))), []);
        // The output box of a turn.
        let (agent, rows) = at_rest();
        let command = agent.dispatch_command();
        let commit = dispatch(&rows, &project(), &command, &agent.moment).unwrap().commit;
        assert!(commit.writes.iter().any(|write| matches!(write, Write::CreateBox(_))));
        assert_eq!(boxes(&commit, |_| None), []);
    }
}

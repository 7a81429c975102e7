//! Seal a box: X-09. A box that a turn was shown takes no more changes.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{BoxId, Commit, EventKind, ProjectId, Snapshot, Write};
use serde_json::json;

/// Seals a box; sealing it again is no change.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    box_id: BoxId,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    let head = snapshot.boxes.get(&box_id).ok_or_else(|| Rejection::not_found("box", box_id))?;
    let mut commit = Commit::new(project.clone());
    if !head.sealed {
        commit.writes.push(Write::SealBox { box_id });
        commit.events.push(moment.event(
            EventKind::BoxSealed,
            box_id,
            &json!({ "generation": head.generation.get() }),
        ));
    }
    Ok(Decision { commit, outcome: () })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, moment, project, with_box};

    ///
    #[test]
    fn sealing_twice_is_sealing_once() {
        let mut snapshot = with_box(1, 0);
        let id = fixtures::box_id(1);
        assert_eq!(
            decide(&snapshot, &project(), id, &moment()).unwrap().commit.writes,
            [Write::SealBox { box_id: id }]
        );
        snapshot.boxes.get_mut(&id).unwrap().sealed = true;
        assert!(decide(&snapshot, &project(), id, &moment()).unwrap().commit.is_empty());
    }
}

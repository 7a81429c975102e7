//! Subjects: `cg.v1.{project}.{channel}.{cmd|evt|str}.{component}.{target}.{suffix}` (PM-19).
//!
//! Every part is a slug or an id, so no part can hold a `.`, `*` or `>`, and the longest subject is far below the
//! length at which a NATS server drops the connection.

use cardwire_model::{AgentId, Channel, ProjectId, ToolTarget, WorkerTarget, limits};

/// Every doorbell of every project.
pub(crate) const ALL_WAKEUPS: &str = "cg.v1.*.*.cmd.agent.*.wakeup";
/// Every event of every project.
pub(crate) const ALL_EVENTS: &str = "cg.v1.*.*.evt.>";

/// Where a doorbell rings.
pub(crate) fn wakeup(project: &ProjectId, channel: &Channel, target: &WorkerTarget) -> String {
    format!("cg.v1.{project}.{channel}.cmd.agent.{target}.wakeup")
}

/// In which project a doorbell rings, and for whom; `None` when the subject is not one of ours.
pub(crate) fn doorbell(subject: &str) -> Option<(ProjectId, WorkerTarget)> {
    let mut parts = subject.split('.').skip(2);
    let project = parts.next()?.parse().ok()?;
    let target = parts.nth(3)?.parse().ok()?;
    (parts.next() == Some("wakeup") && parts.next().is_none()).then_some((project, target))
}

/// Where tools hear of calls.
pub(crate) fn tool_call(project: &ProjectId, channel: &Channel, target: &ToolTarget) -> String {
    format!("cg.v1.{project}.{channel}.cmd.tool.{target}.call")
}

/// Every event of one project.
pub(crate) fn events_of(project: &ProjectId) -> String {
    format!("cg.v1.{project}.*.evt.>")
}

/// Where the chunks of an agent's answer go.
pub(crate) fn chunks(project: &ProjectId, channel: &Channel, agent: &AgentId) -> String {
    format!("cg.v1.{project}.{channel}.str.agent.{agent}.chunk")
}

const _: () = assert!(limits::NAME_CHARS * 3 + 64 < 4_096);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_goes_to_the_tools_of_its_target() {
        let subject = tool_call(&"p".parse().unwrap(), &Channel::public(), &"ocr".parse().unwrap());
        assert_eq!(subject, "cg.v1.p.public.cmd.tool.ocr.call");
        assert_eq!(doorbell(&subject), None, "it wakes no worker");
    }

    #[test]
    fn a_doorbell_names_its_project_and_whom_it_is_for() {
        let subject =
            wakeup(&"p".parse().unwrap(), &Channel::public(), &"workers".parse::<WorkerTarget>().unwrap());
        assert_eq!(subject, "cg.v1.p.public.cmd.agent.workers.wakeup");
        assert_eq!(doorbell(&subject), Some(("p".parse().unwrap(), "workers".parse().unwrap())));
        for other in ["cg.v1.p.public.cmd.agent.workers", "cg.v1.p.public.cmd.agent.w.wakeup.x", "", "a.b"] {
            assert_eq!(doorbell(other), None, "{other}");
        }
    }
}

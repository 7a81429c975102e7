//! What is asked of members and what came of it: the transcript of a run, and what comes after it.

use crate::{Member, Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use cardwire_model::TaskStatus as Status;

/// One member's part in a round. It is kept in the call that makes the round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The member, or the team's planner or reflector.
    pub agent: String,
    /// What it is asked: its query.
    pub input: String,
    /// What it is in this round.
    pub role: Role,
    /// Which task of a plan it works on: `t1`, `t2`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The task alone, without what is told besides; it is shown in the todo block (PR-03, PR-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_task: Option<String>,
    /// To whom it may hand over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegates: Vec<Delegate>,
}

impl Task {
    /// A task that only asks.
    pub(crate) fn ask(agent: impl Into<String>, role: Role, input: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            input: input.into(),
            role,
            task_id: None,
            assigned_task: None,
            delegates: Vec::new(),
        }
    }
}

/// Somebody to hand over to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    /// Who.
    pub id: String,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl From<&Member> for Delegate {
    fn from(member: &Member) -> Self {
        Self { id: member.id.clone(), description: member.description.clone() }
    }
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// What was delivered: a text, `{"fields": [{"name", "value"}]}`, or `{"delegate_to", "task", "message"}` for a
    /// hand-over.
    pub output: Value,
    /// What went wrong.
    pub error: Option<String>,
    /// What people said when they were asked on the way (PR-10).
    pub replies: Vec<String>,
}

impl Outcome {
    /// Whether there is something to go on with.
    pub(crate) fn is_good(&self) -> bool {
        match self.status {
            Status::Success | Status::Partial => true,
            Status::Failed | Status::Canceled | Status::Timeout => false,
        }
    }

    /// What went wrong, in words.
    pub(crate) fn reason(&self) -> &str {
        match self.error.as_deref().map(str::trim) {
            Some(error) if !error.is_empty() => error,
            Some(_) | None => self.status.as_str(),
        }
    }
}

/// A round that was answered. One without answers is not in the transcript: it is made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// What was asked.
    pub tasks: Vec<Task>,
    /// What came of each task, in their order.
    pub outcomes: Vec<Outcome>,
}

/// What comes next in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// These are asked, all at once.
    Round(Vec<Task>),
    /// The run is over and delivers this.
    Finish {
        /// The deliverable.
        output: Value,
    },
    /// The run is over and has failed.
    Fail {
        /// Why, for programs.
        code: &'static str,
        /// Why, for people.
        message: String,
    },
}

impl Act {
    /// Whether the run is over and delivers this.
    pub fn delivers(&self, wanted: &Value) -> bool {
        match self {
            Self::Finish { output } => output == wanted,
            Self::Round(_) | Self::Fail { .. } => false,
        }
    }

    /// Whether the run is over and delivers something.
    pub const fn is_finish(&self) -> bool {
        match self {
            Self::Finish { .. } => true,
            Self::Round(_) | Self::Fail { .. } => false,
        }
    }

    /// The end of a run that failed.
    pub(crate) fn fail(code: &'static str, message: impl Into<String>) -> Self {
        Self::Fail { code, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// ST-07: what a run delivers is told from what its members do on the way.
    #[test]
    fn only_the_end_of_a_run_delivers() {
        let end = Act::Finish { output: json!("done") };
        assert!(end.delivers(&json!("done")) && !end.delivers(&json!("half done")));
        assert!(!Act::Round(vec![]).delivers(&json!("done")));
        assert!(!Act::fail("agent_failed", "done").delivers(&json!("done")));
    }
}

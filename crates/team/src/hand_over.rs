//! Hand-overs: how they are found in an output, and to whom they may go (PR-02, PR-03).

use crate::{Act, Delegate, Member, Team, play::Step, text::plain};
use serde_json::Value;

/// A member's wish that another goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HandOver {
    to: String,
    task: Option<String>,
}

impl HandOver {
    /// The hand-over that an output is, if it is one. Of several the first counts.
    pub(crate) fn read(output: &Value) -> Option<Self> {
        match output {
            Value::Array(list) => list.iter().find_map(Self::read_one),
            Value::Object(_) => Self::read_one(output),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    fn read_one(output: &Value) -> Option<Self> {
        let to = output.get("delegate_to").filter(|to| !to.is_null())?;
        let task = output.get("task").filter(|task| !task.is_null()).map(plain);
        Some(Self { to: plain(to).trim().to_owned(), task: task.filter(|task| !task.trim().is_empty()) })
    }

    /// What is to be done; the query if it does not say.
    pub(crate) fn task(&self, query: &str) -> String {
        self.task.clone().unwrap_or_else(|| query.to_owned())
    }

    /// Who goes on.
    pub(crate) fn target<'t>(&self, team: &'t Team, from: &Member) -> Step<&'t Member> {
        let Self { to, .. } = self;
        let member = team.member(to);
        let reason = match member {
            Some(member) if from.can_delegate_to.contains(to) => return Ok(member),
            Some(_) => "and may not",
            None => "who is not in the team",
        };
        let message = format!("{} handed over to {to:?}, {reason}", from.id);
        Err(Act::fail("delegation_target_invalid", message))
    }
}

/// To whom a member may hand over.
pub(crate) fn delegates(team: &Team, member: &Member) -> Vec<Delegate> {
    member.can_delegate_to.iter().filter_map(|id| team.member(id)).map(Delegate::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(output: Value) -> Option<(String, Option<String>)> {
        HandOver::read(&output).map(|hand_over| (hand_over.to, hand_over.task))
    }

    /// PR-02
    #[test]
    fn only_the_first_of_several_delegations_counts() {
        let to = |id: &str, task: Option<&str>| Some((id.to_owned(), task.map(str::to_owned)));
        let two = json!([{ "delegate_to": "a", "task": "x" }, { "delegate_to": "b" }]);
        assert_eq!(read(two), to("a", Some("x")));
        assert_eq!(read(json!({ "delegate_to": " a ", "task": " ", "message": "m" })), to("a", None));
        assert_eq!(read(json!({ "delegate_to": 7, "task": { "n": 1 } })), to("7", Some(r#"{"n":1}"#)));
        for output in
            [json!("delegate_to a"), json!({ "delegate_to": null }), json!([]), json!({ "task": "x" })]
        {
            assert_eq!(read(output.clone()), None, "{output}");
        }
    }
}

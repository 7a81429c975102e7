//! The call that a turn has made and that the PMO carries out (PM-15): what is carried out is what its card says.

use super::calls::Call;
use crate::{Rejection, resource, turn::append::called};
use cardwire_model::{Card, Invalid};
use serde_json::{Map, Value};

/// The arguments to carry a call out with: those of the card that made it. Arguments that come with the request must be the
/// same. A tool of somebody else's may be carried out by calling one of ours, with whatever arguments that takes.
pub fn arguments(call: &Call, card: &Card, tool_call_id: &str) -> Result<Map<String, Value>, Rejection> {
    let Some((tool, arguments)) = called(card, tool_call_id) else { return Ok(call.args.clone()) };
    if tool != call.tool {
        if resource::RESERVED.contains(&tool.as_str()) {
            return Err(Invalid::field("tool_call_id", format!("is a call of {tool}")).into());
        }
        return Ok(call.args.clone());
    }
    let Some(arguments) = arguments else { return Ok(call.args.clone()) };
    if !call.args.is_empty() && call.args != arguments {
        return Err(Invalid::field("args", "must be those of the call's card, or be left out").into());
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::tool_call;
    use crate::turn::Proof;
    use cardwire_model::{Channel, InheritMode, PmoSettings};
    use serde_json::json;

    fn call(tool: &str, args: &Value) -> Call {
        Call {
            tool: tool.to_owned(),
            caller: "a1".parse().unwrap(),
            by_turn: None,
            at_turn: None,
            epoch: None,
            proof: Proof::Operator,
            channel: Channel::public(),
            trace_id: "t".to_owned(),
            is_traced: true,
            names_channel: true,
            args: args.as_object().unwrap().clone(),
            max_depth: 20,
            acl: InheritMode::Enforce,
            pmo: PmoSettings::default(),
            require_policy: false,
            carries_out: Some("c1".to_owned()),
            run: Default::default(),
        }
    }

    #[test]
    fn pm_15_the_card_says_what_is_carried_out() {
        let said = json!({ "instruction": "Go." });
        let made = |tool: &str, args: Value| {
            arguments(&call(tool, &args), &tool_call("delegate_async", &said), "c1").map(Value::Object)
        };
        assert_eq!(made("delegate_async", json!({})).unwrap(), said);
        assert_eq!(made("delegate_async", said.clone()).unwrap(), said);
        assert!(made("delegate_async", json!({ "instruction": "Stay." })).is_err());
        assert!(made("fork_join", said.clone()).is_err(), "another tool of ours");
        // A tool of somebody else's may be one of ours inside, and a card may not tell.
        let own = json!({ "tasks": [] });
        let theirs =
            |id| arguments(&call("fork_join", &own), &tool_call("round", &said), id).map(Value::Object);
        assert_eq!((theirs("c1").unwrap(), theirs("c2").unwrap()), (own.clone(), own));
    }
}

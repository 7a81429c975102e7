//! The rules of a handover, read from JSON: whom it is for, which arguments become cards, which boxes are inherited.

use cardwire_model::{CanonicalJson, CardKind, Hash256, Invalid, Role, limits};
use serde_json::{Map, Value};

/// A handover (PK-01). What is not said in it does not travel.
#[derive(Debug, Clone, PartialEq)]
pub struct Handover {
    /// Whom it is for, unless the arguments say so.
    pub target_profile: Option<String>,
    /// Which arguments become cards, in order.
    pub pack: Vec<PackRule>,
    /// Names of arguments that name boxes to inherit, in order.
    pub inherit: Vec<String>,
    /// Ends with a pointer to the agent that hands over.
    pub include_parent: bool,
    /// What comes first.
    pub order: Order,
    /// Of these rules, for the record.
    pub hash: Hash256,
}

/// An argument that becomes a card.
#[derive(Debug, Clone, PartialEq)]
pub struct PackRule {
    /// Its place among the rules as they were given.
    pub index: u16,
    /// Which argument.
    pub arg_key: String,
    /// The card's kind.
    pub card_type: String,
    /// The card's metadata, before kind, role and author are added.
    pub metadata: Map<String, Value>,
}

impl PackRule {
    /// Where its metadata stands.
    pub fn metadata_path(&self) -> String {
        format!("{PACKING}/pack_arguments/{}/card_metadata", self.index)
    }
}

/// What comes first in the packed box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Packed arguments, then what is inherited.
    #[default]
    ArgumentsFirst,
    /// The other way round.
    InheritFirst,
}

const PACKING: &str = "handover/context_packing_config";

impl Handover {
    /// Reads the rules. Absent or empty rules are no handover at all (PK-03).
    pub fn parse(rules: &CanonicalJson) -> Result<Self, Invalid> {
        let value = rules.to_value();
        let all = match &value {
            Value::Object(all) if !all.is_empty() => all,
            Value::Object(_) | Value::Null => return Err(Invalid::field("handover", "is required")),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(Invalid::field("handover", "must be an object"));
            }
        };
        known(all, "handover", &["target_profile_config", "context_packing_config"])?;
        let empty = Map::new();
        let target = object(all, "handover", "target_profile_config")?.unwrap_or(&empty);
        known(target, "handover/target_profile_config", &["profile_name"])?;
        let packing = object(all, "handover", "context_packing_config")?.unwrap_or(&empty);
        known(packing, PACKING, &["pack_arguments", "inherit_context", "order"])?;
        let inherit = object(packing, PACKING, "inherit_context")?.unwrap_or(&empty);
        let inherit_path = format!("{PACKING}/inherit_context");
        known(inherit, &inherit_path, &["include_boxes_from_args", "include_parent"])?;
        Ok(Self {
            target_profile: text(target, "handover/target_profile_config", "profile_name")?,
            pack: pack_rules(packing)?,
            inherit: names(inherit, &inherit_path)?,
            include_parent: flag(inherit, &inherit_path, "include_parent")?,
            order: order(packing)?,
            hash: Hash256::of(rules.as_bytes()),
        })
    }

    /// The one recipe of the built-in flows (PK-16): the instruction, the boxes if there are any, and the parent.
    pub fn with_instruction(profile_name: &str, has_boxes: bool) -> Self {
        let inherit: &[&str] = if has_boxes { &["input_box_ids"] } else { &[] };
        let rules = serde_json::json!({
            "target_profile_config": { "profile_name": profile_name },
            "context_packing_config": {
                "pack_arguments": [{ "arg_key": "instruction", "as_card_type": "task.instruction" }],
                "inherit_context": { "include_boxes_from_args": inherit, "include_parent": true },
            },
        });
        let rule = PackRule {
            index: 0,
            arg_key: "instruction".to_owned(),
            card_type: DEFAULT_TYPE.to_owned(),
            metadata: Map::new(),
        };
        Self {
            target_profile: Some(profile_name.to_owned()),
            pack: vec![rule],
            inherit: inherit.iter().map(ToString::to_string).collect(),
            include_parent: true,
            order: Order::ArgumentsFirst,
            hash: Hash256::of(crate::decision::own_json(&rules).as_bytes()),
        }
    }
}

/// PK-05
const DEFAULT_TYPE: &str = "task.instruction";

/// PK-04: elements that are no objects, and rules that name no argument, are passed over.
fn pack_rules(packing: &Map<String, Value>) -> Result<Vec<PackRule>, Invalid> {
    let path = format!("{PACKING}/pack_arguments");
    if packing.get("pack_arguments").is_some_and(Value::is_null) {
        return Err(Invalid::field(path, "must be a list"));
    }
    let rules = list(packing, "pack_arguments", &path)?;
    if rules.len() > limits::PACK_RULES {
        return Err(Invalid::field(path, format!("must be at most {} rules", limits::PACK_RULES)));
    }
    let mut read = vec![];
    for (index, rule) in rules.iter().enumerate() {
        let Value::Object(rule) = rule else { continue };
        let path = format!("{path}/{index}");
        known(rule, &path, &["arg_key", "as_card_type", "card_metadata"])?;
        let arg_key = rule.get("arg_key").and_then(Value::as_str).filter(|key| !key.is_empty());
        let card_type = card_type(rule, &path)?;
        let metadata = metadata(rule, &path)?;
        if let Some(arg_key) = arg_key {
            read.push(PackRule {
                index: u16::try_from(index).unwrap_or(u16::MAX),
                arg_key: arg_key.to_owned(),
                card_type: card_type.unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
                metadata,
            });
        }
    }
    Ok(read)
}

fn card_type(rule: &Map<String, Value>, path: &str) -> Result<Option<String>, Invalid> {
    let card_type = text(rule, path, "as_card_type")?;
    if let Some(name) = &card_type {
        let path = format!("{path}/as_card_type");
        let kind = CardKind::new(name).map_err(|invalid| invalid.at(&path))?;
        if kind.is_kernels() {
            return Err(Invalid::field(path, "is a kind that the kernel alone writes"));
        }
    }
    Ok(card_type)
}

/// PK-06. What a card would be refused for is refused before any card is made of it, by the name it has here.
fn metadata(rule: &Map<String, Value>, path: &str) -> Result<Map<String, Value>, Invalid> {
    let Some(metadata) = object(rule, path, "card_metadata")? else { return Ok(Map::new()) };
    let path = format!("{path}/card_metadata");
    if let Some(role) = metadata.get("role") {
        Role::read(role.as_str()).map_err(|invalid| invalid.at(format!("{path}/role")))?;
    }
    let bytes = CanonicalJson::from_value(&Value::Object(metadata.clone()))?.as_bytes().len();
    Invalid::check_size(&path, bytes, limits::METADATA_BYTES, "bytes")?;
    Ok(metadata.clone())
}

/// PK-10: what is no name is passed over.
fn names(inherit: &Map<String, Value>, path: &str) -> Result<Vec<String>, Invalid> {
    let field = "include_boxes_from_args";
    let names = list(inherit, field, &format!("{path}/{field}"))?;
    Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn order(packing: &Map<String, Value>) -> Result<Order, Invalid> {
    match text(packing, PACKING, "order")?.as_deref() {
        None | Some("args_first") => Ok(Order::ArgumentsFirst),
        Some("inherit_first") => Ok(Order::InheritFirst),
        Some(_) => {
            Err(Invalid::field(format!("{PACKING}/order"), "must be one of args_first, inherit_first"))
        }
    }
}

fn known(members: &Map<String, Value>, path: &str, names: &[&str]) -> Result<(), Invalid> {
    match members.keys().find(|key| !names.contains(&key.as_str())) {
        Some(key) => Err(Invalid::unknown(format!("{path}/{key}"), key, names)),
        None => Ok(()),
    }
}

fn object<'a>(
    members: &'a Map<String, Value>,
    path: &str,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, Invalid> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(found)) => Ok(Some(found)),
        Some(_) => Err(Invalid::field(format!("{path}/{name}"), "must be an object")),
    }
}

fn list<'a>(members: &'a Map<String, Value>, name: &str, path: &str) -> Result<&'a [Value], Invalid> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(found)) => Ok(found),
        Some(_) => Err(Invalid::field(path, "must be a list")),
    }
}

/// Trimmed; blank counts as absent.
fn text(members: &Map<String, Value>, path: &str, name: &str) -> Result<Option<String>, Invalid> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(found)) => {
            let found = found.trim();
            Ok((!found.is_empty()).then(|| found.to_owned()))
        }
        Some(_) => Err(Invalid::field(format!("{path}/{name}"), "must be a string")),
    }
}

/// Only JSON `true` is true (PK-14).
fn flag(members: &Map<String, Value>, path: &str, name: &str) -> Result<bool, Invalid> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Invalid::field(format!("{path}/{name}"), "must be true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<Handover, Invalid> {
        Handover::parse(&CanonicalJson::from_value(value).unwrap())
    }

    fn packing(value: Value) -> Result<Handover, Invalid> {
        parse(&json!({ "context_packing_config": value }))
    }

    #[test]
    fn pk_03_no_rules_are_no_handover() {
        for nothing in [json!(null), json!({}), json!([]), json!("x"), json!(1), json!(true)] {
            assert_eq!(parse(&nothing).unwrap_err().field_name(), "handover", "{nothing}");
        }
        assert!(parse(&json!({ "target_profile_config": {} })).is_ok());
    }

    #[test]
    fn pk_04_what_is_no_rule_is_passed_over_and_the_places_stay() {
        let rules =
            json!(["x", { "as_card_type": "a.b" }, 7, { "arg_key": "instruction" }, { "arg_key": 1 }]);
        let handover = packing(json!({ "pack_arguments": rules })).unwrap();
        let [rule] = &handover.pack[..] else { panic!("{handover:?}") };
        assert_eq!((rule.index, &*rule.arg_key, &*rule.card_type), (3, "instruction", "task.instruction"));
        for no_list in [json!({}), json!(null), json!("x"), json!(0)] {
            let error = packing(json!({ "pack_arguments": no_list })).unwrap_err();
            assert_eq!(error.field_name(), "handover/context_packing_config/pack_arguments", "{no_list}");
        }
        assert_eq!(packing(json!({})).unwrap().pack, []);
    }

    #[test]
    fn every_wrong_type_is_named() {
        for (rules, field) in [
            (json!({ "order": "backwards" }), "order"),
            (json!({ "order": 1 }), "order"),
            (json!({ "inherit_context": [] }), "inherit_context"),
            (json!({ "inherit_context": { "include_parent": "true" } }), "inherit_context/include_parent"),
            (json!({ "inherit_context": { "include_parent": 1 } }), "inherit_context/include_parent"),
            (
                json!({ "inherit_context": { "include_boxes_from_args": "a" } }),
                "inherit_context/include_boxes_from_args",
            ),
            (
                json!({ "pack_arguments": [{ "arg_key": "a", "card_metadata": 1 }] }),
                "pack_arguments/0/card_metadata",
            ),
            (
                json!({ "pack_arguments": [{ "arg_key": "a", "as_card_type": 1 }] }),
                "pack_arguments/0/as_card_type",
            ),
            (
                json!({ "pack_arguments": [{ "arg_key": "a", "as_card_type": "a\u{7}b" }] }),
                "pack_arguments/0/as_card_type",
            ),
            (
                json!({ "pack_arguments": [1, { "arg_key": "a", "card_metadata": { "role": "boss" } }] }),
                "pack_arguments/1/card_metadata/role",
            ),
            (
                json!({ "pack_arguments": [{ "arg_key": "a", "card_metadata": { "x": "x".repeat(16_384) } }] }),
                "pack_arguments/0/card_metadata",
            ),
            (json!({ "pack_arguments": [{ "arg_key": "a", "as_type": "x" }] }), "pack_arguments/0/as_type"),
            (json!({ "inherit": {} }), "inherit"),
        ] {
            let error = packing(rules.clone()).unwrap_err();
            assert_eq!(error.field_name(), format!("handover/context_packing_config/{field}"), "{rules}");
        }
        assert_eq!(parse(&json!({ "recipe": 1 })).unwrap_err().field_name(), "handover/recipe");
    }

    #[test]
    fn rules_are_bounded() {
        let rules = |n: usize| json!({ "pack_arguments": vec![json!({ "arg_key": "a" }); n] });
        assert_eq!(packing(rules(limits::PACK_RULES)).unwrap().pack.len(), limits::PACK_RULES);
        assert!(packing(rules(limits::PACK_RULES + 1)).is_err());
    }

    /// PK-16
    #[test]
    fn pk_16_the_built_in_recipe_is_what_its_rules_say() {
        for has_boxes in [false, true] {
            let inherit = if has_boxes { json!(["input_box_ids"]) } else { json!([]) };
            let given = json!({
                "target_profile_config": { "profile_name": "Analyst" },
                "context_packing_config": {
                    "pack_arguments": [{ "arg_key": "instruction", "as_card_type": "task.instruction" }],
                    "inherit_context": { "include_boxes_from_args": inherit, "include_parent": true },
                },
            });
            assert_eq!(Handover::with_instruction("Analyst", has_boxes), parse(&given).unwrap());
        }
    }
}

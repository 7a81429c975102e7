//! What people are told of a value that does not fit. The schema is quoted; of the value only names of members are,
//! because content has no place in messages (SEC-09).

use super::keyword::{Contains, Keyword, Kinds};
use serde_json::Value;

/// Longest message: it may quote the schema.
const CHARS: usize = 300;
/// Most names or options that are told.
const TOLD: usize = 3;

/// Why a keyword that does not hold does not.
pub(super) fn of(keyword: &Keyword) -> String {
    match keyword {
        Keyword::Nothing => "False schema does not allow value".to_owned(),
        Keyword::Type(kinds) => kind(*kinds),
        Keyword::Enum(options) => format!("value is not one of {}", these(options)),
        Keyword::Const(expected) => format!("{expected} was expected"),
        Keyword::Least { limit, exclusive: false } => format!("value is less than the minimum of {limit}"),
        Keyword::Least { limit, exclusive: true } => {
            format!("value is less than or equal to the minimum of {limit}")
        }
        Keyword::Most { limit, exclusive: false } => format!("value is greater than the maximum of {limit}"),
        Keyword::Most { limit, exclusive: true } => {
            format!("value is greater than or equal to the maximum of {limit}")
        }
        Keyword::MultipleOf(of) => format!("value is not a multiple of {of}"),
        Keyword::MinLength(least) => {
            format!("value is shorter than {}", count(*least, "character", "characters"))
        }
        Keyword::MaxLength(most) => {
            format!("value is longer than {}", count(*most, "character", "characters"))
        }
        Keyword::Pattern(pattern) => format!("value does not match \"{}\"", pattern.text),
        Keyword::MinItems(least) => format!("value has less than {}", count(*least, "item", "items")),
        Keyword::MaxItems(most) => format!("value has more than {}", count(*most, "item", "items")),
        Keyword::UniqueItems => "value has non-unique elements".to_owned(),
        Keyword::Contains(Contains { least: 0 | 1, most: None, .. }) => {
            "None of value are valid under the given schema".to_owned()
        }
        Keyword::Contains(Contains { least, most, .. }) => {
            let most = most.map_or(String::new(), |most| format!(" and at most {most}"));
            format!(
                "at least {least}{most} of the items of value must be valid under the schema of 'contains'"
            )
        }
        Keyword::MinProperties(least) => {
            format!("value has less than {}", count(*least, "property", "properties"))
        }
        Keyword::MaxProperties(most) => {
            format!("value has more than {}", count(*most, "property", "properties"))
        }
        Keyword::AnyOf(_) => {
            "value is not valid under any of the schemas listed in the 'anyOf' keyword".to_owned()
        }
        Keyword::Not(_) => "value is valid under the schema of 'not'".to_owned(),
        // They tell what is wrong themselves.
        Keyword::OneOf(_)
        | Keyword::Items(_)
        | Keyword::Members(_)
        | Keyword::Required(_)
        | Keyword::PropertyNames(_)
        | Keyword::DependentRequired(_)
        | Keyword::DependentSchemas(_)
        | Keyword::Ref(_)
        | Keyword::AllOf(_)
        | Keyword::If { .. }
        | Keyword::UnevaluatedItems(_)
        | Keyword::UnevaluatedProperties(_) => "value does not fit".to_owned(),
    }
}

/// How many of the schemas fit, where one should.
pub(super) fn one_of(fitting: u8) -> String {
    match fitting {
        0 => "value is not valid under any of the schemas listed in the 'oneOf' keyword".to_owned(),
        _ => "value is valid under more than one of the schemas listed in the 'oneOf' keyword".to_owned(),
    }
}

pub(super) fn required(name: &str) -> String {
    format!("{} is a required property", Value::from(shortened(name)))
}

pub(super) fn unexpected(what: &str, names: &[&str]) -> String {
    let told: Vec<String> = names.iter().take(TOLD).map(|name| format!("'{}'", shortened(name))).collect();
    let more = match names.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let were = if names.len() == 1 { "was" } else { "were" };
    format!("{what} are not allowed ({}{more} {were} unexpected)", told.join(", "))
}

pub(super) fn unevaluated_items(number: u64) -> String {
    format!("Unevaluated items are not allowed ({})", count(number, "item", "items"))
}

/// A message, its beginning if it is long.
pub(super) fn cut(message: String) -> String {
    match message.char_indices().nth(CHARS) {
        Some((end, _)) => message[..end].to_owned(),
        None => message,
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(CHARS).collect()
}

fn kind(kinds: Kinds) -> String {
    let names: Vec<String> = kinds.names().map(|name| format!("\"{name}\"")).collect();
    let types = if names.len() == 1 { "type" } else { "types" };
    format!("value is not of {types} {}", names.join(", "))
}

/// A few options by their text, the others by their number.
fn these(options: &[Value]) -> String {
    let text = |option: &Value| shortened(&option.to_string());
    let shown = if options.len() <= TOLD { options.len() } else { TOLD - 1 };
    let mut told: Vec<String> = options.iter().take(shown).map(text).collect();
    if shown < options.len() {
        told.push(format!("{} other candidates", options.len() - shown));
    }
    match told.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        Some((last, _)) => last.clone(),
        None => "none".to_owned(),
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

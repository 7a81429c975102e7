//! The system prompt of a turn: what the profile says, and which fields the result must have (WK-04).

use cardwire_model::{
    CanonicalJson, CardKind,
    card::{Content, FieldSpec},
};

/// The title of the list.
const TITLE: &str = "# Required result fields";

/// The profile's prompt, followed by the fields of the latest `task.result_fields` card. Content of another shape and an
/// empty list ask for nothing.
pub fn system_prompt(profile_prompt: &str, result_fields: Option<&CanonicalJson>) -> String {
    let fields = result_fields.map_or_else(Vec::new, read);
    if fields.is_empty() {
        return profile_prompt.to_owned();
    }
    let mut prompt = profile_prompt.trim_end().to_owned();
    if !prompt.is_empty() {
        prompt.push_str("\n\n");
    }
    prompt.push_str(TITLE);
    prompt.push('\n');
    for FieldSpec { name, description } in fields {
        prompt.push_str("\n- ");
        prompt.push_str(name.trim());
        if !description.trim().is_empty() {
            prompt.push_str(": ");
            prompt.push_str(description.trim());
        }
    }
    prompt
}

fn read(content: &CanonicalJson) -> Vec<FieldSpec> {
    match Content::parse(&CardKind::from_stored("task.result_fields"), content) {
        Ok(Content::Fields(fields)) => fields,
        Ok(
            Content::Text(_)
            | Content::Json(_)
            | Content::ToolCall { .. }
            | Content::ToolResult { .. }
            | Content::Tools(_),
        )
        | Err(_) => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> CanonicalJson {
        CanonicalJson::parse(text, "content").unwrap()
    }

    /// WK-04
    #[test]
    fn required_fields_are_a_list_at_the_end_of_the_system_prompt() {
        let two = fields(
            r#"{"fields":[{"name":"answer","description":"the answer"},{"name":"why","description":" "}]}"#,
        );
        let expected = "You are kind.\n\n# Required result fields\n\n- answer: the answer\n- why";
        assert_eq!(system_prompt("You are kind.\n", Some(&two)), expected);
        assert_eq!(system_prompt("", Some(&two)), "# Required result fields\n\n- answer: the answer\n- why");
    }

    /// WK-04
    #[test]
    fn a_prompt_without_required_fields_is_left_as_it_is() {
        for none in [None, Some(fields("[]")), Some(fields(r#"{"fields":"x"}"#)), Some(fields("null"))] {
            assert_eq!(system_prompt(" You are kind.\n", none.as_ref()), " You are kind.\n");
        }
    }
}

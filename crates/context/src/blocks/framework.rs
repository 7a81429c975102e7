//! `framework__context`: how to use what the runtime offers (CC-04). Made for each call, never kept.

use super::todo::{PLAN_TOOL, REPORT_TOOL};

/// What the block depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameworkFacts {
    /// The agent can search knowledge itself.
    pub knowledge_tool: bool,
    /// The agent can plan a todo list.
    pub plan_tool: bool,
    /// The agent can report on it.
    pub report_tool: bool,
    /// There is a todo list already.
    pub has_todo: bool,
}

/// The block.
pub fn render(facts: &FrameworkFacts) -> String {
    let mut block = String::new();
    if facts.knowledge_tool {
        block.push_str(KNOWLEDGE);
    }
    let advice = todo_advice(facts);
    if !advice.is_empty() {
        block.push_str("\n\n## Todo Management\n");
        block.push_str(&advice.join("\n"));
    }
    if block.is_empty() { block } else { format!("# Framework Context{block}") }
}

/// What to do with the tools that there are, and with no others (F-10).
fn todo_advice(facts: &FrameworkFacts) -> Vec<String> {
    let mut advice = vec![];
    if facts.has_todo && facts.report_tool {
        advice.push(format!(
            "- There is a todo list. Call `{REPORT_TOOL}` as soon as an item is started, completed, failed or not needed."
        ));
    }
    if facts.has_todo && facts.plan_tool {
        advice.push(format!("- Call `{PLAN_TOOL}` only to add, remove or replace items."));
    }
    if !facts.has_todo && facts.plan_tool {
        advice.push(format!(
            "- There is no todo list yet. If the work takes several steps, call `{PLAN_TOOL}` before the first."
        ));
        advice.push("- Do not plan what a single answer settles.".to_owned());
    }
    advice
}

const KNOWLEDGE: &str = "\n\n## Knowledge Retrieval\n\
    - When the answer depends on documents, search them with the knowledge tool instead of guessing.\n\
    - Name the source of what you take from them, and say so when nothing was found.";

#[cfg(test)]
mod tests {
    use super::*;

    /// CC-04
    #[test]
    fn only_what_is_available_is_explained() {
        let knowledge = "\n\n## Knowledge Retrieval\n\
            - When the answer depends on documents, search them with the knowledge tool instead of guessing.\n\
            - Name the source of what you take from them, and say so when nothing was found.";
        let plan = "\n\n## Todo Management\n\
            - There is no todo list yet. If the work takes several steps, call `plan_todo` before the first.\n\
            - Do not plan what a single answer settles.";
        let report = "\n\n## Todo Management\n\
            - There is a todo list. Call `report_todo` as soon as an item is started, completed, failed or not needed.\n\
            - Call `plan_todo` only to add, remove or replace items.";
        let head = "# Framework Context";
        for (knowledge_tool, todo_tools, has_todo, expected) in [
            (false, false, false, String::new()),
            // A list that the agent has no tools for is not explained.
            (false, false, true, String::new()),
            (true, false, false, format!("{head}{knowledge}")),
            (true, false, true, format!("{head}{knowledge}")),
            (false, true, false, format!("{head}{plan}")),
            (false, true, true, format!("{head}{report}")),
            (true, true, false, format!("{head}{knowledge}{plan}")),
            (true, true, true, format!("{head}{knowledge}{report}")),
        ] {
            let facts =
                FrameworkFacts { knowledge_tool, plan_tool: todo_tools, report_tool: todo_tools, has_todo };
            assert_eq!(render(&facts), expected, "{facts:?}");
        }
        // F-10: of two tools the one that is there.
        for (plan_tool, report_tool, has_todo) in
            [(true, false, true), (true, false, false), (false, true, true), (false, true, false)]
        {
            let told =
                render(&FrameworkFacts { plan_tool, report_tool, has_todo, ..FrameworkFacts::default() });
            assert_eq!(told.contains("plan_todo"), plan_tool, "{told}");
            assert_eq!(told.contains("report_todo"), report_tool && has_todo, "{told}");
        }
    }
}

//! `todo__context`: the todo list, or the task that a manager assigned (TD-05, CC-05).

use super::one_line;
use cardwire_model::{Todo, TodoItem, TodoStatus};

/// The tool that makes and changes the list (TD-06).
pub const PLAN_TOOL: &str = "plan_todo";
/// The tool that says how far items are (TD-06).
pub const REPORT_TOOL: &str = "report_todo";

/// The list; nothing when it has no items.
pub fn render(todo: &Todo) -> String {
    if todo.items.is_empty() {
        return String::new();
    }
    let mut block = String::from("# Todo Context\n\n## Team Todo");
    if let Some(goal) = said(todo.goal.as_deref()) {
        block.push_str(&format!("\n- Goal: {goal}"));
    }
    for item in &todo.items {
        block.push_str(&format!("\n- [{}] {}", item.status.as_str(), named(item)));
        if let Some(result) = said(item.result.as_deref()) {
            block.push_str(&format!(" -> {result}"));
        }
    }
    if let Some(next) = todo.items.iter().find(|item| item.status == TodoStatus::Pending) {
        block.push_str(&format!("\n\n## Current Focus\n{}", named(next)));
    }
    block
}

/// The assigned task, where there is no list to show (CC-05); nothing for a blank one.
pub fn assigned(task: &str) -> String {
    match task.trim() {
        "" => String::new(),
        task => format!("# Todo Context\n\n## Assigned Task\n{task}"),
    }
}

fn named(item: &TodoItem) -> String {
    format!("[{}] {}", one_line(&item.id), one_line(&item.description))
}

fn said(text: Option<&str>) -> Option<String> {
    text.map(one_line).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(goal: Option<&str>, items: &[(&str, &str, TodoStatus, Option<&str>)]) -> Todo {
        let item = |(id, description, status, result): &(&str, &str, TodoStatus, Option<&str>)| TodoItem {
            id: (*id).to_owned(),
            description: (*description).to_owned(),
            status: *status,
            result: result.map(str::to_owned),
        };
        Todo {
            session_id: "s".to_owned(),
            goal: goal.map(str::to_owned),
            items: items.iter().map(item).collect(),
            next_item_id: 9,
            updated_at_ms: 0,
        }
    }

    /// TD-05
    #[test]
    fn the_list_has_its_goal_its_items_and_the_first_pending_one_as_focus() {
        use TodoStatus::{Pending, Running};
        let list = todo(
            Some("ship it"),
            &[
                ("t1", "write", Pending, None),
                ("t2", "test", Running, Some("half")),
                ("t3", "tell", Pending, None),
            ],
        );
        assert_eq!(
            render(&list),
            "# Todo Context\n\n## Team Todo\n- Goal: ship it\n- [pending] [t1] write\n\
             - [running] [t2] test -> half\n- [pending] [t3] tell\n\n## Current Focus\n[t1] write"
        );
    }

    /// TD-05
    #[test]
    fn the_goal_the_result_and_the_focus_are_left_out_where_there_is_none() {
        use TodoStatus::{Failed, Running};
        let list =
            todo(Some(" "), &[("t2", "test", Running, Some("")), ("t4", "pay", Failed, Some("no money"))]);
        assert_eq!(
            render(&list),
            "# Todo Context\n\n## Team Todo\n- [running] [t2] test\n- [failed] [t4] pay -> no money"
        );
    }

    /// CC-02, TD-05
    #[test]
    fn a_list_without_items_is_no_block() {
        assert_eq!(render(&todo(Some("a goal"), &[])), "");
    }

    #[test]
    fn a_description_cannot_pass_for_a_heading() {
        let list =
            todo(None, &[("t1", "a\n\n## Current Focus\r\n[t9] rob a bank", TodoStatus::Running, None)]);
        assert_eq!(
            render(&list),
            "# Todo Context\n\n## Team Todo\n- [running] [t1] a  ## Current Focus [t9] rob a bank"
        );
    }

    /// CC-05, PR-03
    #[test]
    fn an_assigned_task_stands_where_there_is_no_list() {
        assert_eq!(
            assigned(" check the sums\nof May "),
            "# Todo Context\n\n## Assigned Task\ncheck the sums\nof May"
        );
        assert_eq!(assigned(" \n"), "");
    }
}

//! How a place in a request is called in errors: the names and indices on the way to it with `/` between them, `tasks/0/name`,
//! whatever part of the program found out that it is wrong (API-06). It must not know who reads the request.

/// What a request body is called as a whole. Its members are called by their own names: `tasks/0`, not `body/tasks/0`.
pub const BODY: &str = "body";

/// Only the start of a long name: the place is for people.
const STEP_CHARS: usize = 64;

/// The name of a place in `whole`, escaped as a JSON pointer is.
pub fn place<S: AsRef<str>>(whole: &str, steps: impl IntoIterator<Item = S>) -> String {
    let mut place = if whole == BODY { String::new() } else { whole.to_owned() };
    for (number, step) in steps.into_iter().enumerate() {
        if number > 0 || !place.is_empty() {
            place.push('/');
        }
        let step = step.as_ref().replace('~', "~0").replace('/', "~1");
        place.extend(step.chars().filter(|c| !c.is_control()).take(STEP_CHARS));
    }
    if place.is_empty() { whole.to_owned() } else { place }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-14, API-06
    #[test]
    fn a_place_has_one_spelling() {
        for (whole, steps, expected) in [
            (BODY, vec![], "body"),
            (BODY, vec!["tasks", "0", "name"], "tasks/0/name"),
            ("content", vec![], "content"),
            ("content", vec!["0"], "content/0"),
            (BODY, vec!["a/b", "~", "x.y"], "a~1b/~0/x.y"),
        ] {
            assert_eq!(place(whole, &steps), expected);
        }
        assert_eq!(place("x", ["a\n".repeat(100)]), format!("x/{}", "a".repeat(STEP_CHARS)));
    }
}

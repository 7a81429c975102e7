//! Places in a document, as chains that live on the stack and become text only when somebody is told.

/// How one place is reached from the one above it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

/// A place below another; the document itself is `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) above: Option<&'a Place<'a>>,
    pub(super) step: Step<'a>,
}

/// Longest pointer that is told; names of members may be as long as documents.
const POINTER_CHARS: usize = 512;

/// A place as a JSON pointer, its beginning if it is long.
pub(super) fn pointer(place: Option<&Place<'_>>) -> String {
    let mut steps = vec![];
    let mut next = place;
    while let Some(Place { above, step }) = next {
        steps.push(step);
        next = *above;
    }
    let (mut text, mut left) = (String::new(), POINTER_CHARS);
    for step in steps.into_iter().rev() {
        if left == 0 {
            break;
        }
        let before = text.len();
        text.push('/');
        match step {
            Step::Item(index) => text.push_str(&index.to_string()),
            Step::Member(name) => {
                let escaped = name.chars().take(left).map(|letter| match letter {
                    '~' => "~0".to_owned(),
                    '/' => "~1".to_owned(),
                    other => other.to_string(),
                });
                text.extend(escaped);
            }
        }
        left = left.saturating_sub(text[before..].chars().count());
    }
    text
}

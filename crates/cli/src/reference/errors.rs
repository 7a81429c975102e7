//! Every error code, from the table in `api`.

use super::{MADE, compare, head, row};
use cardwire_api::ErrorCode;
use std::collections::BTreeSet;

const ABOUT: &str = "\
# Errors

Every error has one body, whatever went wrong:

```json
{\"error\": {\"code\": \"not_found\", \"message\": \"card not found: …\", \"detail\": {\"field\": \"card_ids/0\"}}}
```

`code` is stable and for programs. `message` is for people and may change. `detail` holds facts: `field` is the place in the
request, names and indices with `/` between them, or the name of a parameter.
A turn that is not accepted has the words of a dispatch as well: `status` (`busy`, `rejected` or `error`), `error_code`, `agent_id`,
`agent_turn_id`, `trace_id`.
`/openapi.json` lists for each operation which of these it answers with. Where waiting helps, the answer carries `Retry-After`.
";

/// F-14, F-16
#[test]
fn the_reference_of_errors_is_made_from_the_table() {
    let mut page = format!("{MADE}{ABOUT}");
    let statuses: BTreeSet<u16> = ErrorCode::ALL.iter().map(|code| code.status()).collect();
    for status in statuses {
        page += &format!("\n## {status}\n\n");
        page += &head(["code", "when", "what to do"]);
        for code in ErrorCode::ALL.iter().filter(|code| code.status() == status) {
            page += &row([&format!("`{}`", code.as_str()), code.meaning(), code.remedy()]);
        }
    }
    compare("errors.md", &page);
}

#[test]
fn every_code_says_in_sentences_when_it_comes_and_what_to_do() {
    for code in ErrorCode::ALL {
        for text in [code.meaning(), code.remedy()] {
            let is_sentence = text.ends_with('.') && text.starts_with(|c: char| c.is_uppercase() || c == '`');
            assert!(is_sentence, "{}: {text}", code.as_str());
        }
    }
}

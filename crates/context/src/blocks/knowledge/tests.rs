//! The format to the byte, and the budget at its edges.

use super::*;

fn chunk(source_id: &str, title: Option<&str>, content: &str) -> Chunk {
    Chunk {
        source_id: source_id.to_owned(),
        title: title.map(str::to_owned),
        content: content.to_owned(),
        chunk_id: format!("{source_id}-1"),
    }
}

fn used(chunks: &[Chunk], limits: &Limits) -> Vec<usize> {
    render(chunks, Format::Markdown, limits).used
}

/// KN-03
#[test]
fn markdown_names_source_and_title_before_the_content() {
    let chunks = [
        chunk("guide.md", Some("Install"), " Run it.\n\nTwice. "),
        chunk("faq", None, "No."),
        chunk("x", Some(" "), "Y"),
    ];
    let rendered = render(&chunks, Format::parse("markdown").unwrap(), &Limits::default());
    assert_eq!(
        rendered.text,
        "# Knowledge Context\n\n## Chunks\n\n### Chunk 1\n- Source: guide.md\nInstall\nRun it.\n\nTwice.\n\n\
         ### Chunk 2\n- Source: faq\nNo.\n\n### Chunk 3\n- Source: x\nY"
    );
    assert_eq!(rendered.used, [0, 1, 2]);
}

/// KN-03
#[test]
fn json_has_the_same_in_a_fixed_order() {
    let chunks = [chunk("guide.md", Some("In\"stall"), "Run\nit."), chunk("faq", None, "否")];
    let rendered = render(&chunks, Format::parse("json").unwrap(), &Limits::default());
    assert_eq!(
        rendered.text,
        r#"{"title":"Knowledge Context","chunks":[{"source_id":"guide.md","title":"In\"stall","chunk_id":"guide.md-1","content":"Run\nit."},{"source_id":"faq","chunk_id":"faq-1","content":"否"}]}"#
    );
    assert!(serde_json::from_str::<Value>(&rendered.text).is_ok());
}

/// KN-03, CC-07
#[test]
fn another_format_is_an_error() {
    for name in ["", "xml", "Markdown"] {
        assert_eq!(Format::parse(name).unwrap_err().field_name(), "format", "{name}");
    }
}

/// KN-03: the check of the specification.
#[test]
fn a_chunk_that_would_exceed_the_budget_ends_the_block() {
    let sized = |sizes: &[usize]| -> Vec<_> {
        sizes.iter().map(|size| chunk("s", None, &"x".repeat(*size))).collect()
    };
    let limits = Limits::default();
    assert_eq!((limits.max_chunks, limits.max_tokens), (6, 1_200));
    for (sizes, expected) in [
        (vec![1_500, 1_000], vec![0]),
        (vec![1_500, 900], vec![0, 1]),
        (vec![1_500, 901], vec![0]),
        // No later chunk slips in where an earlier one did not fit.
        (vec![1_500, 1_000, 10], vec![0]),
        (vec![2_401], vec![]),
        (vec![2_400], vec![0]),
    ] {
        assert_eq!(used(&sized(&sizes), &limits), expected, "{sizes:?}");
    }
}

/// KN-03
#[test]
fn the_budget_counts_characters_and_not_bytes() {
    let chunks = [chunk("s", None, &"文".repeat(2_400)), chunk("s", None, "一")];
    assert_eq!(used(&chunks, &Limits::default()), [0]);
}

/// KN-03
#[test]
fn there_are_at_most_six_chunks_and_blank_ones_do_not_count() {
    let mut chunks = vec![chunk("s", None, " \n"); 3];
    chunks.extend(vec![chunk("s", None, "x"); 7]);
    assert_eq!(used(&chunks, &Limits::default()), [3, 4, 5, 6, 7, 8]);
}

/// CC-02
#[test]
fn nothing_found_is_no_block() {
    for format in [Format::Markdown, Format::Json] {
        for chunks in [vec![], vec![chunk("s", Some("t"), "\t")]] {
            assert_eq!(render(&chunks, format, &Limits::default()), Rendered::default());
        }
    }
}

#[test]
fn a_title_cannot_pass_for_a_heading() {
    let chunks = [chunk("a\n# b", Some("c\r\n\n# d"), "e")];
    let text = render(&chunks, Format::Markdown, &Limits::default()).text;
    assert_eq!(text, "# Knowledge Context\n\n## Chunks\n\n### Chunk 1\n- Source: a # b\nc  # d\ne");
}

/// KN-01
#[test]
fn who_cannot_call_tools_is_given_the_block() {
    assert_eq!(Mode::default(), Mode::System);
    assert_eq!(Mode::parse("tool").unwrap().within(Process::Sequential), Mode::Tool);
    assert_eq!(Mode::Tool.within(Process::MapReduceWorker), Mode::Tool);
    assert_eq!(Mode::Tool.within(Process::MapReduceReducer), Mode::System);
    assert_eq!(Mode::parse("system").unwrap().within(Process::Sequential), Mode::System);
}

#[test]
fn kn_01_a_wrong_mode_is_told_by_the_name_that_settings_have_for_it() {
    for name in ["both", "", "System"] {
        assert_eq!(Mode::parse(name).unwrap_err().field_name(), "inject_mode", "{name}");
    }
    let said = Mode::parse("zzz").unwrap_err().to_string();
    assert_eq!(said, "inject_mode: must be system or tool, not zzz");
}

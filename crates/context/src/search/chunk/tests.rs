//! Where documents are cut, and that nothing falls between.

use super::*;
use proptest::prelude::*;

fn told(text: &str) -> Vec<(Option<String>, String)> {
    sections(text, Some("Doc")).into_iter().map(|section| (section.title, section.text)).collect()
}

fn section(title: &str, text: &str) -> (Option<String>, String) {
    (Some(title.to_owned()), text.to_owned())
}

fn solid(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn a_heading_starts_a_section() {
    let text = "intro\n\n# First #\none\r\n\r\n## C#\r\ntwo\n";
    let expected =
        [section("Doc", "intro"), section("First", "# First #\none"), section("C#", "## C#\r\ntwo")];
    assert_eq!(told(text), expected);
}

#[test]
fn a_heading_without_a_text_of_its_own_stands_with_the_next() {
    let expected = [section("Install", "# Guide\n\n## Install\nrun it"), section("End", "# End")];
    assert_eq!(told("# Guide\n\n## Install\nrun it\n# End"), expected);
}

#[test]
fn what_only_looks_like_a_heading_is_text() {
    for text in [
        "a\n#hashtag\nb",
        "a\n####### seven\nb",
        "a\n    # indented\nb",
        "a\n#\nb",
        "a\n```sh\n# comment\n```\nb",
        "a\n~~~\n```\n# comment\n~~~~\nb",
        "a\n```\n# never closed",
    ] {
        assert_eq!(told(text), [section("Doc", text)]);
    }
    let closed = told("a\n```\n# code\n```\n# Heading\nb");
    assert_eq!(closed, [section("Doc", "a\n```\n# code\n```"), section("Heading", "# Heading\nb")]);
    assert_eq!(told("a ```b``` c\n# Heading\nd").len(), 2);
}

#[test]
fn a_document_without_headings_has_the_title_it_was_given() {
    assert_eq!(sections("x", Some(" "))[0].title, None);
    assert_eq!(sections("x", None)[0].title, None);
    assert_eq!(sections(" \n\t\n", Some("Doc")), []);
    assert_eq!(sections("", None), []);
}

#[test]
fn a_long_section_is_cut_between_paragraphs() {
    let paragraph = |letter: &str| letter.repeat(900);
    let text = format!("# T\n{}\n\n{}\n\n{}", paragraph("a"), paragraph("b"), paragraph("c"));
    let first = format!("# T\n{}\n\n{}", paragraph("a"), paragraph("b"));
    assert_eq!(told(&text), [section("T", &first), section("T", &paragraph("c"))]);
}

#[test]
fn a_long_paragraph_is_cut_between_sentences() {
    // A stop that no blank follows ends nothing.
    let sentence = format!("Version 3.14 is at (example.com): {}end.", "word ".repeat(60));
    let parts = &sections(&format!("{sentence}\n{sentence} {sentence}"), None)[0].parts;
    assert_eq!(parts, &[sentence.clone(), sentence.clone(), sentence]);
}

#[test]
fn a_long_chinese_paragraph_is_cut_between_sentences_and_after_their_quotes() {
    let said = |characters: usize| format!("他说：“{}。”", "字".repeat(characters - 6));
    let parts = &sections(&said(200).repeat(3), None)[0].parts;
    assert_eq!(parts, &[said(200).repeat(2), said(200)]);
    // The closing quote would be the 501st character.
    let parts = &sections(&(said(250) + &said(251)), None)[0].parts;
    assert_eq!(parts, &[said(250), said(251)]);
}

#[test]
fn a_long_line_is_cut_between_words_and_a_long_word_anywhere() {
    let parts = &sections(&"abc ".repeat(200), None)[0].parts;
    assert_eq!(parts[0], "abc ".repeat(125).trim());
    let parts = &sections(&"字".repeat(1_001), None)[0].parts;
    assert_eq!(parts.iter().map(|part| part.chars().count()).collect::<Vec<_>>(), [500, 500, 1]);
}

/// A good place right at the beginning would leave a piece that is not worth finding.
#[test]
fn a_short_paragraph_before_a_long_one_is_not_left_alone() {
    let parts = &sections(&format!("Note\n\n{}", "word ".repeat(150)), None)[0].parts;
    assert!(parts[0].starts_with("Note\n\nword") && parts[0].chars().count() > 400, "{parts:?}");
}

/// SEC-07
#[test]
fn sections_and_parts_are_bounded_at_their_limits() {
    for (characters, sections_of, parts_of) in [(500, 1, 1), (501, 1, 2), (2_000, 1, 4), (2_001, 2, 4)] {
        let cut = sections(&"字".repeat(characters), None);
        assert_eq!((cut.len(), cut[0].parts.len()), (sections_of, parts_of), "{characters}");
    }
}

fn any_document() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12}( |\n|\\. )",
        "[一-龥]{1,40}(。|，|\n\n)",
        "(#|##) [A-Z]{1,9}\n",
        Just("```\n".to_owned()),
        Just("\r\n\r\n".to_owned()),
        Just(" ".repeat(700)),
        "[x字]{300,900}",
        "\\PC{0,30}",
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// KN-02
    #[test]
    fn nothing_is_lost_and_nothing_is_too_long(text in any_document()) {
        let cut = sections(&text, Some("Doc"));
        let whole: String = cut.iter().map(|section| section.text.as_str()).collect();
        prop_assert_eq!(solid(&whole), solid(&text));
        for section in &cut {
            prop_assert_eq!(solid(&section.parts.concat()), solid(&section.text));
            prop_assert!((1..=limits::SECTION_CHARS).contains(&section.text.chars().count()));
            for part in &section.parts {
                prop_assert!((1..=limits::PART_CHARS).contains(&part.chars().count()));
                prop_assert_eq!(part.trim(), part);
                prop_assert!(section.text.contains(part.as_str()));
            }
        }
        prop_assert_eq!(sections(&text, Some("Doc")), cut);
    }
}

/// SEC-07: every section has its title beside it.
#[test]
fn a_heading_gives_a_title_of_so_many_characters_and_no_more() {
    let title = |chars: usize| {
        let text = format!("# {}\nbody", "é".repeat(chars));
        sections(&text, None).remove(0).title.unwrap().chars().count()
    };
    let most = limits::TITLE_CHARS;
    assert_eq!((title(most), title(most + 1)), (most, most));
}

//! What is found by what.

use super::*;
use proptest::prelude::*;

/// Whether a store that matches any term would find the text.
fn finds(query: &str, text: &str) -> bool {
    let terms = terms(text);
    query_terms(query).iter().any(|term| terms.contains(term))
}

/// They are looked up by halves.
#[test]
fn words_that_stand_in_every_text_are_sorted() {
    assert!(STOP_WORDS.is_sorted());
}

#[test]
fn words_are_letters_and_digits_in_lower_case() {
    for (text, expected) in [
        ("", ""),
        (" ,.\n!", ""),
        ("Hello, World! hello", "hello world hello"),
        ("utf-8 v2.10 don't foo_bar", "utf 8 v2 10 don t foo bar"),
        ("ÄRGER Straße ΟΔΟΣ οδος", "ärger straße οδοσ οδοσ"),
        ("ＦＵＬＬ１２", "full12"),
        ("İstanbul cafe\u{301}s", "istanbul cafes"),
        ("👍🏽ok👍", "ok"),
    ] {
        assert_eq!(terms(text).join(" "), expected, "{text}");
    }
}

/// KN-02
#[test]
fn chinese_japanese_and_korean_are_found_by_characters_and_pairs() {
    for (text, expected) in [
        ("数", "数"),
        ("数据库", "数 数据 据 据库 库"),
        ("数，据", "数 据"),
        ("Rust语言2版", "rust 语 语言 言 2 版"),
        ("カタカナ", "カ カタ タ タカ カ カナ ナ"),
        ("한국", "한 한국 국"),
        ("𠮷野", "𠮷 𠮷野 野"),
    ] {
        assert_eq!(terms(text).join(" "), expected, "{text}");
    }
}

/// KN-02
#[test]
fn a_search_uses_pairs_and_a_single_character_only_when_it_stands_alone() {
    for (text, expected) in [
        ("库", "库"),
        ("数据库", "数据 据库"),
        ("数据 库", "数据 库"),
        ("哈哈哈", "哈哈"),
        ("Rust 的 语言", "rust 的 语言"),
    ] {
        assert_eq!(query_terms(text).join(" "), expected, "{text}");
    }
}

/// KN-02
#[test]
fn a_chinese_text_is_found_by_one_two_and_three_characters() {
    let text = "今天我们把数据库迁移到新的服务器。";
    for query in ["库", "数据", "数据库", "迁移到新"] {
        assert!(finds(query, text), "{query}");
    }
    for query in ["猫", "据数", "天数"] {
        assert!(!finds(query, text), "{query}");
    }
}

#[test]
fn common_words_are_searched_only_when_there_are_no_others() {
    assert_eq!(query_terms("What is the price of the Car, car?"), ["price", "car"]);
    assert_eq!(query_terms("to be or not"), ["not"]);
    assert_eq!(query_terms("Who are you? who"), ["who", "are", "you"]);
    assert!(STOP_WORDS.is_sorted() && STOP_WORDS.len() <= limits::QUERY_TERMS);
}

/// KN-02
#[test]
fn a_blank_query_has_no_terms() {
    assert_eq!(query_terms(" \n?!"), [""; 0]);
}

/// SEC-07
#[test]
fn terms_are_bounded_in_length_and_number() {
    for (length, kept) in [(63, 63), (64, 64), (65, 64), (9_000, 64)] {
        assert_eq!(terms(&"é".repeat(length)), ["é".repeat(kept)], "{length}");
        assert!(finds(&"é".repeat(length), &"É".repeat(length)));
    }
    for words in [1_999, 2_000, 2_001] {
        assert_eq!(terms(&"w ".repeat(words)).len(), words.min(limits::PASSAGE_TERMS), "{words}");
    }
    // A part of a document is indexed whole, whatever it is written in.
    assert_eq!(terms(&"字".repeat(limits::PART_CHARS)).len(), 2 * limits::PART_CHARS - 1);
    let numbers = |n: usize| (0..n).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    for words in [63, 64, 65] {
        assert_eq!(query_terms(&numbers(words)).len(), words.min(limits::QUERY_TERMS), "{words}");
    }
}

proptest! {
    #[test]
    fn terms_hold_nothing_but_letters_and_digits(text in "(\\PC|[ -~]|[一-龥]|[ぁ-ヿ]|[가-힣]|\u{301}|\n){0,200}") {
        for term in terms(&text).into_iter().chain(query_terms(&text)) {
            prop_assert!(!term.is_empty() && term.chars().all(char::is_alphanumeric), "{term:?}");
            prop_assert_eq!(term.to_lowercase().chars().next(), term.chars().next());
        }
    }

    #[test]
    fn whatever_is_searched_is_also_indexed(text in "([a-z ]|[一-三]|，){0,60}") {
        let indexed = terms(&text);
        for term in query_terms(&text) {
            prop_assert!(indexed.contains(&term), "{term}");
        }
    }

    /// KN-02
    #[test]
    fn any_stretch_of_a_chinese_text_finds_it(text in "[一-龥]{3,80}", from in 0_usize..78, length in 1_usize..4) {
        let characters: Vec<_> = text.chars().collect();
        let from = from.min(characters.len() - 1);
        let stretch: String = characters[from..].iter().take(length).collect();
        prop_assert!(finds(&stretch, &text), "{stretch}");
        prop_assert!(query_terms(&stretch).iter().all(|term| terms(&text).contains(term)));
    }
}

//! Every relative link of a Markdown file leads to a file of the tree and, with an anchor, to a heading in it. Every rule id
//! that a file names stands in the list of rules.

use super::{Problems, SourceFile};
use std::collections::HashSet;

const RULES: &str = "docs/rules.md";

/// Letters that rule ids begin with.
const AREAS: [&str; 24] = [
    "X", "W", "CB", "PK", "PM", "DP", "BM", "WD", "WK", "CC", "CM", "ST", "CP", "TD", "KN", "EX", "PR", "HO",
    "LD", "API", "NF", "RP", "OB", "SEC",
];

/// Each relative link of each Markdown file.
pub(super) fn lead_somewhere(files: &[SourceFile]) -> Problems {
    let mut problems = vec![];
    for file in files.iter().filter(|file| is_markdown(file)) {
        for (number, link) in links(file) {
            if let Some(reason) = broken(file, link, files) {
                problems.push(format!("{}:{number}: the link to `{link}` {reason}", file.path));
            }
        }
    }
    problems
}

/// Each rule id that documents and code name.
pub(super) fn rules_are_listed(files: &[SourceFile]) -> Problems {
    let Some(document) = files.iter().find(|file| file.path == RULES) else {
        return vec![format!("{RULES}: is missing; it lists the rules that documents and tests name")];
    };
    let listed: HashSet<&str> = document.text.lines().filter_map(listed_id).collect();
    let mut problems = vec![];
    for file in files.iter().filter(|file| is_markdown(file) || file.is_rust()) {
        for (number, line) in file.lines() {
            for id in rule_ids(line).filter(|id| !listed.contains(id)) {
                problems.push(format!("{}:{number}: rule {id} is not in {RULES}; add one line", file.path));
            }
        }
    }
    problems
}

fn is_markdown(file: &SourceFile) -> bool {
    file.path.ends_with(".md")
}

/// Numbered targets of links, outside of code blocks. Targets with a scheme are left out.
fn links(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let is_relative = |target: &&str| !target.is_empty() && !target.contains(':');
    text_lines(file).flat_map(move |(number, line)| {
        let starts = line.match_indices("](").map(|(at, found)| at + found.len());
        let targets = starts.filter_map(|start| line[start..].split_once(')')).map(|(target, _)| target);
        targets.filter(is_relative).map(move |target| (number, target))
    })
}

/// Lines that are neither a fence nor within one.
fn text_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    file.lines().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Why a link leads nowhere.
fn broken(from: &SourceFile, link: &str, files: &[SourceFile]) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    let directory = format!("{path}/");
    let Some(target) = files.iter().find(|file| file.path == path) else {
        let is_directory = files.iter().any(|file| file.path.starts_with(&directory));
        return (!is_directory).then(|| format!("leads nowhere: there is no {path}"));
    };
    let anchor = anchor.filter(|_| is_markdown(target))?;
    let found = text_lines(target).any(|(_, line)| heading(line).is_some_and(|text| slug(text) == anchor));
    (!found).then(|| format!("names no heading of {path}"))
}

/// A path relative to a file, from the root of the tree.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len()).then(|| text.strip_prefix(' ')).flatten()
}

/// The anchor of a heading: lower case, blanks as hyphens, without punctuation.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The id that a line of the list explains.
fn listed_id(line: &str) -> Option<&str> {
    line.strip_prefix("- **")?.split_once("** ").map(|(id, _)| id)
}

/// Rule ids in a line: letters of an area, a hyphen, two digits.
fn rule_ids(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    line.split(move |c| !is_part(c)).filter(|word| {
        word.split_once('-').is_some_and(|(area, number)| {
            number.len() == 2 && number.bytes().all(|digit| digit.is_ascii_digit()) && AREAS.contains(&area)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(page: &str) -> [SourceFile; 4] {
        [
            SourceFile::new("docs/page.md", page),
            SourceFile::new(
                "docs/other.md",
                "# Other\n\n## Who is there, and why?\n\n```sh\n# no heading\n```\n",
            ),
            SourceFile::new("README.md", "See [page](docs/page.md) and [all](docs/)."),
            SourceFile::new("crates/a/src/lib.rs", "//! A."),
        ]
    }

    #[test]
    fn a_link_leads_to_a_file_a_directory_or_a_heading() {
        let good = "[a](other.md) [b](../README.md) [c](../crates/a/src) [d](other.md#who-is-there-and-why) \
                    [e](https://example.com/gone.md) [f](#page)\n# Page\n```sh\n[g](gone.md)\n```\n";
        assert_eq!(lead_somewhere(&tree(good)), Vec::<String>::new());
        let bad = "[a](gone.md)\n[b](docs/other.md)\n[c](other.md#no-heading)\n[d](#gone) [e](../crates/b)\n";
        let problems = lead_somewhere(&tree(bad));
        assert_eq!(problems.len(), 5, "{problems:?}");
        assert!(problems[0].starts_with("docs/page.md:1: the link to `gone.md`"), "{}", problems[0]);
        assert!(problems[4].contains("crates/b"), "{}", problems[4]);
    }

    #[test]
    fn a_rule_that_is_named_is_in_the_list() {
        let list = SourceFile::new(RULES, "# Rules\n\n- **DP-17** A stale write changes nothing.\n");
        let code =
            SourceFile::new("crates/a/src/lib.rs", "/// DP-17, NF-03: not UTF-16, not DP-170, not XDP-17\n");
        let problems = rules_are_listed(&[list, code]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("crates/a/src/lib.rs:1: rule NF-03"), "{}", problems[0]);
        assert_eq!(rules_are_listed(&[]).len(), 1);
    }
}

//! Searches the crates' identifiers and comments for words that docs/glossary.md bans.

use super::exceptions::compare;
use super::root;
use super::source::{SourceFile, files_in};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The first column of the table "Words we don't use".
fn banned() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let (_, table) = text.split_once("## Words we don't use").expect("the glossary has the table");
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_lowercase).collect()
}

#[test]
fn words_that_the_glossary_bans_are_not_used() {
    let banned = banned();
    assert!(banned.contains("shelf"), "the table is read: {banned:?}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut places = String::new();
    for file in files_in(&["crates", "python"]).iter().filter(|file| file.path.contains("/src/")) {
        for (line, word) in words_of(file) {
            if banned.contains(&word) {
                *counts.entry(file.package().to_owned()).or_default() += 1;
                places += &format!("  {}:{line}: {word}\n", file.path);
            }
        }
    }
    let broken = counts.iter().map(|(package, count)| format!("{package} {count}")).collect();
    eprintln!("{places}");
    compare("uses of banned words", &broken, &[]);
}

/// The words of identifiers and comments in singular and lower case, with their line numbers.
fn words_of(file: &SourceFile) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (number, (code, comment)) in file.code.lines().zip(file.comments.lines()).enumerate() {
        let is_apart = |letter: char| !letter.is_alphabetic();
        for run in code.split(is_apart).chain(comment.split(is_apart)) {
            for word in split_at_case(run) {
                let word = word.to_lowercase();
                let singular = match word.as_str() {
                    "shelves" => "shelf",
                    other => other.strip_suffix('s').unwrap_or(other),
                };
                words.push((number + 1, singular.to_owned()));
            }
        }
    }
    words
}

/// Splits a name where the case changes: `BlockPool` is two words.
fn split_at_case(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let letters: Vec<(usize, char)> = name.char_indices().collect();
    for pair in letters.windows(2) {
        if pair[0].1.is_lowercase() && pair[1].1.is_uppercase() {
            words.push(&name[begin..pair[1].0]);
            begin = pair[1].0;
        }
    }
    words.push(&name[begin..]);
    words
}

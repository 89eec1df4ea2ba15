//! Checks that every test exists that a page names as the proof of a promise.

use super::root;
use super::source::{SourceFile, files_in};
use std::fs;

/// The last cells of the tables that say what a promise is "shown by", in docs and its folders.
fn proofs() -> Vec<String> {
    let mut proofs = Vec::new();
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let mut is_table = false;
        for line in fs::read_to_string(page).unwrap().lines() {
            is_table = line.starts_with('|') && (is_table || line.ends_with("| shown by |"));
            if is_table {
                proofs.push(line.trim_end_matches('|').rsplit('|').next().unwrap().to_owned());
            }
        }
    }
    proofs
}

#[test]
fn every_test_that_a_promise_names_exists() {
    let files = files_in(&["crates"]);
    let proofs = proofs();
    assert!(proofs.len() > 50, "the tables are found");
    let mut missing = String::new();
    for proof in &proofs {
        let mut named: Vec<&SourceFile> = Vec::new();
        for word in proof.split(|letter: char| letter.is_whitespace() || "`(),;".contains(letter)) {
            let word = word.trim_end_matches(['.', ':']);
            let (path, name) = match word.split_once("::") {
                Some((path, names)) => (path, names.rsplit("::").next()),
                None if word.ends_with(".rs") => (word, None),
                // A test of the last file that was named.
                None if word.matches('_').count() >= 2 && !word.contains('/') => ("", Some(word)),
                None => continue,
            };
            if !path.is_empty() {
                named = files.iter().filter(|file| is_at(file, path)).collect();
            }
            let exists = match name {
                None => !named.is_empty(),
                Some(name) => named.iter().any(|file| has(file, name)),
            };
            if !exists {
                missing += &format!("  {word}\n");
            }
        }
    }
    assert!(missing.is_empty(), "docs name tests that don't exist:\n{missing}");
}

fn is_at(file: &SourceFile, path: &str) -> bool {
    file.path.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// True if the file has a test, or a module of tests, of this name.
fn has(file: &SourceFile, name: &str) -> bool {
    ["fn", "mod"].iter().any(|kind| {
        let declaration = format!("{kind} {name}");
        file.code
            .match_indices(&declaration)
            .any(|(at, _)| file.code[at + declaration.len()..].starts_with(['(', ' ', ';']))
    })
}

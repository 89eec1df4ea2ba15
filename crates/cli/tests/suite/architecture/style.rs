//! Limits of a reader's screen: lines of 100 columns, functions of 70 lines.

use super::exceptions::compare;
use super::source::{SourceFile, files_in};
use std::collections::BTreeSet;

const COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;

/// rustfmt leaves long comments and string literals as they are.
#[test]
fn lines_have_a_hundred_columns_at_most() {
    let mut broken = BTreeSet::new();
    for file in files_in(&["crates", "fuzz", "bench", "python"]) {
        let too_long = file.text.lines().filter(|line| line.chars().count() > COLUMNS_MAX).count();
        if too_long > 0 {
            broken.insert(format!("{} {too_long}", file.path));
        }
    }
    compare("lines longer than 100 columns", &broken, &[]);
}

#[test]
fn a_function_fits_a_screen() {
    let mut broken = BTreeSet::new();
    for file in files_in(&["crates", "python"]) {
        for (name, lines) in functions(&file) {
            if lines > FUNCTION_LINES_MAX {
                broken.insert(format!("{}::{name} {lines}", file.path));
            }
        }
    }
    compare("functions longer than 70 lines", &broken, &[]);
}

/// The names of a file's functions, and their lines from `fn` to the closing brace.
fn functions(file: &SourceFile) -> Vec<(String, usize)> {
    let lines: Vec<&str> = file.code.lines().collect();
    let mut functions = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let mut depth = 0;
        'lines: for (last, line) in lines.iter().enumerate().skip(first) {
            for letter in line.chars() {
                match letter {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth -= 1,
                    // A function of a trait, without a body.
                    ';' if depth == 0 => break 'lines,
                    _ => {}
                }
                if letter == '}' && depth == 0 {
                    functions.push((name.to_owned(), last - first + 1));
                    break 'lines;
                }
            }
        }
    }
    functions
}

/// The function that a line declares.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let words = ["pub", "const", "unsafe", "extern"];
    let is_declaration = before
        .split_whitespace()
        .all(|word| words.contains(&word) || word.starts_with("pub(") || word == "super)");
    let end = after.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    (is_declaration && end > 0).then(|| &after[..end])
}

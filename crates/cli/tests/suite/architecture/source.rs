//! Rust source for the tests of this folder: code and comments separated, without a parser.
//!
//! Both halves have the length of the file, with spaces in place of the other half, so line numbers
//! agree. String and character literals are blank in both.

use super::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// All Rust source, read once for all tests.
static FILES: OnceLock<Vec<SourceFile>> = OnceLock::new();

#[derive(Clone)]
pub(super) struct SourceFile {
    /// The path relative to the repository, with slashes.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) code: String,
    pub(super) comments: String,
}

/// All Rust files below these directories of the repository, in the order of their paths.
pub(super) fn files_in(directories: &[&str]) -> Vec<SourceFile> {
    let all = FILES.get_or_init(|| read_all(&["crates", "python", "fuzz", "bench"]));
    let is_below = |file: &&SourceFile| {
        directories.iter().any(|directory| Path::new(&file.path).starts_with(directory))
    };
    all.iter().filter(is_below).cloned().collect()
}

fn read_all(directories: &[&str]) -> Vec<SourceFile> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut directories: Vec<PathBuf> = directories.iter().map(|name| root().join(name)).collect();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            let is_built = entry.file_name().is_some_and(|name| name == "target");
            if entry.is_dir() && !is_built {
                directories.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                paths.push(entry);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| SourceFile::read(path)).collect()
}

impl SourceFile {
    fn read(path: &Path) -> SourceFile {
        let text = fs::read_to_string(path).unwrap();
        SourceFile::new(path.strip_prefix(root()).unwrap().to_str().unwrap(), text)
    }

    pub(super) fn new(path: &str, text: String) -> SourceFile {
        let (code, comments) = split(&text);
        SourceFile { path: path.to_owned(), text, code, comments }
    }

    /// The crate's directory: `crates/disk` for `crates/disk/src/lease.rs`, `python` for
    /// `python/src/job.rs`.
    pub(super) fn package(&self) -> &str {
        let slashes = usize::from(self.path.starts_with("crates/"));
        let end = self.path.match_indices('/').nth(slashes).map_or(self.path.len(), |(at, _)| at);
        &self.path[..end]
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// Splits a text into code and comments.
fn split(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let mut rest = text;
    let mut last = ' ';
    while let Some(first) = rest.chars().next() {
        let (kind, bytes) = token(rest, last);
        for letter in rest[..bytes].chars() {
            let in_place_of = |wanted| match letter {
                '\n' => '\n',
                _ if kind == wanted => letter,
                _ => ' ',
            };
            code.push(in_place_of(Kind::Code));
            comments.push(in_place_of(Kind::Comment));
        }
        last = if kind == Kind::Code { first } else { ' ' };
        rest = &rest[bytes..];
    }
    (code, comments)
}

/// The token at the beginning of `text`, and its length: a comment, a literal, or one character of
/// code. `last` is the character of code before it.
fn token(text: &str, last: char) -> (Kind, usize) {
    let is_in_word = last.is_alphanumeric() || last == '_';
    let until = |end: &str, from: usize| {
        text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return (Kind::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (Kind::Comment, until("*/", 2));
    }
    if text.starts_with('"') {
        return (Kind::Literal, quoted(text));
    }
    let raw = text.trim_start_matches('b').trim_start_matches('c');
    if !is_in_word && raw.starts_with('r') && text.len() - raw.len() <= 1 {
        let hashes = raw[1..].len() - raw[1..].trim_start_matches('#').len();
        if raw[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            return (Kind::Literal, until(&end, text.len() - raw.len() + 2 + hashes));
        }
    }
    if let Some(body) = text.strip_prefix('\'') {
        // A lifetime has no quotation mark at its end.
        let letter = body.chars().next().map_or(0, char::len_utf8);
        if body.starts_with('\\') {
            return (Kind::Literal, until("'", 3));
        }
        if body[letter..].starts_with('\'') {
            return (Kind::Literal, letter + 2);
        }
    }
    (Kind::Code, text.chars().next().map_or(0, char::len_utf8))
}

/// The length of a string literal with both quotation marks.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn code_and_comments_are_told_apart() {
    let text = "let a = \"// \\\" no\"; // \"yes\"\nlet b = ('\"', b'\\'', r#\"\"/*\"#); /* c\n \
        */ 'a: x<'b>";
    let (code, comments) = split(text);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&code), "let a = ; let b = ( , b , ); 'a: x<'b>");
    assert_eq!(words(&comments), "// \"yes\" /* c */");
}

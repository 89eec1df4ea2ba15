//! Pages that readers can follow: lines of 100 columns, and links that lead somewhere.

use super::exceptions::compare;
use super::root;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS_MAX: usize = 100;

/// The pages, by their paths in the repository, with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = Vec::new();
    let mut directories = vec![root().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            if kind.is_dir() && name != "target" && !name.starts_with('.') {
                directories.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|end| end == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

fn name(path: &Path) -> &str {
    path.strip_prefix(root()).unwrap().to_str().unwrap()
}

/// The lines of a page with their numbers, and true for those in code blocks.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut is_code = false;
    text.lines().zip(1..).map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (number, line, is_code || is_fence)
    })
}

/// Tables may be as wide as their cells need.
#[test]
fn lines_of_pages_have_a_hundred_columns_at_most() {
    let mut broken = BTreeSet::new();
    for (path, text) in pages() {
        for (number, line, _) in lines(&text) {
            let is_table = line.trim_start().starts_with('|');
            if !is_table && line.chars().count() > COLUMNS_MAX {
                broken.insert(format!("{}:{number}", name(&path)));
            }
        }
    }
    compare("lines longer than 100 columns", &broken, &[]);
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut broken = BTreeSet::new();
    for (path, text) in pages() {
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            let is_page = target.extension().is_some_and(|end| end == "md");
            let has_anchor = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).contains(anchor)
            };
            if !target.exists() || is_page && !anchor.is_empty() && !has_anchor() {
                broken.insert(format!("{}: {link}", name(&path)));
            }
        }
    }
    compare("links that lead nowhere", &broken, &[]);
}

/// The targets of a page's links to files and to headings.
fn links(text: &str) -> BTreeSet<String> {
    let prose: Vec<&str> =
        lines(text).filter(|(_, _, is_code)| !is_code).map(|(_, line, _)| line).collect();
    let prose = prose.join("\n");
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.trim());
    let is_elsewhere =
        |target: &str| target.contains("://") || target.contains(char::is_whitespace);
    targets.filter(|target| !is_elsewhere(target)).map(str::to_owned).collect()
}

/// The anchors of a page: its headings, as GitHub spells them, and explicit ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = lines(text).filter(|(_, line, is_code)| !is_code && line.starts_with('#'));
    let mut anchors = BTreeSet::new();
    for (_, heading, _) in headings {
        let spelt: String = heading
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter(|&letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let again = (1..).map(|number| format!("{spelt}-{number}"));
        let free = std::iter::once(spelt.clone()).chain(again);
        let anchor = free.into_iter().find(|anchor| !anchors.contains(anchor));
        anchors.extend(anchor);
    }
    let given = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    anchors.extend(given.map(|(anchor, _)| anchor.to_owned()));
    anchors
}

//! The help on the keys of the full screen.

use super::words::{cut, folded};
use ratatui::text::Line;

const KEYS: [(&str, &str); 7] = [
    ("↑ k", "job above"),
    ("↓ j", "job below"),
    ("c c", "clear this job"),
    ("C C", "clear all dead"),
    ("?", "these keys"),
    ("q", "quit"),
    ("█ ░", "threads that work, and that wait"),
];

const CLEARING: &str = "c and C ask first. Clearing removes the status and the hidden files of a \
    killed job, as xsort status --clear does, and nothing of a running one.";

/// The keys, in lines of at most `columns` columns.
pub(super) fn key_help(columns: usize) -> Vec<Line<'static>> {
    let keys = KEYS.map(|(keys, text)| cut(&format!("{keys:<4}{text}"), columns));
    let about = folded(CLEARING, columns);
    keys.into_iter().chain([String::new()]).chain(about).map(Line::from).collect()
}

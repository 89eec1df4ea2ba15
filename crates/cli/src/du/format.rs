//! The format in which rows are printed.

use super::gnu_lines::GnuLines;
use super::json::JsonDocument;
use super::row::Row;
use super::tree::TreeDrawing;
use xsort_gnu::du::Command;

/// The format in which rows are printed.
pub(super) enum Format<'a> {
    Lines(GnuLines<'a>),
    Json(JsonDocument),
    Tree(TreeDrawing<'a>),
}

impl<'a> Format<'a> {
    pub(super) fn new(command: &'a Command, is_terminal: bool) -> Format<'a> {
        if command.extras.json {
            Format::Json(JsonDocument::new())
        } else if command.extras.tree {
            Format::Tree(TreeDrawing::new(command, is_terminal))
        } else {
            Format::Lines(GnuLines::new(command))
        }
    }

    /// Appends a row. If its time is out of range, returns the time in seconds.
    pub(super) fn write(&self, row: &Row, out: &mut Vec<u8>) -> Option<i64> {
        match self {
            Format::Lines(lines) => return lines.write(row, out),
            Format::Json(json) => json.write(row, out),
            Format::Tree(tree) => tree.write_outside(row, out),
        }
        None
    }
}

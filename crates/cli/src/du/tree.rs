//! Draws the rows of an argument as a tree: sizes, names, bars and shares of the whole. The tree is
//! as wide as the terminal and no longer than it.

use super::row::Row;
use super::size_format::SizeFormat;
use super::tree_rows::{Content, RowLimit, TreeRow, TreeRows};
use crate::gnu_commands::locale;
use crate::output::uses_colour;
use rustix::termios::tcgetwinsize;
use std::io;
use unicode_width::UnicodeWidthStr;
use xsort_gnu::du::Command;

/// The width in columns if the output is not a terminal.
const COLUMNS: usize = 80;
/// The least and the largest width of a bar in columns. In between, it is a quarter of the line.
const BAR_COLUMNS: (usize, usize) = (8, 40);
/// Columns for spaces between the parts of a line, and for the share.
const FIXED_COLUMNS: usize = 7;
const NAME_COLUMNS_MIN: usize = 8;

/// Draws trees.
pub(super) struct TreeDrawing<'a> {
    command: &'a Command,
    sizes: SizeFormat,
    columns: usize,
    limit: RowLimit,
    glyphs: &'static Glyphs,
    has_colour: bool,
}

/// The characters for branches and bars.
struct Glyphs {
    /// Precedes the name of an entry that is not the last one of its directory.
    branch: &'static str,
    /// Precedes the name of the last entry.
    last: &'static str,
    /// Precedes descendants of an entry that is not the last one of its directory.
    through: &'static str,
    /// Precedes descendants of the last entry.
    blank: &'static str,
    /// From an empty column to a full one.
    fillings: &'static [&'static str],
    /// Ends a name that was cut.
    cut: &'static str,
}

const UNICODE: Glyphs = Glyphs {
    branch: "├─ ",
    last: "└─ ",
    through: "│  ",
    blank: "   ",
    fillings: &[" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
    cut: "…",
};

const ASCII: Glyphs = Glyphs {
    branch: "|- ",
    last: "`- ",
    through: "|  ",
    blank: "   ",
    fillings: &[" ", "#"],
    cut: "~",
};

/// Widths of a tree's columns.
#[derive(Clone, Copy)]
struct Widths {
    size: usize,
    name: usize,
    bar: usize,
}

/// A row that is not drawn yet.
struct PendingRow {
    index: usize,
    /// The text in front of its name. The next field is that in front of its children's names.
    prefix: String,
    child_prefix: String,
    /// The offset of its own name in its path.
    name_begin: usize,
}

impl<'a> TreeDrawing<'a> {
    pub(super) fn new(command: &'a Command, is_terminal: bool) -> TreeDrawing<'a> {
        let size = tcgetwinsize(io::stdout()).ok();
        let columns = size.map(|size| usize::from(size.ws_col));
        let lines = size.map(|size| usize::from(size.ws_row));
        let limit = match (command.extras.top_lines, lines.filter(|&lines| lines > 0)) {
            (Some(top), _) => RowLimit::Largest(top.get()),
            (None, Some(lines)) => RowLimit::Lines(lines_of_each(command, lines)),
            (None, None) => RowLimit::None,
        };
        TreeDrawing {
            command,
            sizes: SizeFormat::new(command),
            columns: columns.filter(|&columns| columns > 0).unwrap_or(COLUMNS),
            limit,
            glyphs: if locale().is_utf8() { &UNICODE } else { &ASCII },
            has_colour: uses_colour(is_terminal),
        }
    }

    /// Appends a row that belongs to no tree: the sum.
    pub(super) fn write_outside(&self, row: &Row, out: &mut Vec<u8>) {
        self.sizes.write(row.figure, out);
        out.push(b' ');
        out.extend_from_slice(printable(&row.path).as_bytes());
        out.push(b'\n');
    }

    /// Draws the rows of an argument as a tree, and appends it.
    pub(super) fn draw(&self, rows: Vec<Row>, out: &mut Vec<u8>) {
        let TreeRows { rows, roots } = TreeRows::new(rows, self.command, self.limit);
        let widths = self.widths(&rows);
        for root in roots {
            let whole = rows[root].figure;
            let (prefix, child_prefix) = (String::new(), String::new());
            let mut pending = vec![PendingRow { index: root, prefix, child_prefix, name_begin: 0 }];
            while let Some(next) = pending.pop() {
                self.draw_row(&rows[next.index], &next, whole, widths, out);
                self.push_children(&rows[next.index], &next, &mut pending);
            }
        }
    }

    fn widths(&self, rows: &[TreeRow]) -> Widths {
        let size = rows.iter().map(|row| self.size(row).width()).max().unwrap_or(0);
        let bar = (self.columns / 4).clamp(BAR_COLUMNS.0, BAR_COLUMNS.1);
        let name = self.columns.saturating_sub(size + bar + FIXED_COLUMNS).max(NAME_COLUMNS_MIN);
        Widths { size, name, bar }
    }

    fn size(&self, row: &TreeRow) -> String {
        let mut text = Vec::new();
        self.sizes.write(row.figure, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn draw_row(
        &self,
        row: &TreeRow,
        pending: &PendingRow,
        whole: u64,
        widths: Widths,
        out: &mut Vec<u8>,
    ) {
        let name = match &row.content {
            Content::Found(row) => printable(&row.path[pending.name_begin..]),
            Content::Itself { files: 0 } => "(itself)".to_owned(),
            Content::Itself { files: 1 } => "(itself and 1 file)".to_owned(),
            Content::Itself { files } => format!("(itself and {files} files)"),
            Content::More(rows) => format!("({rows} more)"),
        };
        let name = self.fitted(&format!("{}{name}", pending.prefix), widths.name);
        let (bar, share) = self.bar(row.figure, whole, widths.bar);
        let line = format!("{:>1$} {name} {bar} {share:>4}\n", self.size(row), widths.size);
        out.extend_from_slice(line.as_bytes());
    }

    fn push_children(&self, row: &TreeRow, parent: &PendingRow, pending: &mut Vec<PendingRow>) {
        let Content::Found(Row { path, .. }) = &row.content else { return };
        let name_begin = path.len() + usize::from(!path.ends_with(b"/"));
        let Glyphs { branch, last, through, blank, .. } = self.glyphs;
        // The last child is drawn last, so it is pushed first.
        for (rank, &index) in row.children.iter().rev().enumerate() {
            let (joint, gap) = if rank == 0 { (last, blank) } else { (branch, through) };
            pending.push(PendingRow {
                index,
                prefix: format!("{}{joint}", parent.child_prefix),
                child_prefix: format!("{}{gap}", parent.child_prefix),
                name_begin,
            });
        }
    }

    /// Pads or cuts a text to exactly `columns` columns.
    fn fitted(&self, text: &str, columns: usize) -> String {
        let mut width = text.width();
        if width <= columns {
            return text.to_owned() + &" ".repeat(columns - width);
        }
        let mut cut = text.to_owned();
        while width > columns - 1 {
            cut.pop();
            width = cut.width();
        }
        format!("{cut}{}{}", self.glyphs.cut, " ".repeat(columns - 1 - width))
    }

    /// The bar for a part of the whole, and the share as text.
    fn bar(&self, part: u64, whole: u64, columns: usize) -> (String, String) {
        let (part, whole) = (u128::from(part.min(whole)), u128::from(whole.max(1)));
        let steps = self.glyphs.fillings.len() - 1;
        let filled = (part * (columns * steps) as u128 / whole) as usize;
        let filling =
            |column: usize| self.glyphs.fillings[filled.saturating_sub(column * steps).min(steps)];
        let bar: String = (0..columns).map(filling).collect();
        let share = format!("{}%", (part * 200 + whole) / (2 * whole));
        (if self.has_colour { format!("\x1b[36m{bar}\x1b[0m") } else { bar }, share)
    }
}

/// The number of lines for the tree of each argument. The prompt and the sum take a line each.
fn lines_of_each(command: &Command, lines: usize) -> usize {
    let others = 1 + usize::from(command.has_total);
    lines.saturating_sub(others) / command.files.len().max(1)
}

/// The name without control characters, which could be commands to a terminal.
fn printable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

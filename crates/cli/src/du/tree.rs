//! The rows of an argument as a tree: sizes, names, bars and shares of the whole, as wide as the
//! terminal.

use super::row::{Row, by_path, by_size};
use super::size_format::SizeFormat;
use crate::gnu_commands::locale;
use crate::output::uses_colour;
use rustix::termios::tcgetwinsize;
use std::io;
use unicode_width::UnicodeWidthStr;
use xsort_gnu::du::{Command, SortBy};

/// Columns, if the output is no terminal.
const COLUMNS: usize = 80;
/// Columns of a bar, at least and at most; a quarter of the width in between.
const BAR_COLUMNS: (usize, usize) = (8, 40);
/// Blanks around the columns, and those of a share.
const FIXED_COLUMNS: usize = 7;
const NAME_COLUMNS_MIN: usize = 8;

/// How trees are drawn.
pub(super) struct TreeDrawing<'a> {
    command: &'a Command,
    sizes: SizeFormat,
    columns: usize,
    glyphs: &'static Glyphs,
    has_colour: bool,
}

/// What branches and bars are drawn with.
struct Glyphs {
    /// Before the name of an entry that has another one below it.
    branch: &'static str,
    /// Before the name of the last entry.
    last: &'static str,
    /// Before descendants of an entry that has another one below it.
    through: &'static str,
    /// Before descendants of the last entry.
    blank: &'static str,
    /// From an empty column to a full one.
    fillings: &'static [&'static str],
    /// At the end of a name that was cut.
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

/// A row that is still to be drawn.
struct PendingRow {
    index: usize,
    /// What comes before its name, and before those of its children.
    prefix: String,
    child_prefix: String,
    /// Where its own name begins in its path.
    name_begin: usize,
}

impl<'a> TreeDrawing<'a> {
    pub(super) fn new(command: &'a Command, is_terminal: bool) -> TreeDrawing<'a> {
        let columns = tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
        TreeDrawing {
            command,
            sizes: SizeFormat::new(command),
            columns: columns.filter(|&columns| columns > 0).unwrap_or(COLUMNS),
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

    /// Appends the tree of an argument's rows.
    pub(super) fn draw(&self, mut rows: Vec<Row>, out: &mut Vec<u8>) {
        rows.sort_by(|one, other| by_path(&one.path, &other.path));
        let (roots, children) = self.branches(&rows);
        let widths = self.widths(&rows);
        for root in roots {
            let whole = rows[root].figure;
            let (prefix, child_prefix) = (String::new(), String::new());
            let mut pending = vec![PendingRow { index: root, prefix, child_prefix, name_begin: 0 }];
            while let Some(next) = pending.pop() {
                self.draw_row(&rows[next.index], &next, whole, widths, out);
                self.push_children(&rows[next.index], &next, &children[next.index], &mut pending);
            }
        }
    }

    fn widths(&self, rows: &[Row]) -> Widths {
        let size = rows.iter().map(|row| self.size(row).width()).max().unwrap_or(0);
        let bar = (self.columns / 4).clamp(BAR_COLUMNS.0, BAR_COLUMNS.1);
        let name = self.columns.saturating_sub(size + bar + FIXED_COLUMNS).max(NAME_COLUMNS_MIN);
        Widths { size, name, bar }
    }

    fn size(&self, row: &Row) -> String {
        let mut text = Vec::new();
        self.sizes.write(row.figure, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn draw_row(
        &self,
        row: &Row,
        pending: &PendingRow,
        whole: u64,
        widths: Widths,
        out: &mut Vec<u8>,
    ) {
        let name = printable(&row.path[pending.name_begin..]);
        let name = self.fitted(&format!("{}{name}", pending.prefix), widths.name);
        let (bar, share) = self.bar(row.figure, whole, widths.bar);
        let line = format!("{:>1$} {name} {bar} {share:>4}\n", self.size(row), widths.size);
        out.extend_from_slice(line.as_bytes());
    }

    fn push_children(
        &self,
        row: &Row,
        parent: &PendingRow,
        children: &[usize],
        pending: &mut Vec<PendingRow>,
    ) {
        let name_begin = row.path.len() + usize::from(!row.path.ends_with(b"/"));
        let Glyphs { branch, last, through, blank, .. } = self.glyphs;
        // The last child is drawn last, so it is pushed first.
        for (rank, &index) in children.iter().rev().enumerate() {
            let (joint, gap) = if rank == 0 { (last, blank) } else { (branch, through) };
            pending.push(PendingRow {
                index,
                prefix: format!("{}{joint}", parent.child_prefix),
                child_prefix: format!("{}{gap}", parent.child_prefix),
                name_begin,
            });
        }
    }

    /// Which rows are below no other, and which are below each, in the order in which they are
    /// drawn. The rows must be sorted by path.
    fn branches(&self, rows: &[Row]) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut roots = Vec::new();
        let mut children = vec![Vec::new(); rows.len()];
        let mut above: Vec<usize> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            while above.pop_if(|parent| !is_within(&row.path, &rows[*parent].path)).is_some() {}
            above.last().map_or(&mut roots, |&parent| &mut children[parent]).push(index);
            above.push(index);
        }
        if self.command.extras.sort != Some(SortBy::Name) {
            for siblings in children.iter_mut().chain([&mut roots]) {
                siblings.sort_by(|&one, &other| by_size(&rows[one], &rows[other]));
            }
        }
        (roots, children)
    }

    /// A text that is padded or cut to exactly so many columns.
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

    /// The bar of a part of the whole, and its share.
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

/// Whether a path is below another one.
fn is_within(path: &[u8], parent: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(parent) else { return false };
    !rest.is_empty() && (parent.ends_with(b"/") || rest.starts_with(b"/"))
}

/// A name without control characters, which could be commands to a terminal.
fn printable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

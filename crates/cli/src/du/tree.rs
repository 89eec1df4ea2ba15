//! An argument's entries as a tree: sizes, names, bars and shares of the whole, as wide as the
//! terminal.

use super::entry::{Entry, by_path, by_size};
use super::form::Sizes;
use crate::gnu::locale;
use rustix::termios::tcgetwinsize;
use std::io;
use unicode_width::UnicodeWidthStr;
use xsort_gnu::du::{Command, SortBy};

/// The width where there is no terminal.
const COLUMNS: usize = 80;
/// Columns of a bar, at least and at most: a quarter of the width between them.
const BAR_COLUMNS: (usize, usize) = (8, 40);

/// How trees are drawn.
pub(super) struct Tree<'a> {
    command: &'a Command,
    sizes: Sizes,
    columns: usize,
    strokes: &'static Strokes,
    has_colour: bool,
}

/// What lines and bars are made of.
struct Strokes {
    branch: &'static str,
    last: &'static str,
    through: &'static str,
    none: &'static str,
    /// From an empty column to a full one.
    fillings: &'static [&'static str],
    cut: &'static str,
}

const DRAWN: Strokes = Strokes {
    branch: "├─ ",
    last: "└─ ",
    through: "│  ",
    none: "   ",
    fillings: &[" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"],
    cut: "…",
};

const TYPED: Strokes = Strokes {
    branch: "|- ",
    last: "`- ",
    through: "|  ",
    none: "   ",
    fillings: &[" ", "#"],
    cut: "~",
};

impl<'a> Tree<'a> {
    pub(super) fn new(command: &'a Command, is_terminal: bool) -> Tree<'a> {
        let columns = tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
        let has_colour =
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Tree {
            command,
            sizes: Sizes::new(command),
            columns: columns.filter(|&columns| columns > 0).unwrap_or(COLUMNS),
            strokes: if locale().is_utf8() { &DRAWN } else { &TYPED },
            has_colour,
        }
    }

    /// Appends an entry that is in no tree.
    pub(super) fn write_plain(&self, entry: &Entry, out: &mut Vec<u8>) {
        self.sizes.write(entry.figure, out);
        out.push(b' ');
        out.extend_from_slice(shown(&entry.path).as_bytes());
        out.push(b'\n');
    }

    /// Appends the tree of the entries of an argument.
    pub(super) fn draw(&self, mut entries: Vec<Entry>, out: &mut Vec<u8>) {
        entries.sort_by(|one, other| by_path(&one.path, &other.path));
        let (roots, children) = self.branches(&entries);
        let size = |entry: &Entry| {
            let mut text = Vec::new();
            self.sizes.write(entry.figure, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let size_columns = entries.iter().map(|entry| size(entry).width()).max().unwrap_or(0);
        let bar_columns = (self.columns / 4).clamp(BAR_COLUMNS.0, BAR_COLUMNS.1);
        // A blank on either side of the name, one before the share of four columns.
        let name_columns = self.columns.saturating_sub(size_columns + bar_columns + 7).max(8);
        for root in roots {
            let whole = entries[root].figure;
            // Entries that are still to be drawn, with what stands before their names, and what
            // before those of their children.
            let mut to_draw = vec![(root, String::new(), String::new(), 0)];
            while let Some((at, before, below, name_begin)) = to_draw.pop() {
                let entry = &entries[at];
                let name = self
                    .fitted(&format!("{before}{}", shown(&entry.path[name_begin..])), name_columns);
                let (bar, share) = self.bar(entry.figure, whole, bar_columns);
                let line = format!("{:>size_columns$} {name} {bar} {share:>4}\n", size(entry));
                out.extend_from_slice(line.as_bytes());
                let begin = entry.path.len() + usize::from(!entry.path.ends_with(b"/"));
                let (Strokes { branch, last, through, none, .. }, branches) =
                    (self.strokes, &children[at]);
                // The last one is drawn last, so it is pushed first.
                for (place, &child) in branches.iter().rev().enumerate() {
                    let (joint, gap) = if place == 0 { (last, none) } else { (branch, through) };
                    to_draw.push((
                        child,
                        format!("{below}{joint}"),
                        format!("{below}{gap}"),
                        begin,
                    ));
                }
            }
        }
    }

    /// Which entries are in none of the others, and which are in each, in the order in which they
    /// are drawn. The entries are in the order of their paths.
    fn branches(&self, entries: &[Entry]) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut roots = Vec::new();
        let mut children = vec![Vec::new(); entries.len()];
        let mut above: Vec<usize> = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            while above.pop_if(|parent| !is_within(&entry.path, &entries[*parent].path)).is_some() {
            }
            above.last().map_or(&mut roots, |&parent| &mut children[parent]).push(at);
            above.push(at);
        }
        if self.command.extras.sort != Some(SortBy::Name) {
            for siblings in children.iter_mut().chain([&mut roots]) {
                siblings.sort_by(|&one, &other| by_size(&entries[one], &entries[other]));
            }
        }
        (roots, children)
    }

    /// A text in exactly so many columns.
    fn fitted(&self, text: &str, columns: usize) -> String {
        let mut width = text.width();
        if width <= columns {
            return text.to_owned() + &" ".repeat(columns - width);
        }
        let mut kept = text.to_owned();
        while width > columns - 1 {
            kept.pop();
            width = kept.width();
        }
        format!("{kept}{}{}", self.strokes.cut, " ".repeat(columns - 1 - width))
    }

    /// The bar of a part of the whole, and its share.
    fn bar(&self, part: u64, whole: u64, columns: usize) -> (String, String) {
        let (part, whole) = (u128::from(part.min(whole)), u128::from(whole.max(1)));
        let steps = self.strokes.fillings.len() - 1;
        let filled = (part * (columns * steps) as u128 / whole) as usize;
        let filling =
            |column: usize| self.strokes.fillings[filled.saturating_sub(column * steps).min(steps)];
        let bar: String = (0..columns).map(filling).collect();
        let share = format!("{}%", (part * 200 + whole) / (2 * whole));
        (if self.has_colour { format!("\x1b[36m{bar}\x1b[0m") } else { bar }, share)
    }
}

/// Whether a path leads into another one.
fn is_within(path: &[u8], parent: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(parent) else { return false };
    !rest.is_empty() && (parent.ends_with(b"/") || rest.starts_with(b"/"))
}

/// A name that can be shown on a terminal, which a control character could command.
fn shown(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

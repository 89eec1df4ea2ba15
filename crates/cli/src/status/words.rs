//! Formats figures for people.

use crate::decimal::Decimal;
pub(super) use crate::decimal::span;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use xsort_disk::DisplayPath;
use xsort_extsort::units::Count;
use xsort_status::{Leftovers, Snapshot};

/// A rate in bytes per second, as text.
pub(super) fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", Decimal(bytes_per_second))
}

/// The share of the phase that is done, 0 to 1; `None` if its size is unknown.
pub(super) fn phase_share(snapshot: &Snapshot) -> Option<f64> {
    let phase = &snapshot.phase;
    (phase.bytes > 0).then(|| (phase.done_bytes as f64 / phase.bytes as f64).min(1.0))
}

/// How far the phase is: "57% of 8.00 GB", "4.56 GB", or "4.56 GB in 1200 files".
pub(super) fn how_far(snapshot: &Snapshot) -> String {
    let phase = &snapshot.phase;
    match phase_share(snapshot) {
        Some(share) => {
            format!("{:.0}% of {}", (100.0 * share).floor(), Decimal(phase.bytes as f64))
        }
        None if snapshot.counts.files > 0 => {
            format!("{} in {} files", Decimal(phase.done_bytes as f64), snapshot.counts.files)
        }
        None => Decimal(phase.done_bytes as f64).to_string(),
    }
}

/// The name of the phase, or "it begins" before the first one.
pub(super) fn phase_name(snapshot: &Snapshot) -> &str {
    if snapshot.phase.name.is_empty() { "it begins" } else { &snapshot.phase.name }
}

/// The command line, with the program's name without its directory.
pub(super) fn command_line(snapshot: &Snapshot) -> String {
    let mut words = snapshot.job.arguments.iter();
    let program = words.next().map(|word| word.rsplit('/').next().unwrap_or(word));
    program.into_iter().chain(words.map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// The number of terminal columns that a text takes.
pub(super) fn columns_of(text: &str) -> usize {
    text.width()
}

/// The text in at most `columns` columns; an ellipsis marks a cut.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_owned();
    }
    match columns.checked_sub(1) {
        Some(columns) => format!("{}…", beginning(text, columns)),
        None => String::new(),
    }
}

/// The longest beginning of a text that takes at most `columns` columns.
fn beginning(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Joins the pieces that fit into `columns` columns with commas, in their order. The piece of the
/// highest rank is the first to be left out; a piece of rank 0 is cut instead.
pub(super) fn fitting(pieces: &[(u8, String)], columns: usize) -> String {
    let mut ranks: Vec<u8> = pieces.iter().map(|(rank, _)| *rank).collect();
    ranks.sort_unstable();
    let joined = |most: u8| {
        let kept = pieces.iter().filter(|(rank, _)| *rank <= most).map(|(_, piece)| &**piece);
        kept.collect::<Vec<_>>().join(", ")
    };
    let fits = |most: &&u8| columns_of(&joined(**most)) <= columns;
    match ranks.iter().rev().find(fits) {
        Some(most) => joined(*most),
        None => cut(&joined(0), columns),
    }
}

/// Folds a text into lines of at most `columns` columns, broken at spaces. A longer word is broken
/// inside.
pub(super) fn folded(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let fits = |word: &str, columns: usize| beginning(word, columns).len() == word.len();
    let (mut lines, mut line) = (Vec::new(), String::new());
    // Columns of the line, once it has a word.
    let mut used = None;
    for mut word in text.split(' ') {
        if let Some(before) = used {
            if before < columns && fits(word, columns - before - 1) {
                line.push(' ');
                used = Some(before + 1);
            } else {
                lines.push(std::mem::take(&mut line));
                used = None;
            }
        }
        while used.is_none() && !fits(word, columns) {
            // At least one character.
            let letter = word.chars().next().map_or(0, char::len_utf8);
            let end = beginning(word, columns).len().max(letter);
            if end == word.len() {
                break;
            }
            lines.push(word[..end].to_owned());
            word = &word[end..];
        }
        line += word;
        used = Some(used.unwrap_or(0) + columns_of(word));
    }
    lines.push(line);
    lines
}

/// Describes what a killed job left.
pub(super) fn leftovers_text(leftovers: &Leftovers) -> String {
    let mut text = format!("its status ({})", Count(leftovers.status.len() as u64, "file"));
    for (path, bytes) in &leftovers.hidden {
        let _ = write!(text, ", {} ({})", DisplayPath(path), Decimal(*bytes as f64));
    }
    for upload in &leftovers.uploads {
        let _ = write!(text, ", an upload to {}", upload.url);
    }
    text
}

/// What several dead jobs left, in numbers.
pub(super) fn all_leftovers_text<'a>(all: impl Iterator<Item = &'a Leftovers> + Clone) -> String {
    let status: usize = all.clone().map(|leftovers| leftovers.status.len()).sum();
    let mut text = format!("their status ({})", Count(status as u64, "file"));
    let hidden = all.clone().flat_map(|leftovers| &leftovers.hidden);
    let (files, bytes) = hidden.fold((0, 0), |(files, sum), (_, bytes)| (files + 1, sum + bytes));
    if files > 0 {
        let _ = write!(text, ", {} ({})", Count(files, "hidden file"), Decimal(bytes as f64));
    }
    let uploads: usize = all.map(|leftovers| leftovers.uploads.len()).sum();
    if uploads > 0 {
        let _ = write!(text, ", {}", Count(uploads as u64, "upload"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer als", 6), "größe…");
        assert_eq!(cut("中中中", 4), "中…");
        assert_eq!((cut("ab", 1), cut("a", 0)), ("…".into(), String::new()));
    }

    #[test]
    fn pieces_are_left_out_by_rank() {
        let pieces = [(1, "512 MB/s"), (0, "78% done"), (2, "7 s left")];
        let pieces = pieces.map(|(rank, piece)| (rank, piece.to_owned()));
        assert_eq!(fitting(&pieces, 28), "512 MB/s, 78% done, 7 s left");
        assert_eq!(fitting(&pieces, 27), "512 MB/s, 78% done");
        assert_eq!(fitting(&pieces, 17), "78% done");
        assert_eq!(fitting(&pieces, 7), "78% do…");
    }

    #[test]
    fn long_texts_are_broken_at_blanks() {
        assert_eq!(folded("a bc def", 4), ["a bc", "def"]);
        assert_eq!(folded("/a/long/path b", 5), ["/a/lo", "ng/pa", "th b"]);
        assert_eq!(folded("中中", 1), ["中", "中"]);
        assert_eq!(folded("ab cdefgh ij", 3), ["ab", "cde", "fgh", "ij"]);
        assert_eq!(folded("a  b", 9), ["a  b"]);
        assert_eq!(folded("", 5), [""]);
    }

    /// A command line may have a megabyte.
    #[test]
    fn very_long_texts_take_no_time_to_speak_of() {
        let text = "中".repeat(1 << 20);
        assert_eq!(columns_of(&cut(&text, 80)), 79);
        assert_eq!(folded(&text, 80).len(), (1usize << 20).div_ceil(40));
        let words = "a b ".repeat(1 << 18);
        assert_eq!(folded(&words, usize::MAX), [words]);
    }
}

//! Figures as people read them.

use crate::decimal::Decimal;
pub(super) use crate::decimal::span;
use std::fmt::Write;
use xsort_disk::DisplayPath;
use xsort_status::{Leftovers, Snapshot};

/// A rate.
pub(super) fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", Decimal(bytes_per_second))
}

/// The share of the phase that is done, 0 to 1; `None` if its size is unknown.
pub(super) fn phase_share(snapshot: &Snapshot) -> Option<f64> {
    let phase = &snapshot.phase;
    (phase.bytes > 0).then(|| (phase.done_bytes as f64 / phase.bytes as f64).min(1.0))
}

/// "57% of 8.00 GB", "4.56 GB", or "4.56 GB in 1200 files".
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

/// The name of the phase; before the first one, "it begins".
pub(super) fn phase_name(snapshot: &Snapshot) -> &str {
    if snapshot.phase.name.is_empty() { "it begins" } else { &snapshot.phase.name }
}

/// The command line; the program without its directory.
pub(super) fn command_line(snapshot: &Snapshot) -> String {
    let mut words = snapshot.job.arguments.iter();
    let program = words.next().map(|word| word.rsplit('/').next().unwrap_or(word));
    program.into_iter().chain(words.map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// At most so many characters of a text; an ellipsis stands for what was cut.
pub(super) fn cut(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(characters.saturating_sub(1)).collect();
    beginning + "…"
}

/// What a killed job left.
pub(super) fn leftovers_text(leftovers: &Leftovers) -> String {
    let files = |count: usize| format!("{count} file{}", if count == 1 { "" } else { "s" });
    let mut text = format!("its status ({})", files(leftovers.status.len()));
    for (path, bytes) in &leftovers.hidden {
        let _ = write!(text, ", {} ({})", DisplayPath(path), Decimal(*bytes as f64));
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
        assert_eq!(cut("a", 0), "…");
    }
}

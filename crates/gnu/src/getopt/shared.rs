//! Options that mean the same in all commands of xsort, whether GNU's or not.

use super::quote::Quoting;
use super::refusal::{Refusal, joined, no_such_word};
use super::words::choose;

/// The short options, by their long names.
pub(crate) const LETTERS: &[(u8, &str)] = &[(b'j', "threads"), (b'q', "quiet"), (b'v', "verbose")];

/// The most threads that can be requested.
const THREADS_MAX: u64 = 1024;

/// The words of [`When`].
pub(crate) const WHEN_WORDS: [(&str, When); 3] =
    [("auto", When::Auto), ("always", When::Always), ("never", When::Never)];

/// When to show something: `--progress=WHEN`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Show only on a terminal.
    #[default]
    Auto,
    /// Show in any case.
    Always,
    /// Show in no case.
    Never,
}

/// Parses the argument of such an option. Without an argument it is [`When::Always`].
pub(crate) fn when(
    argument: Option<&[u8]>,
    option: &str,
    quoting: Quoting<'_>,
) -> Result<When, Refusal> {
    let Some(argument) = argument else { return Ok(When::Always) };
    one_of(argument, option, &WHEN_WORDS, quoting)
}

/// The meaning of one of several words. Words of the same meaning must be adjacent.
pub(crate) fn one_of<M: Copy + PartialEq>(
    word: &[u8],
    option: &str,
    words: &[(&str, M)],
    quoting: Quoting<'_>,
) -> Result<M, Refusal> {
    choose(word, words).map_err(|is_ambiguous| {
        let groups: Vec<Vec<&str>> = words
            .chunk_by(|a, b| a.1 == b.1)
            .map(|group| group.iter().map(|(word, _)| *word).collect())
            .collect();
        let groups: Vec<&[&str]> = groups.iter().map(Vec::as_slice).collect();
        no_such_word(word, option, is_ambiguous, &groups, quoting)
    })
}

/// Parses the argument of `--threads`. `None` means as many as there are processors.
pub(crate) fn threads(argument: &[u8], quoting: Quoting<'_>) -> Result<Option<usize>, Refusal> {
    let is_number = !argument.is_empty() && argument.iter().all(u8::is_ascii_digit);
    let number = str::from_utf8(argument).ok().filter(|_| is_number);
    match number.and_then(|number| number.parse().ok()) {
        Some(0) => Ok(None),
        Some(threads @ 1..=THREADS_MAX) => Ok(Some(threads as usize)),
        _ => Err(Refusal::new(joined(&[
            b"invalid --threads argument ",
            &quoting.quote(argument),
            b": from 0 (as many as processors) to 1024 are possible",
        ]))),
    }
}

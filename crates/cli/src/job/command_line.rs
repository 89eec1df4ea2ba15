//! The command line of this process, as others may see it: without secrets, and not longer than
//! wanted.

use std::env;
use xsort_disk::public_text;

/// The words of the command line, at most `words_max` with `bytes_max` bytes in all. If there are
/// more, `...` stands for them.
pub(crate) fn arguments(words_max: usize, bytes_max: usize) -> Vec<String> {
    let mut bytes = 0;
    let words = env::args_os().map(|word| public_text(&word.to_string_lossy()).into_owned());
    let fits = |word: &String| {
        bytes += word.len();
        bytes <= bytes_max
    };
    let mut arguments: Vec<String> = words.take(words_max).take_while(fits).collect();
    if arguments.len() < env::args_os().len() {
        arguments.push("...".into());
    }
    arguments
}

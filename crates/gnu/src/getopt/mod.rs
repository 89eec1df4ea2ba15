//! Parts of a command line that GNU's programs share: getopt's rules for options and operands,
//! arguments that may be abbreviated, quotation marks, and the form of a refusal.
//!
//! ```text
//! words      options in clusters and in full, their arguments, operands; words that are
//!            abbreviated
//! quote      arguments and file names in messages
//! refusal    a command line that is refused: message and exit status
//! help_page  a help text taken apart
//! shared     options that mean the same in all commands of xsort
//! ```
//!
//! Each program defines the meaning of its options: see [`sort`](crate::sort) and
//! [`du`](crate::du).

mod help_page;
mod quote;
mod refusal;
mod shared;
mod words;

#[cfg(test)]
pub(crate) use help_page::differences;
pub use help_page::{HelpArgument, HelpOption, HelpPage, Note, OptionGroup};
pub(crate) use quote::Quoting;
pub use quote::{quoted_name, shown_name};
pub use refusal::Refusal;
pub(crate) use refusal::{bad_argument, incompatible, joined, system_reason};
pub use shared::When;
pub(crate) use shared::{LETTERS, WHEN_WORDS, one_of, threads, when};
pub(crate) use words::{Given, Long, Said, Takes, Vocabulary, Words, WrongWord, choose, long};

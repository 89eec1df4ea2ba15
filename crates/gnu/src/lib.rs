//! GNU sort and GNU du: their command lines, orders of lines, formats of figures, and messages.
//!
//! A pure library: it opens no file and starts no thread. The programs' behaviour is known from
//! their manual (GNU coreutils, "sort invocation" and "du invocation") and from running them; the
//! tests run them again and compare.
//!
//! ```text
//! sort        du            what each program means, and how it answers
//!    \       /
//!     getopt   collator     options, quotation marks, refusals of any GNU program | keys of text
//!        |    /
//!     locale                tables of a locale
//!        |
//!   collation               text by the rules of a language
//!        |
//!       sys                 the C library's locales: the only unsafe code
//! ```
//!
//! Imports only point down.
//!
//! How a sort uses it:
//!
//! ```
//! use xsort_gnu::Locale;
//! use xsort_gnu::sort::{Environment, Order, Request, Scratch, parse};
//!
//! let locale = Locale::from_environment().unwrap_or_else(Locale::c);
//! let environment = Environment::new(|_| None, locale.clone());
//! let Request::Run(command) = parse(["-t:", "-k2,2n", "-s"], &environment)? else {
//!     unreachable!()
//! };
//! let order = Order::new(&command, &locale, [0; 16]);
//!
//! // One scratch a thread. Sort by words, and compare where they are equal.
//! let mut scratch = Scratch::default();
//! let lines: [&[u8]; 3] = [b"a:10", b"b:9", b"c:10.0"];
//! let mut words = Vec::new();
//! order.words(lines.into_iter(), 0, &mut scratch, &mut words);
//! let mut sorted: Vec<usize> = vec![0, 1, 2];
//! sorted.sort_by(|&a, &b| {
//!     words[a].cmp(&words[b]).then_with(|| order.compare(lines[a], lines[b], &mut scratch))
//! });
//! assert_eq!(sorted, [1, 0, 2]);
//! # Ok::<(), xsort_gnu::Refusal>(())
//! ```

mod c_text;
mod collation;
mod collator;
pub mod du;
mod getopt;
mod locale;
mod name_order;
mod shared_bytes;
pub mod sort;
mod sys;

pub use collator::{Collator, CollatorScratch};
pub use getopt::{
    HelpArgument, HelpOption, HelpPage, Note, OptionGroup, Refusal, When, quoted_name, shown_name,
};
pub use locale::{Locale, Numerals};
pub use name_order::{NameOrder, NamedTwice};

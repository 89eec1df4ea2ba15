//! A page in HTML about a run of xsort, or about two beside each other.
//!
//! ```text
//!  --json --> Run::read --> page --> one file: text, tables, SVG, a style sheet
//! ```
//!
//! The page needs no network and no script, and its policy (Content-Security-Policy) allows
//! neither. All text goes through the templates of `maud`, which escape it: names of files may be
//! hostile. A sentence at the top says what bounded the run, where the figures show it.
//!
//! | file | idea |
//! |---|---|
//! | `run` | a run, as its report in JSON tells it |
//! | `largest` | the largest files and directories of a tree |
//! | `bound` | what bounded the run, and what could be changed |
//! | `page` | the frame, and the order of the parts |
//! | `facts` | the figures of a run as tables |
//! | `compare` | two runs beside each other |
//! | `timeline` | what each thread did over time |
//! | `curves` | rates, memory, scratch and temperature over time |
//! | `treemap` | a tree of files as a map |
//! | `units` | figures as people read them |

#![forbid(unsafe_code)]

mod bound;
mod compare;
mod curves;
mod facts;
mod largest;
mod page;
mod run;
mod timeline;
mod treemap;
mod units;

pub use facts::shell_word;
pub use page::page;
pub use run::{Error, Run};

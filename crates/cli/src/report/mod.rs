//! What is left of a run: facts for its report, the page about it, and its trace.
//!
//! ```text
//!  ReportFiles::create --> (the run) --> RunFacts --> JSON --> --json
//!                                                       |----> --report: a page (`xsort_report`)
//!                                                       `----> --trace
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `facts` | what all reports say of a run: command line, machine, stages |
//! | `files` | the files of a page and a trace: opened before the run, written after it |
//! | `trace` | what each thread did, in Chrome's trace format |
//! | `page_command` | `xsort report`: a page from reports of earlier runs |

mod facts;
mod files;
pub(crate) mod page_command;
mod trace;

pub(crate) use facts::RunFacts;
pub(crate) use files::{ReportFiles, ReportRequest};

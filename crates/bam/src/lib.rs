//! BAM files bigger than memory: alignments in the orders of samtools.
//!
//! ```text
//!  inputs --> BGZF inflated --> walk from length to length --> keyed records --> sort_keyed
//!            (all threads)     (the reading thread)           (all threads)          |
//!                                                    BGZF, and its index <-- header, records
//!                                                     (all threads)
//! ```
//!
//! Records are written unchanged. Source: the SAM and BAM specification (hts-specs), and the orders
//! of the program samtools.
//!
//! | file | idea |
//! |---|---|
//! | `sort` | the outline |
//! | `header` | the header of a file; one header of several |
//! | `order` | the orders, and the keys of records |
//! | `keying` | reads an input: cuts its records, builds their keys |
//! | `bad_record` | errors of inputs that can't be sorted |
#![forbid(unsafe_code)]

mod bad_record;
mod header;
mod keying;
mod order;
mod sort;

pub use order::{BamOrder, NoOrder};
pub use sort::{BamOptions, plan_bam, sort_bam};

//! A sort on many machines, in steps that a scheduler runs: the steps, and the files that pass
//! between them.
//!
//! ```text
//!  inputs --plan--> job        M slices of the input, R parts of the output
//!  job, slice --sample--> keys of a slice, at evenly spaced places
//!  job, samples --split--> R - 1 splitters
//!  job, splitters, slice --map--> the slice, sorted and cut at the splitters; its manifest
//!  job, part, manifests --merge--> the part; its summary
//!  job, manifests, summaries --validate--> whether nothing is missing, doubled or out of order
//! ```
//!
//! A *splitter* is a place in the total order of all records: a key, a slice, and an offset in that
//! slice. Records with the splitter's key lie below it if their slice precedes the splitter's, and
//! above it if their slice follows. Those in the splitter's own slice are divided in the proportion
//! in which the offset divides the slice. So a frequent key is split like any other, and the parts,
//! one after the other, are the stable sort of the slices, one after the other.
//!
//! | file | idea |
//! | `job`, `slices` | the inputs, divided into slices |
//! | `sample`, `splitters` | the places at which parts begin |
//! | `manifest`, `index`, `part_entry` | a sorted slice, and its entry for a part |
//! | `coverage` | checks that all slices are there |
//! | `summary`, `validate` | a finished part, and the check of all parts |
//! | `planning`, `mapping`, `merging` | the steps, as far as all kinds of data share them |
//! | `document`, `hex` | these as files of JSON |
//! | `input_tag`, `means`, `error` | identifies an input; resources of a step; errors |
//! | `steps` | the trait that each kind of data implements |
//! | `steps` | what each kind of data has its own form of |
//! | `cutting`, `record_sum`, `places` | ranges between cuts; counts and sums; small reads |
//! | `cutting`, `record_sum`, `places` | what lies between cuts; counts and sums; small reads |
//! | `records` | the steps for records of one size |
//! | `delimited`, `lines` | the steps for records that end with a byte; for lines |
//! | `keyed` | the steps for keyed records |
//! | `prefixed` | the steps for records that begin with their length |
//! | `tables` | the steps for rows of tables |
//! | `parquet` | the steps for rows of Parquet, with the Python package |
//!
//! Every file contains the job's ID, a digest of its definition, so that files of another job are
//! rejected. Counts and checksums accompany the data from step to step.
#![forbid(unsafe_code)]

mod coverage;
mod cutting;
mod delimited;
mod document;
mod error;
mod hex;
mod index;
mod input_tag;
mod job;
mod keyed;
mod lines;
mod manifest;
mod mapping;
mod means;
mod merge_range;
mod merging;
mod parquet;
mod part_entry;
mod places;
mod planning;
mod prefixed;
mod record_sum;
mod records;
mod sample;
mod serve;
mod slices;
mod splitters;
mod steps;
mod summary;
mod tables;
mod validate;

pub use coverage::{PartSource, cover, entries_in, entries_of};
pub use document::{Document, document_files, read_document, write_document};
pub use error::Error;
pub use hex::Hex;
pub use input_tag::input_tag;
pub use job::{Job, JobInput, Slice, SliceInput, path_text};
pub use lines::Lines;
pub use manifest::{Manifest, PartRange, SliceFiles, SortedSlice};
pub use mapping::{Mapped, map_slice};
pub use means::Means;
pub use merge_range::MergeRange;
pub use merging::merge_part;
pub use parquet::Parquet;
pub use part_entry::PartEntry;
pub use planning::{SliceSizes, plan_job};
pub use prefixed::Prefixed;
pub use records::Records;
pub use sample::{Sample, SampledKey, SliceSample};
pub use serve::Server;
pub use splitters::{Splitter, Splitters, quantiles};
pub use steps::Steps;
pub use summary::{Merged, Summary};
pub use tables::Tables;
pub use validate::{Validated, check_outputs, validate};

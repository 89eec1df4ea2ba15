//! A sort on many machines, in steps that a scheduler runs: what each step does, and the files that
//! pass between them.
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
//! A *splitter* is a place in the total order of all records: a key, a slice, an offset in it.
//! Records with the splitter's key lie below it if their slice comes before the splitter's, above
//! it if theirs comes later, and those of the slice itself are divided as the offset divides the
//! slice. So one heavy key is split as any other, and the parts, one after the other, are the
//! stable sort of the slices, one after the other.
//!
//! | file | idea |
//! |---|---|
//! | `job`, `slices` | what is sorted, cut into slices |
//! | `sample`, `splitters` | where the parts begin |
//! | `manifest`, `index`, `part_entry` | a sorted slice, and what it has of a part |
//! | `coverage` | whether all slices have come |
//! | `summary`, `validate` | a finished part, and whether all parts are right |
//! | `planning`, `mapping`, `merging` | the steps, as far as all kinds of data share them |
//! | `document`, `hex` | these as files of JSON |
//! | `input_tag`, `means`, `error` | what identifies an input; what a step may use; why it fails |
//! | `steps` | what each kind of data has its own form of |
//! | `serve` | sorted slices over HTTP |
//! | `cutting`, `record_sum`, `places` | what lies between cuts; counts and sums; small reads |
//! | `records` | the steps for records of one size |
//! | `delimited`, `lines` | those for records that end with a byte; for lines |
//! | `keyed` | those for records behind their keys |
//! | `prefixed` | those for records that begin with their length |
//! | `tables` | those for rows of tables |
//! | `parquet` | those for rows of Parquet, by the Python package |
//!
//! Every file carries the job's number, a digest of what defines it, so that those of another job
//! are refused. Data carries counts and checksums from step to step.
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

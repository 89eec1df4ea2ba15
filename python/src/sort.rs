//! `xsort.sort`.

use crate::amounts::{Size, Whole};
use crate::arguments::{Merge, Record, key_fields, layout, named, optional_paths, path, paths};
use crate::errors::Failure;
use crate::job::Job;
use crate::reports::SortReport;
use crate::resources::resources;
use pyo3::prelude::*;
use xsort::{Method, Prefix, Prefixed, Resources, Sort};

/// Sorts files of records by their keys, stably.
///
/// The records are the Sort Benchmark's (100 bytes, the first 10 of which are the key), unless
/// `format` names another format ("gensort", "gensort-ascii", "kv128", "block4k"), or `record` is
/// the number of bytes of a record and `key` its keys, "OFFSET:LENGTH[:TYPE][:desc]" each. Records
/// of varying length begin with it: `record` is "prefixed:u32le" then (or u8, u16le, u16be, u32be,
/// u64le, u64be, varint), and offsets count from behind it. Such sorts have no method, checkpoint
/// or `remove_input`.
///
/// `memory` is the most memory for all that grows with the data: bytes, "1G", or a percentage of
/// what is available ("50%", the default). `scratch` are directories for temporary files: the
/// output's, unless given. `method` is "auto", "merge" or "scatter". With `merge=True` each
/// input is in order already: they are merged, and one that isn't in order is an error. With
/// `merge="any"` all are sorted then. `remove_input` removes the inputs once the output is in
/// place, or before if their space is needed. With `sync=False` the kernel decides when the output
/// is durable. `checkpoint` keeps finished work in hidden files,
/// and resumes an interrupted sort to the same output. `bandwidth_limit` is in bytes a second.
/// `verify_output` reads an output that is an object back, and compares it with what was sent.
/// `progress` is a callable that gets a Progress ten times a second, or True for a bar of tqdm.
///
/// The output may be one of the inputs. It appears whole or not at all.
///
/// Raises xsort.Error, of which NoSpace, BudgetTooSmall, Corrupt and Unsuitable are kinds.
#[pyfunction]
#[pyo3(signature = (inputs, output, *, format=None, record=None, key=None, memory=None,
    threads=None, scratch=None, method="auto", merge=None, remove_input=false,
    sync=true, checkpoint=false, bandwidth_limit=None, verify_output=false, progress=None))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn sort(
    py: Python<'_>,
    inputs: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    format: Option<&str>,
    record: Option<Record>,
    key: Option<&Bound<'_, PyAny>>,
    memory: Option<Size>,
    threads: Option<Whole>,
    scratch: Option<&Bound<'_, PyAny>>,
    method: &str,
    merge: Option<Merge>,
    remove_input: bool,
    sync: bool,
    checkpoint: bool,
    bandwidth_limit: Option<Size>,
    verify_output: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<SortReport> {
    let (output, inputs, scratch) = (path(output)?, paths(inputs)?, optional_paths(scratch)?);
    let (method, merge) = (named::<Method>(method)?, Merge::must_be_in_order(merge.as_ref())?);
    if merge.is_some() && method != Method::Auto {
        return Err(Failure::of_argument("merge and method: leave one of both out").into());
    }
    let resources = Resources { verify_output, ..resources(memory, threads, bandwidth_limit)? };
    let record = match record {
        Some(Record::Prefixed(prefix)) => {
            if format.is_some() || method != Method::Auto || remove_input || checkpoint {
                let text = "format, method, remove_input and checkpoint are for records of one \
                            size: leave them out";
                return Err(Failure::of_argument(text).into());
            }
            let prefixed = Prefixed::files(named::<Prefix>(&prefix)?, inputs)
                .keys(key_fields(key)?)
                .scratch(scratch);
            let prefixed = prefixed
                .when(!sync, Prefixed::no_sync)
                .when(merge == Some(true), Prefixed::merge)
                .when(merge == Some(false), Prefixed::merge_or_sort);
            let job = Job::new(progress)?;
            let prefixed =
                prefixed.resources(resources).cancel(job.cancel()).callbacks(job.callbacks());
            let (report, notices) = job.run(py, move || prefixed.run(&output))?;
            return Ok(SortReport::of_prefixed(report, notices));
        }
        Some(Record::Bytes(bytes)) => Some(bytes),
        None => None,
    };
    let mut sort = Sort::files(inputs).method(method).scratch(scratch);
    if let Some(layout) = layout(format, record, key)? {
        sort = sort.layout(layout);
    }
    let sort = sort
        .when(merge == Some(true), Sort::merge)
        .when(merge == Some(false), Sort::merge_or_sort)
        .when(remove_input, Sort::remove_input)
        .when(!sync, Sort::no_sync)
        .when(checkpoint, Sort::checkpoint);
    let job = Job::new(progress)?;
    let sort = sort.resources(resources).cancel(job.cancel()).callbacks(job.callbacks());
    let (report, notices) = job.run(py, move || sort.run(&output))?;
    Ok(SortReport::new(&report, notices))
}

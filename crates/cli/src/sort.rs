//! `xsort sort`: sorts files of records, or says how it would.

use crate::args::SortArgs;
use crate::caches::caches;
use crate::exit::Failure;
use crate::names_memory::{NamesMemory, TooMany};
use crate::output::Output;
use crate::progress::{Console, Task};
use crate::publish::Uses;
use crate::settings::{self, Allowance, Voice};
use crate::signals::Stop;
use crate::stdin;
use crate::trees::{self, Expanded, Refusal, Rules};
use serde::Serialize;
use std::fmt;
use std::fs;
use xsort_disk::Disk;
use xsort_extsort::fixed::{Facts, Method, plan};
use xsort_extsort::{Error, Observer, SortOptions, SortReport, dry_run, sort_streamed};
use xsort_records::Layout;

pub(crate) fn run(args: &SortArgs, stop: &Stop) -> Result<(), Failure> {
    let voice = Voice::decide(&args.report);
    let layout = settings::layout(&args.records)?;
    let output = fs::metadata(&args.output).ok().map(|metadata| trees::identity(&metadata));
    let allowance = Allowance::decide(&args.resources, stop);
    let rules = Rules {
        counts_links: args.trees.count_links,
        output,
        budget_bytes: allowance.budget_bytes,
    };
    let mut names = NamesMemory::default();
    let expanded = trees::expand(&args.inputs, rules, &mut names, || stop.is_set());
    let Expanded { files, notices } = match expanded {
        Err(Refusal::TooMany(TooMany { budget_bytes, .. })) => {
            let needed_bytes =
                names.of_budget() + data_bytes_min(&names, &layout, args.method, &allowance);
            return Err(Failure::Job(Error::Memory { budget_bytes, needed_bytes }));
        }
        expanded => expanded?,
    };
    let (inputs, stream) = stdin::inputs(files, args, stop)?;
    let disk = allowance.disk()?;
    let console = Console::new(Task {
        command: "sort",
        voice,
        uses: Uses { limit_bytes_per_second: allowance.bytes_per_second(), ..uses(args) },
        limit: allowance.limit.clone(),
        stop: Some(stop),
    });
    allowance.notice.iter().chain(&notices).for_each(|line| console.notice(line));

    let options = SortOptions {
        inputs,
        output: args.output.clone(),
        layout,
        format_is_assumed: settings::is_format_assumed(&args.records),
        budget_bytes: allowance.budget_bytes - names.of_budget().min(allowance.budget_bytes),
        method: args.method,
        threads: allowance.threads,
        caches: caches(args.cache_size),
        scratch: args.scratch.clone(),
        remove_input: args.remove_input,
        sync: !args.no_sync,
        probe: args.dry_run || args.probe,
        checkpoint: args.checkpoints.asked(),
    };
    let output = Output::new(voice);
    if args.dry_run {
        let plan = dry_run(&options, &disk, &console).map_err(|error| names.beside(error))?;
        disk.notices().iter().for_each(|line| console.notice(line));
        drop(console);
        return output.print("sort", &plan);
    }
    let report =
        sort_streamed(&options, stream, &disk, &console).map_err(|error| names.beside(error))?;
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);
    if args.verbose {
        output.print("sort", &InDetail(&report))
    } else {
        output.print("sort", &report)
    }
}

/// The least memory beside their names to sort files with, in bytes; what was asked for, if that is
/// enough.
fn data_bytes_min(
    names: &NamesMemory,
    layout: &Layout,
    method: Method,
    allowance: &Allowance,
) -> u64 {
    let facts = Facts {
        input_bytes: names.file_bytes.clone(),
        record_bytes: layout.record_bytes() as u64,
        key_bytes: layout.key_bytes() as u64,
        budget_bytes: allowance.budget_bytes,
        threads: allowance.threads,
        method,
        may_keep: true,
    };
    match plan(&facts) {
        Err(Error::Memory { needed_bytes, .. }) => needed_bytes,
        _ => allowance.budget_bytes,
    }
}

/// What a sort reads and writes.
fn uses(args: &SortArgs) -> Uses {
    let output = settings::directory_of(&args.output);
    let mut directories: Vec<_> =
        args.scratch.iter().map(|path| (path.clone(), "scratch")).collect();
    let inputs = args.inputs.iter().filter(|path| path.as_os_str() != "-");
    directories.extend(inputs.map(|path| (trees::directory_of(path), "input")));
    directories.push((output.clone(), "output"));
    directories.dedup();
    Uses { directories, places: [vec![output], args.scratch.clone()].concat(), ..Uses::default() }
}

/// A report whose text also tells of every chunk and every bin.
#[derive(Serialize)]
struct InDetail<'a>(&'a SortReport);

impl fmt::Display for InDetail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

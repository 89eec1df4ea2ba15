//! `xsort sort`: sorts files of records, or says how it would.

use crate::args::SortArgs;
use crate::caches::caches;
use crate::exit::Failure;
use crate::output::Output;
use crate::progress::Console;
use crate::settings::{self, Allowance, Voice};
use crate::signals::Stop;
use crate::stdin;
use serde::Serialize;
use std::fmt;
use xsort_disk::Disk;
use xsort_extsort::{Observer, SortOptions, SortReport, dry_run, sort_streamed};

pub(crate) fn run(args: &SortArgs, stop: &Stop) -> Result<(), Failure> {
    let voice = Voice::decide(&args.report);
    let layout = settings::layout(&args.records)?;
    let (inputs, stream) = stdin::inputs(args, stop)?;
    let allowance = Allowance::decide(&args.resources);
    let disk = allowance.disk()?;
    let console = Console::new(voice, stop);
    allowance.notice.iter().for_each(|line| console.notice(line));

    let options = SortOptions {
        inputs,
        output: args.output.clone(),
        layout,
        budget_bytes: allowance.budget_bytes,
        method: args.method,
        threads: allowance.threads,
        caches: caches(args.cache_size),
        scratch: args.scratch.clone(),
        remove_input: args.remove_input,
        sync: !args.no_sync,
        probe: args.dry_run || args.probe,
    };
    let output = Output::new(voice);
    if args.dry_run {
        let plan = dry_run(&options, &disk, &console)?;
        disk.notices().iter().for_each(|line| console.notice(line));
        drop(console);
        return output.print("sort", &plan);
    }
    let report = sort_streamed(&options, stream, &disk, &console)?;
    disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);
    if args.verbose { output.print("sort", &InDetail(&report)) } else { output.print("sort", &report) }
}

/// A report whose text also tells of every chunk and every bin.
#[derive(Serialize)]
struct InDetail<'a>(&'a SortReport);

impl fmt::Display for InDetail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

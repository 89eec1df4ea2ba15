//! The words of the command that a job stands for, understood by that command's own parser.

use super::definition::matches_of;
use crate::args::SortArgs;
use crate::exit::Failure;
use crate::settings;
use clap::FromArgMatches;
use xsort_parts::{Job, Records, Steps};

/// Options of `sort` that say what the records are and how they compare.
const OF_SORT: [&str; 4] = ["format", "record", "keys", "stable"];

/// What a job's words mean.
///
/// # Errors
/// If they are no such command, or say more than what the data is and how it compares.
pub(super) fn steps_of(words: &[String]) -> Result<Box<dyn Steps>, Failure> {
    match words.first().map(String::as_str) {
        Some("sort") => records(words),
        Some(other) => {
            Err(Failure::Usage(format!("'{other}' can't be sorted in parts: after -- write sort")))
        }
        None => Err(Failure::Usage("after -- there must be a command: sort".into())),
    }
}

/// What a job that was read means.
///
/// # Errors
/// As [`steps_of`].
pub(super) fn steps_of_job(job: &Job) -> Result<Box<dyn Steps>, Failure> {
    steps_of(&job.command)
}

fn records(words: &[String]) -> Result<Box<dyn Steps>, Failure> {
    let matches = matches_of(words, &OF_SORT)?;
    let args = SortArgs::from_arg_matches(&matches)
        .map_err(|error| Failure::Usage(crate::args::usage_line(&error)))?;
    if settings::prefix(&args.records).is_some() {
        let reason = "--record prefixed:TYPE: records that begin with their length can't be \
                      sorted in parts";
        return Err(Failure::Usage(reason.into()));
    }
    let format_is_assumed = settings::is_format_assumed(&args.records);
    Ok(Box::new(Records { layout: settings::layout(&args.records)?, format_is_assumed }))
}

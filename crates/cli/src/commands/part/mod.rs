//! `xsort part`: the steps of a sort on many machines. `xsort_parts` runs them; these modules turn
//! arguments into its settings.

mod definition;
mod job_words;
mod locale;
mod merge;
mod outcome;
mod serve;
mod steps;

use crate::args::{PartArgs, PartStep};
use crate::exit::Failure;
use crate::signals::Stop;

pub(crate) fn run(args: &PartArgs, stop: &Stop) -> Result<(), Failure> {
    match &args.step {
        PartStep::Plan(args) => steps::plan(args, stop),
        PartStep::Sample(args) => steps::sample(args, stop),
        PartStep::Split(args) => steps::split(args, stop),
        PartStep::Map(args) => steps::map(args, stop),
        PartStep::Serve(args) => serve::run(args, stop),
        PartStep::Merge(args) => merge::run(args, stop),
        PartStep::Validate(args) => steps::validate(args, stop),
    }
}

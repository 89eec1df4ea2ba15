//! Messages on standard error for failures of the engine.

use super::failure::{self, Failure};
use super::target::Target;
use crate::settings::with_outer_limit;
use rustix::io::Errno;
use xsort_disk::Operation;
use xsort_extsort::Error;
use xsort_extsort::units::Bytes;

/// The failure of a sort or merge.
pub(super) fn of_job(error: &Error, target: &Target<'_>) -> Failure {
    match error {
        Error::Output(error) => target.failed(error),
        Error::Space { directory, .. } | Error::ScratchFull { directory, .. } => {
            Failure::of_file("write failed", directory.as_os_str(), &Errno::NOSPC.into())
        }
        Error::Disk(error) if target.is_at(&error.path) => target.failed(&error.source),
        Error::Disk(error) => match error.operation {
            Operation::Read => failure::of_engine_read(error),
            Operation::Create => {
                let directory = error.path.parent().unwrap_or(&error.path);
                failure::of_scratch(directory.as_os_str(), &error.source)
            }
            Operation::Write | Operation::Reserve => {
                let failure =
                    Failure::of_file("write failed", error.path.as_os_str(), &error.source);
                failure.with_limit_hint(&error.source)
            }
            _ => Failure::Message(error.to_string().into()),
        },
        other => of_plan(other),
    }
}

/// The failure of a sort that can't be planned.
pub(super) fn of_plan(error: &Error) -> Failure {
    match error {
        Error::Memory { budget_bytes, needed_bytes } => {
            let (budget, enough) = (Bytes(*budget_bytes), needed_bytes.div_ceil(1 << 20));
            let text = format!(
                "a memory budget of {budget} is too small for so much input: \
                 it needs at least -S {enough}M"
            );
            Failure::Message(with_outer_limit(text).into())
        }
        other => Failure::Message(with_outer_limit(other.to_string()).into()),
    }
}

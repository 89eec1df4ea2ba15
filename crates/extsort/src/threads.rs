//! Starting the threads of a stage, as many as the system gives.

use crate::Error;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::thread::{Builder, Scope};

/// Runs `work(0)`, `work(1)` ... on `wanted` threads, or on fewer if the system refuses more (a limit on processes or on address space).
///
/// # Errors
/// If not even one thread could be started.
pub(crate) fn spawn_up_to<'scope, 'env, F>(
    scope: &'scope Scope<'scope, 'env>,
    wanted: usize,
    mut work: impl FnMut(usize) -> F,
) -> Result<usize, Error>
where
    F: FnOnce() + Send + 'scope,
{
    for number in 0..wanted {
        let started = Builder::new().name(format!("xsort-{number}")).spawn_scoped(scope, work(number));
        if let Err(source) = started {
            if number > 0 && source.kind() != ErrorKind::InvalidInput {
                return Ok(number);
            }
            let operation = xsort_disk::Operation::Start;
            return Err(xsort_disk::Error::new(operation, PathBuf::from("a thread"), source).into());
        }
    }
    Ok(wanted)
}

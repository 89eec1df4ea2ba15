//! Starting the threads of a stage: the number wanted, or as many as the system allows.

use crate::Error;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::thread::{Builder, Scope};
use xsort_disk::Lease;

/// Size of a thread's stack in bytes. No function recurses with the size of the data. With the
/// usual 2 MiB, 64 threads would take more address space than the margin beside the budget.
const STACK_BYTES: usize = 512 << 10;
/// Address space that threads must leave free for everything else.
const CUSHION_BYTES: usize = 16 << 20;

/// Runs `work(0)`, `work(1)` ... on `wanted` threads, or on fewer if the system refuses more (a
/// limit on processes or on address space). Returns the number of threads.
///
/// If a thread panics, `fail` is called, so that no other thread waits for its result and the job
/// ends as after any other error.
///
/// # Errors
/// If not even one thread could be started.
pub(crate) fn spawn_up_to<'scope, 'env, F>(
    scope: &'scope Scope<'scope, 'env>,
    wanted: usize,
    fail: impl Fn(Error) + Copy + Send + 'scope,
    mut work: impl FnMut(usize) -> F,
) -> Result<usize, Error>
where
    F: FnOnce() + Send + 'scope,
{
    // Under a limit on address space, the last thread could take all the remaining space.
    let _cushion = if wanted > 1 { Lease::map(CUSHION_BYTES).ok() } else { None };
    for number in 0..wanted {
        let thread = Builder::new().name(format!("xsort-{number}")).stack_size(STACK_BYTES);
        let work = work(number);
        let guarded = move || {
            // Unwind safety: the job has failed, so the unfinished state is never read.
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                fail(Error::Panicked);
            }
        };
        if let Err(source) = thread.spawn_scoped(scope, guarded) {
            if number > 0 && source.kind() != ErrorKind::InvalidInput {
                return Ok(number);
            }
            let operation = xsort_disk::Operation::Start;
            return Err(xsort_disk::Error::new(operation, PathBuf::from("a thread"), source).into());
        }
    }
    Ok(wanted)
}

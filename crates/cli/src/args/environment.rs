//! Defaults from the environment, for options that weren't given.

use super::values::threads as threads_of;
use std::env;
use std::fmt::{self, Display};
use std::path::PathBuf;
use xsort::size::Memory;

const MEMORY: &str = "XSORT_MEMORY";
const THREADS: &str = "XSORT_THREADS";
const SCRATCH: &str = "XSORT_SCRATCH";

/// Which option or variable said how much memory, how many threads and which directories for
/// scratch; `None` for a default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origins([Option<&'static str>; 3]);

impl Display for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [memory, threads, scratch] = self.0.map(|origin| origin.unwrap_or("default"));
        write!(f, "settings memory by {memory}, threads by {threads}, scratch by {scratch}")
    }
}

/// The settings of a job that have a variable.
pub(crate) struct Settings<'s> {
    pub(crate) memory: &'s mut Option<Memory>,
    pub(crate) threads: &'s mut Option<u16>,
    /// `None` if the job has no scratch.
    pub(crate) scratch: Option<&'s mut Vec<PathBuf>>,
}

/// Fills in what wasn't given from the environment. An empty variable counts as none.
///
/// # Errors
/// If a variable that is needed has no value of its kind.
pub(crate) fn fill(settings: Settings<'_>) -> Result<Origins, String> {
    let Settings { memory, threads, scratch } = settings;
    let of_memory = match memory {
        Some(_) => Some("--memory"),
        None => {
            let parse = |text: &str| text.parse::<Memory>().map_err(|error| error.to_string());
            *memory = variable(MEMORY, parse)?;
            memory.map(|_| MEMORY)
        }
    };
    let of_threads = match threads {
        Some(_) => Some("--threads"),
        None => {
            *threads = default_threads()?;
            threads.map(|_| THREADS)
        }
    };
    let of_scratch = match scratch {
        Some(scratch) if scratch.is_empty() => {
            let listed = env::var_os(SCRATCH).filter(|list| !list.is_empty());
            *scratch = listed.iter().flat_map(env::split_paths).collect();
            listed.map(|_| SCRATCH)
        }
        Some(_) => Some("--scratch"),
        None => None,
    };
    Ok(Origins([of_memory, of_threads, of_scratch]))
}

/// The number of threads that the environment names; 0 means one for each processor.
///
/// # Errors
/// If it is no number of threads.
pub(crate) fn default_threads() -> Result<Option<u16>, String> {
    variable(THREADS, threads_of)
}

fn variable<T>(name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let value = value.to_string_lossy();
    parse(&value).map(Some).map_err(|reason| format!("invalid value '{value}' of {name}: {reason}"))
}

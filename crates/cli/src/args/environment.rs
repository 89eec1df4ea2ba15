//! Defaults from the environment, for options that weren't given.

use super::values::threads as threads_of;
use std::env;
use std::fmt::{self, Display};
use std::path::PathBuf;
use xsort::size::Memory;

const MEMORY: &str = "XSORT_MEMORY";
const THREADS: &str = "XSORT_THREADS";
const SCRATCH: &str = "XSORT_SCRATCH";

/// Where a setting came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Default,
    Option(&'static str),
    Variable(&'static str),
}

/// Where the memory, the threads and the directories for scratch came from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origins([Origin; 3]);

impl Display for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "settings ")?;
        for (at, (name, origin)) in ["memory", "threads", "scratch"].iter().zip(self.0).enumerate()
        {
            let comma = if at > 0 { ", " } else { "" };
            match origin {
                Origin::Default => write!(f, "{comma}{name} by default")?,
                Origin::Option(from) | Origin::Variable(from) => {
                    write!(f, "{comma}{name} by {from}")?;
                }
            }
        }
        Ok(())
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
    let set = |origin: Option<Origin>| origin.unwrap_or_default();
    let memory = match memory {
        Some(_) => Some(Origin::Option("--memory")),
        None => {
            let parse = |text: &str| text.parse::<Memory>().map_err(|error| error.to_string());
            *memory = variable(MEMORY, parse)?;
            memory.map(|_| Origin::Variable(MEMORY))
        }
    };
    let threads = match threads {
        Some(_) => Some(Origin::Option("--threads")),
        None => {
            *threads = default_threads()?;
            threads.map(|_| Origin::Variable(THREADS))
        }
    };
    let scratch = match scratch {
        Some(scratch) if scratch.is_empty() => {
            let listed = env::var_os(SCRATCH).filter(|list| !list.is_empty());
            *scratch = listed.iter().flat_map(env::split_paths).collect();
            listed.map(|_| Origin::Variable(SCRATCH))
        }
        Some(_) => Some(Origin::Option("--scratch")),
        None => None,
    };
    Ok(Origins([set(memory), set(threads), set(scratch)]))
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

//! What a sort may use: memory, threads, directories for scratch, and random bytes.

use super::failure::{self, Failure};
use super::names;
use crate::args::{Origins, Settings, connections, fill, part_size};
use crate::settings::open_files;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::process::{Resource, getrlimit};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort::Job;
use xsort::machine::MemoryLimits;
use xsort::size::{self, Memory};
use xsort_disk::{Gate, IoChoice, machine_memory_bytes};
use xsort_extsort::lines::{SMALL_INPUT_BYTES, Shuffle};
use xsort_extsort::{Codec, LinesOptions, Measure};
use xsort_gnu::Locale;
use xsort_gnu::sort::{Command, Environment};
use xsort_objects::GivenLimits;

/// The budget for small inputs, far more than they need. Asking the machine for its memory, caches
/// and processors takes longer than sorting them.
const SMALL_BUDGET_BYTES: u64 = 64 << 20;

/// The budget up to which scratch uses the page cache. With so little memory, blocks are so small
/// that direct transfers mostly wait (docs/experiments/2026-11-24-merges-and-checks.md).
const CACHED_BUDGET_BYTES: u64 = 16 << 20;

/// The least buffer size: GNU sort raises a smaller `-S` to this.
const LEAST_BUFFER_BYTES: u64 = 1 << 10;

/// If fewer files than this may be open, the sort avoids opening files of its own.
const FEW_OPEN_FILES: u64 = 64;

/// The facts about the process that the grammar needs.
pub(super) fn environment(locale: Locale) -> Environment {
    let variables: Vec<(&str, OsString)> = ["POSIXLY_CORRECT", "_POSIX2_VERSION"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
        .collect();
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_os_str())
    };
    Environment {
        memory_bytes: machine_memory_bytes(),
        open_files_max: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
        ..Environment::new(variable, locale)
    }
}

/// Applies `--memory`, as in the other commands, and what the environment says of options that
/// weren't given.
pub(super) fn apply_defaults(command: &mut Command) -> Result<Origins, Failure> {
    let parse = |text: &str| text.parse::<Memory>().map_err(|error| error.to_string());
    let argument = command.extras.memory.as_deref();
    if argument.is_some() && command.buffer_bytes.is_some() {
        return Err(Failure::Message(
            "options '-S' and '--memory' both say how much memory: leave one out".into(),
        ));
    }
    let asked = parsed("--memory", argument, parse)?;
    let mut memory = asked.or(command.buffer_bytes.map(Memory::Bytes));
    // 0 stands for any number that was given.
    let mut threads = command.parallel.map(|_| 0);
    let mut scratch = command.temporary_directories.iter().map(PathBuf::from).collect();
    let settings =
        Settings { memory: &mut memory, threads: &mut threads, scratch: Some(&mut scratch) };
    let origins = fill(settings).map_err(|line| Failure::Message(line.into()))?;
    if command.buffer_bytes.is_none() && memory.is_some() {
        command.buffer_bytes = Some(MemoryLimits::read().budget(memory).bytes);
    }
    let threads = threads.map(usize::from).filter(|&threads| threads > 0);
    command.parallel = command.parallel.or(threads);
    command.temporary_directories = scratch.into_iter().map(PathBuf::into_os_string).collect();
    Ok(origins)
}

/// What the command's job may use. Its transfers pass `gate`.
pub(super) fn of_job(
    command: &Command,
    gate: Option<Arc<Gate>>,
) -> Result<xsort::Resources, Failure> {
    let extras = &command.extras;
    let rate = |text: &str| size::rate(text).map_err(|error| error.to_string());
    Ok(xsort::Resources {
        // GNU sort also accepts more than the machine has, and uses what it gets.
        memory: command.buffer_bytes.map(|bytes| Memory::Bytes(bytes.min(machine_memory_bytes()))),
        threads: command.parallel,
        bandwidth: parsed("--bandwidth-limit", extras.bandwidth_limit.as_deref(), rate)?,
        // Rings are files, too.
        io: if has_few_files() { IoChoice::Sync } else { IoChoice::Auto },
        is_cached: command.buffer_bytes.is_some_and(|bytes| bytes <= CACHED_BUDGET_BYTES),
        gate,
        no_clobber: extras.no_clobber,
        verify_output: extras.verify_output,
        objects: GivenLimits {
            part_bytes: parsed("--s3-part-size", extras.s3_part_size.as_deref(), part_size)?,
            connections: parsed("--s3-connections", extras.s3_connections.as_deref(), connections)?,
        },
        ..xsort::Resources::default()
    })
}

/// Parses the argument of an option.
pub(super) fn parsed<T>(
    option: &str,
    argument: Option<&OsStr>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let Some(argument) = argument else { return Ok(None) };
    parse(&argument.to_string_lossy()).map(Some).map_err(|reason| {
        let name = names::quoted(argument);
        let what = format!("invalid {option} argument ");
        Failure::Message([what.as_bytes(), &name[..], b": ", reason.as_bytes()].concat())
    })
}

/// The engine's settings for inputs of `input_bytes` bytes, if that is known.
pub(super) fn options(command: &Command, job: &Job, input_bytes: Option<u64>) -> LinesOptions {
    let engine = match input_bytes.is_some_and(|bytes| bytes <= SMALL_INPUT_BYTES) {
        true => LinesOptions::new(
            command.buffer_bytes.map_or(SMALL_BUDGET_BYTES, |asked| asked.min(SMALL_BUDGET_BYTES)),
            command.parallel.map_or(1, |_| job.threads()),
        ),
        false => LinesOptions {
            caches: job.caches(),
            ..LinesOptions::new(job.total_bytes(), job.threads())
        },
    };
    LinesOptions {
        delimiter: command.terminator(),
        // With `--count`, the counting filter drops duplicates.
        is_unique: command.unique && !command.extras.counts,
        scratch: scratch(command),
        codec: codec(command),
        ..engine
    }
}

/// The codec of `--compress`. For the program of `--compress-program`, which isn't run, the most
/// similar codec.
fn codec(command: &Command) -> Option<Codec> {
    if let Some(codec) = command.extras.compress {
        return match codec {
            xsort_gnu::sort::Codec::Off => None,
            xsort_gnu::sort::Codec::Lz4 => Some(Codec::Lz4),
            xsort_gnu::sort::Codec::Zstd => Some(Codec::Zstd),
            xsort_gnu::sort::Codec::Auto => Some(Codec::Auto(Measure::Clocks)),
        };
    }
    let program = Path::new(command.compress_program.as_ref()?).file_name().unwrap_or_default();
    let is_lz4 = memchr::memmem::find(program.as_bytes(), b"lz4").is_some();
    Some(if is_lz4 { Codec::Lz4 } else { Codec::Zstd })
}

/// True if so few files may be open that none can be spared for features that GNU sort lacks.
pub(super) fn has_few_files() -> bool {
    open_files::allow_as_many_as_possible();
    getrlimit(Resource::Nofile).current.is_some_and(|most| most < FEW_OPEN_FILES)
}

/// The directories of `-T`, or the environment's directory.
pub(super) fn scratch(command: &Command) -> Vec<PathBuf> {
    if command.temporary_directories.is_empty() {
        let named = std::env::var_os("TMPDIR").filter(|name| !name.is_empty());
        return vec![named.unwrap_or_else(|| "/tmp".into()).into()];
    }
    command.temporary_directories.iter().map(PathBuf::from).collect()
}

/// Random bytes from the system.
fn random_bytes<const N: usize>() -> Result<[u8; N], Failure> {
    crate::system::random_bytes().map_err(|error| Failure::said("getrandom", &error))
}

/// The random bytes for `-R`; zeros if no key needs them.
pub(super) fn seed(command: &Command) -> Result<[u8; 16], Failure> {
    let mut seed = [0; 16];
    if !command.needs_random() {
        return Ok(seed);
    }
    let Some(file) = &command.random_source else { return random_bytes() };
    let said =
        |text: &str| Failure::Message([&names::quoted(file)[..], b": ", text.as_bytes()].concat());
    let mut source =
        File::open(file).map_err(|error| Failure::of_file("open failed", file, &error))?;
    source.read_exact(&mut seed).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => said("end of file"),
        _ => said(&format!("read error: {}", failure::reason(&error))),
    })?;
    Ok(seed)
}

/// The random order for `--shuffle`.
pub(super) fn shuffle(command: &Command) -> Result<Option<Shuffle>, Failure> {
    if !command.extras.shuffles {
        return Ok(None);
    }
    let seed = match command.extras.seed {
        Some(seed) => seed,
        None => u64::from_ne_bytes(random_bytes()?),
    };
    Ok(Some(Shuffle::new(seed, command.terminator())))
}

/// Refuses a directory in which scratch can't be created, if the input is larger than `-S`. In that
/// case GNU sort creates temporary files there.
pub(super) fn refuse_missing_scratch(
    command: &Command,
    input_bytes: Option<u64>,
) -> Result<(), Failure> {
    let asked = command.buffer_bytes.map(|bytes| bytes.max(LEAST_BUFFER_BYTES));
    if asked.zip(input_bytes).is_none_or(|(asked, input)| input <= asked) {
        return Ok(());
    }
    let directory = &scratch(command)[0];
    // A path that isn't a directory has no `.` below it.
    accessat(CWD, directory.join("."), Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|errno| failure::of_scratch(directory.as_os_str(), &errno.into()))
}

//! What all reports say of a run, whatever the command: the command line, the machine, and what was
//! seen of the job.

use crate::job::{MovedSum, PhaseTimes, Sample, StageSum, Watched, arguments};
use rustix::system::uname;
use serde::Serialize;
use std::env;
use std::fs;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};
use xsort_disk::{machine_memory_bytes, public_path};
use xsort_extsort::{Lane, Spans, cpu_seconds, peak_memory_bytes};

/// The limits on words of the command line and their bytes.
const ARGUMENTS_MAX: usize = 1024;
const ARGUMENTS_BYTES_MAX: usize = 64 << 10;

/// The limits on spans in a report: of a lane, and of all lanes.
const LANE_SPANS_MAX: usize = 1000;
const SPANS_MAX: usize = 16_384;

/// The field `run` of a report.
#[derive(Debug, Serialize)]
pub(crate) struct RunFacts {
    arguments: Vec<String>,
    directory: String,
    program_version: &'static str,
    ended_unix_seconds: f64,
    machine: Machine,
    cpu_user_seconds: f64,
    cpu_system_seconds: f64,
    peak_memory_bytes: u64,
    /// The limit of transfers, if there was one.
    limit_bytes_per_second: Option<u64>,
    /// Seconds in which hot drives held transfers up; `None` for a job that wasn't watched.
    paused_seconds: Option<f64>,
    /// Threads that worked; 0 if that is unknown.
    threads: usize,
    phases: Vec<PhaseTimes>,
    stages: Vec<StageSum>,
    moved: Option<MovedSum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<Vec<Sample>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lanes: Option<Vec<LaneFacts>>,
}

/// What a thread did.
#[derive(Debug, Serialize)]
struct LaneFacts {
    name: String,
    /// Of each span the begin, the length and the busy part in microseconds, and the kind.
    spans: Vec<(u64, u64, u64, &'static str)>,
}

#[derive(Debug, Serialize)]
struct Machine {
    host: String,
    system: String,
    processor: String,
    processors: usize,
    memory_bytes: u64,
}

impl RunFacts {
    /// The facts of the run that ends now. `watched` is what was seen of its job, if it was
    /// watched.
    pub(crate) fn new(watched: Option<Watched>, limit_bytes_per_second: Option<u64>) -> RunFacts {
        let (cpu_user_seconds, cpu_system_seconds) = cpu_seconds();
        let directory = env::current_dir().unwrap_or_default();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let (paused_seconds, moved) =
            watched.as_ref().map(|watched| (watched.paused_seconds, watched.moved)).unzip();
        let threads = watched.as_ref().map_or(0, |watched| watched.threads);
        let (phases, stages, samples, spans) = match watched {
            Some(watched) => (watched.phases, watched.stages, watched.samples, watched.spans),
            None => Default::default(),
        };
        RunFacts {
            arguments: arguments(ARGUMENTS_MAX, ARGUMENTS_BYTES_MAX),
            directory: public_path(&directory).display().to_string(),
            program_version: env!("CARGO_PKG_VERSION"),
            ended_unix_seconds: since.map_or(0.0, |since| since.as_secs_f64()),
            machine: Machine::read(),
            cpu_user_seconds,
            cpu_system_seconds,
            peak_memory_bytes: peak_memory_bytes(),
            limit_bytes_per_second,
            paused_seconds,
            threads,
            phases,
            stages,
            moved,
            samples,
            lanes: spans.map(|spans| lanes(&spans)),
        }
    }
}

/// The lanes of a report, with fewer spans where there are many lanes.
fn lanes(spans: &Spans) -> Vec<LaneFacts> {
    let lanes = spans.lanes(LANE_SPANS_MAX);
    let spans_max = (SPANS_MAX / lanes.len().max(1)).min(LANE_SPANS_MAX);
    let lane = |Lane { name, spans }: Lane| LaneFacts {
        name,
        spans: spans
            .iter()
            .map(|span| {
                let length = span.end_micros - span.begin_micros;
                let busy = (f64::from(span.busy_seconds) * 1e6).round() as u64;
                (span.begin_micros, length, busy.min(length), span.kind.name())
            })
            .collect(),
    };
    spans.lanes(spans_max).into_iter().map(lane).collect()
}

impl Machine {
    fn read() -> Machine {
        let name = uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let [system, release, machine] = [name.sysname(), name.release(), name.machine()].map(text);
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = processors.lines().find_map(|line| line.strip_prefix("model name"));
        let model = model.and_then(|rest| rest.split_once(':')).map(|(_, model)| model.trim());
        Machine {
            host: text(name.nodename()),
            system: format!("{system} {release} {machine}"),
            processor: model.unwrap_or_default().to_owned(),
            processors: available_parallelism().map_or(0, usize::from),
            memory_bytes: machine_memory_bytes(),
        }
    }
}

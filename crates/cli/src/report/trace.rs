//! The file of `--trace`: a run in Chrome's trace format ("Trace Event Format", in JSON), which
//! Perfetto, speedscope and Chrome open.
//!
//! Each lane is a thread with complete events (`X`), which don't overlap. The first thread has the
//! phases. Memory and scratch are counters.

use crate::job::{Sample, Watched};
use serde_json::{Value, json};
use std::fmt::Write;
use xsort_extsort::Lane;

/// The trace of a run, with all of its spans.
pub(super) fn trace(watched: &Watched) -> String {
    let mut events = String::new();
    let mut add = |event: Value| {
        let separator = if events.is_empty() { "" } else { ",\n" };
        let _ = write!(events, "{separator}{event}");
    };
    let name_of = |what: &str, number: usize, name: &str| {
        let args = json!({"name": name});
        json!({"ph": "M", "pid": 1, "tid": number, "name": what, "args": args})
    };
    add(name_of("process_name", 0, "xsort"));
    add(name_of("thread_name", 0, "phases"));
    for phase in &watched.phases {
        add(json!({
            "ph": "X", "pid": 1, "tid": 0, "cat": "phase", "name": phase.name,
            "ts": micros(phase.begin_seconds), "dur": micros(phase.seconds),
        }));
    }
    let lanes = watched.spans.as_ref().map_or(Vec::new(), |spans| spans.lanes(usize::MAX));
    for (number, Lane { name, spans }) in lanes.iter().enumerate() {
        add(name_of("thread_name", number + 1, name));
        for span in spans {
            let category = if span.kind.is_wait() { "wait" } else { "work" };
            let micros = span.end_micros - span.begin_micros;
            let mut event = json!({
                "ph": "X", "pid": 1, "tid": number + 1, "cat": category, "name": span.kind.name(),
                "ts": span.begin_micros, "dur": micros,
            });
            // Speedscope takes events with other arguments for other functions.
            if f64::from(span.busy_seconds) * 1e6 < 0.99 * micros as f64 - 1.0 {
                event["args"] = json!({"busy_seconds": span.busy_seconds});
            }
            add(event);
        }
    }
    for sample in watched.samples.iter().flatten() {
        let Sample { seconds, resident_bytes, scratch_bytes, .. } = sample;
        let counters = json!({"resident": resident_bytes, "scratch": scratch_bytes});
        add(json!({
            "ph": "C", "pid": 1, "name": "bytes", "ts": micros(*seconds), "args": counters
        }));
    }
    format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{events}\n]}}\n")
}

fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

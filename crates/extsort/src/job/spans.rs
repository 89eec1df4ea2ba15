//! What each thread of a job did when: spans of time, in memory that doesn't grow.
//!
//! The stage timers ([`StageTimes`](crate::records::StageTimes)) record a span for each section
//! that they time, if the observer asks for spans. A span goes to the lane of its thread, which no
//! other thread writes. The lane of a thread that has ended serves the next one, of the same name
//! if there is one.
//!
//! ```text
//!  a lane:  |read|sort|sort|  wait  |spill|  --> full: neighbours closer than a grain become one
//!           |read|   sort   | wait  |spill|      span, and the grain doubles until half is free
//! ```
//!
//! A span that stands for several has the kind that took most of it, and the busy time of that kind
//! alone. So a lane says what its thread did at the resolution of its grain, for a second or a
//! week.

use parking_lot::Mutex;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// All spans take at most this much memory.
const BYTES_MAX: usize = 4 << 20;
/// Spans of a lane.
const LANE_SPANS_MAX: usize = 2048;
/// Lanes of threads, beside the two of transfers.
const LANES_MAX: usize = BYTES_MAX / (LANE_SPANS_MAX * size_of::<Span>()) - 2;
/// The first grain in microseconds.
const GRAIN_MICROS: u64 = 8;

const _: () = assert!(size_of::<Span>() == 24);

/// What a thread did in a span, or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// Reading, where that is no transfer.
    Read,
    /// Generating records.
    Make,
    /// Sorting a chunk or a bin, or hashing its records.
    Sort,
    /// Finding the bins of records, or moving those of a bin together.
    Scatter,
    /// Gathering records into blocks for scratch.
    Spill,
    /// Compressing blocks for scratch.
    Compress,
    /// Finding the cuts between segments of a merge.
    Cut,
    /// Merging or gathering records into blocks for the output.
    Output,
    /// Waiting for reads.
    WaitForRead,
    /// Waiting for writes.
    WaitForWrite,
    /// Waiting for free memory to read into.
    WaitForMemory,
    /// At least one transfer of a direction under way.
    Transfer,
}

impl SpanKind {
    /// The name, in one or a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SpanKind::Read => "read",
            SpanKind::Make => "make",
            SpanKind::Sort => "sort",
            SpanKind::Scatter => "scatter",
            SpanKind::Spill => "spill",
            SpanKind::Compress => "compress",
            SpanKind::Cut => "cut",
            SpanKind::Output => "output",
            SpanKind::WaitForRead => "wait for read",
            SpanKind::WaitForWrite => "wait for write",
            SpanKind::WaitForMemory => "wait for memory",
            SpanKind::Transfer => "transfer",
        }
    }

    /// True if the thread waited.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, SpanKind::WaitForRead | SpanKind::WaitForWrite | SpanKind::WaitForMemory)
    }
}

/// A stretch of time. Spans of a lane follow each other without overlapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Microseconds since the recording began.
    pub begin_micros: u64,
    /// The end, in the same microseconds.
    pub end_micros: u64,
    /// Seconds that `kind` took, at most the span's length.
    pub busy_seconds: f32,
    /// What took most of the span.
    pub kind: SpanKind,
}

impl Span {
    fn micros(&self) -> u64 {
        self.end_micros - self.begin_micros
    }

    /// Appends `next`, which follows, if both are one at this grain.
    fn absorb(&mut self, next: &Span, grain: u64) -> bool {
        let is_one = match self.kind == next.kind {
            true => next.begin_micros - self.end_micros <= grain,
            false => next.end_micros - self.begin_micros <= grain,
        };
        if is_one {
            self.end_micros = next.end_micros;
            if self.kind == next.kind {
                self.busy_seconds += next.busy_seconds;
            } else if self.busy_seconds < next.busy_seconds {
                (self.kind, self.busy_seconds) = (next.kind, next.busy_seconds);
            }
        }
        is_one
    }
}

/// A lane as it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The thread's name, or the direction of transfers.
    pub name: String,
    /// The spans in order.
    pub spans: Vec<Span>,
}

/// Spans of a lane that is written.
#[derive(Debug, Default)]
struct Ring {
    name: String,
    spans: Vec<Span>,
    grain: u64,
    /// True while a thread has the lane.
    is_taken: bool,
}

impl Ring {
    /// Adds a span that has ended. If it began before the last one ended, as a section does that
    /// contains others, only the rest of it is added.
    fn add(&mut self, mut span: Span) {
        self.grain = self.grain.max(GRAIN_MICROS);
        if let Some(last) = self.spans.last_mut() {
            if span.end_micros <= last.end_micros {
                return;
            }
            let hidden = last.end_micros.saturating_sub(span.begin_micros);
            span.begin_micros += hidden;
            span.busy_seconds = span.busy_seconds.min(span.micros() as f32 / 1e6);
            if last.absorb(&span, self.grain) {
                return;
            }
        }
        if self.spans.len() == LANE_SPANS_MAX {
            while self.spans.len() > LANE_SPANS_MAX / 2 {
                self.grain *= 2;
                coarsen(&mut self.spans, self.grain);
            }
        }
        self.spans.reserve_exact(if self.spans.is_empty() { LANE_SPANS_MAX } else { 0 });
        self.spans.push(span);
    }
}

/// Makes spans one that are one at this grain.
fn coarsen(spans: &mut Vec<Span>, grain: u64) {
    spans.dedup_by(|next, kept| kept.absorb(next, grain));
}

/// The recorder of a job's spans.
pub struct Spans {
    began: Instant,
    lanes: Mutex<Vec<Arc<Mutex<Ring>>>>,
    reads: Mutex<Ring>,
    writes: Mutex<Ring>,
}

thread_local! {
    /// The lane of this thread, in the recorder to which it belongs.
    static LANE: RefCell<Option<TakenLane>> = const { RefCell::new(None) };
}

/// A lane that a thread has. `ring` is `None` if there were no more.
struct TakenLane {
    spans: Arc<Spans>,
    ring: Option<Arc<Mutex<Ring>>>,
}

impl Drop for TakenLane {
    fn drop(&mut self) {
        if let Some(ring) = &self.ring {
            ring.lock().is_taken = false;
        }
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").field("lanes", &self.lanes.lock().len()).finish_non_exhaustive()
    }
}

impl Spans {
    /// A recorder whose time begins now.
    #[must_use]
    pub fn new() -> Arc<Spans> {
        Arc::new(Spans {
            began: Instant::now(),
            lanes: Mutex::default(),
            reads: Mutex::default(),
            writes: Mutex::default(),
        })
    }

    /// Records what this thread did. A thread without a lane, because there were no more, records
    /// nothing.
    pub(crate) fn record(self: &Arc<Spans>, kind: SpanKind, begin: Instant, end: Instant) {
        let span = self.span(kind, begin, end);
        // No lane while the thread ends.
        let _ = LANE.try_with(|lane| {
            let mut lane = lane.borrow_mut();
            if lane.as_ref().is_none_or(|lane| !Arc::ptr_eq(&lane.spans, self)) {
                // The old lane first: this thread may take it again.
                *lane = None;
                *lane = Some(TakenLane { spans: Arc::clone(self), ring: self.take_lane() });
            }
            if let Some(ring) = lane.as_ref().and_then(|lane| lane.ring.as_ref()) {
                ring.lock().add(span);
            }
        });
    }

    /// Records that transfers were under way.
    pub(crate) fn record_transfers(&self, are_reads: bool, begin: Instant, end: Instant) {
        let ring = if are_reads { &self.reads } else { &self.writes };
        ring.lock().add(self.span(SpanKind::Transfer, begin, end));
    }

    fn span(&self, kind: SpanKind, begin: Instant, end: Instant) -> Span {
        let micros = |at: Instant| at.saturating_duration_since(self.began).as_micros() as u64;
        let busy_seconds = (end - begin).as_secs_f32();
        Span { begin_micros: micros(begin), end_micros: micros(end), busy_seconds, kind }
    }

    /// A lane for this thread: one that an ended thread of this name had, or any other free one, or
    /// a new one.
    fn take_lane(&self) -> Option<Arc<Mutex<Ring>>> {
        let thread = thread::current();
        let name = thread.name().unwrap_or("thread").trim_start_matches("xsort-");
        let mut lanes = self.lanes.lock();
        let free = |lane: &&Arc<Mutex<Ring>>| {
            let ring = lane.lock();
            !ring.is_taken && ring.name == name
        };
        let found = lanes.iter().find(free).cloned();
        let found = found.or_else(|| match lanes.len() < LANES_MAX {
            true => {
                let ring = Ring { name: name.to_owned(), ..Ring::default() };
                lanes.push(Arc::new(Mutex::new(ring)));
                lanes.last().cloned()
            }
            false => lanes.iter().find(|lane| !lane.lock().is_taken).cloned(),
        })?;
        found.lock().is_taken = true;
        Some(found)
    }

    /// All lanes, each with at most `spans_max` spans, or one where it is 0.
    pub fn lanes(&self, spans_max: usize) -> Vec<Lane> {
        let read = |name: &str, ring: &Ring| {
            let (mut spans, mut grain) = (ring.spans.clone(), ring.grain.max(GRAIN_MICROS));
            while spans.len() > spans_max.max(1) {
                grain *= 2;
                coarsen(&mut spans, grain);
            }
            Lane { name: name.to_owned(), spans }
        };
        let lanes = self.lanes.lock();
        let mut lanes: Vec<Lane> = lanes
            .iter()
            .map(|ring| {
                let ring = ring.lock();
                let is_number = ring.name.bytes().all(|byte| byte.is_ascii_digit());
                let name =
                    if is_number { format!("worker {}", ring.name) } else { ring.name.clone() };
                read(&name, &ring)
            })
            .collect();
        lanes.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        lanes.push(read("reads", &self.reads.lock()));
        lanes.push(read("writes", &self.writes.lock()));
        lanes.retain(|lane| !lane.spans.is_empty());
        lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::time::Duration;

    fn span(begin_micros: u64, end_micros: u64, kind: SpanKind) -> Span {
        let busy_seconds = (end_micros - begin_micros) as f32 / 1e6;
        Span { begin_micros, end_micros, busy_seconds, kind }
    }

    fn assert_in_order(spans: &[Span]) {
        for pair in spans.windows(2) {
            assert!(pair[0].end_micros <= pair[1].begin_micros, "{pair:?}");
        }
        for span in spans {
            let length = span.micros() as f32 / 1e6;
            assert!(span.busy_seconds <= length * 1.001 + 1e-6, "{span:?}");
        }
    }

    #[test]
    fn a_full_lane_keeps_its_times_at_a_lower_resolution() {
        let mut ring = Ring::default();
        let kinds = [SpanKind::Sort, SpanKind::WaitForRead, SpanKind::Output];
        let (mut at, mut of_sort) = (0, 0);
        for number in 0..200_000_u64 {
            let length = 20 + number % 7 * 50;
            let kind = kinds[(number / 5000 % 3) as usize];
            if kind == SpanKind::Sort {
                of_sort += length;
            }
            ring.add(span(at, at + length, kind));
            at += length + 30;
            assert!(ring.spans.len() <= LANE_SPANS_MAX && ring.spans.capacity() <= LANE_SPANS_MAX);
        }
        assert_in_order(&ring.spans);
        assert_eq!(ring.spans.last().unwrap().end_micros, at - 30);
        let sorting = ring.spans.iter().filter(|span| span.kind == SpanKind::Sort);
        let seconds: f64 = sorting.map(|span| f64::from(span.busy_seconds)).sum();
        let ratio = seconds * 1e6 / of_sort as f64;
        assert!((0.8..=1.01).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_section_that_contains_others_adds_what_follows_them() {
        let mut ring = Ring::default();
        ring.add(span(100, 200, SpanKind::WaitForWrite));
        ring.add(span(50, 300, SpanKind::Spill));
        ring.add(span(150, 250, SpanKind::Spill));
        let expected = [span(100, 200, SpanKind::WaitForWrite), span(200, 300, SpanKind::Spill)];
        assert_eq!(ring.spans, expected);
    }

    #[test]
    fn threads_have_lanes_one_after_the_other_and_no_more_than_fit() {
        let spans = Spans::new();
        let record = || {
            let end = Instant::now() + Duration::from_millis(1);
            spans.record(SpanKind::Sort, Instant::now(), end);
        };
        for _ in 0..3 {
            thread::Builder::new()
                .name("xsort-0".into())
                .spawn({
                    let spans = Arc::clone(&spans);
                    move || {
                        let end = Instant::now() + Duration::from_millis(1);
                        spans.record(SpanKind::Sort, Instant::now(), end);
                    }
                })
                .unwrap()
                .join()
                .unwrap();
        }
        assert_eq!(spans.lanes(10).len(), 1);
        assert_eq!(spans.lanes(10)[0].name, "worker 0");
        let barrier = &Barrier::new(LANES_MAX + 9);
        thread::scope(|scope| {
            for _ in 0..LANES_MAX + 9 {
                scope.spawn(move || {
                    record();
                    barrier.wait();
                });
            }
        });
        let lanes = spans.lanes(10);
        assert_eq!(lanes.len(), LANES_MAX);
        lanes.iter().for_each(|lane| assert_in_order(&lane.spans));
        assert!((LANES_MAX + 2) * LANE_SPANS_MAX * size_of::<Span>() <= BYTES_MAX);
    }
}

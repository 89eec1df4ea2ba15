//! How much effort compression of scratch is worth: none, LZ4 or Zstandard. The decision is
//! repeated while a sort runs.
//!
//! Compression pays where threads wait for the drive while processors are idle. Elsewhere it costs
//! time. So the sort tries it only after seeing both, and only if the spare processor time can
//! compress *all* spilled data: compressing a little now and then costs more than it saves. A drive
//! as fast as memory keeps processors busy while threads wait for it, which shows in the process's
//! processor time. A drive that is nearly as fast writes more than processors can compress.
//!
//! LZ4's cost is known from occasional blocks that are compressed as samples.
//!
//! On a machine that other processes use too, waiting proves nothing: threads also wait for those
//! processes. So each effort is a trial. If the sort reads and spills no faster than before, the
//! effort falls again. It also falls when threads hardly wait any more, or when no processor is
//! idle. After each fall the codec rests, each time twice as long as before.
//!
//! Whether the data shrinks is a separate question, and each block answers it. After a block that
//! hardly shrank, the codec skips a number of blocks, which grows with each such block.
//!
//! See docs/experiments/2026-11-23-compression-auto.md for what was tried and measured.

use super::codec::BlockCodec;
use crate::job::process::thread_cpu_time;
use crate::{Error, Gauges};
use parking_lot::Mutex;
use std::io;
use std::ops::{Add, Sub};
use std::sync::atomic::Ordering::Release;
use std::time::Instant;

/// How blocks on scratch are compressed.
#[derive(Clone, Copy, Debug)]
pub enum Codec {
    /// LZ4: takes less processor time, but compresses less.
    Lz4,
    /// Zstandard: for slow drives, or if space is short.
    Zstd,
    /// Each block with LZ4, Zstandard or not at all, depending on the spare time of the drive and
    /// the processors.
    Auto(Measure),
}

impl Codec {
    /// The codec's name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
            Codec::Auto(_) => "auto",
        }
    }

    /// True for [`Codec::Auto`], where the sort decides.
    pub(crate) fn is_auto(self) -> bool {
        matches!(self, Codec::Auto(_))
    }

    /// Bytes that a thread needs, beside the blocks, to compress and decompress.
    pub(crate) fn context_bytes(self) -> u64 {
        match self {
            Codec::Lz4 => BlockCodec::Lz4.context_bytes(),
            Codec::Zstd => BlockCodec::Zstd.context_bytes(),
            Codec::Auto(_) => BlockCodec::Lz4.context_bytes() + BlockCodec::Zstd.context_bytes(),
        }
    }
}

/// The measurements that [`Codec::Auto`] uses.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Clocks: the time of the threads and of the process.
    Clocks,
    /// A function that is called with the measurement's number, from 0.
    Given(fn(u64) -> Load),
}

/// The work of a sort up to a moment. Times are in seconds, summed over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// The moment, on a clock.
    pub clock: f64,
    /// Time that threads waited to write to scratch; for fixed-size records, the time they waited
    /// for the drive.
    pub blocked: f64,
    /// Time that threads had nothing to do.
    pub idle: f64,
    /// Processor time of the process, including the kernel's work for it.
    pub processor: f64,
    /// Bytes of lines or records that were spilled.
    pub spilled_bytes: f64,
    /// Bytes that were spilled or read. When the drive is the bottleneck, a steady sort has about
    /// the same sum each second, however it divides between reading and spilling.
    pub progress_bytes: f64,
}

impl Add for Load {
    type Output = Load;
    fn add(self, other: Load) -> Load {
        Load {
            clock: self.clock + other.clock,
            blocked: self.blocked + other.blocked,
            idle: self.idle + other.idle,
            processor: self.processor + other.processor,
            spilled_bytes: self.spilled_bytes + other.spilled_bytes,
            progress_bytes: self.progress_bytes + other.progress_bytes,
        }
    }
}

impl Sub for Load {
    type Output = Load;
    fn sub(self, other: Load) -> Load {
        self + other.times(-1.0)
    }
}

impl Load {
    fn times(self, factor: f64) -> Load {
        Load {
            clock: factor * self.clock,
            blocked: factor * self.blocked,
            idle: factor * self.idle,
            processor: factor * self.processor,
            spilled_bytes: factor * self.spilled_bytes,
            progress_bytes: factor * self.progress_bytes,
        }
    }
}

/// Duration of a window: how long the sort is watched before each decision. This is several writes
/// of each thread at 100 MB/s, and a twentieth of the shortest sort worth compressing.
const WINDOW_SECONDS: f64 = 0.04;
/// The share of the waiting time that compression may use. LZ4's cost is known from sampled blocks;
/// Zstandard's is estimated. With 0.8 for both, and both estimated, a virtual drive shared with
/// other users lost 6 to 34% (the experiment's table).
fn spare_share(codec: BlockCodec) -> f64 {
    match codec {
        BlockCodec::Lz4 => 0.8,
        BlockCodec::Zstd => 0.5,
    }
}
/// If threads are idle for less than this share of all time, compression is the bottleneck.
const STARVED_SHARE: f64 = 0.05;
/// Windows after which a rate is known, both before and after effort rises.
const KNOWN_WINDOWS: u32 = 4;
/// Weight of a window relative to the next one.
const DECAY: f64 = 0.75;
/// The progress that an effort must reach, relative to the progress without it.
const GAIN: f64 = 1.04;
/// Windows for which a codec rests after its first fall, and the maximum. A trial takes five.
const REST_WINDOWS: u32 = 16;
const REST_WINDOWS_MAX: u32 = 256;
/// Without effort, one block in `SAMPLED_BLOCKS` is compressed as a sample of LZ4's cost. The first
/// samples, which only their mean counts, are one in `FIRST_SAMPLED_BLOCKS`.
const SAMPLED_BLOCKS: u32 = 64;
const FIRST_SAMPLED_BLOCKS: u32 = 8;
/// Number of samples in the first mean. Afterwards each new sample has the weight of the last one
/// in this mean.
const MEAN_SAMPLES: u32 = 8;
/// Total cost of a byte as a multiple of its compression. Decompression takes a fifth to a third
/// more, and copying takes some too. But a sampled block finds the caches cold, so the factor is
/// lower.
const COST_FACTOR: f64 = 1.2;
/// Maximum number of blocks that a codec skips.
const SKIPPED_BLOCKS_MAX: u32 = 63;

/// Expected seconds of a thread for each byte to compress, until they are measured. This is twice
/// the time of most lines on this project's machines (the experiment's table), because
/// decompression and moving the lines into a block also take time.
fn expected_seconds_per_byte(codec: BlockCodec) -> f64 {
    match codec {
        BlockCodec::Lz4 => 1.0 / 400e6,
        BlockCodec::Zstd => 1.0 / 250e6,
    }
}

/// Decides for all threads of a sort.
pub(crate) struct Effort {
    codec: Option<Codec>,
    /// Used by [`Codec::Auto`] only.
    decisions: Mutex<Decisions>,
}

impl Effort {
    /// The decisions of a sort with `threads` threads.
    pub(crate) fn new(codec: Option<Codec>, threads: usize) -> Effort {
        let processors = match codec {
            Some(Codec::Auto(Measure::Clocks)) => {
                std::thread::available_parallelism().map_or(1, usize::from)
            }
            _ => threads,
        };
        let decisions = Mutex::new(Decisions::new(threads, processors));
        Effort { codec, decisions }
    }

    /// The codec for the next block, if any. `measure` returns the sort's load so far.
    pub(crate) fn codec(&self, measure: impl FnOnce() -> Load) -> Option<BlockCodec> {
        match self.codec? {
            Codec::Lz4 => Some(BlockCodec::Lz4),
            Codec::Zstd => Some(BlockCodec::Zstd),
            Codec::Auto(by) => {
                let decisions = &mut *self.decisions.lock();
                if decisions.is_due(by) {
                    let load = match by {
                        Measure::Clocks => measure(),
                        Measure::Given(load) => load(decisions.measured),
                    };
                    decisions.decide(load);
                }
                decisions.next()
            }
        }
    }

    /// Compresses a block of `bytes` bytes with the function `compress`, and counts its time and
    /// result. `compress` returns the compressed size, or `None` if the block didn't shrink.
    pub(crate) fn compress(
        &self,
        codec: BlockCodec,
        bytes: usize,
        gauges: &Gauges,
        compress: impl FnOnce() -> io::Result<Option<usize>>,
    ) -> Result<Option<usize>, Error> {
        let (begun, begun_cpu) = (Instant::now(), thread_cpu_time());
        let compressed = compress().map_err(Error::Codec)?;
        // Decisions use processor time: other threads may have run in between.
        let seconds = (thread_cpu_time() - begun_cpu).as_secs_f64();
        gauges.stage_times.compress_busy.add_since(begun);
        self.compressed(codec, bytes, compressed, seconds);
        if compressed.is_some() {
            let counted = match codec {
                BlockCodec::Lz4 => &gauges.spilled.lz4_bytes,
                BlockCodec::Zstd => &gauges.spilled.zstd_bytes,
            };
            counted.fetch_add(bytes as u64, Release);
        }
        Ok(compressed)
    }

    /// Takes in the result of compressing a block: the compressed size, or `None` if the block
    /// didn't shrink, and the seconds it took.
    fn compressed(&self, codec: BlockCodec, bytes: usize, compressed: Option<usize>, seconds: f64) {
        let seconds = match self.codec {
            Some(Codec::Auto(Measure::Clocks)) => seconds,
            Some(Codec::Auto(Measure::Given(_))) => 0.0,
            _ => return,
        };
        self.decisions.lock().compressed(codec, bytes, compressed, seconds);
    }
}

/// Measurements and decisions so far.
struct Decisions {
    /// Threads that can work at once.
    workers: f64,
    processors: f64,
    /// The load at the beginning of the window.
    begin: Load,
    began: Instant,
    /// Number of measurements.
    measured: u64,
    /// The load of the last windows with this effort. Later windows weigh more.
    recent: Load,
    /// Number of windows in `recent`. The first one after a change is not counted.
    windows: u32,
    /// Seconds of compression: in this window, and summed as in `recent`.
    compressing: f64,
    recent_compressing: f64,
    effort: Option<BlockCodec>,
    /// Blocks until the next sample.
    unsampled: u32,
    /// The stack of lower efforts, with the progress that each had, in bytes per second.
    before: Vec<(Option<BlockCodec>, f64)>,
    lz4: Tried,
    zstd: Tried,
}

/// Experience with a codec.
#[derive(Clone, Copy, Default)]
struct Tried {
    /// Windows for which the codec rests, and the number of the last time.
    rest: u32,
    last_rest: u32,
    /// Blocks that the codec still skips, and the number of the last time.
    left_out: u32,
    last_left_out: u32,
    /// Seconds for each byte: the mean of the first blocks, then a moving average. 0 if the codec
    /// has not been tried.
    seconds_per_byte: f64,
    /// Number of compressed blocks, up to [`MEAN_SAMPLES`].
    samples: u32,
}

impl Decisions {
    fn new(threads: usize, processors: usize) -> Decisions {
        Decisions {
            workers: threads.min(processors) as f64,
            processors: processors as f64,
            begin: Load::default(),
            began: Instant::now(),
            measured: 0,
            recent: Load::default(),
            windows: 0,
            compressing: 0.0,
            recent_compressing: 0.0,
            effort: None,
            unsampled: 0,
            before: Vec::new(),
            lz4: Tried::default(),
            zstd: Tried::default(),
        }
    }

    /// True if it is time to measure.
    fn is_due(&self, by: Measure) -> bool {
        match by {
            Measure::Clocks if self.measured > 0 => {
                self.began.elapsed().as_secs_f64() >= WINDOW_SECONDS
            }
            _ => true,
        }
    }

    /// Ends a window, and decides for the next one.
    fn decide(&mut self, load: Load) {
        self.measured += 1;
        let window = load - self.begin;
        if self.measured > 1 && window.clock < WINDOW_SECONDS {
            return;
        }
        (self.begin, self.began) = (load, Instant::now());
        // The first call only begins a window.
        if self.measured == 1 {
            return;
        }
        let compressing = std::mem::take(&mut self.compressing);
        self.windows += 1;
        if self.windows == 1 {
            return;
        }
        self.recent = self.recent.times(DECAY) + window;
        self.recent_compressing = DECAY * self.recent_compressing + compressing;
        for codec in [BlockCodec::Lz4, BlockCodec::Zstd] {
            self.tried(codec).rest = self.tried(codec).rest.saturating_sub(1);
        }
        if self.windows > KNOWN_WINDOWS && !self.falls() {
            self.rises();
        }
    }

    /// Lowers the effort if it isn't worth its cost. Returns true if it did.
    fn falls(&mut self) -> bool {
        let Load { clock, blocked, idle, progress_bytes, .. } = self.recent;
        let (Some(codec), Some(&(effort, before))) = (self.effort, self.before.last()) else {
            return false;
        };
        let is_starved = (blocked + idle).min(self.unused()) < STARVED_SHARE * self.workers * clock;
        if !is_starved && progress_bytes >= GAIN * before * clock {
            return false;
        }
        let tried = self.tried(codec);
        tried.last_rest = (2 * tried.last_rest).clamp(REST_WINDOWS, REST_WINDOWS_MAX);
        tried.rest = tried.last_rest;
        self.before.pop();
        self.change_to(effort);
        true
    }

    /// Raises the effort if there is enough spare time.
    fn rises(&mut self) {
        let Load { clock, blocked, spilled_bytes, progress_bytes, .. } = self.recent;
        let unused = blocked.min(self.unused());
        let higher = match self.effort {
            None => &[BlockCodec::Zstd, BlockCodec::Lz4][..],
            Some(BlockCodec::Lz4) => &[BlockCodec::Zstd],
            Some(BlockCodec::Zstd) => &[],
        };
        for &codec in higher {
            let spare = spare_share(codec) * unused + self.recent_compressing;
            let needed = spilled_bytes * self.seconds_per_byte(codec);
            if needed <= spare && self.tried(codec).rest == 0 {
                self.before.push((self.effort, progress_bytes / clock));
                return self.change_to(Some(codec));
            }
        }
    }

    /// Processor time that was available to the process but unused, in seconds.
    fn unused(&self) -> f64 {
        self.processors * self.recent.clock - self.recent.processor
    }

    fn change_to(&mut self, effort: Option<BlockCodec>) {
        self.effort = effort;
        (self.recent, self.recent_compressing, self.windows) = (Load::default(), 0.0, 0);
    }

    /// Estimated seconds of a thread for each byte. Zstandard's is at least the expected figure,
    /// since later blocks may cost more. LZ4's may be lower, since it is sampled all the time.
    fn seconds_per_byte(&self, codec: BlockCodec) -> f64 {
        let expected = expected_seconds_per_byte(codec);
        match codec {
            BlockCodec::Lz4 if self.lz4.seconds_per_byte > 0.0 => {
                let sampled = self.lz4.seconds_per_byte;
                (COST_FACTOR * sampled).min(sampled.max(expected))
            }
            BlockCodec::Lz4 => expected,
            BlockCodec::Zstd => self.zstd.seconds_per_byte.max(expected),
        }
    }

    /// The codec for the next block.
    fn next(&mut self) -> Option<BlockCodec> {
        let codec = match self.effort {
            Some(codec) => codec,
            None if self.unsampled > 0 => {
                self.unsampled -= 1;
                return None;
            }
            None => {
                let is_known = self.lz4.samples == MEAN_SAMPLES;
                let every = if is_known { SAMPLED_BLOCKS } else { FIRST_SAMPLED_BLOCKS };
                self.unsampled = every - 1;
                BlockCodec::Lz4
            }
        };
        let tried = self.tried(codec);
        if tried.left_out > 0 {
            tried.left_out -= 1;
            return None;
        }
        Some(codec)
    }

    fn compressed(
        &mut self,
        codec: BlockCodec,
        bytes: usize,
        compressed: Option<usize>,
        seconds: f64,
    ) {
        self.compressing += seconds;
        let tried = self.tried(codec);
        let per_byte = seconds / bytes as f64;
        tried.samples = (tried.samples + 1).min(MEAN_SAMPLES);
        tried.seconds_per_byte += (per_byte - tried.seconds_per_byte) / f64::from(tried.samples);
        let is_useful = compressed.is_some_and(|compressed| compressed < bytes / 8 * 7);
        tried.last_left_out =
            if is_useful { 0 } else { (2 * tried.last_left_out + 1).min(SKIPPED_BLOCKS_MAX) };
        tried.left_out = tried.left_out.max(tried.last_left_out);
    }

    fn tried(&mut self, codec: BlockCodec) -> &mut Tried {
        match codec {
            BlockCodec::Lz4 => &mut self.lz4,
            BlockCodec::Zstd => &mut self.zstd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sort of lines by two threads. Each byte takes `LINE_SECONDS` of a thread, is read from the
    /// drive once and spilled once.
    const LINE_SECONDS: f64 = 1.5e-9;
    const THREADS: usize = 2;

    /// What a codec does to the lines of a test: seconds for each byte, and the share that is left.
    struct Effect {
        lz4: (f64, f64),
        zstd: (f64, f64),
    }

    const LOGS: Effect = Effect { lz4: (1.2e-9, 0.24), zstd: (1.6e-9, 0.15) };
    const DIGITS: Effect = Effect { lz4: (1.0e-9, 1.0), zstd: (2.8e-9, 0.55) };
    const NOISE: Effect = Effect { lz4: (0.1e-9, 1.0), zstd: (0.8e-9, 1.0) };

    /// Simulates such a sort for `seconds`. The drive moves `drive` bytes per second, and each
    /// transferred byte takes `copy_seconds` of a processor. Returns the bytes sorted per second,
    /// and the efforts at the end.
    fn run(drive: f64, copy_seconds: f64, effect: &Effect, seconds: f64) -> (f64, Vec<usize>) {
        let mut decisions = Decisions::new(THREADS, THREADS);
        let (mut load, mut bytes) = (Load::default(), 0.0);
        let mut efforts = vec![0; 3];
        decisions.decide(load);
        while load.clock < seconds {
            let block = 1 << 17;
            let mut used = [0usize; 3];
            // A window has 64 blocks, and each is decided on its own.
            for _ in 0..64 {
                let codec = decisions.next();
                used[codec.map_or(0, |codec| 1 + codec as usize)] += 1;
                let Some(codec) = codec else { continue };
                let left = effect.of(codec).1;
                let compressed = (block as f64 * left) as usize;
                let compressed = (compressed < block).then_some(compressed);
                let seconds = block as f64 * effect.of(codec).0;
                decisions.compressed(codec, block, compressed, seconds);
            }
            let share = |at: usize| used[at] as f64 / 64.0;
            let (lz4, zstd) = (effect.lz4, effect.zstd);
            let compressing = share(1) * lz4.0 + share(2) * zstd.0;
            let written = share(0) + share(1) * lz4.1 + share(2) * zstd.1;
            let (moved, working) = (1.0 + written, LINE_SECONDS + compressing);
            let copying = moved * copy_seconds;
            let rate = (drive / moved).min(THREADS as f64 / (working + copying));
            let time = WINDOW_SECONDS * 1.01;
            decisions.compressing += rate * compressing * time;
            load = load
                + Load {
                    clock: time,
                    blocked: time * (THREADS as f64 - rate * working),
                    idle: 0.0,
                    processor: time * rate * (working + copying),
                    spilled_bytes: time * rate,
                    progress_bytes: 2.0 * time * rate,
                };
            bytes += rate * time;
            decisions.decide(load);
            (0..3).for_each(|at| efforts[at] += used[at]);
        }
        (bytes / load.clock, efforts)
    }

    impl Effect {
        fn of(&self, codec: BlockCodec) -> (f64, f64) {
            match codec {
                BlockCodec::Lz4 => self.lz4,
                BlockCodec::Zstd => self.zstd,
            }
        }
    }

    /// The rate for uncompressed lines.
    fn plain_rate(drive: f64, copy_seconds: f64) -> f64 {
        (drive / 2.0).min(THREADS as f64 / (LINE_SECONDS + 2.0 * copy_seconds))
    }

    #[test]
    fn slow_drives_are_relieved() {
        for (drive, gain) in [(100e6, 1.5), (200e6, 1.5), (500e6, 1.4), (600e6, 1.3), (700e6, 1.2)]
        {
            let (rate, efforts) = run(drive, 0.0, &LOGS, 2.0);
            assert!(rate > gain * plain_rate(drive, 0.0), "{drive}: {rate}, {efforts:?}");
        }
        // Only Zstandard shrinks these.
        let (rate, _) = run(200e6, 0.0, &DIGITS, 2.0);
        assert!(rate > 1.2 * plain_rate(200e6, 0.0), "{rate}");
    }

    /// Incompressible data, a drive as fast as the processors, and a drive that takes their time
    /// must not lose anything.
    #[test]
    fn nothing_is_lost() {
        for effect in [LOGS, DIGITS, NOISE] {
            for drive in [50e6, 200e6, 500e6, 900e6, 1200e6, 1600e6, 2000e6, 3000e6, 5000e6, 1e11] {
                for copy_seconds in [0.0, 0.1e-9, 0.3e-9, 1e-9] {
                    let (rate, efforts) = run(drive, copy_seconds, &effect, 2.0);
                    let plain = plain_rate(drive, copy_seconds);
                    assert!(
                        rate > 0.97 * plain,
                        "{drive} {copy_seconds}: {rate} {plain} {efforts:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_does_not_shrink_is_hardly_tried() {
        let (_, efforts) = run(200e6, 0.0, &NOISE, 2.0);
        assert!(efforts[1] + efforts[2] > 1 && efforts[0] > 20 * (efforts[1] + efforts[2]));
    }

    /// The first block touches memory that has not been used yet.
    #[test]
    fn a_slow_first_block_is_one_of_many() {
        let mut decisions = Decisions::new(THREADS, THREADS);
        let mut blocks = 0;
        for nanoseconds in [9, 1, 1, 1, 1, 1, 1, 1] {
            let sampled = (0..FIRST_SAMPLED_BLOCKS).find_map(|_| {
                blocks += 1;
                decisions.next()
            });
            let codec = sampled.expect("one of so many is sampled");
            decisions.compressed(codec, 1_000_000, Some(1), 1e-3 * f64::from(nanoseconds));
        }
        assert!((decisions.lz4.seconds_per_byte - 2e-9).abs() < 1e-12);
        assert!(blocks <= MEAN_SAMPLES * FIRST_SAMPLED_BLOCKS);
        // After that, samples are less urgent.
        (1..FIRST_SAMPLED_BLOCKS).for_each(|_| assert_eq!(decisions.next(), None));
        assert!(decisions.next().is_some());
        (1..SAMPLED_BLOCKS).for_each(|_| assert_eq!(decisions.next(), None));
        assert!(decisions.next().is_some());
    }

    /// The cost is three quarters of the spare time: within the share for a known cost, above the
    /// share for an estimated one.
    #[test]
    fn what_is_known_may_take_most_of_what_is_spare() {
        const SECONDS_PER_BYTE: f64 = 2.5e-9;
        let mut decisions = Decisions::new(THREADS, THREADS);
        for _ in 0..MEAN_SAMPLES {
            let seconds = SECONDS_PER_BYTE * 1e6;
            decisions.compressed(BlockCodec::Lz4, 1_000_000, Some(250_000), seconds);
        }
        // One of two threads waits, and one of two processors is idle.
        let time = WINDOW_SECONDS * 1.01;
        let window = Load {
            clock: time,
            blocked: time,
            processor: time,
            spilled_bytes: 0.75 * time / SECONDS_PER_BYTE,
            progress_bytes: 1.5 * time / SECONDS_PER_BYTE,
            ..Load::default()
        };
        let windows = (0..=KNOWN_WINDOWS + 1).map(f64::from);
        windows.for_each(|windows| decisions.decide(window.times(windows)));
        assert_eq!(decisions.effort, Some(BlockCodec::Lz4));
    }

    #[test]
    fn a_fast_drive_is_left_alone() {
        let (_, efforts) = run(5e9, 0.0, &LOGS, 2.0);
        assert!(efforts[0] > 50 * efforts[1] && efforts[2] == 0, "{efforts:?}");
    }
}

//! How much effort compression of scratch is worth: none, LZ4 or Zstandard, decided again and again
//! while a sort runs.
//!
//! Compression pays where threads wait for the drive and processors are idle meanwhile; elsewhere
//! it costs. So effort is only tried when both have been seen, and if what is spare can compress
//! *all* that is spilled: a little compression here and there costs more than it saves. A drive
//! that is as fast as memory keeps processors busy while threads wait for it, which the processor
//! time of the process shows; one that is nearly as fast takes more than can be compressed.
//!
//! What LZ4 takes is known from one block in a while that is compressed all the same.
//!
//! Where others use the machine, too, waiting is no sign of anything: threads wait for them as
//! well. So the trial decides: effort that doesn't read and spill lines faster than before falls
//! again, whenever that shows. It also falls when threads hardly wait for anything any more, or no
//! processor is idle. After each fall the codec rests, for twice as long as after the one before.
//!
//! Whether bytes shrink is another question, which they answer themselves: after a block that
//! hardly did, a codec is left out for a while, and longer each time.
//!
//! What was tried, and the figures: docs/experiments/2026-11-23-compression-auto.md.

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
    /// LZ4: less of the processor for more bytes.
    Lz4,
    /// Zstandard: where drives are slow, or space is short.
    Zstd,
    /// Each block with one of them or not at all, by what the drive and the processors have to
    /// spare.
    Auto(Measure),
}

impl Codec {
    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
            Codec::Auto(_) => "auto",
        }
    }

    /// Whether it is the sort that decides.
    pub(crate) fn is_auto(self) -> bool {
        matches!(self, Codec::Auto(_))
    }

    /// Bytes that compressing and decompressing take on a thread beside the blocks.
    pub(crate) fn context_bytes(self) -> u64 {
        match self {
            Codec::Lz4 => BlockCodec::Lz4.context_bytes(),
            Codec::Zstd => BlockCodec::Zstd.context_bytes(),
            Codec::Auto(_) => BlockCodec::Lz4.context_bytes() + BlockCodec::Zstd.context_bytes(),
        }
    }
}

/// What [`Codec::Auto`] goes by.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Clocks: what threads do and what the process takes.
    Clocks,
    /// The answers of a function to its n-th call, counted from 0.
    Given(fn(u64) -> Load),
}

/// What a sort has done up to a moment, in seconds over all of its threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// The moment, by a clock.
    pub clock: f64,
    /// Threads waited to write to scratch; of records of one size, for the drive.
    pub blocked: f64,
    /// Threads had nothing to do.
    pub idle: f64,
    /// Processor time of the process, the kernel's work for it included.
    pub processor: f64,
    /// Bytes of lines or records that were spilled.
    pub spilled_bytes: f64,
    /// The same, and those that were read: where the drive is what all wait for, a sort that goes
    /// on steadily has as many of them in a second whichever it is about.
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

/// How long the sort is watched before each decision: some writes of each thread at 100 MB/s, and a
/// twentieth of the shortest sort that is worth it.
const WINDOW_SECONDS: f64 = 0.04;
/// The share of the time spent waiting that effort may take. What LZ4 takes is known from sampled
/// blocks; what Zstandard takes is guessed. With 0.8 for both, and both guessed, a virtual drive
/// that others used, too, lost 6 to 34% (the experiment's table).
fn spare_share(codec: BlockCodec) -> f64 {
    match codec {
        BlockCodec::Lz4 => 0.8,
        BlockCodec::Zstd => 0.5,
    }
}
/// Less of all time than this without work means that compression is what all wait for.
const STARVED_SHARE: f64 = 0.05;
/// Windows from which a rate is known: before effort rises, and after it.
const KNOWN_WINDOWS: u32 = 4;
/// What a window counts of the next one.
const DECAY: f64 = 0.75;
/// Progress that effort must make, beside that without it.
const GAIN: f64 = 1.04;
/// Windows for which a codec rests after its first fall, and at most: a trial takes five.
const REST_WINDOWS: u32 = 16;
const REST_WINDOWS_MAX: u32 = 256;
/// Without effort one block in so many is compressed all the same, to know what LZ4 takes; of the
/// first ones, of which the mean counts, one in fewer.
const SAMPLED_BLOCKS: u32 = 64;
const FIRST_SAMPLED_BLOCKS: u32 = 8;
/// Samples of which the mean counts. From then on each weighs as much as in the last such mean.
const MEAN_SAMPLES: u32 = 8;
/// What a byte takes in all, as a multiple of its compression: a sampled block finds the caches
/// cold, so this is less than the fifth to the third that decompression takes, and copies.
const COST_FACTOR: f64 = 1.2;
/// Most blocks for which a codec is left out.
const SKIPPED_BLOCKS_MAX: u32 = 63;

/// What a byte takes of a thread to compress, as long as that isn't known: twice the time of most
/// lines on this project's machines (the experiment's table), because decompression takes some,
/// too, and so does moving the lines into a block.
fn expected_seconds_per_byte(codec: BlockCodec) -> f64 {
    match codec {
        BlockCodec::Lz4 => 1.0 / 400e6,
        BlockCodec::Zstd => 1.0 / 250e6,
    }
}

/// Decides for all threads of a sort.
pub(crate) struct Effort {
    codec: Option<Codec>,
    /// Of [`Codec::Auto`].
    decisions: Mutex<Decisions>,
}

impl Effort {
    /// Of a sort with so many threads.
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

    /// How to compress the next block, if at all. `measure` says what the sort has done so far.
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

    /// Compresses a block of `bytes` bytes by a function that returns how many they became, if they
    /// shrank at all, and counts what that took and made.
    pub(crate) fn compress(
        &self,
        codec: BlockCodec,
        bytes: usize,
        gauges: &Gauges,
        compress: impl FnOnce() -> io::Result<Option<usize>>,
    ) -> Result<Option<usize>, Error> {
        let (begun, begun_cpu) = (Instant::now(), thread_cpu_time());
        let compressed = compress().map_err(Error::Codec)?;
        // Decisions go by the processor's time: other threads may have had it meanwhile.
        let seconds = (thread_cpu_time() - begun_cpu).as_secs_f64();
        gauges.stage_times.compress_busy.add(begun.elapsed());
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

    /// Takes in that a block was compressed to so many bytes, if it shrank at all, in so many
    /// seconds.
    fn compressed(&self, codec: BlockCodec, bytes: usize, compressed: Option<usize>, seconds: f64) {
        let seconds = match self.codec {
            Some(Codec::Auto(Measure::Clocks)) => seconds,
            Some(Codec::Auto(Measure::Given(_))) => 0.0,
            _ => return,
        };
        self.decisions.lock().compressed(codec, bytes, compressed, seconds);
    }
}

/// What is known and decided.
struct Decisions {
    /// Threads that can work at once.
    workers: f64,
    processors: f64,
    /// What had been done when the window began.
    begin: Load,
    began: Instant,
    /// How often was measured.
    measured: u64,
    /// What was done in the last windows with this effort, later ones counting more.
    recent: Load,
    /// How many windows these are; the first one after a change is not counted.
    windows: u32,
    /// Seconds in which blocks were compressed: in this window, and as in `recent`.
    compressing: f64,
    recent_compressing: f64,
    effort: Option<BlockCodec>,
    /// Blocks until the next one is sampled.
    unsampled: u32,
    /// The efforts from which it rose, and the progress then, in bytes a second.
    before: Vec<(Option<BlockCodec>, f64)>,
    lz4: Tried,
    zstd: Tried,
}

/// What is known of a codec.
#[derive(Clone, Copy, Default)]
struct Tried {
    /// Windows for which it rests, and how many it was the last time.
    rest: u32,
    last_rest: u32,
    /// Blocks for which it is left out, and how many it was the last time.
    left_out: u32,
    last_left_out: u32,
    /// Seconds for each byte: the mean of the first blocks, then the last ones counting most; 0 if
    /// it was not tried.
    seconds_per_byte: f64,
    /// Blocks that were compressed, up to those of which the mean counts.
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

    /// Whether it is time to measure.
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
        // The first one only begins a window.
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

    /// Makes less effort if this one isn't worth it. Returns whether it did.
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

    /// Tries more effort if there is something to spare for it.
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

    /// Processor time that the process could have had.
    fn unused(&self) -> f64 {
        self.processors * self.recent.clock - self.recent.processor
    }

    fn change_to(&mut self, effort: Option<BlockCodec>) {
        self.effort = effort;
        (self.recent, self.recent_compressing, self.windows) = (Load::default(), 0.0, 0);
    }

    /// What a byte takes of a thread: not less than is expected, since the next ones may be dearer.
    /// Of LZ4 blocks are sampled all the time, so that it may be less.
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

    /// How to compress the next block.
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

    /// A sort of lines by two threads: a byte takes `LINE_SECONDS` of one of them, is read from the
    /// drive once and spilled once.
    const LINE_SECONDS: f64 = 1.5e-9;
    const THREADS: usize = 2;

    /// What a codec does to the lines of a test: seconds for each byte, and what is left of it.
    struct Effect {
        lz4: (f64, f64),
        zstd: (f64, f64),
    }

    const LOGS: Effect = Effect { lz4: (1.2e-9, 0.24), zstd: (1.6e-9, 0.15) };
    const DIGITS: Effect = Effect { lz4: (1.0e-9, 1.0), zstd: (2.8e-9, 0.55) };
    const NOISE: Effect = Effect { lz4: (0.1e-9, 1.0), zstd: (0.8e-9, 1.0) };

    /// Runs such a sort for so many seconds, with a drive of so many bytes a second, whose
    /// transfers take `copy_seconds` of a processor for each byte. Returns bytes sorted in a
    /// second, and the efforts in the end.
    fn run(drive: f64, copy_seconds: f64, effect: &Effect, seconds: f64) -> (f64, Vec<usize>) {
        let mut decisions = Decisions::new(THREADS, THREADS);
        let (mut load, mut bytes) = (Load::default(), 0.0);
        let mut efforts = vec![0; 3];
        decisions.decide(load);
        while load.clock < seconds {
            let block = 1 << 17;
            let mut used = [0usize; 3];
            // A window's blocks: of so many, each as it is decided.
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

    /// Of lines that aren't compressed.
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

    /// Neither what doesn't shrink, nor a drive that is as fast as the processors, nor one that
    /// takes their time.
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

    /// The first block touches memory that nobody has used yet.
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
        // Then it isn't as urgent.
        (1..FIRST_SAMPLED_BLOCKS).for_each(|_| assert_eq!(decisions.next(), None));
        assert!(decisions.next().is_some());
        (1..SAMPLED_BLOCKS).for_each(|_| assert_eq!(decisions.next(), None));
        assert!(decisions.next().is_some());
    }

    /// Three quarters of what is spare, as it is known; more than is left for what is guessed.
    #[test]
    fn what_is_known_may_take_most_of_what_is_spare() {
        const SECONDS_PER_BYTE: f64 = 2.5e-9;
        let mut decisions = Decisions::new(THREADS, THREADS);
        for _ in 0..MEAN_SAMPLES {
            let seconds = SECONDS_PER_BYTE * 1e6;
            decisions.compressed(BlockCodec::Lz4, 1_000_000, Some(250_000), seconds);
        }
        // One of two threads waits, and one of two processors has nothing to do.
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

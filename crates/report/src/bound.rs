//! What bounded a run, by how much, and what the person could change: sentences, each only where
//! the figures show it.
//!
//! | what | the figures that show it |
//! |---|---|
//! | a limit on bytes a second | transfers took nine tenths of it or more |
//! | a hot drive | pauses of a tenth of the time or more |
//! | the processor | its time is at least four fifths of what the threads could use |
//! | lack of processors | threads worked for half of their time, mostly without a processor |
//! | the drive | its measured speed needs at least four fifths of the time |
//! | transfers | threads waited for half of their time; or for less, with one always under way |
//! | reading and writing | threads waited for half of their time, transfers aren't counted |
//!
//! Savings are upper bounds: with half of a time gone, at most that half is saved.

use crate::run::{Moved, Run, Usage};
use crate::units::{bytes, count, memory, number, percent, rate, seconds};

/// Shorter runs have figures that are mostly chance: the processor's time is counted in 10 ms.
const SECONDS_MIN: f64 = 0.2;

/// What is said at the top of the page.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// What bounded the run, and by how much.
    pub(crate) sentence: String,
    /// What the person could change.
    pub(crate) changes: Vec<String>,
}

/// Shares of a run's time, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeShares {
    seconds: f64,
    threads: f64,
    /// Of the time that the threads could use, what they used on processors.
    pub(crate) processor: Option<f64>,
    /// Of that time, what they worked by the clock, without reading.
    pub(crate) working: Option<f64>,
    /// Of the time, what had a transfer under way.
    pub(crate) transfers: Option<f64>,
    /// Of the time of the threads, what they waited for reads or writes.
    pub(crate) waiting: Option<f64>,
}

impl TimeShares {
    /// `None` if the run has no time or no threads.
    pub(crate) fn of(run: &Run) -> Option<TimeShares> {
        let seconds = run.seconds.filter(|seconds| *seconds > 0.0)?;
        let threads = run.thread_count()? as f64;
        let share = |part: f64, whole: f64| (part / whole).clamp(0.0, 1.0);
        let waits = run.run.stages.iter().flat_map(|stage| &stage.waits);
        let waits = waits.filter(|wait| matches!(&*wait.on, "read" | "write"));
        let waited = waits.map(|wait| wait.seconds).sum();
        let working = run.run.stages.iter().filter(|stage| stage.name != "read");
        let worked = working.map(|stage| stage.busy_seconds).sum();
        let is_known = !run.run.stages.is_empty();
        Some(TimeShares {
            seconds,
            threads,
            processor: run.cpu_seconds().map(|cpu| share(cpu, threads * seconds)),
            transfers: run.moved().map(|moved| share(moved.busy_seconds, seconds)),
            working: is_known.then(|| share(worked, threads * seconds)),
            waiting: is_known.then(|| share(waited, threads * seconds)),
        })
    }
}

/// What bounded the run.
pub(crate) fn verdict(run: &Run) -> Verdict {
    let sentence = |sentence: String| Verdict { sentence, changes: Vec::new() };
    match (&*run.command, run.total, TimeShares::of(run)) {
        ("du", Some(total), _) => sentence(largest(run, &total)),
        ("du", None, _) => sentence("The report has no total.".into()),
        (_, _, None) => sentence(
            "The report doesn't say how long the run took, or with how many threads.".into(),
        ),
        (_, _, Some(shares)) if shares.seconds < SECONDS_MIN => sentence(format!(
            "The run took {}: too short to say what bounded it.",
            seconds(shares.seconds)
        )),
        (_, _, Some(shares)) => bounded(run, shares),
    }
}

fn largest(run: &Run, total: &Usage) -> String {
    let found = &run.entries.entries;
    let of_all = format!(
        "{} in {}",
        bytes(total.allocated_bytes as f64),
        match total.inodes {
            1 => "1 file or directory".into(),
            inodes => format!("{} files and directories", number(inodes)),
        }
    );
    let child = found.iter().find(|entry| entry.depth.0 > 0);
    match child.filter(|_| total.allocated_bytes > 0) {
        Some(child) => format!(
            "{of_all}; the largest below an argument is {}, with {}.",
            child.path,
            percent(child.allocated_bytes as f64 / total.allocated_bytes as f64)
        ),
        None => format!("{of_all}."),
    }
}

fn bounded(run: &Run, shares: TimeShares) -> Verdict {
    let TimeShares { seconds: all, processor, .. } = shares;
    let without_more = |sentence| Verdict { sentence, changes: Vec::new() };
    if let Some(verdict) = held_up(run, all) {
        return verdict;
    }
    if let Some(share) = processor.filter(|share| *share >= 0.8) {
        return processor_bound(run, shares, share);
    }
    let lacks_processors =
        |worked: &f64| *worked >= 0.5 && processor.is_some_and(|share| share <= 0.6 * worked);
    if let Some(worked) = shares.working.filter(lacks_processors) {
        return without_more(format!(
            "The threads lacked processors: they worked {} of their time, but were on processors \
             for {} of it. Other programs had these, or the kernel held the threads up.",
            percent(worked),
            percent(processor.unwrap_or(0.0))
        ));
    }
    match transfer_bound(run, shares) {
        Some(sentence) => Verdict { sentence, changes: less_scratch(run) },
        None => without_more(undecided(shares)),
    }
}

/// The verdict on a run that was held up on purpose.
fn held_up(run: &Run, all: f64) -> Option<Verdict> {
    let limit = run.run.limit_bytes_per_second.map(|limit| limit as f64);
    let moved_rate = |Moved { read_bytes, written_bytes, .. }: Moved| {
        (read_bytes as f64 + written_bytes as f64) / all
    };
    if let (Some(limit), Some(moved)) = (limit, run.moved().map(moved_rate))
        && moved >= 0.9 * limit
    {
        let sentence = format!(
            "The limit on bytes a second bounded this run: it moved {}, {} of the {} that \
             --bandwidth-limit allows.",
            rate(moved),
            percent((moved / limit).min(1.0)),
            rate(limit)
        );
        let changes = vec!["A higher --bandwidth-limit, or none.".into()];
        return Some(Verdict { sentence, changes });
    }
    let paused = run.run.paused_seconds.filter(|paused| *paused >= 0.1 * all)?;
    let sentence = format!(
        "Hot drives held this run up: transfers paused for {}, {} of the time.",
        seconds(paused),
        percent((paused / all).min(1.0))
    );
    let changes = vec!["Cooler drives, or a higher --temperature-limit.".into()];
    Some(Verdict { sentence, changes })
}

/// The sentence about a run that transfers bounded.
fn transfer_bound(run: &Run, shares: TimeShares) -> Option<String> {
    let TimeShares { seconds: all, processor, transfers, waiting, .. } = shares;
    if let Some(floor) = run.floor_seconds.filter(|floor| *floor >= 0.8 * all) {
        return Some(format!(
            "The drive bounded this run: as measured before, it needs {} for these bytes, {} of \
             the time. A drive twice as fast would save at most {}.",
            seconds(floor),
            percent((floor / all).min(1.0)),
            seconds(floor.min(all) / 2.0)
        ));
    }
    let is_waiting = |least: f64| waiting.is_some_and(|share| share >= least);
    let is_busy = transfers.is_some_and(|share| share >= 0.9);
    let is_idle = is_waiting(0.3) || processor.is_some_and(|share| share <= 0.3);
    if let Some(share) = transfers.filter(|_| is_busy && is_idle || is_waiting(0.5)) {
        let alone = |floor| format!(" The drive's measured speed would allow {}.", seconds(floor));
        return Some(format!(
            "Reading and writing bounded this run: a transfer was under way {} of the time, and \
             the threads {}. With transfers twice as fast, at most {} would be saved.{}",
            percent(share),
            idle(shares),
            seconds(all * share / 2.0),
            run.floor_seconds.map_or(String::new(), alone)
        ));
    }
    (transfers.is_none() && is_waiting(0.5)).then(|| {
        format!(
            "Inputs and output bounded this run: the threads waited {} of their time to read or \
             to write.",
            percent(waiting.unwrap_or(0.0))
        )
    })
}

fn processor_bound(run: &Run, shares: TimeShares, share: f64) -> Verdict {
    let TimeShares { seconds: all, threads, .. } = shares;
    let processors = run.run.machine.processors as f64;
    let sentence = format!(
        "The processor bounded this run: {} used {} of the time they had. Twice as many would save \
         at most {}.",
        count(threads as u64, "thread"),
        percent(share),
        seconds(all * share / 2.0)
    );
    let change = match processors {
        unused if unused > threads => format!(
            "More threads (--threads): the machine has {}, and the run used {}.",
            count(unused as u64, "processor"),
            number(threads as u64)
        ),
        _ => return Verdict { sentence, changes: Vec::new() },
    };
    Verdict { sentence, changes: vec![change] }
}

/// What the threads did while transfers were under way.
fn idle(shares: TimeShares) -> String {
    match (shares.waiting, shares.processor) {
        (Some(waiting), _) if waiting >= 0.3 => {
            format!("waited {} of theirs for transfers", percent(waiting))
        }
        (_, Some(processor)) => format!("used {} of theirs on processors", percent(processor)),
        _ => "waited".into(),
    }
}

fn undecided(shares: TimeShares) -> String {
    let parts = [
        ("the threads used", shares.processor, "of their time on processors"),
        ("the threads waited", shares.waiting, "of it for reads and writes"),
        ("a transfer was under way", shares.transfers, "of the time"),
    ];
    let known: Vec<String> = parts
        .iter()
        .filter_map(|(what, share, of)| Some(format!("{what} {} {of}", percent((*share)?))))
        .collect();
    match known.is_empty() {
        true => "The report doesn't say what the threads did.".into(),
        false => format!("Nothing alone bounded this run: {}.", known.join(", ")),
    }
}

/// How less would go to scratch, for a run that waited for transfers.
fn less_scratch(run: &Run) -> Vec<String> {
    let mut changes = Vec::new();
    let (Some(input), 1..) = (run.bytes, run.scratch_bytes) else { return changes };
    let machine = run.run.machine.memory_bytes;
    let scratch = bytes(run.scratch_bytes as f64);
    if machine as f64 > 1.25 * input as f64 {
        changes.push(format!(
            "More memory (--memory): {scratch} went to scratch and came back. With enough of it \
             nothing would, and the machine has {}; --dry-run says what is enough.",
            memory(machine)
        ));
    }
    let has_codec = run.lz4_bytes + run.zstd_bytes > 0;
    if !has_codec && !run.run.arguments.iter().any(|word| word.starts_with("--compress")) {
        changes.push(format!(
            "--compress=auto: the {scratch} of scratch were not compressed. It compresses where \
             threads wait for the drive."
        ));
    }
    changes
}

//! The worst that can happen to whole processes: drives that fail, fill up, stall, lie and go away,
//! inputs that change, limits of the system. In every case a job ends, reports what failed and
//! where, has the documented status, and leaves only the old output.
//!
//! Tests of an exact moment use a `FlakyDrive`, which holds the job at it.

use crate::flaky_drive::{Answer, Call, FlakyDrive};
use crate::refusals::SmallDisk;
use crate::sandbox::{Sandbox, clean, names, program};
use crate::signals::is_ignored;
use rustix::fs::statvfs;
use rustix::process::{Pid, Signal, kill_process};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;
use xsort_testing::surroundings::closing_descriptors;
use xsort_testing::{Random, quick_or_long};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

/// The number of checks on a job, a tenth of a second apart, before it counts as hanging. Checks
/// are counted rather than time, so that a machine that slept causes no failure.
const LOOKS_MAX: u32 = 1200;

/// A job in a sandbox that has the inputs `in` (records) and `text` (lines), and old outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Job {
    Merge,
    Scatter,
    /// Records from a pipe.
    Stream,
    Lines,
    PackedLines,
    /// Lines in order, from files.
    MergedLines,
    /// Rows of a table.
    Rows,
}

const JOBS: [Job; 5] = [Job::Merge, Job::Scatter, Job::Stream, Job::Lines, Job::PackedLines];

impl Job {
    fn is_of_lines(self) -> bool {
        matches!(self, Job::Lines | Job::PackedLines | Job::MergedLines)
    }

    /// Its command line, with these files and directories. `io` is the engine's name.
    fn line(self, input: &str, output: &str, scratch: &str, io: &str) -> String {
        let sort = |method| {
            format!(
                "sort -q -m 1M -j 2 --io {io} --method {method} {input} -o {output} -T {scratch}"
            )
        };
        let lines =
            |more| format!("lines -S 2M --parallel=2 {more} {input} -o {output} -T {scratch}");
        match self {
            Job::Merge => sort("merge"),
            Job::Scatter => sort("scatter"),
            Job::Stream => sort("merge").replace(&format!(" {input} "), " - "),
            Job::Lines => lines(""),
            Job::PackedLines => lines("--compress=lz4"),
            Job::MergedLines => lines("-m"),
            Job::Rows => format!(
                "table -q -m 2M -j 2 --format csv --no-header --by #1:int {input} -o {output} \
                 -T {scratch}"
            ),
        }
    }

    /// The job's status for corrupt data and failed transfers. Jobs of lines have GNU sort's status
    /// instead of `status`.
    fn status_of(self, status: i32) -> i32 {
        if self.is_of_lines() { 2 } else { status }
    }
}

/// A sandbox with inputs larger than the memory.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 8MB in");
    sandbox.ok("gen -q -f gensort-ascii 8MB text");
    let row = |number: u64| format!("{},\"two\nlines\"\n", number * 7_919 % 400_009);
    sandbox.write("rows", (0..400_000).map(row).collect::<String>());
    sandbox.write("out", "old");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    sandbox
}

/// A process that is killed when the value is dropped.
struct Running {
    child: Child,
    line: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a job ended.
struct Ended {
    code: Option<i32>,
    /// Its standard error.
    error: String,
}

fn command(sandbox: &Sandbox, line: &str) -> Command {
    let mut command = clean(program());
    command.args(line.split_whitespace());
    adorn(&mut command, sandbox);
    command
}

/// A command that a shell starts after it has set limits.
fn limited(sandbox: &Sandbox, limits: &str, line: &str) -> Command {
    let mut command = clean("bash");
    let close = closing_descriptors();
    command.args(["-c", &format!("{close}{limits}; exec {} {line}", program().display())]);
    adorn(&mut command, sandbox);
    command
}

fn adorn(command: &mut Command, sandbox: &Sandbox) {
    command
        .current_dir(sandbox.path())
        .env("XSORT_STATUS", "off")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
}

impl Running {
    fn start(mut command: Command) -> Running {
        let line = format!("{command:?}");
        Running { child: command.spawn().unwrap(), line }
    }

    /// Starts a job, with `in` through a pipe if the job reads one.
    fn start_job(sandbox: &Sandbox, job: Job, line: &str) -> Running {
        let mut command = command(sandbox, line);
        if job == Job::Stream {
            let mut cat = clean("cat");
            cat.arg("in").current_dir(sandbox.path()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut cat = cat.spawn().unwrap();
            command.stdin(cat.stdout.take().unwrap());
            // The thread ends with the pipe.
            thread::spawn(move || cat.wait());
        }
        Running::start(command)
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the process, at most for `LOOKS_MAX` checks.
    fn end(mut self) -> Ended {
        let mut stderr = self.child.stderr.take().unwrap();
        let text = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        for look in 0..LOOKS_MAX {
            if let Some(status) = self.child.try_wait().unwrap() {
                let text = text.join().unwrap();
                let error = text.trim_end().to_owned();
                return Ended { code: status.code(), error };
            }
            thread::sleep(Duration::from_millis(u64::from(look).clamp(1, 100)));
        }
        panic!("{}: it hangs", self.line);
    }
}

/// Starts a job, and returns when the drive holds it at a call that matches the rule.
fn start_held(
    drive: &FlakyDrive,
    call: Call,
    beyond: u64,
    start: impl FnOnce() -> Running,
) -> Running {
    drive.set(call, beyond, Answer::Stalls);
    let mut running = start();
    assert!(drive.wait_until_met(|| running.is_over()), "{}", running.line);
    running
}

/// Asserts that the sandbox is unchanged: its names, the old output, an empty scratch.
fn is_untouched(sandbox: &Sandbox, before: &[String], what: &str) {
    assert_eq!(sandbox.names(), before, "{what}");
    assert!(names(&sandbox.path().join("scratch")).is_empty(), "{what}");
    assert!(sandbox.read("out") == b"old", "{what}");
}

/// Asserts that `out` has the content of `input`, in order.
fn is_sorted(sandbox: &Sandbox, job: Job, input: &str, output: &str) {
    if job.is_of_lines() {
        assert_eq!(sandbox.ok(&format!("lines -c {output}")), "");
        let sum = |name: &str| {
            let text = fs::read(sandbox.path().join(name)).unwrap();
            let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            lines.concat()
        };
        assert!(sum(input) == sum(output));
    } else if job == Job::Rows {
        sandbox.ok(&format!("table -q --format csv --no-header --by #1:int --check {output}"));
        let bytes = |name: &str| fs::metadata(sandbox.path().join(name)).unwrap().len();
        assert_eq!(bytes(input), bytes(output));
    } else {
        sandbox.ok(&format!("verify -q {output} --against {input}"));
    }
}

fn input_of(job: Job) -> &'static str {
    match job {
        Job::Rows => "rows",
        job if job.is_of_lines() => "text",
        _ => "in",
    }
}

/// Asserts the status of a failed job, and the words of its error.
fn expect(ended: &Ended, code: i32, words: &[&str], what: &str) {
    assert_eq!(ended.code, Some(code), "{what}: {}", ended.error);
    for word in words {
        assert!(ended.error.contains(word), "{what}: no {word:?} in {:?}", ended.error);
    }
}

/// When a job is about to read its scratch for the first time, the scratch is complete. A flipped
/// bit anywhere in it must be found, in the right block.
#[test]
fn a_bit_flipped_anywhere_in_scratch_is_found_and_named() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    let scratch = drive.path().to_str().unwrap();
    let mut random = Random::new(1);
    for job in JOBS.into_iter().cycle().take(30) {
        let line = job.line(input_of(job), "out", scratch, "auto");
        let running =
            start_held(&drive, Call::Read, 0, || Running::start_job(&sandbox, job, &line));
        let pages = drive.nameless_pages();
        let (file, page) = pages[random.below(pages.len())];
        let (byte, bit) = (page + random.below(4096) as u64, random.below(8) as u32);
        drive.flip(file, byte, bit);
        drive.release();
        let ended = running.end();
        let what = format!("{job:?}: bit {bit} of byte {byte}");
        expect(&ended, job.status_of(6), &[scratch, "at byte", "checksum"], &what);
        let number = |after: &str| -> u64 {
            let rest = ended
                .error
                .split_once(after)
                .unwrap_or_else(|| panic!("{what}: {}", ended.error))
                .1;
            rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        let offset = number("at byte ");
        let bytes = if job == Job::Stream {
            number(&format!("at byte {offset}: "))
        } else {
            number("block of ")
        };
        assert!((offset..offset + bytes).contains(&byte), "{what}: {}", ended.error);
        is_untouched(&sandbox, &before, &what);
        assert!(drive.names().is_empty(), "{what}");
    }
}

/// The same on a real drive: the job is held when it begins to write, and another process flips
/// bits all over its nameless file.
#[test]
fn bits_flipped_on_a_real_drive_are_found() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let scratch = sandbox.path().join("scratch");
    let output = drive.join("out");
    for job in [Job::Merge, Job::Scatter, Job::Lines] {
        fs::write(&output, "old").unwrap();
        let line = job.line(input_of(job), output.to_str().unwrap(), "scratch", "auto");
        let running =
            start_held(&drive, Call::Write, 0, || Running::start_job(&sandbox, job, &line));
        let open = fs::read_dir(format!("/proc/{}/fd", running.child.id())).unwrap();
        let is_scratch =
            |path: &PathBuf| fs::read_link(path).is_ok_and(|link| link.starts_with(&scratch));
        let path = open
            .map(|entry| entry.unwrap().path())
            .find(is_scratch)
            .expect("there is a scratch file");
        let file = File::options().read(true).write(true).open(path).unwrap();
        let mut flips = 0;
        for page in (0..file.metadata().unwrap().len()).step_by(4096) {
            let mut bytes = [0; 4096];
            let read = file.read_at(&mut bytes, page).unwrap();
            if bytes[..read].iter().any(|byte| *byte != 0) {
                file.write_all_at(&[bytes[100] ^ 8], page + 100).unwrap();
                flips += 1;
            }
        }
        assert!(flips > 1000, "{line}: {flips} pages");
        drive.release();
        let number = fs::metadata(&scratch).unwrap().dev();
        let device = format!("{}:{})", libc::major(number), libc::minor(number));
        let words =
            [scratch.file_name().unwrap().to_str().unwrap(), "at byte", "checksum", &device];
        expect(&running.end(), job.status_of(6), &words, &line);
        assert!(names(&scratch).is_empty());
        assert_eq!(drive.names(), ["out"], "{line}");
        if !job.is_of_lines() {
            assert!(fs::read(&output).unwrap() == b"old");
        }
    }
}

/// For each call that fails, at each place, a spilling job reports the directory, the reason and,
/// for transfers, the place.
#[test]
fn scratch_that_fails_is_named() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    let scratch = drive.path().to_str().unwrap();
    for (call, beyond, errno, status) in [
        (Call::Create, 0, EIO, 5),
        (Call::Create, 0, EROFS, 2),
        (Call::Reserve, 0, EIO, 5),
        (Call::Reserve, 2 << 20, ENOSPC, 4),
        (Call::Write, 0, EIO, 5),
        (Call::Write, 1 << 20, EIO, 5),
        (Call::Write, 0, ENOSPC, 4),
        (Call::Write, 3 << 20, ENOSPC, 4),
        (Call::Write, 2 << 20, EROFS, 5),
        (Call::Read, 0, EIO, 5),
        (Call::Read, 3 << 20, EIO, 5),
        (Call::Punch, 0, EIO, 5),
    ] {
        let mut times_met = 0;
        for (job, io) in JOBS.into_iter().flat_map(|job| [(job, "auto"), (job, "sync")]) {
            if job.is_of_lines() && io == "sync" {
                continue;
            }
            drive.set(call, beyond, Answer::Fails(errno));
            let what = format!("{job:?} {io} {call:?} {beyond} {errno}");
            // Space is freed when runs are merged several times.
            let has_passes = call == Call::Punch && job != Job::Scatter;
            let memory = if has_passes { "-m 256K" } else { "-m 1M" };
            let line = job.line(input_of(job), "out", scratch, io).replace("-m 1M", memory);
            let ended = Running::start_job(&sandbox, job, &line).end();
            times_met += drive.times_met();
            if drive.times_met() == 0 {
                // The job doesn't need this call.
                assert_eq!(ended.code, Some(0), "{what}: {}", ended.error);
                sandbox.write("out", "old");
            } else {
                expect(&ended, job.status_of(status), &[scratch], &what);
                is_untouched(&sandbox, &before, &what);
                if matches!(call, Call::Read | Call::Write) && errno == EIO && !job.is_of_lines() {
                    expect(&ended, status, &["at byte", "Input/output error", "dmesg"], &what);
                }
            }
            assert!(drive.names().is_empty(), "{what}");
            sandbox.write("out", "old");
        }
        assert!(times_met > 0, "{call:?}: nobody calls it");
    }
}

/// If the output fails, the old one stays. After a failed sync nothing is trusted: the sync is not
/// repeated.
#[test]
fn an_output_that_fails_is_the_old_one() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let output = drive.join("out");
    let output = output.to_str().unwrap();
    let calls = [
        (Call::Create, 0, EIO, 5),
        (Call::Reserve, 0, EIO, 5),
        (Call::Reserve, 0, ENOSPC, 4),
        (Call::Write, 0, EIO, 5),
        (Call::Write, 5 << 20, ENOSPC, 4),
        (Call::Truncate, 0, EIO, 5),
        (Call::Sync, 0, EIO, 5),
        (Call::Sync, 0, ENOSPC, 4),
        (Call::Rename, 0, EIO, 5),
        (Call::SyncDirectory, 0, EIO, 5),
    ];
    let jobs = [
        (Some(Job::Merge), "auto"),
        (Some(Job::Scatter), "sync"),
        (Some(Job::Stream), "auto"),
        (Some(Job::Lines), ""),
        (Some(Job::PackedLines), ""),
        (Some(Job::Rows), ""),
        (None, "auto"),
    ];
    for (row, (call, beyond, errno, status)) in calls.into_iter().enumerate() {
        // All of both, but only a long run has all pairs.
        let jobs = jobs.into_iter().skip(quick_or_long(row % 2, 0));
        for (job, io) in jobs.step_by(quick_or_long(2, 1)) {
            let is_of_lines = job.is_some_and(Job::is_of_lines);
            // Lines and rows can do without the reservation.
            if (is_of_lines || job == Some(Job::Rows)) && call == Call::Reserve {
                continue;
            }
            drive.behave();
            fs::write(output, "old").unwrap();
            drive.set(call, beyond, Answer::Fails(errno));
            let line = match job {
                Some(job) => job.line(input_of(job), output, "scratch", io),
                None => format!("gen -q 8MB {output}"),
            };
            let what = format!("{call:?} {beyond} {errno}: {line}");
            let ended = Running::start_job(&sandbox, job.unwrap_or(Job::Merge), &line).end();
            assert_eq!(drive.calls(call).min(1), 1, "{what}: nobody calls it");
            let status = job.map_or(status, |job| job.status_of(status));
            expect(&ended, status, &[output], &what);
            if matches!(call, Call::Sync | Call::SyncDirectory) {
                assert_eq!(drive.calls(call), 1, "{what}");
                expect(&ended, status, &["making durable"], &what);
            }
            let says_new = ended.error.contains("in place, new and whole");
            assert_eq!(says_new, call == Call::SyncDirectory, "{what}: {}", ended.error);
            drive.behave();
            assert_eq!(drive.names(), ["out"], "{what}");
            // Its new name exists; it is only unknown whether the name survives a power cut.
            let is_old = call != Call::SyncDirectory;
            assert_eq!(fs::read(output).unwrap() == b"old", is_old, "{what}");
            assert!(names(&sandbox.path().join("scratch")).is_empty(), "{what}");
        }
    }
}

/// Runs a job whose n-th sync (fsync) fails. Prints a note and returns `None` if that isn't
/// possible.
fn with_failing_syncs(sandbox: &Sandbox, line: &str, which: &str) -> Option<Output> {
    let mut tracer = clean("strace");
    tracer.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync"]);
    tracer.args(["-e", &format!("inject=fsync:error=EIO:when={which}")]);
    tracer.arg(program()).args(line.split_whitespace());
    adorn(&mut tracer, sandbox);
    let ended = tracer.output().ok().filter(|ended| !ended.stderr.starts_with(b"strace"));
    if ended.is_none() {
        eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
    }
    ended
}

/// Each sync of a job fails once, for files and for directories. The error says which output is in
/// place, and that is true.
#[test]
fn after_any_sync_that_fails_it_is_said_which_output_is_there() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q -f gensort-ascii 100KB in");
    fs::create_dir(sandbox.path().join("scratch")).unwrap();
    for line in [
        "sort -q in -o out -T scratch",
        "sort -q --restart in -o out -T scratch",
        // With a budget: the default follows the machine's free memory, which changes meanwhile.
        "sort -q -m 64M --restart --remove-input gone -o out -T scratch",
        "lines --restart in -o out -T scratch",
        "gen -q 1MB out",
    ] {
        let (mut old, mut new) = (0, 0);
        loop {
            sandbox.write("out", "old");
            fs::copy(sandbox.path().join("in"), sandbox.path().join("gone")).unwrap();
            let Some(ended) = with_failing_syncs(&sandbox, line, &(old + new + 1).to_string())
            else {
                return;
            };
            let error = String::from_utf8_lossy(&ended.stderr);
            if ended.status.success() {
                break;
            }
            let status = if line.starts_with("lines") { 2 } else { 5 };
            assert_eq!(ended.status.code(), Some(status), "{line}: {error}");
            let is_new = sandbox.read("out") != b"old";
            assert_eq!(error.contains("in place, new and whole"), is_new, "{line}: {error}");
            if !is_new {
                old += 1;
            } else if line.starts_with("gen") {
                assert_eq!(sandbox.read("out").len(), 1_000_000, "{line}");
                new += 1;
            } else {
                assert_eq!(sandbox.ok("lines -c out"), "");
                new += 1;
            }
            // Inputs stay until the output's name is durable.
            let is_safe = sandbox.path().join("gone").exists() || !error.contains("making durable");
            assert!(is_safe, "{line}: {error}");
            if line.contains("gone") && is_new && error.contains("making durable") {
                // A later process doesn't trust the output before it has synced it.
                let resume = line.replace("--restart", "--resume");
                let again = with_failing_syncs(&sandbox, &resume, "1+").unwrap();
                let error = String::from_utf8_lossy(&again.stderr);
                assert!(error.contains("making durable the name of out"), "{resume}: {error}");
                assert!(sandbox.path().join("gone").exists(), "{resume}: {error}");
                assert_eq!(sandbox.run(&resume).code, Some(0));
                assert!(!sandbox.path().join("gone").exists());
            }
        }
        assert!(old > 0 && new > 0, "{line}: {old} and {new} syncs");
        assert!(names(&sandbox.path().join("scratch")).is_empty(), "{line}");
    }
}

#[test]
fn inputs_that_fail_are_named() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    for name in ["in", "text"] {
        fs::copy(sandbox.path().join(name), drive.join(name)).unwrap();
    }
    for beyond in [0, 5 << 20] {
        for (job, io) in
            [(Job::Merge, "auto"), (Job::Scatter, "sync"), (Job::Lines, ""), (Job::MergedLines, "")]
        {
            let input = drive.join(input_of(job));
            let input = input.to_str().unwrap();
            drive.set(Call::Read, beyond, Answer::Fails(EIO));
            let ended =
                Running::start(command(&sandbox, &job.line(input, "out", "scratch", io))).end();
            expect(&ended, job.status_of(5), &[input, "Input/output error"], input);
            if !job.is_of_lines() {
                expect(&ended, 5, &["at byte"], input);
            }
            is_untouched(&sandbox, &before, input);
        }
        drive.set(Call::Read, beyond, Answer::Fails(EIO));
        let input = drive.join("in");
        let ended =
            Running::start(command(&sandbox, &format!("verify -q {}", input.display()))).end();
        expect(&ended, 5, &[input.to_str().unwrap(), "at byte", "Input/output error"], "verify");
    }
}

/// All transfers move only a part of their bytes.
#[test]
fn short_transfers_change_nothing() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    for name in ["in", "text"] {
        fs::copy(sandbox.path().join(name), drive.join(name)).unwrap();
    }
    let output = drive.join("out");
    for (row, call) in [Call::Read, Call::Write].into_iter().enumerate() {
        // All of both, but only a long run has all pairs.
        let jobs = JOBS.into_iter().flat_map(|job| [(job, "auto"), (job, "sync")]);
        for (job, io) in jobs.skip(quick_or_long(row, 0)).step_by(quick_or_long(3, 1)) {
            drive.set(call, 0, Answer::Short);
            let input = drive.join(input_of(job));
            let line = job.line(
                input.to_str().unwrap(),
                output.to_str().unwrap(),
                drive.path().to_str().unwrap(),
                io,
            );
            let ended = Running::start_job(&sandbox, job, &line).end();
            assert_eq!((ended.code, &*ended.error), (Some(0), ""), "{line}");
            assert!(drive.times_met() > 0, "{line}");
            drive.behave();
            is_sorted(&sandbox, job, input_of(job), output.to_str().unwrap());
        }
    }
}

/// A job waits for a drive that doesn't answer for a while. If it is told to stop meanwhile, it
/// stops as soon as the drive answers.
#[test]
fn a_drive_that_stalls_is_waited_for() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    let scratch = drive.path().to_str().unwrap();
    for (call, job, io) in [
        (Call::Write, Job::Merge, "auto"),
        (Call::Read, Job::Scatter, "sync"),
        (Call::Read, Job::Stream, "auto"),
        (Call::Write, Job::Lines, ""),
        (Call::Read, Job::PackedLines, ""),
    ] {
        let signals = [Signal::INT, Signal::TERM].into_iter().filter(|signal| !is_ignored(*signal));
        for signal in std::iter::once(None).chain(signals.map(Some)) {
            let line = job.line(input_of(job), "out", scratch, io);
            let running =
                start_held(&drive, call, 1 << 20, || Running::start_job(&sandbox, job, &line));
            match signal {
                Some(signal) => running.signal(signal),
                // Longer than any short delay.
                None => thread::sleep(Duration::from_secs(2)),
            }
            drive.release();
            let ended = running.end();
            let what = format!("{signal:?}: {line}");
            match signal {
                None => {
                    assert_eq!((ended.code, &*ended.error), (Some(0), ""), "{what}");
                    is_sorted(&sandbox, job, input_of(job), "out");
                    sandbox.write("out", "old");
                }
                // Lines treat signals as GNU sort does: they kill.
                Some(_) if job.is_of_lines() => assert_eq!(ended.code, None, "{what}"),
                // The job had ended before the signal came.
                Some(_) if ended.code == Some(0) => {
                    is_sorted(&sandbox, job, input_of(job), "out");
                    sandbox.write("out", "old");
                }
                Some(signal) => {
                    expect(&ended, 128 + signal.as_raw(), &["stopped on request"], &what);
                }
            }
            is_untouched(&sandbox, &before, &what);
            assert!(drive.names().is_empty(), "{what}");
        }
    }
}

/// What another program does to an input.
type Change = fn(&mut Vec<u8>);

const CHANGES: [(Change, &str); 3] = [
    (|bytes| bytes.extend([b'x'; 1000]), "bytes when it was opened and has"),
    (|bytes| bytes.truncate(1_000_000), "shorter than it was"),
    // Lines keep their length.
    (
        |bytes| {
            bytes.iter_mut().filter(|byte| !b"\n\x0b".contains(byte)).for_each(|byte| *byte ^= 1);
        },
        "written to since it was opened",
    ),
];

/// An output of records is never composed of several moments of an input. For an input that got
/// shorter, the error says where.
#[test]
fn an_input_that_changes_while_it_is_read_is_named() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    let input = drive.join("in");
    let input = input.to_str().unwrap();
    let lines = [Job::Merge, Job::Scatter].map(|job| job.line(input, "out", "scratch", "auto"));
    for (change, word) in CHANGES {
        for line in lines.iter().cloned().chain([format!("verify -m 1M {input}")]) {
            drive.behave();
            fs::copy(sandbox.path().join("in"), input).unwrap();
            let running = start_held(&drive, Call::Read, 6 << 20, || {
                Running::start(command(&sandbox, &line))
            });
            drive.change("in", change);
            drive.release();
            expect(&running.end(), 5, &[input, word], &line);
            is_untouched(&sandbox, &before, &line);
        }
    }
}

/// Lines are used as they are when they are read, as in GNU sort. A large file, which is read
/// ahead, must not get shorter.
#[test]
fn lines_that_change_while_they_are_read_are_those_of_the_moment() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    sandbox.ok("gen -q -f gensort-ascii 20MB large");
    for (name, beyond) in [("text", 6 << 20), ("large", 15 << 20)] {
        let input = drive.join(name);
        let input = input.to_str().unwrap();
        for (change, word) in CHANGES {
            drive.behave();
            fs::copy(sandbox.path().join(name), input).unwrap();
            let running = start_held(&drive, Call::Read, beyond, || {
                Running::start(command(&sandbox, &Job::Lines.line(input, "out", "scratch", "")))
            });
            drive.change(name, change);
            drive.release();
            let ended = running.end();
            if name == "large" && word.contains("shorter") {
                expect(&ended, 2, &[input], word);
                assert!(sandbox.read("out") == b"old", "{word}");
            } else {
                assert_eq!((ended.code, &*ended.error), (Some(0), ""), "{name} {word}");
                assert_eq!(sandbox.ok("lines -c out"), "");
            }
            sandbox.write("out", "old");
        }
    }
    fs::remove_file(sandbox.path().join("large")).unwrap();
    is_untouched(&sandbox, &before, "in the end");
}

/// Scratch has no name, so it may lose its directory. An output may not.
#[test]
fn directories_that_go_away() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let output = drive.join("out");
    for job in JOBS {
        let line = job.line(input_of(job), output.to_str().unwrap(), "scratch", "auto");
        let running =
            start_held(&drive, Call::Write, 0, || Running::start_job(&sandbox, job, &line));
        fs::remove_dir(sandbox.path().join("scratch")).unwrap();
        drive.release();
        let ended = running.end();
        assert_eq!((ended.code, &*ended.error), (Some(0), ""), "{line}");
        is_sorted(&sandbox, job, input_of(job), output.to_str().unwrap());
        fs::create_dir(sandbox.path().join("scratch")).unwrap();
    }
    let before = sandbox.names();
    for job in [Job::Merge, Job::Scatter, Job::Stream] {
        fs::create_dir(sandbox.path().join("gone")).unwrap();
        let line = job.line("in", "gone/out", drive.path().to_str().unwrap(), "auto");
        let running =
            start_held(&drive, Call::Read, 0, || Running::start_job(&sandbox, job, &line));
        fs::remove_dir_all(sandbox.path().join("gone")).unwrap();
        drive.release();
        expect(&running.end(), 5, &["gone/out", "has vanished"], &line);
        is_untouched(&sandbox, &before, &line);
    }
}

/// File systems in memory of many sizes, so that scratch, the output or both fill up at every
/// point.
#[test]
fn space_that_runs_out_anywhere_is_named() {
    let sandbox = prepared();
    let before = sandbox.names();
    let small = Sandbox::new();
    for (megabytes, has_output) in
        (1..10).step_by(quick_or_long(2, 1)).flat_map(|size| [(size, false), (size, true)])
    {
        let Some(_mounted) = SmallDisk::mount(small.path(), megabytes) else {
            eprintln!("skipped: mounting is not allowed here");
            return;
        };
        let directory = small.path().to_str().unwrap();
        let output = if has_output { format!("{directory}/out") } else { "out".to_owned() };
        for job in JOBS.into_iter().chain([Job::Rows]) {
            let what = format!("{job:?}, {megabytes} MB, output: {has_output}");
            if has_output {
                fs::write(&output, "old").unwrap();
            }
            let ended = Running::start_job(
                &sandbox,
                job,
                &job.line(input_of(job), &output, directory, "auto"),
            )
            .end();
            if ended.code == Some(0) {
                is_sorted(&sandbox, job, input_of(job), &output);
            } else {
                let reason = if job.is_of_lines() { "No space left on device" } else { "free" };
                let place = if has_output && job.is_of_lines() { "" } else { directory };
                expect(&ended, job.status_of(4), &[place, reason], &what);
                if !has_output {
                    is_untouched(&sandbox, &before, &what);
                }
            }
            let left = names(small.path());
            assert_eq!(left, ["out"].repeat(usize::from(has_output)), "{what}");
            if has_output && ended.code != Some(0) {
                assert!(fs::read(&output).unwrap() == b"old", "{what}");
            }
            sandbox.write("out", "old");
        }
    }
}

/// Another process fills the drive that scratch is on.
#[test]
fn a_drive_that_fills_up_meanwhile_is_named() {
    let Some(drive) = FlakyDrive::mount() else { return };
    let sandbox = prepared();
    let before = sandbox.names();
    fs::copy(sandbox.path().join("in"), drive.join("in")).unwrap();
    let small = Sandbox::new();
    let Some(_mounted) = SmallDisk::mount(small.path(), 30) else {
        eprintln!("skipped: mounting is not allowed here");
        return;
    };
    let free = statvfs(small.path()).unwrap().f_bfree;
    for megabytes in [0, 1, 3, 6] {
        let input = drive.join("in");
        let scratch = small.path().to_str().unwrap();
        let line = Job::Merge.line(input.to_str().unwrap(), "out", scratch, "auto");
        let running = start_held(&drive, Call::Read, megabytes << 20, || {
            Running::start(command(&sandbox, &line))
        });
        let filler = small.path().join("filler");
        let filled = fs::write(&filler, vec![1; 40 << 20]);
        assert!(filled.is_err());
        drive.release();
        let ended = running.end();
        // The job keeps what it reserved before.
        if ended.code == Some(0) {
            is_sorted(&sandbox, Job::Merge, "in", "out");
            sandbox.write("out", "old");
        } else {
            expect(&ended, 4, &[scratch, "free some"], &line);
        }
        assert!(megabytes > 0 || ended.code == Some(4), "nothing was reserved yet");
        is_untouched(&sandbox, &before, &line);
        fs::remove_file(filler).unwrap();
        wait_until_free(small.path(), free);
    }
}

/// Waits until the free space is as before: the kernel closes a dead process's files, and frees
/// their space, a little after its end.
fn wait_until_free(mount: &Path, blocks: u64) {
    let is_free = || statvfs(mount).is_ok_and(|space| space.f_bfree == blocks);
    let waits = (0..LOOKS_MAX).take_while(|_| !is_free());
    waits.for_each(|_| thread::sleep(Duration::from_millis(10)));
    assert!(is_free(), "{}: something is left there", mount.display());
}

/// Limits from so low that the program doesn't start to so high that everything succeeds.
#[test]
fn few_open_files_are_enough_or_said() {
    let sandbox = prepared();
    let before = sandbox.names();
    let mut refused = 0;
    for (job, io) in [
        (Job::Merge, "auto"),
        (Job::Scatter, "sync"),
        (Job::Stream, "auto"),
        (Job::Lines, ""),
        (Job::PackedLines, ""),
    ] {
        for files in (5..=30).step_by(quick_or_long(8, 1)) {
            let line = job.line(input_of(job), "out", "scratch", io);
            let mut command = limited(&sandbox, &format!("ulimit -n {files}"), &line);
            command.stdin(File::open(sandbox.path().join("in")).unwrap());
            let ended = Running::start(command).end();
            let what = format!("{files} files: {line}");
            if ended.code == Some(0) {
                is_sorted(&sandbox, job, input_of(job), "out");
                sandbox.write("out", "old");
            } else {
                refused += 1;
                assert!(
                    [2, 3, 5].contains(&ended.code.unwrap_or(-1)),
                    "{what}: {:?} {}",
                    ended.code,
                    ended.error
                );
                assert!(ended.error.contains("Too many open files"), "{what}: {}", ended.error);
            }
            assert!(files < 20 || ended.code == Some(0), "{what}: {}", ended.error);
            is_untouched(&sandbox, &before, &what);
        }
    }
    assert!(refused > 0, "fewer would be needed to be too few");
}

/// No memory may be locked. Rings once counted against that limit.
#[test]
fn no_locked_memory_is_no_hindrance() {
    let sandbox = prepared();
    for job in JOBS {
        let line = format!(
            "{} {}",
            program().display(),
            job.line(input_of(job), "out", "scratch", "auto")
        );
        // Root may lock memory nonetheless, unless it gives up the capability.
        let script = format!(
            "ulimit -l 0; command -v setpriv >/dev/null && [ $(id -u) = 0 ] && exec setpriv \
                --bounding-set -ipc_lock {line}; exec {line}"
        );
        let mut command = clean("bash");
        command.args(["-c", &script]).stdin(File::open(sandbox.path().join("in")).unwrap());
        adorn(&mut command, &sandbox);
        let ended = Running::start(command).end();
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.error);
        is_sorted(&sandbox, job, input_of(job), "out");
    }
}

/// Starts a process to which the kernel refuses system calls, as in containers. `None` if the
/// kernel doesn't support that.
fn refused(command: Command, refusals: &[(i64, Option<SeccompCondition>, i32)]) -> Option<Running> {
    let programs = refusals.iter().map(|(call, condition, errno)| {
        let rules = condition
            .iter()
            .map(|condition| SeccompRule::new(vec![condition.clone()]).unwrap())
            .collect();
        let (calls, refuse) =
            (BTreeMap::from([(*call, rules)]), SeccompAction::Errno(*errno as u32));
        let architecture = std::env::consts::ARCH.try_into().ok()?;
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, refuse, architecture).unwrap();
        BpfProgram::try_from(filter).ok()
    });
    let programs: Vec<BpfProgram> = programs.collect::<Option<_>>()?;
    // On a thread of its own, because a thread never gets rid of the filters.
    let start = move || {
        programs
            .iter()
            .all(|program| seccompiler::apply_filter(program).is_ok())
            .then(|| Running::start(command))
    };
    let running = thread::spawn(start).join().unwrap();
    if running.is_none() {
        eprintln!("skipped: no system call can be refused here");
    }
    running
}

/// io_uring is refused in most containers.
#[test]
fn a_refused_io_uring_is_told_of_and_done_without() {
    let sandbox = prepared();
    let before = sandbox.names();
    for errno in [1, 12, 38] {
        let refusals = [(libc::SYS_io_uring_setup, None, errno)];
        for job in JOBS {
            let mut command = command(&sandbox, &job.line(input_of(job), "out", "scratch", "auto"));
            command.stdin(File::open(sandbox.path().join("in")).unwrap());
            let Some(running) = refused(command, &refusals) else { return };
            let ended = running.end();
            assert_eq!(ended.code, Some(0), "{job:?}: {}", ended.error);
            is_sorted(&sandbox, job, input_of(job), "out");
            sandbox.write("out", "old");
        }
        let loud = command(&sandbox, "sort -m 1M in -o out --progress never");
        let ended = refused(loud, &refusals).unwrap().end();
        expect(&ended, 0, &["note: ", "io_uring"], "a word of it");
        sandbox.write("out", "old");
        let wanted = command(&sandbox, &Job::Merge.line("in", "out", "scratch", "uring"));
        let ended = refused(wanted, &refusals).unwrap().end();
        expect(&ended, 2, &["io_uring", "--io"], "it is demanded");
        is_untouched(&sandbox, &before, "it is demanded");
    }
}

/// The kernel refuses transfers for a moment: they are submitted again.
#[test]
fn an_io_uring_that_is_refused_for_a_moment_is_asked_again() {
    let sandbox = prepared();
    let before = sandbox.names();
    let log = Sandbox::new();
    for errno in ["EAGAIN", "EBUSY", "EINTR", "ENOMEM", "EIO"] {
        let line = Job::Merge.line("in", "out", "scratch", "auto");
        let mut tracer = clean("strace");
        tracer
            .args(["-f", "-e", "trace=io_uring_setup,io_uring_enter", "-o"])
            .arg(log.path().join("log"));
        tracer.args(["-e", &format!("inject=io_uring_enter:error={errno}:when=5..9")]);
        tracer.arg(program()).args(line.split_whitespace());
        adorn(&mut tracer, &sandbox);
        let Some(ended) = tracer.output().ok().filter(|ended| !ended.stderr.starts_with(b"strace"))
        else {
            eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
            return;
        };
        assert!(ended.status.success(), "{errno}: {}", String::from_utf8_lossy(&ended.stderr));
        let calls = String::from_utf8(log.read("log")).unwrap();
        if !calls.contains("io_uring_enter(") {
            eprintln!("SKIPPED: there is no io_uring here");
            return;
        }
        assert!(calls.contains("(INJECTED)"), "{errno}: it wasn't refused");
        is_sorted(&sandbox, Job::Merge, "in", "out");
        assert_eq!(sandbox.names(), before, "{errno}");
        sandbox.write("out", "old");
    }
}

/// The refusal of a limit on processes, which doesn't bind root.
#[test]
fn threads_that_can_not_be_had_are_named() {
    let sandbox = prepared();
    let before = sandbox.names();
    let thread = u64::from(libc::CLONE_THREAD as u32);
    let is_thread =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), thread)
            .unwrap();
    // Without the newer call, whose flags are in memory, the C library uses the older one.
    let refusals =
        [(libc::SYS_clone3, None, libc::ENOSYS), (libc::SYS_clone, Some(is_thread), libc::EAGAIN)];
    for (job, io) in [
        (Job::Merge, "auto"),
        (Job::Scatter, "sync"),
        (Job::Stream, "auto"),
        (Job::Lines, ""),
        (Job::PackedLines, ""),
    ] {
        let mut command = command(&sandbox, &job.line(input_of(job), "out", "scratch", io));
        command.stdin(File::open(sandbox.path().join("in")).unwrap());
        let Some(running) = refused(command, &refusals) else { return };
        let ended = running.end();
        expect(&ended, 2, &["Resource temporarily unavailable", "ulimit -u"], &format!("{job:?}"));
        is_untouched(&sandbox, &before, "without threads");
    }
}

/// A real file system on a loop device whose storage is a file of a `FlakyDrive`. So direct I/O
/// with io_uring meets a device that fails.
struct FailingDevice {
    directory: Sandbox,
    /// Unmounted before the drive.
    drive: FlakyDrive,
}

impl FailingDevice {
    /// Prints a note and returns `None` if it can't be mounted.
    fn mount() -> Option<FailingDevice> {
        let drive = FlakyDrive::mount()?;
        let device = drive.join("device");
        File::create(&device).unwrap().set_len(64 << 20).unwrap();
        let made = clean("mkfs.ext4")
            .args(["-q", "-F", "-m", "0", "-O", "^has_journal"])
            .arg(&device)
            .output();
        let directory = Sandbox::new();
        let mut mount = clean("mount");
        mount.args(["-o", "loop,errors=continue"]).arg(&device).arg(directory.path());
        if made.is_ok_and(|made| made.status.success())
            && mount.output().is_ok_and(|mounted| mounted.status.success())
        {
            return Some(FailingDevice { directory, drive });
        }
        eprintln!("skipped: no loop device here");
        None
    }
}

impl Drop for FailingDevice {
    fn drop(&mut self) {
        self.drive.behave();
        let _ = clean("umount").arg(self.directory.path()).status();
    }
}

#[test]
fn a_device_that_fails_under_a_real_file_system_is_named() {
    let sandbox = prepared();
    // With less memory, scratch of lines goes through the page cache, and may not reach the device.
    sandbox.ok("gen -q -f gensort-ascii 32MB text");
    let memory = ("-S 2M", "-S 17M");
    let before = sandbox.names();
    for call in [Call::Write, Call::Read] {
        let Some(device) = FailingDevice::mount() else { return };
        let scratch = device.directory.path().to_str().unwrap();
        for (job, io) in JOBS.into_iter().flat_map(|job| [(job, "auto"), (job, "sync")]) {
            // Beyond most of the file system's own data.
            device.drive.set(call, 4 << 20, Answer::Fails(EIO));
            let line = job.line(input_of(job), "out", scratch, io).replace(memory.0, memory.1);
            let ended = Running::start_job(&sandbox, job, &line).end();
            assert!(device.drive.times_met() > 0, "{line}");
            expect(&ended, job.status_of(5), &[scratch, "Input/output error"], &line);
            is_untouched(&sandbox, &before, &line);
            device.drive.behave();
            assert_eq!(names(device.directory.path()), ["lost+found"], "{line}");
        }
    }
}

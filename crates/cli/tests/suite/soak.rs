//! Soak: jobs by chance, side by side in one scratch directory, and some of them killed at any moment.
//!
//! ```text
//!  lane 0   gen   sort   lines   killed sort   verify   ...   each lane waits for its job, and judges what it made
//!  lane 1   lines   killed gen   du   sort   ...
//!  ...
//!  warden   status   status --clear   status --json   ...     beside them, all the time
//! ```
//!
//! What must hold: a job that isn't killed ends well, and its output is that of an oracle (`verify --against` for records, GNU sort for lines, GNU du);
//! the output of a sort of records that is killed is the old one, or whole; whatever was killed, at the end nothing is left in scratch, beside
//! the outputs or in shared memory, and this process has no more files open than before.
//!
//! A lane's jobs follow from the seed; the moments of death are chosen by it, too, but when a job gets how far is the machine's matter.
//! `XSORT_SOAK_SECONDS=3600` is what `make soak` asks for.

use crate::chance::Chance;
use crate::lines::gnu_is_here;
use crate::sandbox::{Sandbox, names, program};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const LANES: usize = 4;
/// Seconds of a run that nobody asked to be longer.
const SECONDS: u64 = 5;
/// Moments of death: up to so long after the start.
const LIFE_MILLISECONDS: usize = 400;
/// A job of this size ends within seconds: one that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

const FORMATS: &[&str] = &["gensort", "gensort-ascii", "kv128", "block4k"];
const PATTERNS: &[&str] = &["uniform", "equal", "sorted", "reversed", "heavy"];
const METHODS: &[&str] = &["auto", "merge", "scatter"];
const BUDGETS: &[&str] = &["300K", "1M", "2M", "4M", "7M", "16M", "64M"];
const THREADS: &[&str] = &["1", "2", "3", "8", "32"];
const ORDERS: &[&str] = &[
    "",
    "-u",
    "-s",
    "-r",
    "-n",
    "-k1,1n",
    "-k2",
    "-k2,2 -u",
    "-f",
    "-k1.2,1.5 -s",
    "-z",
    "-h",
    "-V",
    "-g -u",
    "-d -r",
];
const EXTRAS: &[&str] = &["", "", "--compress=lz4", "--compress=zstd"];

/// How a job was asked to end.
#[derive(Clone, Copy, Debug)]
struct Death {
    after: Duration,
    signal: Signal,
}

/// What all lanes share.
struct Soak {
    sandbox: Sandbox,
    deadline: Instant,
    has_gnu: bool,
    /// So that one lane's failure ends the others.
    is_over: AtomicBool,
    finished: AtomicUsize,
    killed: AtomicUsize,
}

impl Soak {
    fn goes_on(&self) -> bool {
        Instant::now() < self.deadline && !self.is_over.load(Relaxed)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(program());
        command.args(line.split_whitespace()).current_dir(self.sandbox.path()).env("LC_ALL", "C");
        command.env("XSORT_STATUS_DIR", self.sandbox.path().join("status"));
        command
    }

    /// Runs a job, and `death` meets it if there is one. `None` if it was met before it was done.
    fn run(&self, line: &str, input: Option<&Path>, death: Option<Death>) -> Option<Output> {
        let mut command = self.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Through a pipe, for a file would be opened by its name.
        let pipe = |path| Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap();
        let mut cat = input.map(pipe);
        command.stdin(cat.as_mut().map_or(Stdio::null(), |cat| cat.stdout.take().unwrap().into()));
        let child = command.spawn().unwrap();
        // Whoever wouldn't let go of the pipe would have `cat` wait for a reader.
        drop(command);
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        let is_done = AtomicBool::new(false);
        let output = thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                let mut death = death;
                while !is_done.load(Relaxed) {
                    if let Some(Death { signal, .. }) = death.take_if(|death| begun.elapsed() >= death.after)
                    {
                        // It may be over by now.
                        let _ = pidfd_send_signal(&process, signal);
                    }
                    if begun.elapsed() > PATIENCE {
                        let _ = pidfd_send_signal(&process, Signal::ABORT);
                        panic!("it hangs: xsort {line}");
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            });
            let output = child.wait_with_output().unwrap();
            is_done.store(true, Relaxed);
            output
        });
        cat.map(|mut cat| cat.wait().unwrap());
        if death.is_some_and(|death| is_death_of(output.status, death.signal)) {
            self.killed.fetch_add(1, Relaxed);
            return None;
        }
        self.finished.fetch_add(1, Relaxed);
        Some(output)
    }

    /// A job that nobody kills, and that must do well.
    fn ok(&self, line: &str) -> Output {
        let output = self.run(line, None, None).expect("nobody killed it");
        assert!(output.status.success(), "xsort {line}: {:?} {}", output.status, text(&output));
        output
    }

    /// The lane's jobs, one after the other, until the time is over.
    fn lane(&self, number: usize, seed: u64) {
        let mut chance = Chance::of(seed.wrapping_mul(1009) + number as u64);
        let mut lane = Lane { soak: self, number, format: "gensort".into() };
        lane.generate(&mut chance, None);
        while self.goes_on() {
            let death = (chance.below(3) == 0).then(|| Death {
                // Most soon, for most jobs are over soon.
                after: Duration::from_millis({
                    let most = 1 + chance.below(LIFE_MILLISECONDS);
                    chance.below(most) as u64
                }),
                signal: *chance.one_of(&[Signal::KILL, Signal::TERM, Signal::INT]),
            });
            match chance.below(10) {
                0 => lane.generate(&mut chance, death),
                1..=4 => lane.sort(&mut chance, death),
                5..=7 => lane.lines(&mut chance, death),
                8 => lane.measure(),
                _ => lane.verify(&mut chance, death),
            }
        }
    }

    /// Looks at the jobs and clears after the dead ones, while others live.
    fn warden(&self, seed: u64) {
        let mut chance = Chance::of(seed ^ 0xdead);
        while self.goes_on() {
            let line = *chance.one_of(&["status", "status --clear", "status --json"]);
            let output = self.run(line, None, None).expect("nobody killed it");
            assert!(output.status.success(), "xsort {line}: {:?} {}", output.status, text(&output));
            thread::sleep(Duration::from_millis(chance.below(100) as u64));
        }
    }
}

fn is_death_of(status: ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal.as_raw()) || status.code() == Some(128 + signal.as_raw())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One job after the other, on files of its own.
struct Lane<'s> {
    soak: &'s Soak,
    number: usize,
    /// Of the records in its input.
    format: String,
}

impl Lane<'_> {
    fn input(&self) -> String {
        format!("data/lane{}/in", self.number)
    }

    /// Makes the lane a new input; the old one stays if that is killed.
    fn generate(&mut self, chance: &mut Chance, death: Option<Death>) {
        let (format, pattern) = (*chance.one_of(FORMATS), *chance.one_of(PATTERNS));
        let (kilobytes, seed, threads) =
            (5 + chance.below(20_000), chance.below(1000), *chance.one_of(THREADS));
        let input = self.input();
        let line = format!(
            "gen -f {format} --pattern {pattern} --seed {seed} -j {threads} {kilobytes}KB {input}.new"
        );
        let new = self.soak.sandbox.path().join(format!("{input}.new"));
        match self.soak.run(&line, None, death) {
            Some(output) => {
                assert!(output.status.success(), "xsort {line}: {}", text(&output));
                let said = String::from_utf8(output.stdout).unwrap();
                let sum = said.lines().find_map(|line| line.strip_prefix("Checksum: ")).unwrap().to_owned();
                let verdict = self.soak.run(&format!("verify -f {format} {input}.new"), None, None).unwrap();
                assert!(text_of(&verdict.stdout).contains(&format!("Checksum: {sum}")), "xsort {line}");
                fs::rename(&new, self.soak.sandbox.path().join(&input)).unwrap();
                format.clone_into(&mut self.format);
            }
            // Died just after it was published, or before it ever was: whole or not there.
            None if new.exists() => {
                let bytes = fs::metadata(&new).unwrap().len();
                assert!(bytes + 4096 > kilobytes as u64 * 1000, "xsort {line} left half a file");
                fs::remove_file(&new).unwrap();
            }
            None => {}
        }
    }

    fn sort(&self, chance: &mut Chance, death: Option<Death>) {
        let (method, budget) = (*chance.one_of(METHODS), *chance.one_of(BUDGETS));
        let (threads, format) = (*chance.one_of(THREADS), &self.format);
        let (input, output) = (self.input(), format!("out/lane{}", self.number));
        let path = self.soak.sandbox.path().join(&output);
        let has_old = chance.below(2) == 0;
        let _ = fs::remove_file(&path);
        if has_old {
            fs::write(&path, "old").unwrap();
        }
        let pipe = self.soak.sandbox.path().join(&input);
        let (source, pipe) = match chance.below(3) {
            0 => (input.clone(), None),
            1 => (format!("data/lane{}", self.number), None),
            _ => ("-".into(), Some(&*pipe)),
        };
        let with = |budget: &str| {
            format!(
                "sort -f {format} --method {method} -m {budget} -j {threads} -T scratch {source} -o {output}"
            )
        };
        let mut line = with(budget);
        let mut ended = self.soak.run(&line, pipe, death);
        // What is said to be enough, is.
        if let Some(refused) = ended.take_if(|ended| ended.status.code() == Some(4)) {
            let said = text(&refused);
            let enough =
                said.split_once("-m ").and_then(|(_, rest)| rest.trim_end().strip_suffix(')')).expect(&said);
            line = with(enough);
            ended = self.soak.run(&line, pipe, death);
        }
        match ended {
            Some(ended) => {
                assert!(ended.status.success(), "xsort {line}: {:?} {}", ended.status, text(&ended));
            }
            None if !has_old && !path.exists() => return,
            None if has_old && fs::read(&path).unwrap() == b"old" => return,
            None => {}
        }
        self.soak.ok(&format!("verify -q -f {format} {output} --against {input}"));
    }

    fn lines(&self, chance: &mut Chance, death: Option<Death>) {
        let (order, extra) = (*chance.one_of(ORDERS), *chance.one_of(EXTRAS));
        let (budget, threads) = (*chance.one_of(BUDGETS), *chance.one_of(THREADS));
        let (input, output) = (self.input(), format!("out/lane{}.lines", self.number));
        let directory = self.soak.sandbox.path();
        let path = directory.join(&output);
        let pipe = directory.join(&input);
        let (source, pipe) = if chance.below(3) == 0 { ("-", Some(&*pipe)) } else { (&*input, None) };
        let line =
            format!("lines {order} {extra} -S {budget} --parallel={threads} -T scratch {source} -o {output}");
        let Some(ended) = self.soak.run(&line, pipe, death) else { return };
        let said = text(&ended);
        // Records of four KiB without a newline can make lines that are too long for the smallest budgets.
        if said.contains("is too long for a memory budget") {
            return;
        }
        assert!(ended.status.success(), "xsort {line}: {:?} {said}", ended.status);
        if !self.soak.has_gnu {
            return;
        }
        let expected = format!("{output}.gnu");
        let gnu = Command::new("sort")
            .args(order.split_whitespace())
            .args(["-T", "out", "-o", &expected, &input])
            .current_dir(directory)
            .env("LC_ALL", "C")
            .status();
        assert!(gnu.unwrap().success());
        let expected = directory.join(expected);
        assert!(
            fs::read(&path).unwrap() == fs::read(&expected).unwrap(),
            "other lines than GNU sort's: xsort {line}"
        );
        fs::remove_file(expected).unwrap();
        fs::remove_file(path).unwrap();
    }

    fn measure(&self) {
        let tree = format!("data/lane{}", self.number);
        let ours = self.soak.ok(&format!("du -a --threads=1 {tree}"));
        let gnu =
            Command::new("du").args(["-a", &tree]).current_dir(self.soak.sandbox.path()).output().unwrap();
        if self.soak.has_gnu {
            assert_eq!(text_of(&ours.stdout), text_of(&gnu.stdout));
        }
    }

    /// An input is whole, and in order only if it was made so.
    fn verify(&self, chance: &mut Chance, death: Option<Death>) {
        let (budget, threads) = (*chance.one_of(BUDGETS), *chance.one_of(THREADS));
        let (input, format) = (self.input(), &self.format);
        let line = format!("verify -f {format} -m {budget} -j {threads} {input} --against {input}");
        let Some(ended) = self.soak.run(&line, None, death) else { return };
        let verdict = text_of(&ended.stdout);
        assert!(verdict.contains("SUCCESS - records and checksum are those of"), "xsort {line}: {verdict}");
        assert_eq!(
            ended.status.success(),
            verdict.contains("all records are in order"),
            "xsort {line}: {verdict}"
        );
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Files that this process has open below `directory`; other tests have their own.
fn open_below(directory: &Path) -> usize {
    let links =
        fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter(|path| path.starts_with(directory)).count()
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn jobs_side_by_side_and_killed_at_any_moment_leave_nothing_and_nothing_wrong() {
    let seed = variable("XSORT_SEED").unwrap_or(1);
    let seconds = variable("XSORT_SOAK_SECONDS").unwrap_or(SECONDS);
    let sandbox = Sandbox::new();
    for directory in ["scratch", "out", "data", "status"] {
        fs::create_dir(sandbox.path().join(directory)).unwrap();
    }
    (0..LANES).for_each(|lane| fs::create_dir(sandbox.path().join(format!("data/lane{lane}"))).unwrap());
    let soak = Soak {
        sandbox,
        deadline: Instant::now() + Duration::from_secs(seconds),
        has_gnu: gnu_is_here(),
        is_over: AtomicBool::new(false),
        finished: AtomicUsize::new(0),
        killed: AtomicUsize::new(0),
    };
    struct End<'s>(&'s AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            if thread::panicking() {
                self.0.store(true, Relaxed);
            }
        }
    }
    thread::scope(|scope| {
        let soak = &soak;
        for number in 0..LANES {
            scope.spawn(move || {
                let _end = End(&soak.is_over);
                soak.lane(number, seed);
            });
        }
        scope.spawn(move || {
            let _end = End(&soak.is_over);
            soak.warden(seed);
        });
    });
    let (finished, killed) = (soak.finished.load(Relaxed), soak.killed.load(Relaxed));
    eprintln!("soak: {finished} jobs finished, {killed} were killed, seed {seed}");
    assert!(finished > 0);
    soak.ok("status --clear");
    let directory = soak.sandbox.path();
    assert_eq!(names(&directory.join("scratch")), [""; 0]);
    assert_eq!(names(&directory.join("status")), [""; 0]);
    for name in names(&directory.join("out")) {
        assert!(name.starts_with("lane"), "left beside the outputs: {name}");
    }
    for lane in 0..LANES {
        assert_eq!(names(&directory.join(format!("data/lane{lane}"))), ["in"]);
    }
    assert_eq!(open_below(directory), 0);
    // Which it would have seen.
    let file = File::open(directory.join("data/lane0/in")).unwrap();
    assert_eq!(open_below(&directory.canonicalize().unwrap()), 1);
    drop(file);
}

//! Soak test: random jobs, in parallel in one scratch directory, some of them killed at random
//! moments.
//!
//! ```text
//!  client 0   gen   sort   lines   killed sort   verify   ...     waits for each, checks it
//!  client 1   lines   killed gen   du   killed sort, resumed, killed, resumed   ...
//!  ...
//!  watcher   status   status --clear   status --json   ...     in parallel, all the time
//! ```
//!
//! These must hold. A job that isn't killed succeeds, and its output is that of an oracle
//! (`verify --against` for records, GNU sort for lines, GNU du). The output of a killed sort of
//! records is the old one, or complete. Inputs that a killed sort was to remove exist, unless the
//! output does. A sort that is killed and resumed ends like one that isn't killed. After all kills,
//! nothing is left in scratch, next to the outputs or in shared memory, and this process has no
//! more files open than before.
//!
//! A client's jobs follow from the seed. A kill comes within the time that the client's latest jobs
//! have taken, so that it meets every phase on any machine. `make soak` sets
//! `XSORT_SOAK_SECONDS=3600`.

use crate::sandbox::{Sandbox, clean, names, program};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use xsort_testing::{Random, gnu, number};

const CLIENTS: usize = 4;
/// Seconds of a run by default.
const SECONDS: u64 = 3;
/// The maximum number of interruptions of a sort before it may end.
const INTERRUPTIONS_MAX: usize = 4;
/// A job of this size ends within seconds: one that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// Memory that is enough even if a client's whole input is one line.
const AMPLE: &str = "128M";
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
const EXTRAS: &[&str] = &["", "--compress=lz4", "--compress=zstd", "--compress=auto"];

/// The signal for a job, and when it comes.
#[derive(Clone, Copy, Debug)]
struct Death {
    after: Duration,
    signal: Signal,
}

/// The state that all clients share.
struct Soak {
    sandbox: Sandbox,
    deadline: Instant,
    has_gnu: bool,
    /// Set when a client fails, so that the others end.
    is_over: AtomicBool,
    finished: AtomicUsize,
    killed: AtomicUsize,
    resumed: AtomicUsize,
}

impl Soak {
    fn goes_on(&self) -> bool {
        Instant::now() < self.deadline && !self.is_over.load(Relaxed)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(self.sandbox.path()).env("LC_ALL", "C");
        command.env("XSORT_STATUS_DIR", self.sandbox.path().join("status"));
        command
    }

    /// Runs a job, and kills it if `death` says so. `None` if it was killed before it was done.
    fn run(&self, line: &str, input: Option<&Path>, death: Option<Death>) -> Option<Output> {
        let mut command = self.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Through a pipe, because a file would be opened by its name.
        let pipe = |path| clean("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap();
        let mut cat = input.map(pipe);
        command.stdin(cat.as_mut().map_or(Stdio::null(), |cat| cat.stdout.take().unwrap().into()));
        let child = command.spawn().unwrap();
        // Otherwise this process would hold the pipe open, and `cat` would wait for a reader.
        drop(command);
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        let is_done = AtomicBool::new(false);
        let output = thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                let mut death = death;
                while !is_done.load(Relaxed) {
                    if let Some(Death { signal, .. }) =
                        death.take_if(|death| begun.elapsed() >= death.after)
                    {
                        // It may have ended by now.
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

    /// Runs a job that isn't killed, and must succeed.
    fn ok(&self, line: &str) -> Output {
        let output = self.run(line, None, None).expect("nobody killed it");
        assert!(output.status.success(), "xsort {line}: {:?} {}", output.status, text(&output));
        output
    }

    /// Runs the client's jobs one after the other until the time is over.
    fn client(&self, number: usize, seed: u64) {
        let mut random = Random::new(seed.wrapping_mul(1009) + number as u64);
        let mut client =
            Client { soak: self, number, format: "gensort".into(), pace: Cell::default() };
        client.generate(&mut random, None);
        while self.goes_on() {
            let death = (random.below(3) == 0).then(|| client.death(&mut random));
            match random.below(14) {
                0 => client.generate(&mut random, death),
                1..=4 => client.sort(&mut random, death),
                5..=7 => client.lines(&mut random, death),
                8 => client.measure(),
                9 => client.verify(&mut random, death),
                10 => client.merge(&mut random, death),
                11 => client.sort_away(&mut random, death),
                12 => client.sort_in_pieces(&mut random),
                _ => client.lines_in_pieces(&mut random),
            }
        }
    }

    /// Lists the jobs and clears dead ones, while others run.
    fn watcher(&self, seed: u64) {
        let mut random = Random::new(seed ^ 0xdead);
        while self.goes_on() {
            let line = random.one_of(&["status", "status --clear", "status --json"]);
            let output = self.run(line, None, None).expect("nobody killed it");
            assert!(output.status.success(), "xsort {line}: {:?} {}", output.status, text(&output));
            thread::sleep(Duration::from_millis(random.below(100) as u64));
        }
    }
}

fn is_death_of(status: ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal.as_raw()) || status.code() == Some(128 + signal.as_raw())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// True if a sort of lines that wasn't killed succeeded. Records of four KiB without a newline can
/// form lines that are too long for the smaller budgets.
fn is_done(ended: &Output, line: &str) -> bool {
    let said = text(ended);
    let is_too_long = said.contains("is too long for a memory budget");
    assert!(ended.status.success() || is_too_long, "xsort {line}: {:?} {said}", ended.status);
    !is_too_long
}

/// A client that runs one job after the other, on its own files.
struct Client<'s> {
    soak: &'s Soak,
    number: usize,
    /// The format of the records in its input.
    format: String,
    /// The duration of the last job that came to its end.
    pace: Cell<Duration>,
}

impl Client<'_> {
    fn input(&self) -> String {
        format!("data/client{}/in", self.number)
    }

    fn death(&self, random: &mut Random) -> Death {
        let microseconds = self.pace.get().as_micros() as usize * 5 / 4;
        Death {
            after: Duration::from_micros(random.below(1 + microseconds) as u64),
            signal: random.one_of(&[Signal::KILL, Signal::KILL, Signal::TERM, Signal::INT]),
        }
    }

    /// Runs a job, and stores its duration if it isn't killed.
    fn run(&self, line: &str, input: Option<&Path>, death: Option<Death>) -> Option<Output> {
        let begun = Instant::now();
        let ended = self.soak.run(line, input, death);
        if ended.is_some() {
            self.pace.set(begun.elapsed());
        }
        ended
    }

    /// Runs a job that can be resumed after kills, until it ends.
    fn run_in_pieces(&self, line: &str, random: &mut Random) -> Output {
        for _ in 0..random.below(INTERRUPTIONS_MAX + 1) {
            let death = self.death(random);
            if let Some(ended) = self.run(line, None, Some(death)) {
                return ended;
            }
            self.soak.resumed.fetch_add(1, Relaxed);
        }
        self.run(line, None, None).expect("nobody killed it")
    }

    /// Generates a new input for the client. The old one stays if that is killed.
    fn generate(&mut self, random: &mut Random, death: Option<Death>) {
        let (format, pattern) = (random.one_of(FORMATS), random.one_of(PATTERNS));
        let (kilobytes, seed, threads) =
            (5 + random.below(20_000), random.below(1000), random.one_of(THREADS));
        let input = self.input();
        let line = format!(
            "gen -f {format} --pattern {pattern} --seed {seed} -j {threads} {kilobytes}KB \
                {input}.new"
        );
        let new = self.soak.sandbox.path().join(format!("{input}.new"));
        match self.run(&line, None, death) {
            Some(output) => {
                assert!(output.status.success(), "xsort {line}: {}", text(&output));
                let said = String::from_utf8(output.stdout).unwrap();
                let sum = said
                    .lines()
                    .find_map(|line| line.strip_prefix("Checksum: "))
                    .unwrap()
                    .to_owned();
                let verdict =
                    self.run(&format!("verify -f {format} {input}.new"), None, None).unwrap();
                assert!(
                    text_of(&verdict.stdout).contains(&format!("Checksum: {sum}")),
                    "xsort {line}"
                );
                fs::rename(&new, self.soak.sandbox.path().join(&input)).unwrap();
                format.clone_into(&mut self.format);
            }
            // Killed just after it was published, or before: the file is complete or missing.
            None if new.exists() => {
                let bytes = fs::metadata(&new).unwrap().len();
                assert!(bytes + 4096 > kilobytes as u64 * 1000, "xsort {line} left half a file");
                fs::remove_file(&new).unwrap();
            }
            None => {}
        }
    }

    fn sort(&self, random: &mut Random, death: Option<Death>) {
        let (method, budget) = (random.one_of(METHODS), random.one_of(BUDGETS));
        let (threads, format) = (random.one_of(THREADS), &self.format);
        let (input, output) = (self.input(), format!("out/client{}", self.number));
        let path = self.soak.sandbox.path().join(&output);
        let has_old = random.below(2) == 0;
        let _ = fs::remove_file(&path);
        if has_old {
            fs::write(&path, "old").unwrap();
        }
        let pipe = self.soak.sandbox.path().join(&input);
        let (source, pipe) = match random.below(3) {
            0 => (input.clone(), None),
            1 => (format!("data/client{}", self.number), None),
            _ => ("-".into(), Some(&*pipe)),
        };
        let with = |budget: &str| {
            format!(
                "sort -f {format} --method {method} -m {budget} -j {threads} -T scratch {source} \
                    -o {output}"
            )
        };
        let mut line = with(budget);
        let mut ended = self.run(&line, pipe, death);
        // The memory that the error names must be enough.
        if let Some(refused) = ended.take_if(|ended| ended.status.code() == Some(4)) {
            let said = text(&refused);
            let enough = said
                .split_once("-m ")
                .and_then(|(_, rest)| rest.trim_end().strip_suffix(')'))
                .expect(&said);
            line = with(enough);
            ended = self.run(&line, pipe, death);
        }
        match ended {
            Some(ended) => {
                assert!(
                    ended.status.success(),
                    "xsort {line}: {:?} {}",
                    ended.status,
                    text(&ended)
                );
            }
            None if !has_old && !path.exists() => return,
            None if has_old && fs::read(&path).unwrap() == b"old" => return,
            None => {}
        }
        self.soak.ok(&format!("verify -q -f {format} {output} --against {input}"));
    }

    fn lines(&self, random: &mut Random, death: Option<Death>) {
        let (order, extra) = (random.one_of(ORDERS), random.one_of(EXTRAS));
        let (budget, threads) = (random.one_of(BUDGETS), random.one_of(THREADS));
        let (input, output) = (self.input(), format!("out/client{}.lines", self.number));
        let directory = self.soak.sandbox.path();
        let pipe = directory.join(&input);
        let (source, pipe) =
            if random.below(3) == 0 { ("-", Some(&*pipe)) } else { (&*input, None) };
        let line = format!(
            "lines {order} {extra} -S {budget} --parallel={threads} -T scratch {source} -o {output}"
        );
        if self.run(&line, pipe, death).is_some_and(|ended| is_done(&ended, &line)) {
            self.judge_lines(order, &[&input], &output, &line);
        }
    }

    /// Compares an output with GNU sort's for the same files, which are few and not large. Then
    /// removes it.
    fn judge_lines(&self, order: &str, inputs: &[&str], output: &str, line: &str) {
        let path = self.soak.sandbox.path().join(output);
        if self.soak.has_gnu {
            let mut gnu = clean("sort");
            gnu.args(order.split_whitespace())
                .args(inputs)
                .current_dir(self.soak.sandbox.path())
                .env("LC_ALL", "C");
            let expected = gnu.stderr(Stdio::inherit()).output().unwrap();
            assert!(expected.status.success());
            assert!(
                fs::read(&path).unwrap() == expected.stdout,
                "other lines than GNU sort's: xsort {line}"
            );
        }
        fs::remove_file(path).unwrap();
    }

    /// Sorts the input twice, and merges the results.
    fn merge(&self, random: &mut Random, death: Option<Death>) {
        let (order, budget) = (random.one_of(ORDERS), random.one_of(&["16M", "64M"]));
        let threads = random.one_of(THREADS);
        let (parts, output) = (
            format!("out/client{}.parts", self.number),
            format!("out/client{}.lines", self.number),
        );
        let directory = self.soak.sandbox.path().join(&parts);
        fs::create_dir(&directory).unwrap();
        for part in ["a", "b"] {
            self.soak.ok(&format!(
                "lines {order} -S {AMPLE} -T scratch {} -o {parts}/{part}",
                self.input()
            ));
        }
        let line = format!(
            "lines -m {order} -S {budget} --parallel={threads} --batch-size=2 -T scratch \
                --recursive {parts} -o {output}"
        );
        if self.run(&line, None, death).is_some_and(|ended| is_done(&ended, &line)) {
            let parts = [format!("{parts}/a"), format!("{parts}/b")];
            self.judge_lines(&format!("{order} -m"), &[&parts[0], &parts[1]], &output, &line);
        }
        fs::remove_dir_all(directory).unwrap();
    }

    /// Sorts a copy that is to be removed: either it exists, or the output does and is complete.
    fn sort_away(&self, random: &mut Random, death: Option<Death>) {
        let (method, budget) = (random.one_of(METHODS), random.one_of(&["4M", "16M"]));
        let threads = random.one_of(THREADS);
        let (copy, output) =
            (format!("out/client{}.copy", self.number), format!("out/client{}", self.number));
        let directory = self.soak.sandbox.path();
        fs::copy(directory.join(self.input()), directory.join(&copy)).unwrap();
        let _ = fs::remove_file(directory.join(&output));
        let line = format!(
            "sort -f {} --method {method} -m {budget} -j {threads} -T scratch --remove-input \
                {copy} -o {output}",
            self.format
        );
        let ended = self.run(&line, None, death);
        let is_there = directory.join(&copy).exists();
        if let Some(ended) = ended {
            assert!(
                ended.status.success() && !is_there,
                "xsort {line}: {:?} {}",
                ended.status,
                text(&ended)
            );
        }
        if directory.join(&output).exists() {
            self.soak.ok(&format!(
                "verify -q -f {} {output} --against {}",
                self.format,
                self.input()
            ));
        } else {
            assert!(is_there, "neither input nor output is there: xsort {line}");
        }
        if is_there {
            assert!(
                fs::read(directory.join(&copy)).unwrap()
                    == fs::read(directory.join(self.input())).unwrap()
            );
            fs::remove_file(directory.join(copy)).unwrap();
        }
    }

    fn sort_in_pieces(&self, random: &mut Random) {
        let (method, budget) = (random.one_of(METHODS), random.one_of(&["4M", "16M"]));
        let (input, output) = (self.input(), format!("out/client{}", self.number));
        let (threads, every) = (random.one_of(THREADS), random.one_of(&["0", "0.05"]));
        let line = format!(
            "sort -f {} --method {method} -m {budget} -j {threads} -T scratch --resume \
                --checkpoint-every {every} {input} -o {output}",
            self.format
        );
        let ended = self.run_in_pieces(&line, random);
        assert!(ended.status.success(), "xsort {line}: {:?} {}", ended.status, text(&ended));
        self.soak.ok(&format!("verify -q -f {} {output} --against {input}", self.format));
    }

    fn lines_in_pieces(&self, random: &mut Random) {
        let (order, extra) = (random.one_of(ORDERS), random.one_of(EXTRAS));
        let (input, output) = (self.input(), format!("out/client{}.lines", self.number));
        let memory = random.one_of(&["4M", "16M"]);
        let with = |memory, how| {
            format!("lines {order} {extra} -S {memory} -T scratch {how} {input} -o {output}")
        };
        let mut line = with(memory, "--resume");
        if !is_done(&self.run_in_pieces(&line, random), &line) {
            // The checkpoint was planned with too little memory.
            line = with(AMPLE, "--restart");
            self.soak.ok(&line);
        }
        self.judge_lines(order, &[&input], &output, &line);
    }

    fn measure(&self) {
        let tree = format!("data/client{}", self.number);
        let ours = self.soak.ok(&format!("du -a --threads=1 {tree}"));
        let gnu =
            clean("du").args(["-a", &tree]).current_dir(self.soak.sandbox.path()).output().unwrap();
        if self.soak.has_gnu {
            assert_eq!(text_of(&ours.stdout), text_of(&gnu.stdout));
        }
    }

    /// Verifies an input: it is complete, and in order only if it was generated so.
    fn verify(&self, random: &mut Random, death: Option<Death>) {
        let (budget, threads) = (random.one_of(BUDGETS), random.one_of(THREADS));
        let (input, format) = (self.input(), &self.format);
        let line = format!("verify -f {format} -m {budget} -j {threads} {input} --against {input}");
        let Some(ended) = self.run(&line, None, death) else { return };
        let verdict = text_of(&ended.stdout);
        assert!(
            verdict.contains("SUCCESS - records and checksum are those of"),
            "xsort {line}: {verdict}"
        );
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

/// The number of files that this process has open below `directory`. Other tests have their own.
fn open_below(directory: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter(|path| path.starts_with(directory)).count()
}

#[test]
fn jobs_side_by_side_and_killed_at_any_moment_leave_nothing_and_nothing_wrong() {
    let seed = number("XSORT_SEED").unwrap_or(1);
    let seconds = number("XSORT_SOAK_SECONDS").unwrap_or(SECONDS);
    let sandbox = Sandbox::new();
    for directory in ["scratch", "out", "data", "status"] {
        fs::create_dir(sandbox.path().join(directory)).unwrap();
    }
    (0..CLIENTS).for_each(|client| {
        fs::create_dir(sandbox.path().join(format!("data/client{client}"))).unwrap();
    });
    let soak = Soak {
        sandbox,
        deadline: Instant::now() + Duration::from_secs(seconds),
        has_gnu: gnu::has("sort"),
        is_over: AtomicBool::new(false),
        finished: AtomicUsize::new(0),
        killed: AtomicUsize::new(0),
        resumed: AtomicUsize::new(0),
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
        for number in 0..CLIENTS {
            scope.spawn(move || {
                let _end = End(&soak.is_over);
                soak.client(number, seed);
            });
        }
        scope.spawn(move || {
            let _end = End(&soak.is_over);
            soak.watcher(seed);
        });
    });
    let (finished, killed) = (soak.finished.load(Relaxed), soak.killed.load(Relaxed));
    let resumed = soak.resumed.load(Relaxed);
    eprintln!(
        "soak: {finished} jobs finished, {killed} were killed, {resumed} of these resumed, seed \
            {seed}"
    );
    assert!(finished > 0);
    soak.ok("status --clear");
    let directory = soak.sandbox.path();
    assert_eq!(names(&directory.join("scratch")), [""; 0]);
    assert_eq!(names(&directory.join("status")), [""; 0]);
    for name in names(&directory.join("out")) {
        assert!(name.starts_with("client"), "left beside the outputs: {name}");
    }
    for client in 0..CLIENTS {
        assert_eq!(names(&directory.join(format!("data/client{client}"))), ["in"]);
    }
    assert_eq!(open_below(directory), 0);
    // A check of the count itself.
    let file = File::open(directory.join("data/client0/in")).unwrap();
    assert_eq!(open_below(&directory.canonicalize().unwrap()), 1);
    drop(file);
}

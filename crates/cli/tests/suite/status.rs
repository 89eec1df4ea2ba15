//! Jobs that are watched: listed, shown, killed, cleared, cooled down. A pipe that is neither
//! filled nor drained holds a job at its place.

use crate::sandbox::{Ended, Sandbox, clean, names, program};
use crate::terminal::Terminal;
use rustix::fs::{major, minor, stat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Jobs that publish in a directory of their own.
struct Watched {
    sandbox: Sandbox,
}

/// A job whose standard input is held open.
struct Job {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Watched {
    fn new() -> Watched {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path().join("status")).unwrap();
        Watched { sandbox }
    }

    fn home(&self) -> PathBuf {
        self.sandbox.path().join("status")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = clean(program());
        command.args(line.split_whitespace()).current_dir(self.sandbox.path());
        command.env("XSORT_STATUS_DIR", self.home()).env_remove("XSORT_STATUS");
        command
    }

    fn start(&self, line: &str) -> Job {
        self.start_with(self.command(line))
    }

    fn start_with(&self, mut command: Command) -> Job {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        Job { child, stdin }
    }

    /// Starts a sort of records that waits for input.
    fn start_sort(&self, output: &str) -> Job {
        let mut job = self.start(&format!("sort -m 8M -o {output}"));
        job.stdin.as_mut().unwrap().write_all(&[7; 300_000]).unwrap();
        job
    }

    fn status(&self, line: &str) -> Ended {
        let output = self.command(&format!("status {line}")).output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn jobs(&self) -> Vec<Value> {
        let ended = self.status("--json");
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let told: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(told["command"], "status");
        told["jobs"].as_array().unwrap().clone()
    }

    /// Waits until the text satisfies `is_so`. (After all processes were stopped for a while, jobs
    /// are silent for a moment.)
    fn wait_for_text(&self, line: &str, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.status(line).stdout;
            if is_so(&text) {
                return text;
            }
            assert!(begun.elapsed() < Duration::from_secs(300), "it was never so: {text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the job satisfies `is_so`.
    fn wait_for(&self, job: &mut Job, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let pid = job.child.id();
            let found =
                self.jobs().into_iter().find(|found| found["snapshot"]["job"]["pid"] == pid);
            if let Some(found) = found.filter(&is_so) {
                return found;
            }
            if let Some(status) = job.child.try_wait().unwrap() {
                let mut stderr = String::new();
                job.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
                panic!("it ended: {status}: {stderr}");
            }
            assert!(
                begun.elapsed() < Duration::from_secs(300),
                "it was never so: {:?}",
                self.jobs()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Job {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Lets the job end. Returns its status and its messages.
    fn end(mut self) -> (std::process::ExitStatus, String) {
        drop(self.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status, String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn a_job_is_listed_and_shown_while_it_runs() {
    let watched = Watched::new();
    assert!(watched.status("").stdout.starts_with("no jobs are running"));
    let mut job = watched.start_sort("out");
    let pid = job.child.id();
    let found = watched.wait_for(&mut job, |found| {
        found["snapshot"]["phase"]["done_bytes"] == 300_000 && found["state"] == "running"
    });
    let snapshot = &found["snapshot"];
    assert_eq!(found["leftovers"], Value::Null);
    assert_eq!(snapshot["format"], 1);
    assert_eq!(snapshot["job"]["command"], "sort");
    let words: Vec<&str> = snapshot["job"]["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    assert_eq!(words[1..], ["sort", "-m", "8M", "-o", "out"]);
    let directory = watched.sandbox.path().canonicalize().unwrap();
    assert_eq!(snapshot["job"]["directory"], directory.to_str().unwrap());
    assert_eq!(snapshot["phase"]["name"], "spool");
    assert!(snapshot["memory"]["resident_bytes"].as_u64().unwrap() > 100_000);
    assert_eq!(snapshot["drives"][0]["path"], directory.to_str().unwrap());

    let table = watched.wait_for_text("", |text| {
        let line = text.lines().nth(1).unwrap();
        [&pid.to_string(), "running", "spool", "xsort sort -m 8M -o out"]
            .iter()
            .all(|word| line.contains(*word))
    });
    let detail = watched.status(&pid.to_string()).stdout;
    assert!(
        detail.contains("command     xsort sort -m 8M -o out") && detail.contains("spool: 300 kB"),
        "{detail}"
    );
    assert!(!table.contains('\u{1b}') && !detail.contains('\u{1b}'), "no colours in a pipe");

    let (status, stderr) = job.end();
    assert!(status.success(), "{stderr}");
    assert_eq!(watched.jobs().len(), 0);
    assert_eq!(names(&watched.home()), [""; 0], "nothing stays of a job that took leave");
}

/// The job is a sort with a plan, whose drive is too hot.
#[test]
fn a_drive_that_is_too_hot_pauses_a_job_until_it_has_cooled_down() {
    let watched = Watched::new();
    let root = watched.sandbox.path().join("sys");
    let sensor = hot_drive(&watched, &root);
    watched.sandbox.ok("gen -q 3MB in");
    let mut command =
        watched.command("sort -f gensort --method merge -m 1M in -o out --temperature-limit 70");
    command.env("XSORT_SYSFS", &root);
    let mut job = watched.start_with(command);
    let found = watched.wait_for(&mut job, |found| {
        found["snapshot"]["phase"]["name"] == "form runs" && found["state"] == "cooling"
    });
    let snapshot = &found["snapshot"];
    assert_eq!(
        (&snapshot["limit_celsius"], &snapshot["resume_celsius"]),
        (&70.0.into(), &65.0.into())
    );
    let drives = snapshot["drives"].as_array().unwrap();
    assert!(
        drives.iter().all(|drive| drive["celsius"] == 88.5 && drive["device"] == "nvme7n1"),
        "{drives:?}"
    );
    assert_eq!(snapshot["phase"]["bytes"], 3_000_000);
    assert_eq!(snapshot["phase"]["done_bytes"], 0);
    assert_eq!(snapshot["record_bytes"], 100);
    assert_eq!(snapshot["memory"]["budget_bytes"], 1 << 20);
    assert_eq!(snapshot["share_done"], 0.0);
    assert!(snapshot["counts"]["chunks_all"].as_u64().unwrap() > 1);
    assert!(watched.status(&job.child.id().to_string()).stdout.contains("70 °C, transfers pause"));
    fs::write(&sensor, "69000").unwrap();
    watched.wait_for(&mut job, |found| {
        found["snapshot"]["drives"][0]["celsius"] == 69.0 && found["state"] == "cooling"
    });
    fs::write(&sensor, "64000").unwrap();
    let (status, stderr) = job.end();
    assert!(status.success(), "{stderr}");
    for part in [
        "nvme7n1 has 88 °C, the limit is 70: transfers pause until it is below 65",
        "has 64 °C: transfers go on",
    ] {
        assert!(stderr.contains(part), "{part} in {stderr}");
    }
    watched.sandbox.ok("verify -q out --against in");
}

#[test]
fn a_job_that_pauses_can_be_stopped() {
    let watched = Watched::new();
    let root = watched.sandbox.path().join("sys");
    hot_drive(&watched, &root);
    let mut command = watched.command("gen 3MB out --temperature-limit 70");
    command.env("XSORT_SYSFS", &root);
    let mut job = watched.start_with(command);
    watched.wait_for(&mut job, |found| found["state"] == "cooling");
    job.signal(Signal::TERM);
    let (status, stderr) = job.end();
    assert_eq!(status.code(), Some(143), "{stderr}");
    assert_eq!(watched.sandbox.names(), ["status", "sys"]);
    assert_eq!(names(&watched.home()), [""; 0]);
}

#[test]
fn a_limit_without_a_thermometer_says_that_it_has_no_effect() {
    let watched = Watched::new();
    let mut command = watched.command("gen 1MB out --temperature-limit 70");
    let output =
        command.env("XSORT_SYSFS", watched.sandbox.path().join("nothing")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.contains("the limit has no effect"), "{stderr}");
}

/// Creates a tree of devices in which the sandbox's drive has a thermometer. Returns the file with
/// the temperature.
fn hot_drive(watched: &Watched, root: &std::path::Path) -> PathBuf {
    let (block, sensor) = (root.join("devices/nvme7/nvme7n1"), root.join("devices/nvme7/hwmon5"));
    for directory in [&block, &sensor, &root.join("dev/block"), &root.join("class/hwmon")] {
        fs::create_dir_all(directory).unwrap();
    }
    let device = stat(watched.sandbox.path()).unwrap().st_dev;
    symlink(&block, root.join(format!("dev/block/{}:{}", major(device), minor(device)))).unwrap();
    symlink(root.join("devices/nvme7"), sensor.join("device")).unwrap();
    symlink(&sensor, root.join("class/hwmon/hwmon5")).unwrap();
    fs::write(sensor.join("name"), "nvme\n").unwrap();
    fs::write(sensor.join("temp1_input"), "88500\n").unwrap();
    sensor.join("temp1_input")
}

#[test]
fn a_killed_job_is_shown_as_dead_and_cleared_and_a_living_one_left_alone() {
    let watched = Watched::new();
    let (mut living, mut killed) = (watched.start_sort("a"), watched.start_sort("b"));
    watched.wait_for(&mut living, |_| true);
    let lived = watched.wait_for(&mut killed, |_| true);
    killed.signal(Signal::KILL);
    let pid = killed.child.id();
    assert_eq!(killed.child.wait().unwrap().signal(), Some(9));
    // A hidden output, as left on a file system without nameless files.
    let hidden = format!(".b.xsort-{pid}-0123456789abcdef");
    watched.sandbox.write(&hidden, "records");
    let foreign = format!(".b.xsort-{}-0123456789abcdef", living.child.id());
    watched.sandbox.write(&foreign, "of the living one");

    let lived = lived["snapshot"]["taken_unix_seconds"].as_f64().unwrap();
    for name in [&hidden, &foreign] {
        let file = fs::File::options().write(true).open(watched.sandbox.path().join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs_f64(lived)).unwrap();
    }

    let dead =
        watched.jobs().into_iter().find(|job| job["name"] == pid.to_string().as_str()).unwrap();
    assert_eq!(dead["state"], "dead");
    assert_eq!(dead["snapshot"]["job"]["pid"], pid);
    assert!(!dead["leftovers"]["status"].as_array().unwrap().is_empty());
    let path = watched.sandbox.path().canonicalize().unwrap().join(&hidden);
    assert_eq!(dead["leftovers"]["hidden"], serde_json::json!([path.to_str().unwrap()]));
    let table = watched.status("").stdout;
    assert!(
        table.contains(&format!("job {pid} was killed and left its status"))
            && table.contains(&hidden),
        "{table}"
    );

    let cleared = watched.status("--clear");
    assert_eq!(cleared.code, Some(0), "{}", cleared.stderr);
    assert!(
        cleared.stdout.contains(&format!("job {pid}: removed its status")),
        "{}",
        cleared.stdout
    );
    assert_eq!(watched.sandbox.names(), [foreign.as_str(), "status"]);
    watched.wait_for(&mut living, |found| found["state"] == "running");
    assert_eq!(watched.jobs().len(), 1);
    assert_eq!(watched.status("--clear").stdout, "no killed job left anything\n");
    let (status, stderr) = living.end();
    assert!(status.success(), "{stderr}");
}

/// Jobs in two containers may have the same number and write to one directory, and neither sees the
/// other's open files. But the lock is visible.
#[test]
fn a_hidden_output_of_a_namesake_in_another_container_is_left_alone() {
    let watched = Watched::new();
    let mut killed = watched.start_sort("b");
    let lived = watched.wait_for(&mut killed, |_| true);
    killed.signal(Signal::KILL);
    killed.child.wait().unwrap();
    let pid = killed.child.id();
    let [mine, other] = ["0123456789abcdef", "fedcba9876543210"].map(|random| {
        let name = format!(".b.xsort-{pid}-{random}");
        watched.sandbox.write(&name, "records");
        let path = watched.sandbox.path().join(&name);
        let file = fs::File::options().write(true).open(path).unwrap();
        let lived = lived["snapshot"]["taken_unix_seconds"].as_f64().unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs_f64(lived)).unwrap();
        (name, file)
    });
    other.1.try_lock().unwrap();
    drop(mine.1);
    let elsewhere = |line: &str| {
        let command = watched.command(line);
        let mut container = clean("unshare");
        container.args(["--pid", "--fork", "--mount-proc"]).arg(program()).args(command.get_args());
        container.env("XSORT_STATUS_DIR", watched.home()).current_dir(watched.sandbox.path());
        container.output().unwrap()
    };
    if !elsewhere("--version").status.success() {
        eprintln!("SKIPPED: no container can be made here");
        return;
    }
    let cleared = elsewhere("status --clear");
    assert!(cleared.status.success(), "{}", String::from_utf8_lossy(&cleared.stderr));
    assert_eq!(watched.sandbox.names(), [other.0.as_str(), "status"]);
}

/// An output is locked from its beginning to its end, even while it has no name.
#[test]
fn outputs_under_way_are_locked() {
    let watched = Watched::new();
    let mut job = watched.start("gen -q 100MB out --bandwidth-limit 1K");
    watched.wait_for(&mut job, |_| true);
    let open = fs::read_dir(format!("/proc/{}/fd", job.child.id())).unwrap();
    let place = watched.sandbox.path().canonicalize().unwrap();
    let is_output = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|file| file.starts_with(&place) && file != place)
    };
    let output = open.map(|entry| entry.unwrap().path()).find(is_output).unwrap();
    assert!(matches!(
        fs::File::open(&output).unwrap().try_lock(),
        Err(fs::TryLockError::WouldBlock)
    ));
    job.signal(Signal::TERM);
    assert_eq!(job.end().0.code(), Some(143));
}

/// Clearing does no harm and reports no errors while others clear and jobs begin and end.
#[test]
fn many_clear_at_once_while_jobs_come_and_go() {
    let watched = Watched::new();
    let mut living = watched.start_sort("living");
    watched.wait_for(&mut living, |_| true);
    for round in 0..3 {
        let mut dead: Vec<Job> =
            (0..3).map(|job| watched.start_sort(&format!("{round}-{job}"))).collect();
        for job in &mut dead {
            watched.wait_for(job, |_| true);
            job.signal(Signal::KILL);
            job.child.wait().unwrap();
        }
        // These begin and end while others clear: each ends with its output in place.
        let short: Vec<Job> = (0..4)
            .map(|job| watched.start(&format!("gen -q 3MB out-{job} --bandwidth-limit 10MB")))
            .collect();
        let clearers: Vec<Child> = (0..6)
            .map(|_| {
                watched
                    .command("status --clear")
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for clearer in clearers {
            let output = clearer.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        for job in short {
            let (status, stderr) = job.end();
            assert!(status.success(), "{stderr}");
        }
        assert_eq!(watched.wait_for(&mut living, |_| true)["state"], "running");
        assert_eq!(watched.jobs().len(), 1);
    }
    let (status, stderr) = living.end();
    assert!(status.success(), "{stderr}");
    assert_eq!(watched.sandbox.names(), ["living", "out-0", "out-1", "out-2", "out-3", "status"]);
    assert!(fs::read_dir(watched.home()).unwrap().next().is_none());
}

/// A signal kills a sort of lines at any point, as it kills GNU sort. Its status is removed
/// nonetheless.
#[test]
fn a_sort_of_lines_that_dies_of_a_signal_leaves_no_status() {
    let watched = Watched::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut job = watched.start("lines -S 8M");
        job.stdin.as_mut().unwrap().write_all(b"some\nlines\n").unwrap();
        let mask = fs::read_to_string("/proc/self/status").unwrap();
        let mask =
            mask.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim().to_owned();
        let found = watched.wait_for(&mut job, |_| true);
        assert_eq!(found["snapshot"]["job"]["command"], "lines");
        if u64::from_str_radix(&mask, 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0 {
            continue; // The tests run with it ignored, and children inherit that.
        }
        // The handlers are installed with the first message or a moment later.
        while !catches(job.child.id(), signal) {
            thread::sleep(Duration::from_millis(1));
        }
        // Its input stays open, so that it can't end by itself before the signal ends it.
        let stdin = job.stdin.take();
        job.signal(signal);
        let (status, stderr) = job.end();
        drop(stdin);
        assert_eq!((status.signal(), stderr.as_str()), (Some(signal.as_raw()), ""));
        assert_eq!(names(&watched.home()), [""; 0], "{signal:?}");
    }
}

/// True if the process has a handler for the signal.
fn catches(process: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal.as_raw() - 1)) != 0
}

/// `sort | head`: many sorts of lines end like this.
#[test]
fn a_sort_of_lines_whose_reader_is_gone_dies_of_that_and_leaves_no_status() {
    let watched = Watched::new();
    watched.sandbox.ok("gen -q -f gensort-ascii 4MB in");
    let mut job = watched.start("lines in");
    // Its output isn't drained, so it stays in this phase.
    let found = watched.wait_for(&mut job, |found| found["snapshot"]["phase"]["name"] == "merge");
    // The handler is changed a moment after the first message.
    watched.wait_for(&mut job, |later| {
        later["snapshot"]["seconds"].as_f64() > found["snapshot"]["seconds"].as_f64()
    });
    drop(job.child.stdout.take());
    let (status, stderr) = job.end();
    assert_eq!((status.signal(), stderr.as_str()), (Some(Signal::PIPE.as_raw()), ""));
    assert_eq!(names(&watched.home()), [""; 0]);
}

#[test]
fn a_job_that_is_asked_by_a_signal_says_a_line() {
    let watched = Watched::new();
    for line in ["sort -q -m 8M -o out", "lines -S 8M"] {
        let mut job = watched.start(line);
        watched.wait_for(&mut job, |_| true);
        job.signal(Signal::USR1);
        let mut said = String::new();
        let mut stderr = BufReader::new(job.child.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        let command = line.split(' ').next().unwrap();
        assert!(said.starts_with(&format!("xsort: {command}: ")), "{said}");
        drop(job.stdin.take());
        assert!(job.child.wait().unwrap().success());
    }
}

#[test]
fn a_job_that_may_not_publish_does_not() {
    let watched = Watched::new();
    let mut silent = watched.command("sort -m 8M -o a");
    silent.env("XSORT_STATUS", "off");
    let mut homeless = watched.command("sort -m 8M -o b");
    homeless.env("XSORT_STATUS_DIR", "/proc/no/such/place");
    let mut quiet = watched.command("sort -q -m 8M -o d");
    quiet.env("XSORT_STATUS_DIR", "/proc/no/such/place");
    let [silent, homeless, quiet] =
        [silent, homeless, quiet].map(|command| watched.start_with(command));
    let mut later = watched.start_sort("c");
    watched.wait_for(&mut later, |_| true);
    assert_eq!(watched.jobs().len(), 1, "the others began before");
    says_once_that_it_has_no_status(homeless, "/proc/no/such/place: No such file or directory");
    for job in [silent, quiet, later] {
        let (status, stderr) = job.end();
        assert!(status.success() && !stderr.contains("status"), "{stderr}");
    }
}

/// Waits for the line, lets the job end, and asserts that there was no other such line.
fn says_once_that_it_has_no_status(mut job: Job, reason: &str) {
    let mut stderr = BufReader::new(job.child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("xsort status can't show this job") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    drop(job.stdin.take());
    stderr.read_to_string(&mut said).unwrap();
    assert!(job.child.wait().unwrap().success(), "{said}");
    assert_eq!(said.matches("xsort status can't show this job").count(), 1, "{said}");
    assert!(said.contains(reason) && said.contains("XSORT_STATUS=off"), "{said}");
}

/// The file system for the status has too little space, at any of the steps, or too few names.
#[test]
fn a_job_whose_status_has_no_room_says_so_once_and_leaves_nothing() {
    let watched = Watched::new();
    let limits = ["size=4k,nr_inodes=3", "size=1m,nr_inodes=2", "size=1m,nr_inodes=3"];
    let sizes = [4, 8, 12, 16, 20].map(|size| format!("size={size}k"));
    for options in limits.iter().map(|options| (*options).to_owned()).chain(sizes) {
        let mut mount = clean("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("mode=700,{options}"), "none"])
            .arg(watched.home());
        if !mount.output().is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: nothing can be mounted here");
            return;
        }
        let jobs = ["sort -m 8M -o out", "lines -S 8M"].map(|line| watched.start(line));
        let said = std::panic::catch_unwind(|| {
            jobs.into_iter()
                .for_each(|job| says_once_that_it_has_no_status(job, "No space left on device"));
        });
        let left = names(&watched.home());
        assert!(clean("umount").arg("-l").arg(watched.home()).status().unwrap().success());
        assert!(said.is_ok(), "{options}");
        assert_eq!(left, [""; 0], "{options}");
    }
}

#[test]
fn many_watch_one_job() {
    let watched = Watched::new();
    let mut job = watched.start_sort("out");
    watched.wait_for(&mut job, |_| true);
    let pid = job.child.id();
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let jobs = watched.jobs();
                    assert_eq!((jobs.len(), &jobs[0]["snapshot"]["job"]["pid"]), (1, &pid.into()));
                }
            });
        }
    });
    let (status, stderr) = job.end();
    assert!(status.success(), "{stderr}");
}

#[test]
fn what_can_not_be_shown_is_told() {
    let watched = Watched::new();
    let none = watched.status("4000000");
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""));
    assert!(none.stderr.contains("no job 4000000 was found"), "{}", none.stderr);
    let blind = watched.status("--watch");
    assert_eq!(blind.code, Some(2));
    assert!(blind.stderr.contains("--watch needs a terminal"), "{}", blind.stderr);
    assert_eq!(watched.status("--watch --json").code, Some(2));
}

/// Otherwise the watch would wait at full speed for keys that can't come. A limit on its processor
/// time would end it.
fn watch_with_little_processor_time(watched: &Watched, before: &[&str]) -> Command {
    let watch = watched.command("status --watch");
    let mut command = clean("sh");
    command.args(["-c", "ulimit -t 10; exec \"$@\"", "sh"]).args(before);
    command.arg(program()).args(watch.get_args()).current_dir(watched.sandbox.path());
    command.env("XSORT_STATUS_DIR", watched.home());
    command
}

#[test]
fn a_watch_ends_with_its_terminal() {
    let watched = Watched::new();
    // Its controlling terminal, which also sends SIGHUP, and one that it only reads from, without a
    // signal.
    for (before, ends) in [(&["setsid", "-c"][..], Signal::HUP.as_raw() + 128), (&[], 0)] {
        let mut terminal = Terminal::new();
        let mut child = terminal.start(watch_with_little_processor_time(&watched, before));
        drop(terminal);
        // The next frame, the next key or the signal ends it.
        let ended = child.wait().unwrap();
        let is_so = |code: i32| code == ends || (code != 128 + Signal::HUP.as_raw() && code < 100);
        assert!(ended.code().is_some_and(is_so), "{ended}");
    }
}

/// Tested from the narrowest terminal to the widest one, with and without a job.
#[test]
fn a_watch_explains_its_keys_on_any_terminal() {
    let watched = Watched::new();
    let mut job = None;
    for (columns, rows) in [(20, 10), (40, 24), (80, 24), (220, 60), (1, 1)] {
        let mut terminal = Terminal::of_size(columns, rows);
        let mut child = terminal.start(watched.command("status --watch"));
        terminal.screen.write_all(b"?").unwrap();
        let mut drawn = Vec::new();
        while columns > 1 && !drawn.windows(5).any(|bytes| bytes == b"clear") {
            let mut bytes = [0; 1024];
            let count = terminal.screen.read(&mut bytes).unwrap();
            drawn.extend_from_slice(&bytes[..count]);
        }
        terminal.screen.write_all(b"q").unwrap();
        // Its output must be read meanwhile, or it would wait.
        let reader = thread::spawn(move || terminal.screen.read_to_end(&mut Vec::new()));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{columns}");
        drop(reader.join().unwrap());
        if job.is_none() {
            let started = job.insert(watched.start_sort("out"));
            watched.wait_for(started, |_| true);
        }
    }
    assert!(job.unwrap().end().0.success());
}

/// The terminal hangs up between the poll for keys and the read, which then returns 0 now and
/// whenever it is repeated.
#[test]
fn a_watch_ends_when_its_terminal_answers_nothing_or_an_error() {
    let watched = Watched::new();
    for answer in ["retval=0", "error=EIO"] {
        let mut terminal = Terminal::new();
        let name = terminal.name.to_str().unwrap().to_owned();
        let log = watched.sandbox.path().join("log");
        let inject = format!("inject=read:{answer}");
        let words = ["strace", "-f", "-o", log.to_str().unwrap(), "-P", &name, "-e", &inject];
        if !clean("strace")
            .args(["-o", "/dev/null", "true"])
            .output()
            .is_ok_and(|ran| ran.status.success())
        {
            eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
            return;
        }
        let mut child = terminal.start(watch_with_little_processor_time(&watched, &words));
        terminal.screen.write_all(b"j").unwrap();
        // It restores the terminal, which is still there.
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(0), "{answer}: {ended}");
        fs::remove_file(log).unwrap();
    }
}

/// Runs `xsort status --clear` with these words under strace; `None` if that isn't possible.
fn clear_traced(watched: &Watched, words: &[&str]) -> Option<(Ended, String)> {
    let log = watched.sandbox.path().join("log");
    let mut tracer = clean("strace");
    tracer.args(["-f", "-o"]).arg(&log).args(words).arg(program()).args(["status", "--clear"]);
    let output = tracer.env("XSORT_STATUS_DIR", watched.home()).output().ok()?;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ended = Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    if ended.stderr.starts_with("strace") {
        return None;
    }
    Some((ended, fs::read_to_string(&log).unwrap()))
}

/// Kills a job, and copies its status under other process IDs, as of other killed jobs.
fn kill_many(watched: &Watched, count: u32) {
    let mut killed = watched.start_sort("out");
    watched.wait_for(&mut killed, |_| true);
    killed.signal(Signal::KILL);
    killed.child.wait().unwrap();
    let pid = killed.child.id().to_string();
    for name in names(&watched.home()) {
        let suffix = name.strip_prefix(&pid).unwrap();
        for number in 1..count {
            let copy = watched.home().join(format!("{}{suffix}", 5_000_000 + number));
            fs::copy(watched.home().join(&name), copy).unwrap();
        }
    }
}

/// For any number of killed jobs, the directory is listed only a few times, and a job that may just
/// be beginning is waited for once.
#[test]
fn many_dead_jobs_are_cleared_in_one_pass() {
    let watched = Watched::new();
    kill_many(&watched, 50);
    for number in 0..50 {
        fs::write(watched.home().join(format!("{}.state", 6_000_000 + number)), "").unwrap();
    }
    let trace = "trace=getdents64,nanosleep,clock_nanosleep";
    let Some((ended, log)) = clear_traced(&watched, &["-e", trace]) else {
        eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
        return;
    };
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 100), "{}", ended.stderr);
    assert_eq!(names(&watched.home()), [""; 0]);
    assert!(log.matches("getdents64").count() <= 12, "{log}");
    assert!(log.matches("nanosleep").count() <= 10, "{log}");
}

#[test]
fn a_clearing_that_is_told_to_stop_does_so_between_two_jobs() {
    let watched = Watched::new();
    kill_many(&watched, 5);
    let files = names(&watched.home()).len();
    let Some((ended, _)) = clear_traced(&watched, &["-e", "inject=unlink:signal=TERM:when=1"])
    else {
        eprintln!("SKIPPED: there is no strace, or nobody may be traced here");
        return;
    };
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(143), 1), "{}", ended.stdout);
    assert!(
        ended.stderr.starts_with("xsort: error: stopped on request: what is cleared"),
        "{}",
        ended.stderr
    );
    assert_eq!(names(&watched.home()).len(), files / 5 * 4, "one job is gone, whole");
    assert_eq!(watched.status("--clear").stdout.lines().count(), 4);
    assert_eq!(names(&watched.home()), [""; 0]);
}

#[test]
fn all_that_can_not_be_cleared_is_named_and_the_rest_is_cleared() {
    let watched = Watched::new();
    kill_many(&watched, 3);
    let at = |name: &str| watched.home().join(name);
    symlink("nowhere", at("1.state")).unwrap();
    fs::create_dir(at("5000001.buffer-4000")).unwrap();
    fs::create_dir(at("9999999.state")).unwrap();
    let strangers = ["1.state", "5000001.buffer-4000", "9999999.state"];
    for line in ["--clear", "--clear --json"] {
        let ended = watched.status(line);
        assert!(ended.code.is_some_and(|code| code != 0), "{}", ended.stdout);
        let lines: Vec<&str> = ended.stderr.lines().collect();
        assert_eq!(lines.len(), strangers.len(), "{}", ended.stderr);
        for name in strangers {
            let line = lines.iter().find(|line| line.contains(name)).expect(name);
            assert!(
                line.starts_with("xsort: error: clearing job ")
                    && line.contains("remove it yourself"),
                "{line}"
            );
        }
        assert_eq!(names(&watched.home()), strangers);
        let failed = ended.stdout.matches("remove it yourself").count();
        assert!(line == "--clear" || failed == strangers.len(), "{}", ended.stdout);
    }
}

/// If a job is killed at any step of its status, all of the status is found and cleared.
#[test]
fn a_job_that_is_killed_at_any_call_of_its_status_leaves_nothing_that_is_not_cleared() {
    let watched = Watched::new();
    for call in ["fallocate", "fchmod", "fcntl", "unlink", "ftruncate"] {
        for when in 1.. {
            let mut tracer = clean("strace");
            tracer.args(["-f", "-o", "log", "-e", &format!("trace={call}"), "-e"]);
            tracer.arg(format!("inject={call}:signal=KILL:when={when}")).arg(program());
            tracer
                .args(["sort", "-q", "-m", "8M", "-o", "out"])
                .current_dir(watched.sandbox.path());
            tracer.env("XSORT_STATUS_DIR", watched.home()).env_remove("XSORT_STATUS");
            let mut child = match tracer
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
            {
                Ok(child) => child,
                Err(_) => {
                    eprintln!("SKIPPED: there is no strace");
                    return;
                }
            };
            // Until it has published, or was killed while doing so.
            let stdin = child.stdin.take();
            while child.try_wait().unwrap().is_none() && watched.jobs().is_empty() {
                thread::sleep(Duration::from_millis(10));
            }
            drop(stdin);
            let is_over = child.wait().unwrap().success();
            let left = names(&watched.home());
            let cleared = watched.status("--clear");
            assert_eq!((cleared.code, cleared.stderr.as_str()), (Some(0), ""), "{call} {when}");
            assert_eq!(names(&watched.home()), [""; 0], "{call} {when}, of {left:?}");
            if is_over {
                assert_eq!(left, [""; 0], "{call} {when}");
                break;
            }
        }
    }
}

/// Its trees come from a list that is held open. A walk of less than a tenth of a second has no
/// status, so trees are added until it has one.
#[test]
fn a_walk_tells_of_itself_once_it_takes_long() {
    let watched = Watched::new();
    let mut job = watched.start("du --files0-from=-");
    let mut list = job.stdin.take().unwrap();
    let begun = Instant::now();
    for number in 0.. {
        let tree = format!("tree{number}");
        fs::create_dir(watched.sandbox.path().join(&tree)).unwrap();
        list.write_all(format!("{tree}\0").as_bytes()).unwrap();
        if !watched.jobs().is_empty() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "it was never seen");
        thread::sleep(Duration::from_millis(20));
    }
    let found =
        watched.wait_for(&mut job, |found| found["snapshot"]["counts"]["files"].as_u64() > Some(0));
    assert_eq!(
        (&found["snapshot"]["job"]["command"], &found["snapshot"]["phase"]["name"]),
        (&"du".into(), &"walk".into())
    );
    let text = watched.status(&job.child.id().to_string()).stdout;
    assert!(text.contains("walk") && text.contains(" files"), "{text}");
    job.signal(Signal::USR1);
    let mut said = String::new();
    BufReader::new(job.child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("xsort: du: walk: ") && said.contains(" files/s"), "{said}");
    drop(list);
    assert!(job.child.wait_with_output().unwrap().status.success());
    assert_eq!(names(&watched.home()), [""; 0], "it takes its status along");
}

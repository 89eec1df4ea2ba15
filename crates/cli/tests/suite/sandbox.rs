//! A new directory for each test, on a drive (not in memory), and the program run in it.

use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
pub(crate) use xsort_testing::names;
use xsort_testing::surroundings::{set_umask, without_settings};

pub(crate) struct Sandbox {
    directory: TempDir,
    /// The directory where programs publish and find jobs. Other sandboxes have others, because
    /// their stores may have uploads with the same numbers.
    status: TempDir,
    /// Additional environment variables of its programs: names and values.
    pub(crate) variables: Vec<(String, String)>,
}

/// The outcome of a run.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        set_umask();
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let status = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Sandbox { directory, status, variables: Vec::new() }
    }

    /// A sandbox whose programs have these variables in their environment.
    pub(crate) fn with_variables(variables: &[(&str, &str)]) -> Sandbox {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Sandbox { variables: variables.iter().map(owned).collect(), ..Sandbox::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs `xsort` with the words of `line`.
    pub(crate) fn run(&self, line: &str) -> Ended {
        let output = clean(program())
            .args(line.split_whitespace())
            .current_dir(self.path())
            .env_remove("NO_COLOR")
            .env("XSORT_STATUS_DIR", self.status.path())
            .envs(self.variables.iter().cloned())
            // An empty pipe.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: without_fallbacks(&String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Runs the program, expects success and no message on standard error, and returns standard
    /// output.
    pub(crate) fn ok(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "xsort {line}\n{}",
            ended.stdout
        );
        ended.stdout
    }

    /// Runs a script in the sandbox, in which `$xsort` is the program. Its status is that of the
    /// last program in a pipe that fails.
    pub(crate) fn script(&self, script: &str) -> Output {
        let mut command = clean("bash");
        command.args(["-o", "pipefail", "-c", script]).env("xsort", program());
        command.current_dir(self.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a script, expects success and no message, and returns standard output.
    pub(crate) fn script_ok(&self, script: &str) -> String {
        let output = self.script(script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{script}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program, expects this status and one line of error, and returns the line.
    pub(crate) fn fails(&self, line: &str, code: i32) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, Some(code), "xsort {line}\n{}{}", ended.stdout, ended.stderr);
        let text = ended.stderr.trim_end_matches('\n');
        assert!(
            text.starts_with("xsort: error: ") && !text.contains('\n'),
            "one line: {:?}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "", "nothing but the error");
        text.to_owned()
    }

    /// Runs the program with --json and returns the object on standard output.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let ended = self.run(&format!("{line} --json"));
        serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|_| panic!("{line}: {}{}", ended.stdout, ended.stderr))
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// SHA-256 of a file in hexadecimal.
    pub(crate) fn sha256(&self, name: &str) -> String {
        Sha256::digest(self.read(name)).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// All names, including hidden ones, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.path())
    }
}

/// The messages of a run, without the line about I/O on a machine without io_uring or a file system
/// without direct I/O.
fn without_fallbacks(stderr: &str) -> String {
    let is_fallback = |line: &str| {
        line.starts_with("xsort: note: ")
            && (line.contains("io_uring") || line.contains("page cache"))
    };
    stderr.split_inclusive('\n').filter(|line| !is_fallback(line)).collect()
}

/// A command that behaves the same for any user who runs the tests. (Each has the status
/// directories of its user, unless it is given others.)
pub(crate) fn clean(program: impl AsRef<OsStr>) -> Command {
    set_umask();
    let mut command = Command::new(program);
    without_settings(&mut command);
    command
}

pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_xsort"))
}

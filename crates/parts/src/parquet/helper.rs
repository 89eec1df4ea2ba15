//! The process that reads and writes Parquet. It receives a request on its standard input, returns
//! data on its standard output, and an answer as the last line on standard error.

use crate::error::Error;
use crate::means::Means;
use crossbeam_channel::{RecvTimeoutError, bounded};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The package's module.
const MODULE: &str = "xsort._parquet";
/// How often to check whether the step was cancelled.
const LOOK: Duration = Duration::from_millis(50);
/// Number of bytes per read of the pipe.
const PIPE_BYTES: usize = 256 << 10;
/// Maximum number of bytes that are kept from the end of standard error.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// How to start the process.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub(super) python: PathBuf,
}

/// The reason why there is no result.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The lost or damaged range, by its index in the request.
    pub(super) range: Option<usize>,
    pub(super) is_damage: bool,
    pub(super) text: String,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal.text.is_empty() {
            true => xsort_extsort::Error::Cancelled.into(),
            false => Error::settings(refusal.text),
        }
    }
}

impl Refusal {
    fn of(text: impl Into<String>) -> Refusal {
        Refusal { range: None, is_damage: false, text: text.into() }
    }

    /// Returns the refusal of a cancelled step.
    fn cancelled() -> Refusal {
        Refusal::of("")
    }
}

/// The last line: an answer, or the reason why there is none.
#[derive(Deserialize)]
struct Said {
    answer: Option<Value>,
    error: Option<String>,
    lost: Option<usize>,
    damaged: Option<usize>,
}

impl Helper {
    /// Sends a request, and writes the data from standard output to `data`.
    pub(super) fn run<T: for<'de> Deserialize<'de>>(
        &self,
        request: &Value,
        data: &mut dyn Write,
        means: &Means<'_>,
    ) -> Result<T, Refusal> {
        let python = self.python.display();
        let mut child = Command::new(&self.python)
            .args(["-m", MODULE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Refusal::of(format!(
                    "starting {python}, which reads and writes Parquet: {error}; name a Python \
                     that has the package and pyarrow in XSORT_PYTHON"
                ))
            })?;
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let child = Mutex::new(child);
        let (ended, ends) = bounded::<()>(0);
        let (moved, said) = thread::scope(|scope| {
            let said = scope.spawn(|| last_line(stderr));
            scope.spawn(|| {
                while ends.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if means.observer.is_cancelled() {
                        let _ = child.lock().kill();
                    }
                }
            });
            // A process that ends at once says why on standard error.
            let _ = { stdin }.write_all(request.to_string().as_bytes());
            let moved = move_all(stdout, data);
            if moved.is_err() {
                let _ = child.lock().kill();
            }
            let said = said.join().unwrap_or_default();
            drop(ended);
            (moved, said)
        });
        answer(moved, child, &said, means)
    }
}

fn answer<T: for<'de> Deserialize<'de>>(
    moved: io::Result<()>,
    child: Mutex<Child>,
    last_line: &str,
    means: &Means<'_>,
) -> Result<T, Refusal> {
    let status = child.into_inner().wait();
    if means.observer.is_cancelled() {
        return Err(Refusal::cancelled());
    }
    moved.map_err(|error| Refusal::of(format!("the output: {error}")))?;
    let status = status.map_err(|error| Refusal::of(format!("waiting for Python: {error}")))?;
    let strange = || Refusal::of(format!("Python, for Parquet, ended with {status}: {last_line}"));
    let said: Said = serde_json::from_str(last_line).map_err(|_| strange())?;
    if let Some(text) = said.error {
        let (range, is_damage) = (said.damaged.or(said.lost), said.damaged.is_some());
        return Err(Refusal { range, is_damage, text });
    }
    let answer = said.answer.filter(|_| status.success()).ok_or_else(strange)?;
    serde_json::from_value(answer).map_err(|error| Refusal::of(format!("{MODULE}: {error}")))
}

/// Copies all data.
fn move_all(mut from: impl Read, to: &mut dyn Write) -> io::Result<()> {
    let mut memory = vec![0; PIPE_BYTES];
    loop {
        match from.read(&mut memory) {
            Ok(0) => return Ok(()),
            Ok(bytes) => to.write_all(&memory[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the last line of standard error.
fn last_line(mut from: ChildStderr) -> String {
    let (mut all, mut memory) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(bytes @ 1..) = from.read(&mut memory) {
        all.extend_from_slice(&memory[..bytes]);
        if all.len() > MESSAGE_BYTES_MAX {
            all.drain(..MESSAGE_BYTES_MAX / 2);
        }
    }
    let text = String::from_utf8_lossy(&all);
    text.trim_end().lines().next_back().unwrap_or_default().to_owned()
}

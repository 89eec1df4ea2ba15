//! CSV files among the inputs. If quoted fields contain line ends, a sort of lines tears rows
//! apart, which is never intended. So it is reported, and refused if the file would be overwritten.
//!
//! Each line is checked separately, so that threads may read parts of a file in parallel. A line
//! begins outside quotes. If it ends inside quotes, its row continues in the next line.

use super::command::LinesCommand;
use super::target;
use crate::gnu_commands::{is_called_as_gnu, say};
use crate::inputs::tree::identity;
use parking_lot::Mutex;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::DisplayPath;
use xsort_extsort::lines::{InputBytes, LinesInput, MapInput, MapLines, recognise};

const LINE_END: u8 = b'\n';
const QUOTE: u8 = b'"';
/// Bytes per read of a file that is checked before a merge.
const READ_BYTES: usize = 256 << 10;
/// The problem, for messages.
const WHAT: &str = "a line ends within quotes, and a row of several lines is torn";
/// The remedy, for messages.
const WAY_OUT: &str = "'xsort table' keeps rows whole; --no-quotes sorts lines without a word";

/// The first file that was found to have a row of several lines.
#[derive(Clone, Debug, Default)]
pub(super) struct TornRows(Arc<Mutex<Option<PathBuf>>>);

impl TornRows {
    /// Has CSV files among the inputs checked while they are read. If such a file is also the
    /// output, and a row of it would be torn, reading it fails.
    pub(super) fn watch(
        &self,
        lines: &LinesCommand<'_>,
        inputs: Vec<LinesInput>,
    ) -> Vec<LinesInput> {
        if !is_watched(lines) {
            return inputs;
        }
        let output = lines.command.output.as_deref();
        let delimiter = lines.command.separator.unwrap_or(b',');
        let watch = |input: LinesInput| match is_csv(&input.path) {
            true => {
                let is_output = output.is_some_and(|name| is_same(name, &input.path));
                let watch = Watch { path: input.path.clone(), is_output, found: self.clone() };
                watched(input, delimiter, watch)
            }
            false => input,
        };
        inputs.into_iter().map(watch).collect()
    }

    /// Refuses a merge whose output is one of its inputs, if a row of that input would be torn: the
    /// output is written while the inputs are read.
    pub(super) fn refuse_before_merge(
        lines: &LinesCommand<'_>,
        inputs: &[LinesInput],
    ) -> Result<(), (PathBuf, io::Error)> {
        let command = &lines.command;
        let Some(output) = command.output.as_deref().filter(|_| command.merge) else {
            return Ok(());
        };
        let is_own = |input: &&LinesInput| is_csv(&input.path) && is_same(output, &input.path);
        let Some(own) = inputs.iter().find(is_own).filter(|_| is_watched(lines)) else {
            return Ok(());
        };
        let once_more = vec![LinesInput::at(&own.path)];
        let recognised = recognise(once_more, false, || (0, 1))?;
        let inputs = TornRows::default().watch(lines, recognised.inputs);
        let mut buffer = vec![0; READ_BYTES];
        inputs.into_iter().try_for_each(|input| {
            let (path, mut bytes) = (input.path.clone(), input.into_bytes());
            loop {
                match bytes.read(&mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err((path, error)),
                }
            }
        })
    }

    /// Prints which file has torn rows, once the lines are sorted.
    pub(super) fn say(&self, lines: &LinesCommand<'_>) {
        if let Some(path) = self.0.lock().as_deref().filter(|_| !lines.command.extras.quiet) {
            let path = DisplayPath(path);
            say(format!("{}: {path}: {WHAT}: {WAY_OUT}\n", lines.program).as_bytes());
        }
    }
}

/// True if inputs are checked for torn rows. GNU sort doesn't check.
fn is_watched(lines: &LinesCommand<'_>) -> bool {
    let command = &lines.command;
    let has_line_ends = !command.zero_terminated && command.check.is_none();
    has_line_ends
        && command.extras.records.is_none()
        && !command.extras.no_quotes
        && !is_called_as_gnu(lines.program)
}

/// True if a name ends in `.csv`, or in `.csv` and the ending of a compression.
fn is_csv(path: &Path) -> bool {
    let ending = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_lowercase);
    let is_packed = matches!(ending(path).as_deref(), Some("gz" | "zst" | "lz4"));
    let inner = path.file_stem().filter(|_| is_packed).map_or(path, Path::new);
    ending(inner).is_some_and(|ending| ending == "csv")
}

/// True if the output is the input: the same URL, or the same file.
fn is_same(output: &OsStr, input: &Path) -> bool {
    let found = || Some(identity(&fs::metadata(input).ok()?));
    output == input.as_os_str()
        || target::present(Some(output)).is_some_and(|own| Some(own) == found())
}

/// What to do with a line that ends within quotes.
#[derive(Clone)]
struct Watch {
    path: PathBuf,
    is_output: bool,
    found: TornRows,
}

fn watched(input: LinesInput, delimiter: u8, watch: Watch) -> LinesInput {
    let bytes = input.bytes;
    let map = move || -> MapInput {
        let watch = watch.clone();
        Box::new(move |from| {
            Box::new(Watched { from, quotes: Some(Quotes::new(delimiter)), watch })
        })
    };
    let lines = MapLines {
        delimiter: LINE_END,
        parts_max: usize::MAX,
        map: Arc::new(map.clone()),
        forget: Arc::new(|| {}),
    };
    input.mapped_by_lines(bytes, map(), Some(lines))
}

/// The bytes of an input, checked while they are read.
struct Watched<'d> {
    from: InputBytes<'d>,
    /// `None` once a torn row was found.
    quotes: Option<Quotes>,
    watch: Watch,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.from.read(buffer)?;
        let Some(quotes) = &mut self.quotes else { return Ok(bytes) };
        if quotes.tear(&buffer[..bytes]) {
            let Watch { path, is_output, found } = &self.watch;
            if *is_output {
                let what =
                    format!("it is the output, too, and nothing is written: {WHAT}: {WAY_OUT}");
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            found.0.lock().get_or_insert_with(|| path.clone());
            self.quotes = None;
        }
        Ok(bytes)
    }
}

/// The position of the next byte in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the beginning of a field.
    Begin,
    /// In an unquoted field, or after the closing quote of a quoted one.
    Field,
    Quoted,
    /// After a quote in a quoted field: the closing quote, or the first of two.
    Quote,
}

/// Tracks the quotes of lines that arrive in parts.
struct Quotes {
    delimiter: u8,
    place: Place,
}

impl Quotes {
    /// Starts at the beginning of a line.
    fn new(delimiter: u8) -> Quotes {
        Quotes { delimiter, place: Place::Begin }
    }

    /// Processes the next bytes. Returns true if a line ends within quotes.
    fn tear(&mut self, bytes: &[u8]) -> bool {
        let begins = |byte: u8| byte == LINE_END || byte == self.delimiter;
        let (mut place, mut at) = (self.place, 0);
        while at < bytes.len() {
            match place {
                Place::Begin if bytes[at] == QUOTE => (place, at) = (Place::Quoted, at + 1),
                Place::Begin | Place::Field => {
                    // Quotes are rare: search for the next one that begins a field.
                    let Some(quote) = memchr::memchr(QUOTE, &bytes[at..]) else {
                        let last = bytes[bytes.len() - 1];
                        place = if begins(last) { Place::Begin } else { Place::Field };
                        break;
                    };
                    let quote = at + quote;
                    let is_begin = quote > at && begins(bytes[quote - 1]);
                    (place, at) = (if is_begin { Place::Quoted } else { Place::Field }, quote + 1);
                }
                Place::Quoted => {
                    let Some(end) = memchr::memchr2(QUOTE, LINE_END, &bytes[at..]) else { break };
                    if bytes[at + end] == LINE_END {
                        return true;
                    }
                    (place, at) = (Place::Quote, at + end + 1);
                }
                Place::Quote if bytes[at] == QUOTE => (place, at) = (Place::Quoted, at + 1),
                Place::Quote => {
                    let byte = bytes[at];
                    (place, at) = (if begins(byte) { Place::Begin } else { Place::Field }, at + 1);
                }
            }
        }
        self.place = place;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests all sizes of parts in which a text may arrive.
    #[test]
    fn a_line_that_ends_within_quotes_is_found() {
        for (text, is_torn) in [
            ("a,b\n1,\"x\ny\"\n", true),
            ("\"a\n", true),
            ("a,\"\"\"\n", true),
            ("a,\"x\"\"\ny\"\n", true),
            ("a\n,\"\n", true),
            ("a,\"x\"\n\"b\",c\n", false),
            ("a,\"x\"\"y\",\"\"\n", false),
            ("5\" pipe\n6\" pipe\n", false),
            ("a, \"x\ny\"\n", false),
            ("\"x\"y\"\n", false),
            ("a,\"open", false),
            ("", false),
        ] {
            for part in 1..=text.len().max(1) {
                let mut quotes = Quotes::new(b',');
                let found = text.as_bytes().chunks(part).any(|part| quotes.tear(part));
                assert_eq!(found, is_torn, "{text:?} in parts of {part}");
            }
        }
        assert!(Quotes::new(b';').tear(b"a;\"x\n"));
        assert!(!Quotes::new(b';').tear(b"a,\"x\n"));
    }

    #[test]
    fn csv_is_known_by_its_name() {
        for name in ["a.csv", "A.CSV", "d/a.csv.gz", "a.csv.zst"] {
            assert!(is_csv(Path::new(name)), "{name}");
        }
        for name in ["csv", ".csv", "a.tsv", "a.csv.xz", "a.csv.d/b", "a.gz"] {
            assert!(!is_csv(Path::new(name)), "{name}");
        }
    }
}

//! A parsed command line: what to sort, by which keys, and how.
//!
//! The parser builds it, and nothing is checked again afterwards. Keys without ordering options
//! have received the global ones, so `keys` alone decides how lines compare. Files, memory and
//! threads are plain values, because this crate opens nothing.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use super::records::{RecordPart, Records};
use crate::getopt::When;
use crate::name_order::NameOrder;

/// The request of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `--help`: print [`help`](fn@super::help) and do nothing else.
    Help,
    /// `--version`: print [`version`](fn@super::version) and do nothing else.
    Version,
    /// Any other request.
    Run(Box<Command>),
}

/// A sort, a merge or a check, with all its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `-c`, `-C`, `--check`: check whether the one input is sorted, and sort nothing. Overrides
    /// `merge`.
    pub check: Option<Check>,
    /// `-m`: the inputs are already sorted.
    pub merge: bool,
    /// `-u`: write only the first of lines with equal keys. With `check`, equal lines are out of
    /// order. No last resort.
    pub unique: bool,
    /// `-s`: no last resort.
    pub stable: bool,
    /// `-r` outside keys: reverses the last resort, and the order of lines if there is no key.
    pub reverse: bool,
    /// `-z`: lines end with NUL.
    pub zero_terminated: bool,
    /// `--debug`: mark the keys in the output and warn of doubtful usage.
    pub debug: bool,
    /// `-t`: the byte between fields. Without it, a field begins where blanks follow a non-blank.
    pub separator: Option<u8>,
    /// The keys, most significant first. Empty: lines compare as wholes.
    pub keys: Vec<KeyField>,
    /// True if the only key is the whole line with the global ordering options (`sort -n`), and no
    /// `-k` was given.
    pub is_global_key: bool,
    /// The ordering options given outside keys.
    pub global: Flags,

    /// The operands in order, `-` for standard input; one `-` if there were none. Empty with
    /// `files0_from`.
    pub files: Vec<OsString>,
    /// `--files0-from`: the file with the inputs' names, each ended by NUL.
    pub files0_from: Option<OsString>,
    /// `-o`.
    pub output: Option<OsString>,
    /// `-S`: bytes of memory; the largest of several.
    pub buffer_bytes: Option<u64>,
    /// `-T`, all of them.
    pub temporary_directories: Vec<OsString>,
    /// `--batch-size`: most inputs that are merged at once, at least 2.
    pub batch_size: Option<usize>,
    /// `--compress-program`: the program that compresses scratch.
    pub compress_program: Option<OsString>,
    /// `--parallel`, `--threads`: most threads, at least 1. `--threads=0` is `None`.
    pub parallel: Option<usize>,
    /// `--random-source`: the file whose first 16 bytes seed `-R`.
    pub random_source: Option<OsString>,

    /// Options that GNU sort doesn't have.
    pub extras: Extras,
}

impl Command {
    /// True if a key is in a random order, so that the order needs 16 random bytes.
    pub fn needs_random(&self) -> bool {
        self.keys.iter().any(|key| key.flags.random)
    }

    /// This command with only the options that say how lines compare and which are wanted.
    #[must_use]
    pub fn order_only(&self) -> Command {
        Command {
            unique: self.unique,
            stable: self.stable,
            reverse: self.reverse,
            zero_terminated: self.zero_terminated,
            separator: self.separator,
            keys: self.keys.clone(),
            is_global_key: self.is_global_key,
            global: self.global,
            files: vec!["-".into()],
            ..Command::default()
        }
    }

    /// The byte that ends a line.
    pub fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// True if lines with equal keys are compared as wholes.
    pub fn has_last_resort(&self) -> bool {
        !self.unique && !self.stable
    }
}

impl Extras {
    /// True if lines are sorted as they come, because it is known how far they are in order.
    pub fn is_incremental(&self) -> bool {
        self.within.is_some() || !self.sorted_by.is_empty()
    }
}

/// How a check reports its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// `-c`: report the first line out of order ([`disorder`](fn@super::disorder)), status 1.
    DiagnoseFirst,
    /// `-C`: status 1, without a message.
    Quiet,
}

/// Options that GNU sort lacks. They have only long names, which can't be shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `--header[=N]`: the first N lines of the first input stay in place; 1 without a number.
    pub header_lines: u64,
    /// `--header-prefix STR`: lines at the top of the first input that begin with STR stay in
    /// place. STR isn't empty, has no line end, and excludes `--header`.
    pub header_prefix: Option<OsString>,
    /// `--record-lines`, `--record-begins`, `--record-ends-blank`: records of several lines are
    /// sorted. Keys count fields in their first line.
    pub records: Option<Records>,
    /// `--count`: write before each line that `-u` leaves how many equal lines there are.
    pub counts: bool,
    /// `--shuffle`: a random order in which equal lines are not together. It excludes every other
    /// order.
    pub shuffles: bool,
    /// `--seed S`: the seed of the random order; only with `shuffles`.
    pub seed: Option<u64>,
    /// `--top N`: write only the first N lines of the output, at least 1.
    pub top_lines: Option<u64>,
    /// `--color[=WHEN]`.
    pub color: When,
    /// `--progress[=WHEN]`.
    pub progress: When,
    /// `--quiet`: only errors on standard error.
    pub quiet: bool,
    /// `--verbose`: a report as text.
    pub verbose: bool,
    /// `--dry-run`: print the plan, and do nothing.
    pub dry_run: bool,
    /// `--memory=SIZE`, as it was written. GNU sort has no such option, so it isn't parsed here.
    pub memory: Option<OsString>,
    /// `--temperature-limit=C`: transfers of scratch pause while a drive is hotter than this, in
    /// degrees Celsius.
    pub limit_celsius: Option<u16>,
    /// `--bandwidth-limit=RATE`, as it was written: the limit of transfers to and from drives per
    /// second. GNU sort has no such option, so it isn't parsed here.
    pub bandwidth_limit: Option<OsString>,
    /// `--s3-connections=N`, as it was written: the number of requests to object stores at once.
    /// GNU sort has no such option.
    pub s3_connections: Option<OsString>,
    /// `--s3-part-size=SIZE`, as it was written: the size of the parts of objects. GNU sort has no
    /// such option.
    pub s3_part_size: Option<OsString>,
    /// `--verify-output`: read back an output that is an object. GNU sort has no such option.
    pub verify_output: bool,
    /// `--no-clobber`: refuse an existing output.
    pub no_clobber: bool,
    /// `--in-place`: overwrite an existing output, instead of replacing it by a new file.
    pub in_place: bool,
    /// `--no-sync`: don't make the output durable.
    pub no_sync: bool,
    /// `--sorted-by KEY`: the lines are in the order of these keys already. They are the first of
    /// `keys`.
    pub sorted_by: Vec<KeyField>,
    /// `--within N`, as it was written: how late a line may come. GNU sort has no such option.
    pub within: Option<OsString>,
    /// `--late FILE`: where lines go that come too late; only with `within`.
    pub late: Option<OsString>,
    /// `--json`: a report as JSON.
    pub json: bool,
    /// `--report FILE`: a page about the run.
    pub report: Option<OsString>,
    /// `--trace FILE`: what each thread did over time.
    pub trace: Option<OsString>,
    /// `--compress=lz4`, `zstd`, `auto` and `none`: compress scratch within the process. Overrides
    /// `--compress-program`.
    pub compress: Option<Codec>,
    /// `--compress-output`: the compression of the output. `None`: by its name, where that counts.
    pub compress_output: Option<OutputCompression>,
    /// `--write-index[=FORM]`, as it was written, or `auto`: an index beside the output. GNU sort
    /// has no such option.
    pub write_index: Option<OsString>,
    /// `--index-columns COLUMNS`, as it was written: where an index finds positions.
    pub index_columns: Option<OsString>,
    /// `--min-shift N`, as it was written: the size of the smallest bins of an index.
    pub min_shift: Option<OsString>,
    /// `--decompress`, `--no-decompress`: whether compressed inputs are decompressed as they are
    /// read. `None`: the default for the name by which the program was called.
    pub decompress: Option<bool>,
    /// `--no-quotes`: accept lines of CSV that end within quotes.
    pub no_quotes: bool,
    /// `--check-output`: compare checksums of the lines read and written.
    pub check_output: bool,
    /// `--recursive`: read all regular files below a directory among the inputs, in the order of
    /// their paths.
    pub recursive: bool,
    /// `--checkpoint`, `--resume`, `--restart`: make the sort resumable. The last one counts.
    pub checkpoint: Option<Checkpoint>,
    /// `--checkpoint-every=SECONDS`.
    pub checkpoint_every: Option<Duration>,
    /// `--allow-empty`: accept such a directory without files below it.
    pub allows_empty: bool,
    /// `--count-links`: read a file with several names below such a directory under each of them.
    pub counts_links: bool,
}

/// What to do with an interrupted sort to the same output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// Refuse if there is one, else begin.
    Begin,
    /// Resume it if there is one, else begin.
    Resume,
    /// Discard it, and begin.
    Restart,
}

/// How scratch is compressed within the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// No compression.
    Off,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
    /// LZ4, Zstandard or none, whichever is quickest.
    Auto,
}

/// How the output is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputCompression {
    /// No compression, whatever its name.
    Off,
    /// gzip in blocks, as bgzip writes it.
    Bgzip,
    /// gzip.
    Gzip,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// The list of a key by `--order`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyList {
    /// The file that has it, as it was written.
    pub file: OsString,
    /// Its names, once the file was read.
    pub names: Option<Arc<NameOrder>>,
}

/// One `-k` (or `+POS1 -POS2`): a part of the line, and how it compares. Fields and characters
/// count from 0 here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyField {
    /// The part of a record that fields are counted in. Without records, this is the line.
    pub part: RecordPart,
    /// True if the key is the number of the part's bytes.
    pub is_length: bool,
    /// The list that orders the key's texts as names, of `--order`.
    pub list: Option<KeyList>,
    /// Fields before the key.
    pub start_field: usize,
    /// Bytes before the key in its first field.
    pub start_char: usize,
    /// The end of the key; `None` for the line's end.
    pub end: Option<KeyEnd>,
    /// The ordering options: the key's, or the global ones if it has none.
    pub flags: Flags,
    /// True if the key was written as `+POS1 [-POS2]`.
    pub is_obsolete: bool,
}

/// The end of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyEnd {
    /// Fields before the one in which the key ends.
    pub field: usize,
    /// Bytes of that field that belong to the key; 0 for all of it.
    pub char: usize,
}

/// Ordering options, by letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `b` at the key's start: ignore blanks before it.
    pub start_blanks: bool,
    /// `b` at the key's end.
    pub end_blanks: bool,
    /// `d`: blanks and alphanumeric characters only. Wins over `nonprinting`.
    pub dictionary: bool,
    /// `f`: compare lower case as upper case.
    pub fold: bool,
    /// `g`: compare floating-point numbers.
    pub general: bool,
    /// `h`: compare numbers with a suffix.
    pub human: bool,
    /// `i`: printable characters only.
    pub nonprinting: bool,
    /// `M`: compare names of months.
    pub month: bool,
    /// `n`: compare numbers.
    pub numeric: bool,
    /// `R`: compare hashes.
    pub random: bool,
    /// `V`: compare versions.
    pub version: bool,
    /// `r`: reverse the order.
    pub reverse: bool,
}

impl Flags {
    /// True if no option except perhaps `r` is set.
    pub fn is_plain(&self) -> bool {
        Flags { reverse: false, ..*self } == Flags::default()
    }

    /// True if some characters are ignored.
    pub fn ignores(&self) -> bool {
        self.dictionary || self.nonprinting
    }

    /// True for the three kinds of numbers.
    pub fn is_number(&self) -> bool {
        self.numeric || self.general || self.human
    }

    /// The letters that are set, in the order of GNU sort's messages.
    pub fn letters(&self) -> String {
        let letters = [
            ('b', self.start_blanks || self.end_blanks),
            ('d', self.dictionary),
            ('f', self.fold),
            ('g', self.general),
            ('h', self.human),
            ('i', self.nonprinting && !self.dictionary),
            ('M', self.month),
            ('n', self.numeric),
            ('R', self.random),
            ('r', self.reverse),
            ('V', self.version),
        ];
        letters.iter().filter(|(_, is_set)| *is_set).map(|(letter, _)| letter).collect()
    }

    /// Sets the option of `letter`. Returns false if it isn't an ordering option. `b` applies to
    /// the given ends of the key.
    pub(crate) fn set(&mut self, letter: u8, is_start: bool, is_end: bool) -> bool {
        match letter {
            b'b' => {
                self.start_blanks |= is_start;
                self.end_blanks |= is_end;
            }
            b'd' => self.dictionary = true,
            b'f' => self.fold = true,
            b'g' => self.general = true,
            b'h' => self.human = true,
            b'i' => self.nonprinting = true,
            b'M' => self.month = true,
            b'n' => self.numeric = true,
            b'R' => self.random = true,
            b'V' => self.version = true,
            b'r' => self.reverse = true,
            _ => return false,
        }
        true
    }

    /// True if at most one of the exclusive kinds is set.
    pub(crate) fn are_compatible(&self) -> bool {
        let text = self.version || self.random || self.ignores();
        [self.numeric, self.general, self.human, self.month, text]
            .iter()
            .filter(|&&kind| kind)
            .count()
            <= 1
    }
}

//! A command line that was understood: what to sort, by which keys, and how.
//!
//! The parser makes it, and nothing is checked again afterwards. Keys without ordering options of
//! their own have been given the global ones, so that `keys` alone decides how lines compare.
//! Files, memory and threads are plain values: this crate opens nothing.

use std::ffi::OsString;
use std::time::Duration;

use crate::getopt::When;

/// What a command line requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `--help`: print [`help`](fn@super::help) and do nothing else.
    Help,
    /// `--version`: print [`version`](fn@super::version) and do nothing else.
    Version,
    /// Everything else.
    Run(Box<Command>),
}

/// A sort, a merge or a check, with all its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `-c`, `-C`, `--check`: check whether the one input is sorted, and sort nothing. Wins over
    /// `merge`.
    pub check: Option<Check>,
    /// `-m`: the inputs are sorted already.
    pub merge: bool,
    /// `-u`: of lines with equal keys only the first; with `check`, equal lines are out of order.
    /// No last resort.
    pub unique: bool,
    /// `-s`: no last resort.
    pub stable: bool,
    /// `-r` outside keys: reverses the last resort, and the order of lines if there is no key.
    pub reverse: bool,
    /// `-z`: lines end with NUL.
    pub zero_terminated: bool,
    /// `--debug`: mark the keys in the output and warn of doubtful usage.
    pub debug: bool,
    /// `-t`: the byte between fields; without it a field begins where blanks follow something else.
    pub separator: Option<u8>,
    /// The keys, most significant first. Empty: lines compare as wholes.
    pub keys: Vec<KeyField>,
    /// True if the only key is the whole line with the global ordering options (`sort -n`), and no
    /// `-k` was given.
    pub is_global_key: bool,
    /// The ordering options given outside keys.
    pub global: Flags,

    /// The operands in their order, `-` for standard input; one `-` if there were none. Empty with
    /// `files0_from`.
    pub files: Vec<OsString>,
    /// `--files0-from`: the file that holds the inputs' names, each ended by NUL.
    pub files0_from: Option<OsString>,
    /// `-o`.
    pub output: Option<OsString>,
    /// `-S`: bytes of memory; the largest where there are several.
    pub buffer_bytes: Option<u64>,
    /// `-T`, all of them.
    pub temporary_directories: Vec<OsString>,
    /// `--batch-size`: most inputs that are merged at once, at least 2.
    pub batch_size: Option<usize>,
    /// `--compress-program`: how to compress scratch, by another program.
    pub compress_program: Option<OsString>,
    /// `--parallel`, `--threads`: most threads, at least 1; `--threads=0` is `None`.
    pub parallel: Option<usize>,
    /// `--random-source`: the file whose first 16 bytes seed `-R`.
    pub random_source: Option<OsString>,

    /// What xsort has beyond GNU's options.
    pub extras: Extras,
}

impl Command {
    /// True if some key is in a random order, so that the order needs 16 random bytes.
    pub fn needs_random(&self) -> bool {
        self.keys.iter().any(|key| key.flags.random)
    }

    /// The byte that ends a line.
    pub fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// True if lines whose keys are equal are compared as wholes.
    pub fn has_last_resort(&self) -> bool {
        !self.unique && !self.stable
    }
}

/// How a check tells what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// `-c`: name the first line out of order ([`disorder`](fn@super::disorder)), status 1.
    DiagnoseFirst,
    /// `-C`: status 1, nothing said.
    Quiet,
}

/// Options that GNU sort lacks. They have long names only, which can't be shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `--header[=N]`: so many lines at the head of the first input stay where they are; 1 if no
    /// number is given.
    pub header_lines: u64,
    /// `--header-prefix STR`: lines at the head of the first input that begin so stay where they
    /// are. It is not empty, has no line's end, and excludes `--header`.
    pub header_prefix: Option<OsString>,
    /// `--count`: how many equal lines there are before each that `-u` leaves.
    pub counts: bool,
    /// `--shuffle`: a random order in which equal lines are not together. There is no other order
    /// beside it.
    pub shuffles: bool,
    /// `--seed S`: which random order; only with `shuffles`.
    pub seed: Option<u64>,
    /// `--top N`: only the first N lines of the output, at least 1.
    pub top_lines: Option<u64>,
    /// `--color[=WHEN]`.
    pub color: When,
    /// `--progress[=WHEN]`.
    pub progress: When,
    /// `--quiet`: nothing but errors on standard error.
    pub quiet: bool,
    /// `--verbose`: a report for people.
    pub verbose: bool,
    /// `--dry-run`: say what would be done, and do nothing.
    pub dry_run: bool,
    /// `--memory=SIZE`, as it was written; what it means is nothing of GNU sort's.
    pub memory: Option<OsString>,
    /// `--temperature-limit=C`: transfers of scratch pause while a drive is hotter than so many
    /// degrees Celsius.
    pub limit_celsius: Option<u16>,
    /// `--bandwidth-limit=RATE`: how much may be moved to and from drives in a second, as it was
    /// written; what it means is nothing of GNU sort's.
    pub bandwidth_limit: Option<OsString>,
    /// `--s3-connections=N` and `--s3-part-size=SIZE`: how objects are moved, as it was written;
    /// GNU sort has none.
    pub s3_connections: Option<OsString>,
    /// See above.
    pub s3_part_size: Option<OsString>,
    /// `--verify-output`: an output that is an object is read back; GNU sort has none.
    pub verify_output: bool,
    /// `--no-clobber`: an output that exists is refused.
    pub no_clobber: bool,
    /// `--in-place`: an output that exists is written over, instead of replaced by a new file.
    pub in_place: bool,
    /// `--no-sync`: the output isn't made durable.
    pub no_sync: bool,
    /// `--json`: a report for machines.
    pub json: bool,
    /// `--compress=lz4`, `zstd`, `auto` and `none`: how to compress scratch within the process,
    /// whatever `--compress-program` says; without it, that decides.
    pub compress: Option<Codec>,
    /// `--compress-output`: how the output is compressed; `None`: as its name says, where that
    /// counts.
    pub compress_output: Option<OutputCompression>,
    /// `--decompress`, `--no-decompress`: whether inputs that are compressed are decompressed as
    /// they are read; `None`: as is usual for the name by which the program was called.
    pub decompress: Option<bool>,
    /// `--no-quotes`: lines of CSV may end within quotes.
    pub no_quotes: bool,
    /// `--check-output`: compare checksums of the lines read and written.
    pub check_output: bool,
    /// `--recursive`: a directory among the inputs is all regular files below it, in the order of
    /// their paths.
    pub recursive: bool,
    /// `--checkpoint`, `--resume`, `--restart`: the sort can go on after an interruption; the last
    /// of them counts.
    pub checkpoint: Option<Checkpoint>,
    /// `--checkpoint-every=SECONDS`.
    pub checkpoint_every: Option<Duration>,
    /// `--allow-empty`: such a directory may have no files below it.
    pub allows_empty: bool,
    /// `--count-links`: of these, files of several names are read under each of them.
    pub counts_links: bool,
}

/// What to do with what an interrupted sort to the same output has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// Refuse if there is any, else begin.
    Begin,
    /// Go on with it, or begin.
    Resume,
    /// Throw it away, and begin.
    Restart,
}

/// How scratch is compressed within the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Off,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
    /// One of them or none, whatever is quickest.
    Auto,
}

/// How the output is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputCompression {
    /// Not at all, whatever its name.
    Off,
    /// gzip.
    Gzip,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// One `-k` (or `+POS1 -POS2`): a part of the line, and how it compares. Fields and characters
/// count from 0 here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyField {
    /// Fields before the key.
    pub start_field: usize,
    /// Bytes of that field before the key.
    pub start_char: usize,
    /// Where the key ends; at the line's end if nothing is said.
    pub end: Option<KeyEnd>,
    /// The ordering options, with the global ones if the key has none of its own.
    pub flags: Flags,
    /// True if the key was written as `+POS1 [-POS2]`.
    pub is_obsolete: bool,
}

/// The end of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyEnd {
    /// Fields before the one in which the key ends.
    pub field: usize,
    /// Bytes of that field that belong to the key; 0: all of it.
    pub char: usize,
}

/// Ordering options, as letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `b` at the key's start: blanks before it don't count.
    pub start_blanks: bool,
    /// `b` at the key's end.
    pub end_blanks: bool,
    /// `d`: blanks and alphanumeric characters only. Wins over `nonprinting`.
    pub dictionary: bool,
    /// `f`: lower case as upper case.
    pub fold: bool,
    /// `g`: as floating-point numbers.
    pub general: bool,
    /// `h`: as numbers with a suffix.
    pub human: bool,
    /// `i`: printable characters only.
    pub nonprinting: bool,
    /// `M`: as names of months.
    pub month: bool,
    /// `n`: as numbers.
    pub numeric: bool,
    /// `R`: by a hash.
    pub random: bool,
    /// `V`: as versions.
    pub version: bool,
    /// `r`: the other way round.
    pub reverse: bool,
}

impl Flags {
    /// True if nothing is said but perhaps `r`.
    pub fn is_plain(&self) -> bool {
        Flags { reverse: false, ..*self } == Flags::default()
    }

    /// True if characters are left out.
    pub fn ignores(&self) -> bool {
        self.dictionary || self.nonprinting
    }

    /// True for the three kinds of numbers.
    pub fn is_number(&self) -> bool {
        self.numeric || self.general || self.human
    }

    /// The letters that are set, in the order in which GNU sort names them in messages.
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

    /// Sets what `letter` stands for; false if it is no ordering option. `b` counts for the given
    /// ends of the key.
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

//! The compiled order of lines of a command: comparisons, normalised keys, and key words.
//!
//! Lines are compared by their keys, the most significant first. If all are equal, they are
//! compared as wholes (the last resort), except with `-s` or `-u`. All keys of a line, with the
//! last resort, can also be written as bytes: the *normalised key*. Comparing two of them as
//! strings of unsigned bytes compares the lines. Kernels sort by its words, eight bytes each, and
//! call [`Order::compare`] only where these are equal.
//!
//! ```text
//! span       where a key lies             key        a key: place, transformation, kind
//! transform  -d -f -i                     bytes      text as part of a normalised key
//! apart      keys that travel before their lines
//! number -n  human -h  general -g  month -M  version -V  random -R  (by language: collation)
//! ```

mod apart;
mod bytes;
mod general;
mod human;
mod key;
mod month;
mod nearest;
mod number;
mod random;
mod span;
mod transform;
mod version;

use std::cmp::Ordering;
use std::ops::Range;

pub use apart::{KeyPlace, LineKeys, Ties};
use bytes::{load, load_marked};
pub use key::Scratch;
use key::{Key, Kind};
pub use nearest::nearest;
use span::Fields;

use super::command::{Command, Flags, KeyField};
use super::records::{RecordPart, Records};
use crate::locale::Locale;

/// A compiled order of lines, or of records of lines. Both are given without their last delimiters.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which lines are a record, if not each one.
    records: Option<Records>,
    /// At least one: the whole line if the command has no key.
    keys: Vec<Key>,
    fields: Fields,
    last_resort: Option<Key>,
    head: Head,
}

/// How words of a normalised key are computed, chosen once.
#[derive(Clone, Copy, Debug)]
enum Head {
    /// The unchanged line.
    Line,
    /// An unchanged part of the line.
    Part,
    /// Part of the line, with its end marked.
    Marked,
    /// Part of the line after a transformation, followed by the unchanged line or nothing.
    Transformed,
    /// Text by the rules of a language.
    Language,
    /// A number.
    Number,
    /// Anything else: the key is written, as far as needed.
    Written,
}

impl Order {
    /// The order of `command`'s lines in `locale`. `seed` is used by `-R` only
    /// ([`Command::needs_random`]): the first 16 bytes of the random source.
    pub fn new(command: &Command, locale: &Locale, seed: [u8; 16]) -> Self {
        let flags = Flags { reverse: command.reverse, ..Flags::default() };
        let records = command.extras.records.clone();
        let delimiter = records.as_ref().map(|_| command.terminator());
        let whole = KeyField { part: RecordPart::Whole, flags, ..KeyField::default() };
        let whole_line = Key::new(&whole, delimiter, locale, seed);
        let mut keys: Vec<Key> =
            command.keys.iter().map(|key| Key::new(key, delimiter, locale, seed)).collect();
        let has_keys = !keys.is_empty();
        if !has_keys {
            keys.push(whole_line.clone());
        }
        let mut last_resort = (has_keys && command.has_last_resort()).then_some(whole_line);
        let last = last_resort.as_mut().or(keys.last_mut()).expect("there is at least one");
        last.is_open = !last.is_reverse;
        let fields = Fields::new(command.separator, &locale.classes.blank);
        let mut order = Self { records, keys, fields, last_resort, head: Head::Written };
        order.head = order.choose_head();
        order
    }

    /// Which lines are a record; `None` if each line is one.
    pub fn records(&self) -> Option<&Records> {
        self.records.as_ref()
    }

    /// Orders two lines, last resort included. The caller must keep equal lines in the order of the
    /// input. With `-u`, see [`Order::same`].
    pub fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> Ordering {
        if let Head::Line = self.head {
            return a.cmp(b);
        }
        // Most comparisons that words don't decide are of equal lines.
        if a == b {
            return Ordering::Equal;
        }
        self.keys
            .iter()
            .chain(&self.last_resort)
            .map(|key| key.compare(a, b, &self.fields, scratch))
            .find(|&order| order != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    }

    /// True if `-u` keeps only one of two lines: if all their keys are equal and none is a NaN. GNU
    /// sort 9.1 keeps all lines with a NaN in any key, because it compares the bytes of NaNs, and
    /// some of these bytes are arbitrary.
    pub fn same(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> bool {
        self.keys.iter().all(|key| {
            key.compare(a, b, &self.fields, scratch) == Ordering::Equal
                && !key.is_nan(a, &self.fields, scratch)
        })
    }

    /// True if lines with equal normalised keys are equal in this order. Otherwise (keys ordered by
    /// a language, or at random) the normalised key is incomplete, and equal ones decide nothing.
    pub fn is_exact(&self) -> bool {
        self.keys.iter().chain(&self.last_resort).all(Key::is_exact)
    }

    /// True if building a line's key once is cheaper than finding it in every comparison, and the
    /// key is hardly longer than the line.
    pub fn has_dear_keys(&self) -> bool {
        self.keys.iter().chain(&self.last_resort).all(Key::has_short_bytes) && self.is_dear()
    }

    /// Average length of lines, in bytes, from which it is cheaper to move lines into order and
    /// compute their first words again than to keep the words and read lines in place. `None` if it
    /// never is. Unchanged short lines are in their words. Other lines are found sooner than their
    /// words are computed, except for numbers.
    pub fn arranged_from(&self) -> Option<usize> {
        let least = match self.head {
            Head::Number if self.keys.len() == 1 => 1,
            Head::Line | Head::Part | Head::Transformed => 16,
            Head::Language => 32,
            Head::Number | Head::Marked | Head::Written => return None,
        };
        self.keys[0].span.begins_line().then_some(least)
    }

    /// True if building a line's key once is cheaper, if the key is as short as possible.
    fn is_dear(&self) -> bool {
        self.keys.len() > 1 || self.keys[0].is_dear()
    }

    /// True if building a line's key once is cheaper where many lines have equal keys, although one
    /// word decides most of them: for numbers.
    fn is_dear_where_keys_repeat(&self) -> bool {
        matches!(self.keys[0].kind, Kind::General(_) | Kind::Number(_))
    }

    /// True if the order is that of the lines' bytes, and the normalised key is the line.
    pub fn is_bytes(&self) -> bool {
        matches!(self.head, Head::Line)
    }

    /// True if the order is the reverse of that of the lines' bytes.
    pub fn is_bytes_reversed(&self) -> bool {
        let [key] = &self.keys[..] else { return false };
        self.last_resort.is_none() && key.is_reverse && key.is_whole_text()
    }

    /// Appends the normalised key of `line` to `out`: bytes that compare as all keys do, and the
    /// whole line as the last resort.
    pub fn encode(&self, line: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) {
        self.encode_at_most(line, usize::MAX, scratch, out);
    }

    /// The parts of `line` that decide, key by key and finally the whole, for `--debug`.
    pub(crate) fn marked(&self, line: &[u8], scratch: &mut Scratch) -> Vec<Range<usize>> {
        let keys = self.keys.iter().chain(&self.last_resort);
        keys.map(|key| key.marked(line, &self.fields, &mut scratch.a)).collect()
    }

    fn encode_at_most(&self, line: &[u8], limit: usize, scratch: &mut Scratch, out: &mut Vec<u8>) {
        let start = out.len();
        for key in self.keys.iter().chain(&self.last_resort) {
            key.encode(line, &self.fields, limit, &mut scratch.a, out);
            if !key.is_exact() || out.len() - start >= limit {
                break;
            }
        }
    }

    /// Eight bytes of the normalised key of `line` from byte `skip` on, as a big-endian number,
    /// with zeros past its end.
    pub fn word(&self, line: &[u8], skip: usize, scratch: &mut Scratch) -> u64 {
        let first = &self.keys[0];
        let text = || first.span.of(line, &self.fields);
        match (self.head, &first.kind) {
            (Head::Line, _) => load(line, skip),
            (Head::Part, _) => load(text(), skip),
            (Head::Marked, _) => load_marked(text(), skip, self.has_one_key(), first.is_reverse)
                .unwrap_or_else(|| self.written_word(line, skip, scratch)),
            (Head::Transformed, _) => match first.transformed(line, &self.fields, skip) {
                Some(bytes) => u64::from_be_bytes(bytes),
                None => self.written_word(line, skip, scratch),
            },
            (Head::Language, Kind::Collated(language)) => match language.words(text(), skip) {
                Some([word]) => word,
                None => self.written_word(line, skip, scratch),
            },
            (Head::Number, Kind::Number(numbers)) if skip == 0 => {
                let word = numbers.word(text());
                if first.is_reverse { !word } else { word }
            }
            (Head::Number, Kind::Number(numbers))
                if skip >= 8
                    && self.goes_on_with_line()
                    && numbers.whole_word(text()).is_some() =>
            {
                load(line, skip - 8)
            }
            _ => self.written_word(line, skip, scratch),
        }
    }

    /// The words at `skip` and after it, for less than the cost of two.
    pub fn two_words(&self, line: &[u8], skip: usize, scratch: &mut Scratch) -> [u64; 2] {
        let first = &self.keys[0];
        if let Head::Transformed = self.head
            && let Some(bytes) = first.transformed::<16>(line, &self.fields, skip)
        {
            return [load(&bytes, 0), load(&bytes, 8)];
        }
        if let (Head::Language, Kind::Collated(language)) = (self.head, &first.kind) {
            let text = first.span.of(line, &self.fields);
            if let Some(words) = language.words(text, skip) {
                return words;
            }
        }
        if let (Head::Number, Kind::Number(numbers), 0) = (self.head, &first.kind, skip)
            && self.goes_on_with_line()
            && let Some(word) = numbers.whole_word(first.span.of(line, &self.fields))
        {
            return [if first.is_reverse { !word } else { word }, load(line, 0)];
        }
        match self.head {
            Head::Line => [load(line, skip), load(line, skip + 8)],
            Head::Part => {
                let text = first.span.of(line, &self.fields);
                [load(text, skip), load(text, skip + 8)]
            }
            _ => {
                self.written(line, skip, 16, scratch, |key| [load(key, skip), load(key, skip + 8)])
            }
        }
    }

    fn choose_head(&self) -> Head {
        let first = &self.keys[0];
        let ends_or_goes_on = first.is_open || !first.is_reverse && self.goes_on_with_line();
        match (&first.kind, &first.transform, first.is_open) {
            (Kind::Bytes, None, true) if first.span.is_whole_line() => Head::Line,
            (Kind::Bytes, None, true) => Head::Part,
            (Kind::Bytes, None, false) => Head::Marked,
            (Kind::Bytes, Some(_), _) if ends_or_goes_on => Head::Transformed,
            (Kind::Collated(_), None, _) if !first.is_reverse => Head::Language,
            (Kind::Number(_), _, _) => Head::Number,
            _ => Head::Written,
        }
    }

    /// True if only the unchanged line follows the first key.
    fn goes_on_with_line(&self) -> bool {
        self.keys.len() == 1
            && self.last_resort.as_ref().is_some_and(|last| last.is_open && last.is_whole_text())
    }

    /// True if a key may be a NaN, which equals no other.
    fn may_have_nans(&self) -> bool {
        self.keys.iter().any(|key| matches!(key.kind, Kind::General(_)))
    }

    /// True if the first word distinguishes most different lines.
    pub fn is_decided_by_one_word(&self) -> bool {
        self.keys.len() == 1 && matches!(self.head, Head::Number)
    }

    /// True if the first key is a number of `-n`, so that lines have a
    /// [`first_number`](Order::first_number).
    pub fn has_first_number(&self) -> bool {
        matches!(self.keys[0].kind, Kind::Number(_))
    }

    /// The floating-point number nearest to the first key of `line`, or to its opposite where the
    /// first key is reversed: so it never falls in this order. 0 unless
    /// [`has_first_number`](Order::has_first_number).
    pub fn first_number(&self, line: &[u8]) -> f64 {
        let key = &self.keys[0];
        let Kind::Number(numbers) = &key.kind else { return 0.0 };
        let number = numbers.nearest(key.span.of(line, &self.fields));
        if key.is_reverse { -number } else { number }
    }

    /// Appends the word of each line to `out`, faster than one by one.
    pub fn words<'a>(
        &self,
        lines: impl Iterator<Item = &'a [u8]>,
        skip: usize,
        scratch: &mut Scratch,
        out: &mut Vec<u64>,
    ) {
        let first = &self.keys[0];
        match (self.head, &first.kind) {
            (Head::Line, _) => out.extend(lines.map(|line| load(line, skip))),
            (Head::Number, Kind::Number(numbers)) if skip == 0 => {
                let turned = if first.is_reverse { u64::MAX } else { 0 };
                out.extend(
                    lines.map(|line| numbers.word(first.span.of(line, &self.fields)) ^ turned),
                );
            }
            (Head::Marked, _) if first.span.is_whole_line() && self.has_one_key() => {
                out.extend(lines.map(|line| {
                    let word = load_marked(line, skip, true, first.is_reverse);
                    word.unwrap_or_else(|| self.written_word(line, skip, scratch))
                }));
            }
            _ => out.extend(lines.map(|line| self.word(line, skip, scratch))),
        }
    }

    /// True if the normalised key ends with the first key.
    fn has_one_key(&self) -> bool {
        self.keys.len() == 1 && self.last_resort.is_none()
    }

    fn written_word(&self, line: &[u8], skip: usize, scratch: &mut Scratch) -> u64 {
        self.written(line, skip, 8, scratch, |key| load(key, skip))
    }

    /// Writes the key up to `bytes` bytes after `skip`, and calls `read` with it.
    fn written<T>(
        &self,
        line: &[u8],
        skip: usize,
        bytes: usize,
        scratch: &mut Scratch,
        read: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let mut key = std::mem::take(&mut scratch.key);
        key.clear();
        self.encode_at_most(line, skip.saturating_add(bytes), scratch, &mut key);
        let read = read(&key);
        scratch.key = key;
        read
    }
}

//! One key, ready to compare: its place, the transformation of its bytes, and their meaning.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::super::command::{Flags, KeyField};
use super::super::records::RecordPart;
use super::bytes::{encode_marked, encode_text};
use super::general::Floats;
use super::human;
use super::month::Months;
use super::number::Numbers;
use super::random::Random;
use super::span::{Fields, Span};
use super::transform::{Transform, apply};
use super::version;
use crate::collation::{self, Language};
use crate::locale::{Collation, Locale};
use crate::name_order::NameOrder;

/// A text that isn't a month, as part of a normalised key.
const MONTH_ZERO: u8 = 0x10;

/// The number of bytes of a length, as part of a normalised key, is added to this: small bytes are
/// reserved for the ends of keys.
const LENGTH_ZERO: u8 = 0x10;

/// Precedes a name that isn't in a list, as part of a normalised key: more than any number of bytes
/// of a place.
const NOT_LISTED: u8 = 0x20;

/// The meaning of a key's bytes.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Bytes,
    Collated(Language),
    General(Floats),
    Human(Numbers),
    /// The number of the text's bytes, without these line ends.
    Length(Option<u8>),
    /// Bytes, without these line ends.
    Joined(u8),
    /// A name in the order of a list.
    Listed(Arc<NameOrder>),
    Month(Months),
    Number(Numbers),
    Random(Random),
    Version,
}

/// A key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) span: Span,
    pub(super) transform: Option<Transform>,
    pub(super) kind: Kind,
    pub(super) is_reverse: bool,
    /// True if nothing follows the key, so that the end of its bytes ends the normalised key.
    pub(super) is_open: bool,
    /// True if the key's bytes are as short as possible, and not made for words: numbers as short
    /// as their digits, words of a language nearly so.
    pub(super) is_short: bool,
}

/// Memory for comparing and encoding: buffers that grow to the longest compared keys, and keep that
/// size. The caller has one per thread. Comparing bytes, `-n` and `-M` never use them.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) a: Work,
    pub(super) b: Work,
    /// A whole normalised key.
    pub(super) key: Vec<u8>,
}

/// Memory for one of two lines.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The key's text after `-d`, `-f` and `-i`.
    pub(super) text: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) more: Vec<u8>,
    pub(super) collation: collation::Work,
}

impl Key {
    /// The key of `field`. `delimiter` is the byte between the lines of a record, if records are
    /// sorted.
    pub(super) fn new(
        field: &KeyField,
        delimiter: Option<u8>,
        locale: &Locale,
        seed: [u8; 16],
    ) -> Self {
        let kind = match &field.list {
            Some(list) => Kind::Listed(list.names.clone().unwrap_or_default()),
            None => match (&field.part, delimiter) {
                (RecordPart::From(_), Some(end)) if !field.is_length => Kind::Joined(end),
                (RecordPart::From(_), end) if field.is_length => Kind::Length(end),
                _ if field.is_length => Kind::Length(None),
                _ => Kind::new(field.flags, locale, seed),
            },
        };
        // The other kinds ignore the bytes that a transformation changes.
        let has_text = matches!(
            kind,
            Kind::Bytes | Kind::Collated(_) | Kind::Human(_) | Kind::Random(_) | Kind::Version
        );
        let transform = if has_text { Transform::new(field.flags, &locale.classes) } else { None };
        Self {
            span: Span::new(field, delimiter),
            transform,
            kind,
            is_reverse: field.flags.reverse,
            is_open: false,
            is_short: false,
        }
    }

    /// True if the key is all bytes of the line, unchanged.
    pub(super) fn is_whole_text(&self) -> bool {
        matches!(self.kind, Kind::Bytes) && self.transform.is_none() && self.span.is_whole_line()
    }

    /// True if lines with equal bytes of this key have equal keys.
    pub(super) fn is_exact(&self) -> bool {
        match &self.kind {
            Kind::Collated(language) => language.is_exact(),
            kind => !matches!(kind, Kind::Random(_)),
        }
    }

    /// True if the key's bytes are complete, and hardly longer than its text. Keys of languages are
    /// several times as long, and comparing two texts finds their first difference at once.
    pub(super) fn has_short_bytes(&self) -> bool {
        !matches!(self.kind, Kind::Collated(_) | Kind::Random(_))
    }

    /// True if its short bytes are complete, and for most texts hardly longer than these.
    pub(super) fn can_be_short(&self) -> bool {
        match &self.kind {
            Kind::Collated(language) => language.has_short_keys(),
            kind => !matches!(kind, Kind::Random(_)),
        }
    }

    /// True if it has only short bytes, which are hardly longer than its text.
    pub(super) fn is_short_anyway(&self) -> bool {
        match &self.kind {
            Kind::Collated(language) => language.has_one_level(),
            _ => self.has_short_bytes(),
        }
    }

    /// True if the key takes longer to build than to read again: a key of a field, which must be
    /// found, or of text with a meaning. One word decides a number, but where many are equal the
    /// field is found again.
    pub(super) fn is_dear(&self) -> bool {
        match self.kind {
            Kind::Bytes | Kind::Collated(_) => !self.span.begins_line() || self.span.has_end(),
            Kind::Human(_)
            | Kind::Joined(_)
            | Kind::Length(_)
            | Kind::Listed(_)
            | Kind::Month(_)
            | Kind::Version => true,
            Kind::General(_) | Kind::Number(_) => !self.span.begins_line(),
            Kind::Random(_) => false,
        }
    }

    /// Orders two lines by this key only.
    pub(super) fn compare(
        &self,
        a: &[u8],
        b: &[u8],
        fields: &Fields,
        scratch: &mut Scratch,
    ) -> Ordering {
        let order = self.compare_texts(self.span.of(a, fields), self.span.of(b, fields), scratch);
        if self.is_reverse { order.reverse() } else { order }
    }

    /// True if the key is a NaN.
    pub(super) fn is_nan(&self, line: &[u8], fields: &Fields, scratch: &mut Scratch) -> bool {
        let Kind::General(floats) = &self.kind else { return false };
        floats.is_nan(self.span.of(line, fields), &mut scratch.a.key)
    }

    fn compare_texts(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> Ordering {
        if let (Kind::Bytes, Some(transform)) = (&self.kind, &self.transform) {
            return transform.compare(a, b);
        }
        if a == b {
            return Ordering::Equal;
        }
        let Scratch { a: work_a, b: work_b, .. } = scratch;
        let a = apply(self.transform.as_ref(), a, &mut work_a.text);
        let b = apply(self.transform.as_ref(), b, &mut work_b.text);
        let keys = [&mut work_a.key, &mut work_b.key];
        match &self.kind {
            Kind::Bytes => a.cmp(b),
            Kind::Collated(language) => {
                language.compare(a, b, [&mut work_a.collation, &mut work_b.collation])
            }
            Kind::General(floats) => {
                floats.key(a, &mut work_a.key).cmp(&floats.key(b, &mut work_b.key))
            }
            Kind::Human(numbers) => {
                compare_encoded(a, b, keys, |text, key| human::encode(numbers, text, key))
            }
            Kind::Length(end) => length(a, *end).cmp(&length(b, *end)),
            Kind::Joined(end) => joined(a, *end).cmp(joined(b, *end)),
            Kind::Listed(names) => place(names, a).cmp(&place(names, b)),
            Kind::Month(months) => months.number(a).cmp(&months.number(b)),
            Kind::Number(numbers) => numbers.compare(a, b, keys),
            Kind::Random(random) => {
                let hash_a = random.key(a, &mut work_a.key, &mut work_a.more);
                hash_a
                    .cmp(&random.key(b, &mut work_b.key, &mut work_b.more))
                    .then_with(|| random.compare_ties(a, b))
            }
            Kind::Version => compare_encoded(a, b, keys, version::encode),
        }
    }

    /// Returns `N` bytes of a normalised key from `skip` on, where this key of transformed text is
    /// the first. After an open key come zeros, after any other its marked end and `line`. `None`
    /// if the key isn't open and a byte of its text in this range or before it is escaped.
    #[inline]
    pub(super) fn transformed<const N: usize>(
        &self,
        line: &[u8],
        fields: &Fields,
        skip: usize,
    ) -> Option<[u8; N]> {
        let transform = self.transform.as_ref().expect("chosen because there is one");
        let mut bytes = [0; N];
        let copied = transform.copy(self.span.of(line, fields), skip, &mut bytes);
        if self.is_open {
            return Some(bytes);
        }
        if copied.has_escaped {
            return None;
        }
        // The line follows the mark, which is a zero. Nothing is left to write if the text
        // continues.
        let line_from = copied.bytes + 1;
        let to = bytes.get_mut(line_from.saturating_sub(skip)..).unwrap_or_default();
        let behind = line.get(skip.saturating_sub(line_from)..).unwrap_or_default();
        let own = behind.len().min(to.len());
        to[..own].copy_from_slice(&behind[..own]);
        Some(bytes)
    }

    /// The part of `line` that decides, for `--debug`: a number or month without the blanks before
    /// and the text after it.
    pub(super) fn marked(&self, line: &[u8], fields: &Fields, work: &mut Work) -> Range<usize> {
        let (mut start, end) = self.span.bounds(line, fields);
        if self.span.begins_line() {
            start = 0;
        }
        // If a key ends before it begins, GNU sort skips the blanks after it, otherwise only those
        // in it.
        let stop = if end < start { line.len() } else { end };
        let first = fields.skip_blanks(&line[..stop], start);
        let text = &line[first..end.max(first)];
        let length = match &self.kind {
            Kind::General(floats) => floats.marked(text, &mut work.text),
            Kind::Human(numbers) => human::marked(numbers, text, true),
            Kind::Month(months) => months.marked(text),
            Kind::Number(numbers) => human::marked(numbers, text, false),
            Kind::Bytes
            | Kind::Collated(_)
            | Kind::Joined(_)
            | Kind::Length(_)
            | Kind::Listed(_)
            | Kind::Random(_)
            | Kind::Version => {
                let start =
                    if self.span.begins_line() && self.span.start_blanks { first } else { start };
                return start..end.max(start);
            }
        };
        first..first + length
    }

    /// Appends the key's normalised bytes, at most about `limit` of them for text.
    pub(super) fn encode(
        &self,
        line: &[u8],
        fields: &Fields,
        limit: usize,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        self.encode_text(self.span.of(line, fields), limit, work, out);
        if self.is_reverse {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Appends at most `COUNT` words of the key's normalised bytes.
    pub(super) fn encode_words<const COUNT: usize>(
        &self,
        line: &[u8],
        fields: &Fields,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) {
        if let (Kind::Collated(language), None) = (&self.kind, &self.transform)
            && let Some(words) = language.words::<COUNT>(self.span.of(line, fields), 0)
        {
            let turn = if self.is_reverse { u64::MAX } else { 0 };
            return words.iter().for_each(|word| out.extend((word ^ turn).to_be_bytes()));
        }
        let from = out.len();
        self.encode(line, fields, 8 * COUNT, work, out);
        out.truncate(from + 8 * COUNT);
    }

    fn encode_text(&self, text: &[u8], limit: usize, work: &mut Work, out: &mut Vec<u8>) {
        if let Kind::Bytes = self.kind {
            match (&self.transform, self.is_open) {
                (None, true) => out.extend_from_slice(&text[..text.len().min(limit)]),
                (None, false) => encode_text(text, limit, out),
                (Some(transform), true) => {
                    transform.push(text, limit, out);
                }
                (Some(transform), false) => encode_transformed(transform, text, limit, out),
            }
            return;
        }
        let text = apply(self.transform.as_ref(), text, &mut work.text);
        match &self.kind {
            Kind::Bytes => unreachable!("done above"),
            Kind::Collated(language) if self.is_short => {
                language.encode_short(text, limit, &mut work.collation, out);
            }
            Kind::Collated(language) => {
                language.encode(text, limit, &mut work.collation, out);
            }
            Kind::General(floats) => out.extend_from_slice(&floats.key(text, &mut work.more)),
            Kind::Human(numbers) if self.is_short => {
                human::encode_short(numbers, text, out);
            }
            Kind::Human(numbers) => human::encode(numbers, text, out),
            Kind::Length(end) => encode_length(length(text, *end), out),
            Kind::Joined(end) => encode_marked(joined(text, *end), limit, out),
            Kind::Listed(names) => match place(names, text) {
                (rank, []) if rank < u64::MAX => encode_length(rank as usize, out),
                (_, other) => {
                    out.push(NOT_LISTED);
                    encode_text(other, limit, out);
                }
            },
            // Small bytes are reserved for the ends of keys.
            Kind::Month(months) => out.push(months.number(text) + MONTH_ZERO),
            Kind::Number(numbers) if self.is_short => numbers.encode_short(text, out),
            Kind::Number(numbers) => numbers.encode(text, out),
            Kind::Random(random) => {
                out.extend_from_slice(&random.key(text, &mut work.key, &mut work.more));
            }
            Kind::Version => version::encode(text, out),
        }
    }
}

impl Kind {
    fn new(flags: Flags, locale: &Locale, seed: [u8; 16]) -> Self {
        match flags {
            Flags { numeric: true, .. } => Self::Number(Numbers::new(locale)),
            Flags { general: true, .. } => Self::General(Floats::new(locale)),
            Flags { human: true, .. } => Self::Human(Numbers::new(locale)),
            Flags { month: true, .. } => Self::Month(Months::new(locale)),
            Flags { random: true, .. } => Self::Random(Random::new(seed, locale)),
            Flags { version: true, .. } => Self::Version,
            _ if locale.collation == Collation::Language => Self::Collated(locale.language.clone()),
            _ => Self::Bytes,
        }
    }
}

/// Appends the transformed text, with its end marked.
fn encode_transformed(transform: &Transform, text: &[u8], limit: usize, out: &mut Vec<u8>) {
    let from = out.len();
    if transform.push(text, limit, out) {
        out.truncate(from);
        return encode_marked(transform.bytes(text), limit, out);
    }
    out.push(0);
}

/// The bytes of lines without their ends.
fn joined(text: &[u8], end: u8) -> impl Iterator<Item = u8> + '_ {
    text.iter().copied().filter(move |&byte| byte != end && byte != b'\r')
}

/// The number of bytes, or of those of lines without their ends.
fn length(text: &[u8], end: Option<u8>) -> usize {
    end.map_or(text.len(), |end| joined(text, end).count())
}

/// The place of a name in a list, and nothing. Other names come after all of it, in the order of
/// their bytes. Blanks before a name, which may separate fields, don't belong to it.
fn place<'t>(names: &NameOrder, text: &'t [u8]) -> (u64, &'t [u8]) {
    let text = text.trim_ascii_start();
    names.rank(text).map_or((u64::MAX, text), |rank| (rank.into(), &text[..0]))
}

/// Appends a number: how many bytes it takes, and these.
fn encode_length(length: usize, out: &mut Vec<u8>) {
    let bytes = (length as u64).to_be_bytes();
    let zeros = (length as u64).leading_zeros() as usize / 8;
    out.push(LENGTH_ZERO + (bytes.len() - zeros) as u8);
    out.extend_from_slice(&bytes[zeros..]);
}

/// Orders two texts by their keys, which are built in `keys`.
fn compare_encoded(
    a: &[u8],
    b: &[u8],
    keys: [&mut Vec<u8>; 2],
    encode: impl Fn(&[u8], &mut Vec<u8>),
) -> Ordering {
    let [key_a, key_b] = keys;
    key_a.clear();
    key_b.clear();
    encode(a, key_a);
    encode(b, key_b);
    key_a.cmp(&key_b)
}

//! The parts of a locale that sorting needs: classes of bytes, decimal and group separators, names
//! of months, and the order of text.
//!
//! A `Locale` is plain tables, built once. Only comparing text by the rules of a language calls the
//! C library each time. In the locales C, POSIX and C.UTF-8 bytes are compared instead.

use std::ffi::CString;
use std::sync::Arc;

use crate::collation::Language;
use crate::sys;

/// The tables of a locale.
#[derive(Clone, Debug)]
pub struct Locale {
    pub(crate) classes: Classes,
    /// The byte before a number's fraction.
    pub(crate) decimal_point: u8,
    /// The byte between groups of a number's digits; `None` if there is none, or if it has several
    /// bytes.
    pub(crate) thousands: Option<u8>,
    /// True if the group separator has several bytes, so that `thousands` is `None`.
    pub(crate) has_wide_thousands: bool,
    /// Names of months in upper case and their numbers from 1, sorted by the names' bytes.
    pub(crate) months: Vec<(Vec<u8>, u8)>,
    /// The order of text.
    pub(crate) collation: Collation,
    /// The name of the locale that orders text.
    pub(crate) name: String,
    /// True if text is in UTF-8.
    pub(crate) is_utf8: bool,
    pub(crate) handle: Arc<sys::Handle>,
    /// The language's rules, for [`Collation::Language`].
    pub(crate) language: Language,
}

/// The notation of numbers in a locale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numerals {
    /// The decimal point, which precedes the fraction.
    pub point: Vec<u8>,
    /// The separator of groups of digits.
    pub thousands: Vec<u8>,
    /// Sizes of the groups, from the right. The last one repeats. The largest `char` of C ends the
    /// grouping.
    pub grouping: Vec<u8>,
}

/// In a grouping: all remaining digits are one group.
#[allow(clippy::unnecessary_cast, reason = "the type has no sign on some processors")]
const NO_MORE: u8 = libc::c_char::MAX as u8;

impl Default for Numerals {
    /// The notation of the locale C.
    fn default() -> Self {
        Self { point: b".".to_vec(), thousands: Vec::new(), grouping: Vec::new() }
    }
}

impl Numerals {
    /// Appends a number's digits in groups.
    pub(crate) fn group(&self, digits: &[u8], out: &mut Vec<u8>) {
        let mut cuts = Vec::new();
        let (mut left, mut sizes) = (digits.len(), self.grouping.iter().copied());
        let mut size = 0;
        loop {
            size = sizes.next().filter(|&next| next > 0).unwrap_or(size);
            if size == 0 || (NO_MORE..).contains(&size) || usize::from(size) >= left {
                break;
            }
            left -= usize::from(size);
            cuts.push(left);
        }
        let mut from = 0;
        for cut in cuts.into_iter().rev() {
            out.extend_from_slice(&digits[from..cut]);
            out.extend_from_slice(&self.thousands);
            from = cut;
        }
        out.extend_from_slice(&digits[from..]);
    }
}

/// How text is ordered, and what a random order hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collation {
    /// The C locale: bytewise.
    Bytes,
    /// C.UTF-8: by code points, which is bytewise. It counts as a language, so a hash is taken of
    /// transformed text.
    CodePoints,
    /// By the C library's `strcoll`.
    Language,
}

/// Classes of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    /// Blanks and the newline. A line contains a newline only if lines end with NUL.
    pub(crate) blank: [bool; 256],
    pub(crate) alphanumeric: [bool; 256],
    pub(crate) printable: [bool; 256],
    pub(crate) control: [bool; 256],
    pub(crate) upper: [u8; 256],
}

impl Locale {
    /// The locale C, also called POSIX.
    ///
    /// # Panics
    ///
    /// If the C library lacks it, which no C library does.
    pub fn c() -> Self {
        Self::named("C").expect("every C library has the locale C")
    }

    /// The locale that the environment names (`LC_ALL`, `LC_COLLATE` and so on). `None` if the C
    /// library doesn't have it; GNU sort then continues with [`Locale::c`].
    pub fn from_environment() -> Option<Self> {
        sys::Handle::load(c"").map(Self::of)
    }

    /// The locale of this name, such as `en_US.UTF-8`. `None` if the C library doesn't have it.
    pub fn named(name: &str) -> Option<Self> {
        sys::Handle::load(&CString::new(name).ok()?).map(Self::of)
    }

    /// The name of the requested language, if the C library has no rules of languages (musl). Text
    /// is then in the order of its bytes.
    pub fn missing_language(&self) -> Option<&str> {
        let is_byte_order = matches!(&*self.name, "C" | "POSIX" | "C.UTF-8" | "C.utf8");
        Some(&*self.name).filter(|_| cfg!(target_env = "musl") && !is_byte_order)
    }

    /// True if text is in UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// The notation of numbers in this locale.
    pub fn numerals(&self) -> Numerals {
        let [point, thousands] =
            [libc::RADIXCHAR, libc::THOUSEP].map(|item| self.handle.item(item));
        Numerals {
            point: if point.is_empty() { b".".to_vec() } else { point },
            thousands,
            grouping: self.handle.grouping(),
        }
    }

    fn of(handle: sys::Handle) -> Self {
        let handle = Arc::new(handle);
        let mark = |item| if let [byte] = handle.item(item)[..] { Some(byte) } else { None };
        let classes = Classes::new(&handle);
        let names: [Vec<u8>; 12] = std::array::from_fn(|month| {
            let name = handle.item(libc::ABMON_1 + month as libc::nl_item);
            let letters = name.iter().filter(|&&byte| !classes.blank[usize::from(byte)]);
            letters.map(|&byte| classes.upper[usize::from(byte)]).collect()
        });
        let mut months: Vec<(Vec<u8>, u8)> = names.into_iter().zip(1..).collect();
        months.sort();
        let name = handle.collation_name();
        Self {
            decimal_point: mark(libc::RADIXCHAR).unwrap_or(b'.'),
            thousands: mark(libc::THOUSEP),
            has_wide_thousands: handle.item(libc::THOUSEP).len() > 1,
            months,
            collation: Collation::of(&name),
            name,
            is_utf8: handle.item(libc::CODESET) == b"UTF-8",
            classes,
            language: Language::new(Arc::clone(&handle)),
            handle,
        }
    }
}

impl Collation {
    fn of(name: &str) -> Self {
        match name {
            "C" | "POSIX" => Self::Bytes,
            "C.UTF-8" | "C.utf8" => Self::CodePoints,
            // musl accepts any name, and has no rules of languages.
            _ if cfg!(target_env = "musl") => Self::CodePoints,
            _ => Self::Language,
        }
    }
}

impl Classes {
    fn new(handle: &sys::Handle) -> Self {
        let of: [sys::ByteClass; 256] = std::array::from_fn(|byte| handle.byte_class(byte as u8));
        Self {
            blank: std::array::from_fn(|byte| of[byte].is_blank || byte == usize::from(b'\n')),
            alphanumeric: std::array::from_fn(|byte| of[byte].is_alphanumeric),
            printable: std::array::from_fn(|byte| of[byte].is_printable),
            control: std::array::from_fn(|byte| of[byte].is_control),
            upper: std::array::from_fn(|byte| of[byte].upper),
        }
    }
}

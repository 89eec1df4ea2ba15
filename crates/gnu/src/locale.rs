//! What sorting needs of a locale: classes of bytes, marks in numbers, names of months, and how
//! text collates.
//!
//! A `Locale` is plain tables, made once. Only comparing text by the rules of a language calls the
//! C library each time; in the locales C, POSIX and C.UTF-8 bytes are compared instead.

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
    /// The byte between groups of a number's digits.
    pub(crate) thousands: Option<u8>,
    /// True if that separator has more than one byte, so that `thousands` is `None`.
    pub(crate) has_wide_thousands: bool,
    /// Names of months in upper case and their numbers from 1 on, in the order of the names' bytes.
    pub(crate) months: Vec<(Vec<u8>, u8)>,
    /// What orders text.
    pub(crate) collation: Collation,
    /// The name of the locale that orders text.
    pub(crate) name: String,
    /// True if text is in UTF-8.
    pub(crate) is_utf8: bool,
    pub(crate) handle: Arc<sys::Handle>,
    /// The language's rules, for [`Collation::Language`].
    pub(crate) language: Language,
}

/// What a locale puts between the digits of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numerals {
    /// Before the fraction.
    pub point: Vec<u8>,
    /// Between groups.
    pub thousands: Vec<u8>,
    /// Digits of the groups, from the right; the last is for all that are left. The largest `char`
    /// of C is: no group from here on.
    pub grouping: Vec<u8>,
}

/// In a grouping: all digits that are left are together.
const NO_MORE: u8 = libc::c_char::MAX as u8;

impl Default for Numerals {
    /// Those of the locale C.
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
            if size == 0 || size >= NO_MORE || usize::from(size) >= left {
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
    /// The C locale: by bytes.
    Bytes,
    /// C.UTF-8: by code points, which is by bytes; but it counts as a language, so that a hash is
    /// taken of transformed text.
    CodePoints,
    /// By the C library's `strcoll`.
    Language,
}

/// Classes of bytes.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    /// Blanks, and the newline, which is in a line only where lines end with NUL.
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
    /// If the C library lacks it, which is no C library.
    pub fn c() -> Self {
        Self::named("C").expect("every C library has the locale C")
    }

    /// The locale that the environment names (`LC_ALL`, `LC_COLLATE` and so on); none if the C
    /// library hasn't got it, where GNU sort goes on with [`Locale::c`].
    pub fn from_environment() -> Option<Self> {
        sys::Handle::load(c"").map(Self::of)
    }

    /// The locale of this name, such as `en_US.UTF-8`; none if the C library hasn't got it.
    pub fn named(name: &str) -> Option<Self> {
        sys::Handle::load(&CString::new(name).ok()?).map(Self::of)
    }

    /// The name of the language whose rules were asked for, if the C library has none (musl): text
    /// is then in the order of its bytes.
    pub fn missing_language(&self) -> Option<&str> {
        let is_byte_order = matches!(&*self.name, "C" | "POSIX" | "C.UTF-8" | "C.utf8");
        Some(&*self.name).filter(|_| cfg!(target_env = "musl") && !is_byte_order)
    }

    /// True if text is in UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// How the locale writes numbers.
    pub fn numerals(&self) -> Numerals {
        // The item after the mark between groups is their sizes (`GROUPING` of localeconv).
        let [point, thousands, grouping] =
            [libc::RADIXCHAR, libc::THOUSEP, libc::THOUSEP + 1].map(|item| self.handle.item(item));
        Numerals {
            point: if point.is_empty() { b".".to_vec() } else { point },
            thousands,
            grouping,
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
        let name = handle.name(libc::LC_COLLATE);
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
            // musl takes any name, and has the rules of no language.
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

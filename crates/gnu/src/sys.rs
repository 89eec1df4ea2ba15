//! The C library's locales: the only unsafe code of this crate.
//!
//! Comparing text by the rules of a language needs a database. GNU sort uses the C library's, and
//! so does xsort, because the results must be equal. A locale is a value here (`newlocale`), not a
//! state of the process (`setlocale`), so threads and tests can't disturb each other.
#![allow(unsafe_code)]

use std::cmp::Ordering;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ops::Deref;
use std::sync::Arc;

#[cfg(not(target_env = "musl"))]
use libc::LC_ALL_MASK;
/// The value in musl's locale.h. The libc crate lacks it there.
#[cfg(target_env = "musl")]
const LC_ALL_MASK: c_int = 0x7fff_ffff;

/// A loaded locale of the C library. It never changes, and is freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Handle(libc::locale_t);

// SAFETY: the functions below only read the object, as any thread may (`newlocale(3)`: only
// `freelocale` and `newlocale` with a base change one; the first needs ownership, the second isn't
// used).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// The locale's properties of a byte.
pub(crate) struct ByteClass {
    pub(crate) is_blank: bool,
    pub(crate) is_alphanumeric: bool,
    pub(crate) is_printable: bool,
    pub(crate) is_control: bool,
    pub(crate) upper: u8,
}

/// Bytes of a locale's compiled tables.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Not really static: `handle` keeps the bytes alive, and only `deref` hands them out.
    bytes: &'static [u8],
    #[allow(dead_code, reason = "keeps the bytes")]
    handle: Arc<Handle>,
}

#[cfg(test)]
impl Piece {
    /// A piece with other bytes, which are never freed.
    pub(crate) fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.leak(), handle: Arc::clone(&self.handle) }
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

/// The tables by which a locale orders text, as `localedef` wrote them: see langinfo.h.
#[derive(Debug)]
pub(crate) struct CollationPieces {
    /// Number of levels on which texts are compared.
    pub(crate) levels: u32,
    pub(crate) rule_sets: Piece,
    pub(crate) table: Piece,
    pub(crate) weights: Piece,
    pub(crate) extra: Piece,
    pub(crate) indirect: Piece,
}

/// The bytes of an 80-bit floating-point number of the x87, least significant first.
pub(crate) type Extended = [u8; 10];

/// Bits of a number's mantissa that [`Handle::long_double`] reads: those of the x87, or those of a
/// double.
pub(crate) const MANTISSA_BITS: u32 = if cfg!(target_arch = "x86_64") { 64 } else { 53 };

unsafe extern "C" {
    fn isalnum_l(c: c_int, locale: libc::locale_t) -> c_int;
    fn isblank_l(c: c_int, locale: libc::locale_t) -> c_int;
    fn iscntrl_l(c: c_int, locale: libc::locale_t) -> c_int;
    fn isprint_l(c: c_int, locale: libc::locale_t) -> c_int;
    fn toupper_l(c: c_int, locale: libc::locale_t) -> c_int;
    fn iswprint_l(c: c_uint, locale: libc::locale_t) -> c_int;
    fn wcwidth(c: c_uint) -> c_int;
    fn nl_langinfo_l(item: libc::nl_item, locale: libc::locale_t) -> *mut c_char;
    fn strcoll_l(a: *const c_char, b: *const c_char, locale: libc::locale_t) -> c_int;
    fn strxfrm_l(
        out: *mut c_char,
        text: *const c_char,
        room: usize,
        locale: libc::locale_t,
    ) -> usize;
}

impl Handle {
    /// Loads the locale of this name. The empty name means the environment's. `None` if the C
    /// library has no such locale.
    pub(crate) fn load(name: &CStr) -> Option<Self> {
        // SAFETY: `name` is a C string, and no locale is given to be changed.
        let handle = unsafe { libc::newlocale(LC_ALL_MASK, name.as_ptr(), std::ptr::null_mut()) };
        // Built only if it isn't null, because dropping it frees it.
        (!handle.is_null()).then(|| Self(handle))
    }

    /// An entry of the locale's tables, such as the name of a month or of its character set.
    pub(crate) fn item(&self, item: libc::nl_item) -> Vec<u8> {
        // SAFETY: any item gives a C string, empty if there is none. It lives as long as the
        // locale, and is copied at once.
        unsafe { CStr::from_ptr(nl_langinfo_l(item, self.0)).to_bytes().to_vec() }
    }

    /// The name of the locale that orders text, such as `en_US.UTF-8`.
    #[cfg(not(target_vendor = "apple"))]
    pub(crate) fn collation_name(&self) -> String {
        // glibc stores a category's name as its item of the highest number, `_NL_LOCALE_NAME`.
        String::from_utf8_lossy(&self.item(libc::LC_COLLATE << 16 | 0xFFFF)).into_owned()
    }

    /// The name of the locale that orders text, such as `en_US.UTF-8` (querylocale(3)).
    #[cfg(target_vendor = "apple")]
    pub(crate) fn collation_name(&self) -> String {
        // SAFETY: the locale is loaded. The name lives as long, and is copied at once.
        let name = unsafe { CStr::from_ptr(libc::querylocale(libc::LC_COLLATE_MASK, self.0)) };
        name.to_string_lossy().into_owned()
    }

    /// The sizes of groups of a number's digits: `grouping` of localeconv(3).
    pub(crate) fn grouping(&self) -> Vec<u8> {
        // glibc and musl have an item for it, which follows the group separator.
        #[cfg(not(target_vendor = "apple"))]
        return self.item(libc::THOUSEP + 1);
        #[cfg(target_vendor = "apple")]
        // SAFETY: the locale is loaded, and its notation has a C string, which is copied at once.
        unsafe {
            CStr::from_ptr((*libc::localeconv_l(self.0)).grouping).to_bytes().to_vec()
        }
    }

    /// `strftime`'s text of a time in a format; empty if it exceeds 256 bytes.
    pub(crate) fn time(&self, format: &CStr, at: &libc::tm) -> Vec<u8> {
        let mut text = vec![0; 256];
        let room = text.as_mut_ptr().cast::<c_char>();
        // SAFETY: `room` has as many bytes as given, the format is a C string, `at` has no name of
        // a zone, which no format here uses, and the locale is loaded.
        let bytes = unsafe { libc::strftime_l(room, text.len(), format.as_ptr(), at, self.0) };
        text.truncate(bytes);
        text
    }

    /// The class of one byte.
    pub(crate) fn byte_class(&self, byte: u8) -> ByteClass {
        let byte = c_int::from(byte);
        // SAFETY: the functions are defined for all values of an unsigned char, and the locale is
        // loaded.
        unsafe {
            ByteClass {
                is_blank: isblank_l(byte, self.0) != 0,
                is_alphanumeric: isalnum_l(byte, self.0) != 0,
                is_printable: isprint_l(byte, self.0) != 0,
                is_control: iscntrl_l(byte, self.0) != 0,
                upper: toupper_l(byte, self.0) as u8,
            }
        }
    }

    /// True if the locale can print a character. (A wide character is a code point on Linux.)
    pub(crate) fn is_printable(&self, c: char) -> bool {
        // SAFETY: defined for every value of a wide character; the locale is loaded.
        unsafe { iswprint_l(c.into(), self.0) != 0 }
    }

    /// Columns of a terminal that a character takes; `None` if it can't be printed.
    pub(crate) fn columns(&self, c: char) -> Option<usize> {
        // SAFETY: `wcwidth` is defined for every value and uses the thread's locale. This thread
        // uses this locale during the call, and the earlier one afterwards.
        let columns = unsafe {
            let before = libc::uselocale(self.0);
            let columns = wcwidth(c.into());
            libc::uselocale(before);
            columns
        };
        usize::try_from(columns).ok()
    }

    /// `fnmatch` without flags: true if a shell's pattern matches all of a text. An invalid pattern
    /// matches nothing.
    pub(crate) fn matches(&self, pattern: &CStr, text: &CStr) -> bool {
        // SAFETY: both are C strings. The thread's locale is this one during the call, and the
        // earlier one afterwards.
        unsafe {
            let before = libc::uselocale(self.0);
            let result = libc::fnmatch(pattern.as_ptr(), text.as_ptr(), 0);
            libc::uselocale(before);
            result == 0
        }
    }

    /// The tables by which glibc's `strcoll` orders text; `None` if it orders bytewise, or if the C
    /// library stores them differently or is another one.
    pub(crate) fn collation(self: &Arc<Self>) -> Option<CollationPieces> {
        if !cfg!(all(target_env = "gnu", target_endian = "little", not(portable))) {
            return None;
        }
        /// The items from `_NL_COLLATE_NRULES` to `_NL_COLLATE_TABLEWC` of langinfo.h.
        const ITEMS: c_int = 11;
        let at: [*const u8; ITEMS as usize] = std::array::from_fn(|item| {
            let item = libc::LC_COLLATE << 16 | item as c_int;
            // SAFETY: the locale is loaded, and these are items of glibc's public header.
            unsafe { nl_langinfo_l(item, self.0) }.cast_const().cast()
        });
        // The first is a number of 32 bits, in a union with a pointer.
        let levels = at[0].addr() as u32;
        if levels == 0 || at[1].is_null() || !at[1..].is_sorted() {
            return None;
        }
        let piece = |item: usize| {
            let bytes = at[item + 1].addr() - at[item].addr();
            // SAFETY: if a locale has levels, its items are places in the one file that it was
            // loaded from. glibc keeps the whole file in memory until the locale is freed, and
            // checks that no item is past the file's end. The file's memory is never written. So
            // all bytes between an item and a later one are readable while `handle` lives.
            let bytes = unsafe { std::slice::from_raw_parts(at[item], bytes) };
            Piece { bytes, handle: Arc::clone(self) }
        };
        Some(CollationPieces {
            levels,
            rule_sets: piece(1),
            table: piece(2),
            weights: piece(3),
            extra: piece(4),
            indirect: piece(5),
        })
    }

    /// `strcoll`: the order of two texts in this locale.
    pub(crate) fn collate(&self, a: &CStr, b: &CStr) -> Ordering {
        // SAFETY: both are C strings; the locale is loaded.
        unsafe { strcoll_l(a.as_ptr(), b.as_ptr(), self.0) }.cmp(&0)
    }

    /// Appends `strxfrm` of `text` to `out`, without the final NUL: bytes that compare as the text
    /// collates.
    pub(crate) fn transform(&self, text: &CStr, out: &mut Vec<u8>) {
        let start = out.len();
        // Four bytes per byte suffice for most languages. Otherwise the second try knows the
        // length.
        out.reserve(text.count_bytes() * 4 + 16);
        loop {
            let room = out.capacity() - start;
            let free = out.spare_capacity_mut().as_mut_ptr().cast::<c_char>();
            // SAFETY: `room` bytes from `free` on are allocated, and at most `room` bytes are
            // written.
            let length = unsafe { strxfrm_l(free, text.as_ptr(), room, self.0) };
            if length < room {
                // SAFETY: the call has written `length` bytes and a NUL.
                unsafe { out.set_len(start + length) };
                return;
            }
            out.reserve(length + 1);
        }
    }

    /// `strtold`: the number at the beginning of `text`, and its length in bytes; 0 if there is
    /// none.
    ///
    /// Rust has no type for the x87's long double. The C library leaves it on the x87's stack, from
    /// where it is stored.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn long_double(&self, text: &CStr) -> (Extended, usize) {
        unsafe extern "C" {
            fn strtold_l();
        }
        let mut number: Extended = [0; 10];
        let mut end: *mut c_char = std::ptr::null_mut();
        // SAFETY: called as `strtold_l(text, &end, locale)` by the System V convention: all its
        // volatile registers are declared clobbered, and the compiler aligns the stack as for any
        // call. Its result is popped into the ten bytes of `number`, which leaves the x87's stack
        // empty as before. The pointer to them is in r12, which a callee preserves.
        unsafe {
            std::arch::asm!(
                "call {strtold}",
                "fstp tbyte ptr [r12]",
                strtold = sym strtold_l,
                in("r12") &raw mut number,
                inlateout("rdi") text.as_ptr() => _,
                inlateout("rsi") &raw mut end => _,
                inlateout("rdx") self.0 => _,
                clobber_abi("C"),
            );
            (number, end.cast_const().offset_from(text.as_ptr()).cast_unsigned())
        }
    }

    /// The number at the beginning of `text`, and its length in bytes; 0 if there is none. It is a
    /// double, because long doubles differ between processors. So `-g` may tie numbers that GNU
    /// sort can distinguish.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn long_double(&self, text: &CStr) -> (Extended, usize) {
        unsafe extern "C" {
            fn strtod_l(text: *const c_char, end: *mut *mut c_char, locale: libc::locale_t) -> f64;
        }
        let mut end: *mut c_char = std::ptr::null_mut();
        // SAFETY: `text` is a C string, `end` receives a pointer into it.
        unsafe {
            let number = strtod_l(text.as_ptr(), &raw mut end, self.0);
            (widen(number), end.cast_const().offset_from(text.as_ptr()).cast_unsigned())
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the locale was loaded by `load`, this handle is its only owner, and no thread
        // uses it beyond a call of this file.
        unsafe { libc::freelocale(self.0) };
    }
}

/// A double in 80 bits.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn widen(number: f64) -> Extended {
    let (bits, fraction_bits) = (number.to_bits(), 52);
    let (fraction, exponent) =
        (bits & ((1 << fraction_bits) - 1), (bits >> fraction_bits) as u16 & 0x7FF);
    let (exponent, mantissa) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        // A subnormal double is a normal number here: its highest bit moves to the top.
        (0, _) => (
            16_383 - 1_022 + 11 - fraction.leading_zeros() as u16,
            fraction << fraction.leading_zeros(),
        ),
        (0x7FF, _) => (0x7FFF, 1 << 63 | fraction << 11),
        _ => (exponent + 16_383 - 1_023, 1 << 63 | fraction << 11),
    };
    let mut extended = [0; 10];
    extended[..8].copy_from_slice(&u64::to_le_bytes(mantissa));
    extended[8..].copy_from_slice(&((bits >> 63 << 15) as u16 | exponent).to_le_bytes());
    extended
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_double_is_the_same_number_in_80_bits() {
        let locale = Handle::load(c"C").unwrap();
        for (text, number) in [
            (c"0", 0.0),
            (c"-0", -0.0),
            (c"1", 1.0),
            (c"-2.5", -2.5),
            (c"inf", f64::INFINITY),
            (c"0x1p-1074", f64::from_bits(1)),
            (c"0x0.8p-1022", f64::MIN_POSITIVE / 2.0),
            (c"0x1.fffffffffffffp1023", f64::MAX),
        ] {
            assert_eq!(locale.long_double(text), (widen(number), text.count_bytes()), "{number}");
        }
    }
}

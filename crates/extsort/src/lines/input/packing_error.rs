//! Errors of compressed inputs that can't be decompressed. The advice depends on the command that
//! reads them.

use crate::Error;
use crate::units::Bytes;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::PathBuf;
use xsort_records::Compression;

/// Memory beside a window that inputs' names may take from the same budget.
const OTHER_BYTES: u64 = 16 << 20;
/// Share of the budget that a window may take, as a divisor.
pub(super) const WINDOW_SHARE: u64 = 8;

/// The reason why a compressed input isn't decompressed.
#[derive(Debug, thiserror::Error)]
pub struct PackingError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Another program's format.
    Foreign(Compression),
    /// The whole input is the beginning of a compressed one.
    CutOff(Compression),
    /// The input is damaged or cut off.
    Invalid { name: &'static str, reason: String },
    /// A window of Zstandard that exceeds its memory.
    Window(Window),
}

/// A refused window of Zstandard, and the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Size of the window in bytes, if it is that of the first frame.
    pub(super) bytes: Option<u64>,
    /// The largest allowed window, as a power of two.
    pub(super) log_max: u32,
    /// The largest window with more memory, as a power of two.
    pub(super) log_max_of_any: u32,
}

impl PackingError {
    pub(super) fn foreign(compression: Compression) -> io::Error {
        Kind::Foreign(compression).into()
    }

    pub(super) fn cut_off(compression: Compression) -> io::Error {
        Kind::CutOff(compression).into()
    }

    pub(super) fn invalid(name: &'static str, error: &io::Error) -> io::Error {
        let reason = error.to_string();
        io::Error::new(error.kind(), PackingError { kind: Kind::Invalid { name, reason } })
    }

    pub(super) fn window(window: Window) -> io::Error {
        Kind::Window(window).into()
    }

    /// The message for an input that `command` reads, with further `advice` if there is any.
    #[must_use]
    pub fn text(&self, command: &str, advice: Option<&str>) -> String {
        let in_brackets = advice.map(|advice| format!(" ({advice})")).unwrap_or_default();
        let piped = |unpack: &str| format!("{unpack} FILE | {command}");
        match &self.kind {
            Kind::Foreign(compression) => {
                let (name, unpack) = (compression.name(), compression.decompress_command());
                let unpack = piped(unpack);
                let what = "which isn't read here: decompress it first";
                let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
                format!("it is compressed by {name}, {what} ({unpack}){advice}")
            }
            Kind::CutOff(compression) => {
                let name = compression.name();
                let what = "so far it is the beginning of a file compressed by";
                format!("it is cut off: {what} {name}{in_brackets}")
            }
            Kind::Invalid { name, reason } => {
                format!("it isn't valid {name} to its end: {reason}{in_brackets}")
            }
            Kind::Window(window) => window.text(piped),
        }
    }
}

impl Window {
    fn text(&self, piped: impl Fn(&str) -> String) -> String {
        let Window { bytes, log_max, log_max_of_any } = *self;
        let needed_log = bytes.map_or(log_max + 1, |bytes| bytes.next_power_of_two().ilog2());
        let window = match bytes {
            Some(bytes) => format!("a window of {}", Bytes(bytes)),
            None => format!("a window of more than {}", Bytes(1 << log_max)),
        };
        let is_too_large = needed_log > log_max_of_any;
        let most = Bytes(1 << if is_too_large { log_max_of_any } else { log_max });
        let what = format!("it is Zstandard with {window}, and {most}");
        let unpack = piped(&format!("zstd -dc --long={}", needed_log.max(27)));
        if is_too_large {
            let way_out = "is the most that is read here: decompress it first";
            return format!("{what} {way_out} ({unpack})");
        }
        let enough = ((WINDOW_SHARE << needed_log) + OTHER_BYTES) >> 20;
        let at_least = if bytes.is_some() { "" } else { "at least " };
        format!(
            "{what} is the most with this memory: {at_least}{enough} MiB of it is enough, or \
             decompress it first ({unpack})"
        )
    }
}

impl From<Kind> for io::Error {
    fn from(kind: Kind) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, PackingError { kind })
    }
}

impl Display for PackingError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("...", None))
    }
}

/// Returns the error for an input that can't be read: an input error if it can't be decompressed,
/// else a read error.
#[must_use]
pub fn unreadable(path: PathBuf, error: io::Error) -> Error {
    match error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync + 'static>::is::<PackingError>)
    {
        true => Error::Input { path, reason: error.to_string() },
        false => xsort_disk::Error::of_read(path, error).into(),
    }
}

/// Size in bytes of the window that a frame of Zstandard needs, from its first bytes (RFC 8878,
/// 3.1.1); `None` if they don't begin a frame.
pub(super) fn window_bytes(head: &[u8]) -> Option<u64> {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = head else { return None };
    if descriptor >> 5 & 1 == 0 {
        let window = u64::from(*rest.first()?);
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * (window & 7));
    }
    // The window is the content, whose length follows the dictionary's number.
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = rest.get(dictionary_bytes..)?;
    let number = |bytes: usize| {
        let own = length.get(..bytes)?;
        Some(own.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    match descriptor >> 6 {
        0 => number(1),
        1 => Some(number(2)? + 256),
        2 => number(4),
        _ => number(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_how_large_its_window_is() {
        let magic = b"\x28\xb5\x2f\xfd";
        let of = |rest: &[u8]| window_bytes(&[magic, rest].concat());
        assert_eq!(of(&[0, 0x88]), Some(1 << 27));
        assert_eq!(of(&[4, 0xa8 | 1]), Some((1 << 31) + (1 << 28)));
        assert_eq!(of(&[0x20, 5]), Some(5));
        assert_eq!(of(&[0x60, 0, 1]), Some(512));
        assert_eq!(of(&[0xa1, 9, 0, 0, 0, 8]), Some(1 << 27));
        assert_eq!(of(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0]), Some(1 << 32));
        assert_eq!((of(&[]), of(&[0]), of(&[0xa0, 1])), (None, None, None));
        assert_eq!(window_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0"), None);
    }

    #[test]
    fn a_window_that_is_too_large_has_a_way_out() {
        let text = |bytes, log_max| {
            let window = Window { bytes, log_max, log_max_of_any: 27 };
            PackingError { kind: Kind::Window(window) }.text("xsort lines", None)
        };
        let small = text(Some(1 << 27), 23);
        assert!(small.contains("a window of 128 MiB") && small.contains("1040 MiB"), "{small}");
        let large = text(Some(1 << 31), 27);
        assert!(large.contains("a window of 2.00 GiB"), "{large}");
        assert!(large.contains("(zstd -dc --long=31 FILE | xsort lines)"), "{large}");
        let unknown = text(None, 23);
        assert!(
            unknown.contains("more than 8.00 MiB") && unknown.contains("at least 144"),
            "{unknown}"
        );
    }
}

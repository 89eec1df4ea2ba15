//! Limits on memory that are set outside the program (`ulimit -v`, a control group). A message that
//! advises an amount of memory is useless if such a limit leaves less than that.

use xsort::machine::MemoryLimits;
use xsort::size::Memory;
use xsort_extsort::units::Bytes;

/// Appends to the message which limit to raise first, if the limit leaves less memory than the
/// message names.
pub(crate) fn with_outer_limit(message: String) -> String {
    match named_bytes(&message) {
        Some(bytes) => with_limit(message, bytes, MemoryLimits::read().limit),
        None => message,
    }
}

fn with_limit(message: String, bytes: u64, limit: Option<(u64, String)>) -> String {
    match limit.filter(|(left, _)| *left < bytes) {
        Some((left, source)) => {
            format!("{message}; but {source} leaves {}: raise that first", Bytes(left))
        }
        None => message,
    }
}

/// The bytes in the last `-m SIZE` or `-S SIZE` of a message.
fn named_bytes(message: &str) -> Option<u64> {
    let at = ["-m ", "-S "].iter().filter_map(|option| message.rfind(option)).max()?;
    let rest = &message[at + 3..];
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
    match rest[..end].parse().ok()? {
        Memory::Bytes(bytes) => Some(bytes),
        Memory::Percent(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_where_it_leaves_less_than_a_message_asks_for() {
        let said = |message: &str, left: u64| {
            let bytes = named_bytes(message);
            let limit = Some((left, "a limit".to_owned()));
            bytes.map(|bytes| with_limit(message.to_owned(), bytes, limit))
        };
        for message in ["it needs at least 4.20 MiB (-m 4301K)", "too long: -S 5M is enough"] {
            let expected = format!("{message}; but a limit leaves 1.00 MiB: raise that first");
            assert_eq!(said(message, 1 << 20), Some(expected), "{message}");
            assert_eq!(said(message, 8 << 20), Some(message.to_owned()), "{message}");
        }
        for message in ["no memory is enough", "use a smaller memory budget (-m)", "-m FILE"] {
            assert_eq!(said(message, 0), None, "{message}");
        }
    }
}

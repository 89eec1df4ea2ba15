//! Recognizing what a file contains by its beginning, if the user named no format.
//!
//! Any bytes can be records. But a sort destroys text, compressed files and databases if it cuts
//! them into records of 100 bytes, and their sizes are sometimes multiples of 100. So content that
//! is clearly something else is refused, unless the user names the format. Random bytes are
//! mistaken for something else with a probability below 10^-8.

use crate::{Compression, Format, gensort_ascii, kv128};
use std::fmt;

/// The apparent content of a file that holds no records of the Sort Benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Text.
    Text,
    /// Text whose lines end in NUL bytes, as written by `find -print0`.
    NulText,
    /// Generated records of another format.
    Records(Format),
    /// A compressed file or an archive.
    Compressed(Compression),
    /// Another kind of file, by its name.
    Other(&'static str),
    /// Records whose fields repeat after this many bytes, and not after 100.
    Period(usize),
}

/// From this length on, lines without control characters are text in some encoding: random bytes of
/// that length contain control characters.
const BYTES_OF_ANY_TEXT: usize = 512;

/// Bytes at the beginning of files, or at an offset: four or more.
const MAGIC: [(usize, &[u8], &str); 50] = [
    (0, b"\x7fELF", "a program (ELF)"),
    (0, b"\xfe\xed\xfa\xce", "a program (Mach-O)"),
    (0, b"\xfe\xed\xfa\xcf", "a program (Mach-O)"),
    (0, b"\xce\xfa\xed\xfe", "a program (Mach-O)"),
    (0, b"\xcf\xfa\xed\xfe", "a program (Mach-O)"),
    (0, b"\xca\xfe\xba\xbe", "a program (Java or Mach-O)"),
    (0, b"\0asm\x01\0\0\0", "a program (WebAssembly)"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (8, b"DUCK", "a DuckDB database"),
    (16, b"\xde\xc0\xef\xbe", "an LMDB database"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"PARE", "a Parquet file (encrypted)"),
    (0, b"ARROW1\0\0", "an Arrow file"),
    (0, b"FEA1", "a Feather file"),
    (0, b"Obj\x01", "an Avro file"),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (0, b"CDF\x01", "a NetCDF file"),
    (0, b"CDF\x02", "a NetCDF file"),
    (0, b"CDF\x05", "a NetCDF file"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"GGUF", "a model (GGUF)"),
    (0, b"GRIB", "a GRIB file"),
    (0, b"\xd4\xc3\xb2\xa1", "captured packets (pcap)"),
    (0, b"\xa1\xb2\xc3\xd4", "captured packets (pcap)"),
    (8, b"\x4d\x3c\x2b\x1a", "captured packets (pcapng)"),
    (257, b"ustar", "a tar archive"),
    (0, b"070701", "a cpio archive"),
    (0, b"070702", "a cpio archive"),
    (0, b"070707", "a cpio archive"),
    (0, b"!<arch>\n", "an archive (ar)"),
    (0, b"\xed\xab\xee\xdb", "an RPM package"),
    (0, b"PACK\0\0\0\x02", "a pack of Git"),
    (0, b"hsqs", "a file system (squashfs)"),
    (0, b"LUKS\xba\xbe", "an encrypted drive (LUKS)"),
    (0, b"QFI\xfb", "an image of a drive (QCOW)"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x89PNG\r\n\x1a\n", "a picture (PNG)"),
    (0, b"GIF87a", "a picture (GIF)"),
    (0, b"GIF89a", "a picture (GIF)"),
    (0, b"\xff\xd8\xff\xe0", "a picture (JPEG)"),
    (0, b"\xff\xd8\xff\xe1", "a picture (JPEG)"),
    (0, b"\xff\xd8\xff\xdb", "a picture (JPEG)"),
    (0, b"II*\0", "a picture (TIFF)"),
    (0, b"MM\0*", "a picture (TIFF)"),
    (8, b"WEBPVP8", "a picture (WebP)"),
    (8, b"WAVEfmt ", "sound (WAVE)"),
    (0, b"fLaC", "sound (FLAC)"),
    (0, b"OggS", "sound (Ogg)"),
    (4, b"ftyp", "a film (MP4)"),
];

impl Content {
    /// Number of bytes at a file's beginning that are enough; a shorter file is needed in full.
    pub const HEAD_BYTES: usize = 4096;

    /// The apparent content of a file that begins with `head`, or is `head` if `is_whole`. `None`
    /// if it may hold 100-byte records of the Sort Benchmark, binary or printable.
    #[must_use]
    pub fn of(head: &[u8], is_whole: bool) -> Option<Content> {
        if gensort_ascii::are_lines(head) {
            return None;
        }
        let has_magic = |(at, magic, _): &&(usize, &[u8], &str)| {
            head.get(*at..).is_some_and(|rest| rest.starts_with(magic))
        };
        if kv128::is_own(head) {
            Some(Content::Records(Format::Kv128))
        } else if let Some(compression) = Compression::detect_strictly(head) {
            Some(Content::Compressed(compression))
        } else if let Some((.., name)) = MAGIC.iter().find(has_magic) {
            Some(Content::Other(name))
        } else if is_program_of_windows(head) {
            Some(Content::Other("a program (Windows)"))
        } else if is_block(head, is_whole) {
            Some(Content::Records(Format::Block4k))
        } else {
            text(head, is_whole).or_else(|| other_period(head).map(Content::Period))
        }
    }
}

/// Maximum and minimum number of bytes searched for a period, and the shortest and longest period.
const PERIOD_HEAD_BYTES: usize = 2048;
const PERIOD_HEAD_BYTES_MIN: usize = 1024;
const PERIOD_MIN: usize = 4;
const PERIOD_MAX: usize = 256;
/// The share of equal bytes a period later must exceed the share 100 bytes later by this. In random
/// bytes, one in 256 is equal.
const PERIOD_SHARE: f64 = 0.1;

/// The number of bytes after which fields repeat, if it is no divisor of 100 and they don't repeat
/// after 100 bytes. Runs of equal bytes are no period: the shortest period is longer.
fn other_period(head: &[u8]) -> Option<usize> {
    let head = &head[..head.len().min(PERIOD_HEAD_BYTES)];
    if head.len() < PERIOD_HEAD_BYTES_MIN {
        return None;
    }
    let equal_share = |period: usize| {
        let later = &head[period..];
        let equal = head.iter().zip(later).filter(|(a, b)| a == b).count();
        equal as f64 / later.len() as f64
    };
    let needed = equal_share(100) + PERIOD_SHARE;
    let periods = (PERIOD_MIN..=PERIOD_MAX).filter(|period| 100 % period != 0 && period % 100 != 0);
    let shares: Vec<(f64, usize)> =
        periods.map(|period| (equal_share(period).min(equal_share(2 * period)), period)).collect();
    let best = shares.iter().fold(0.0, |best, (share, _)| share.max(best));
    // Multiples of a period may match slightly better, and its neighbours nearly as well.
    let is_near =
        |&&(share, _): &&(f64, usize)| share > needed && share > best - PERIOD_SHARE / 2.0;
    let &(_, first) = shares.iter().find(is_near)?;
    let around = shares.iter().filter(|(_, period)| (first..first + PERIOD_MIN).contains(period));
    around.max_by(|a, b| a.0.total_cmp(&b.0)).map(|&(_, period)| period)
}

/// True if `head` is alphanumeric and may continue so to the end of a block.
fn is_block(head: &[u8], is_whole: bool) -> bool {
    let is_long = head.len() >= Content::HEAD_BYTES || (!is_whole && !head.is_empty());
    is_long && head.iter().all(u8::is_ascii_alphanumeric)
}

fn is_program_of_windows(head: &[u8]) -> bool {
    let Some(&[low, high, 0, 0]) = head.get(60..64) else { return false };
    let offset = usize::from(u16::from_le_bytes([low, high]));
    head.starts_with(b"MZ") && head.get(offset..).is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

fn text(head: &[u8], is_whole: bool) -> Option<Content> {
    let is_text = |byte: &u8| matches!(*byte, 7..=13 | 27 | 32..=126 | 128..);
    let is_end = |byte: &u8| *byte == 0;
    // Control characters alone are no evidence of text.
    if !head.iter().any(|byte| matches!(*byte, 9 | 10 | 13 | 32..=126 | 128..)) {
        return None;
    }
    if is_utf16(head) {
        return Some(Content::Other("text in UTF-16"));
    }
    let is_ended_by_nul = head.iter().any(is_end);
    let has_empty = head[0] == 0 || head.windows(2).any(|pair| pair == [0, 0]);
    if !head.iter().all(|byte| is_text(byte) || is_end(byte)) || has_empty {
        return None;
    }
    // The head may end within a character.
    let is_utf8 = match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => !is_whole && error.error_len().is_none(),
    };
    let content = if is_ended_by_nul { Content::NulText } else { Content::Text };
    let is_of_lines = head.len() >= BYTES_OF_ANY_TEXT && head.contains(&b'\n');
    (is_utf8 || is_of_lines).then_some(content)
}

/// True if `head` begins with the byte order mark of UTF-16, and at least a quarter of the
/// characters after it are European letters, digits, spaces and the like.
fn is_utf16(head: &[u8]) -> bool {
    let unit = match head {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return false,
    };
    let units = head[2..].as_chunks::<2>().0;
    let common = units.iter().filter(|bytes| matches!(unit(**bytes), 9..=13 | 32..=0x24f)).count();
    units.len() >= 16 && common >= units.len() / 4
}

impl fmt::Display for Content {
    /// The apparent content, and what to do instead of sorting it as records of the Sort Benchmark.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Text => write!(out, "it looks like text: sort its lines with 'xsort lines'"),
            Content::NulText => write!(
                out,
                "it looks like text whose lines end in NUL bytes: sort them with 'xsort lines -z'"
            ),
            Content::Records(Format::Block4k) => write!(
                out,
                "it looks like records of the format block4k (-f block4k), or like text \
                 (xsort lines)"
            ),
            Content::Records(format) => {
                write!(out, "it looks like records of the format {format}: say so with -f {format}")
            }
            Content::Compressed(compression) => {
                let (name, command) = (compression.name(), compression.decompress_command());
                write!(
                    out,
                    "it looks like a file compressed by {name}: decompress it first ({command})"
                )
            }
            Content::Other(name) => write!(out, "it looks like {name}, which a sort would destroy"),
            Content::Period(bytes) => write!(
                out,
                "its bytes come again every {bytes} bytes, and not every 100: if these are its \
                 records, say so with --record {bytes}"
            ),
        }?;
        out.write_str("; if it holds 100-byte records nevertheless, say so with -f gensort")
    }
}

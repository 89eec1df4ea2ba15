//! Detecting compressed files and archives by their first bytes.

/// A format of compressed files, or of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstandard,
    /// LZ4 frames.
    Lz4,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
    /// lzip.
    Lzip,
    /// LZMA, as written by the predecessor of xz.
    Lzma,
    /// lzop.
    Lzop,
    /// LZ4's format from before its frames.
    Lz4Legacy,
    /// Unix's `compress`.
    Compress,
    /// Unix's `pack`.
    Pack,
    /// zip.
    Zip,
    /// 7-Zip.
    SevenZip,
    /// RAR.
    Rar,
    /// Snappy's frames.
    Snappy,
}

use Compression::{
    Bzip2, Compress, Gzip, Lz4, Lz4Legacy, Lzip, Lzma, Lzop, Pack, Rar, SevenZip, Snappy, Xz, Zip,
    Zstandard,
};

/// The first bytes of compressed files. They are long enough for no text to begin like that: more
/// than BZh for bzip2, and more than PK for zip.
const MAGIC: [(&[u8], Compression); 24] = [
    (b"\x1f\x8b", Gzip),
    (b"\x28\xb5\x2f\xfd", Zstandard),
    (b"\x04\x22\x4d\x18", Lz4),
    (b"\xfd7zXZ\0", Xz),
    (b"BZh11AY&SY", Bzip2),
    (b"BZh21AY&SY", Bzip2),
    (b"BZh31AY&SY", Bzip2),
    (b"BZh41AY&SY", Bzip2),
    (b"BZh51AY&SY", Bzip2),
    (b"BZh61AY&SY", Bzip2),
    (b"BZh71AY&SY", Bzip2),
    (b"BZh81AY&SY", Bzip2),
    (b"BZh91AY&SY", Bzip2),
    (b"LZIP\x01", Lzip),
    (b"\x89LZO\0\r\n\x1a\n", Lzop),
    (b"\x02\x21\x4c\x18", Lz4Legacy),
    (b"\x1f\x9d", Compress),
    (b"\x1f\x1e", Pack),
    (b"PK\x03\x04", Zip),
    (b"PK\x05\x06", Zip),
    (b"PK\x07\x08", Zip),
    (b"7z\xbc\xaf\x27\x1c", SevenZip),
    (b"Rar!\x1a\x07", Rar),
    (b"\xff\x06\0\0sNaPpY", Snappy),
];

/// The end of an empty bzip2 file, after `BZh` and a digit.
const BZIP2_END: &[u8] = b"\x17\x72\x45\x38\x50\x90";

/// The magic number, without its first byte, of frames that both Zstandard and LZ4 skip. The first
/// byte has one of 16 values. Files written by `pzstd` begin with such a frame.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// Size of LZMA's parameters, dictionary and length in bytes.
const LZMA_HEAD_BYTES: usize = 13;

/// True if `head` has the usual parameters, a dictionary of 2^n or 3 * 2^n bytes, 4 KiB or more,
/// and a length that is unknown or below 2^48. LZMA has no magic number.
fn is_lzma(head: &[u8]) -> bool {
    let Some(&[0x5d, a, b, c, d, ref length @ ..]) = head.first_chunk::<LZMA_HEAD_BYTES>() else {
        return false;
    };
    let dictionary = u32::from_le_bytes([a, b, c, d]);
    let is_usual = dictionary >= 4096 && dictionary & 0xfff == 0 && dictionary.count_ones() <= 2;
    is_usual && (*length == [0xff; 8] || length[6..] == [0, 0])
}

impl Compression {
    /// Detects the format of a compressed file that begins with `head`, by its magic number alone.
    /// The rest of the header may be damaged.
    #[must_use]
    pub fn detect(head: &[u8]) -> Option<Compression> {
        let is_skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && &head[1..4] == SKIPPABLE;
        let is_empty_bzip2 = head.starts_with(b"BZh") && head.get(4..10) == Some(BZIP2_END);
        match MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
            Some((_, found)) => Some(*found),
            None if is_skippable => Some(Zstandard),
            None if is_empty_bzip2 => Some(Bzip2),
            None => is_lzma(head).then_some(Lzma),
        }
    }

    /// True if more bytes after `head` may make it a file that [`detect`](Compression::detect)
    /// knows.
    #[must_use]
    pub fn may_begin(head: &[u8]) -> bool {
        let is_skippable = head.first().is_none_or(|first| first & 0xf0 == 0x50)
            && head.iter().skip(1).zip(SKIPPABLE).all(|(a, b)| a == b);
        let is_bzip2 = head.iter().zip(b"BZh").all(|(a, b)| a == b);
        let is_lzma = head.first().is_none_or(|first| *first == 0x5d);
        MAGIC.iter().any(|(magic, _)| magic.len() > head.len() && magic.starts_with(head))
            || is_skippable && head.len() <= SKIPPABLE.len()
            || is_bzip2 && head.len() < "BZh9".len() + BZIP2_END.len()
            || is_lzma && head.len() < LZMA_HEAD_BYTES
    }

    /// Detects the format of a compressed file that was truncated within its magic number. `whole`
    /// is the complete file. Returns `None` for bytes that may be text.
    #[must_use]
    pub fn detect_truncated(whole: &[u8]) -> Option<Compression> {
        let is_text = matches!(whole, [byte] if *byte >= 128)
            || whole.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let (_, found) = MAGIC
            .iter()
            .find(|(magic, _)| magic.len() > whole.len() && magic.starts_with(whole))?;
        (!is_text).then_some(*found)
    }

    /// Detects like [`Compression::detect`], for files of arbitrary bytes: after a short magic
    /// number, the rest of the header must also be valid.
    pub(crate) fn detect_strictly(head: &[u8]) -> Option<Compression> {
        let byte = |at: usize| head.get(at).copied().unwrap_or(0xff);
        let found = Compression::detect(head)?;
        let is_certain = match found {
            // The only method, no reserved flags, known levels and systems.
            Gzip => {
                byte(2) == 8
                    && byte(3) & 0xe0 == 0
                    && matches!(byte(8), 0 | 2 | 4)
                    && (byte(9) <= 13 || byte(9) == 255)
            }
            Lz4 => byte(4) >> 6 == 1,
            Zstandard if byte(0) == 0x28 => byte(4) & 0x08 == 0,
            // The frame to be skipped is shorter than 64 KiB.
            Zstandard => (byte(6), byte(7)) == (0, 0),
            Compress | Pack => false,
            _ => true,
        };
        is_certain.then_some(found)
    }

    /// The name of the format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Gzip => "gzip",
            Zstandard => "Zstandard",
            Lz4 => "LZ4",
            Xz => "xz",
            Bzip2 => "bzip2",
            Lzip => "lzip",
            Lzma => "LZMA",
            Lzop => "lzop",
            Lz4Legacy => "LZ4 (legacy)",
            Compress => "compress",
            Pack => "pack",
            Zip => "zip",
            SevenZip => "7-Zip",
            Rar => "RAR",
            Snappy => "Snappy",
        }
    }

    /// The command that decompresses a file to standard output. The file's name follows it.
    #[must_use]
    pub const fn decompress_command(self) -> &'static str {
        match self {
            Gzip | Compress | Pack => "gzip -dc",
            Zstandard => "zstd -dc",
            Lz4 | Lz4Legacy => "lz4 -dc",
            Xz | Lzma => "xz -dc",
            Bzip2 => "bzip2 -dc",
            Lzip => "lzip -dc",
            Lzop => "lzop -dc",
            Zip => "unzip -p",
            SevenZip => "7z x -so",
            Rar => "unrar p -inul",
            Snappy => "snzip -dc",
        }
    }
}

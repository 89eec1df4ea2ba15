//! `--decompress`: inputs that are gzip, Zstandard or LZ4 frames are decompressed as they are read; others pass as they are.
//!
//! Which one it is, its first bytes tell, not its name. One after another may follow, as `cat a.gz b.gz` makes them. Memory is bounded: a
//! Zstandard window beyond an eighth of the budget is refused, or beyond 128 MiB, which is what `zstd -d` does without `--long`; one of 8 MiB never is.

use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use std::io::{self, Chain, Cursor, ErrorKind, Read};
use xsort_extsort::lines::Source;

const GZIP: &[u8] = b"\x1f\x8b\x08";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const LZ4: &[u8] = b"\x04\x22\x4d\x18";
/// Frames that both Zstandard and LZ4 skip: 16 magic numbers. `zstd` and `lz4` write none at the beginning of a file; `pzstd` does.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// Largest windows of Zstandard, as powers of two: with any budget, and with a large one.
const WINDOW_LOG_SMALL: u32 = 23;
const WINDOW_LOG_MAX: u32 = 27;
/// What a decoder takes with a small window; one of LZ4 with its largest blocks takes about as much.
const DECODER_BYTES: u64 = 13 << 20;
/// Decoders at the same time that are among what the program takes beside the budget: as many as a merge must have.
const DECODERS_BESIDE: usize = 2;
/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// What decoders may take of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoders {
    /// Sources that may be read at the same time.
    pub(super) sources_max: usize,
    /// Bytes of the budget.
    pub(super) taken_bytes: u64,
    window_log_max: u32,
}

impl Decoders {
    /// Of sources that are read one after the other.
    pub(super) fn of_sort(budget_bytes: u64) -> Decoders {
        let window_log_max = (budget_bytes / 8).max(1).ilog2().clamp(WINDOW_LOG_SMALL, WINDOW_LOG_MAX);
        let is_small = window_log_max == WINDOW_LOG_SMALL;
        Decoders {
            sources_max: usize::MAX,
            taken_bytes: if is_small { 0 } else { 1 << window_log_max },
            window_log_max,
        }
    }

    /// Of so many sources that are read at the same time, or as many as half the budget has room for.
    pub(super) fn of_merge(budget_bytes: u64, sources: usize) -> Decoders {
        let fitting = (budget_bytes / 2 / DECODER_BYTES) as usize;
        let sources_max = fitting.min(sources).max(DECODERS_BESIDE);
        let taken_bytes = if sources_max > DECODERS_BESIDE { sources_max as u64 * DECODER_BYTES } else { 0 };
        Decoders { sources_max, taken_bytes, window_log_max: WINDOW_LOG_SMALL }
    }
}

type Bytes = Box<dyn Read + Send>;
/// All bytes, of which the first were looked at.
type Whole = Chain<Cursor<Vec<u8>>, Bytes>;

/// The source with what is in it, of which nobody knows how much it is.
pub(super) fn decompressed(source: Source, decoders: Decoders) -> Source {
    let bytes_from = Box::new(Sniffer::New(source.bytes_from, decoders.window_log_max));
    Source { bytes_from, bytes: None, is_file: false, ..source }
}

/// Looks at the first bytes when the first are read.
enum Sniffer {
    New(Bytes, u32),
    Known(Bytes),
    /// It couldn't be opened or looked at.
    Broken,
}

impl Read for Sniffer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Sniffer::New(..) = self {
            let Sniffer::New(bytes_from, window_log_max) = std::mem::replace(self, Sniffer::Broken) else {
                unreachable!()
            };
            *self = Sniffer::Known(sniff(bytes_from, window_log_max)?);
        }
        match self {
            Sniffer::Known(bytes_from) => bytes_from.read(buffer),
            Sniffer::New(..) | Sniffer::Broken => Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn sniff(mut bytes_from: Bytes, window_log_max: u32) -> io::Result<Bytes> {
    let mut head = Vec::new();
    bytes_from.by_ref().take(4).read_to_end(&mut head)?;
    let is = |magic: &[u8]| head.starts_with(magic);
    let is_skippable = head.len() == 4 && head[1..] == *SKIPPABLE && head[0] & 0xf0 == 0x50;
    let (is_gzip, is_zstd, is_lz4) = (is(GZIP), is(ZSTD) || is_skippable, is(LZ4));
    let whole = Cursor::new(head).chain(bytes_from);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(READ_BYTES, whole)))
    } else if is_zstd {
        let mut decoder =
            zstd::stream::read::Decoder::with_buffer(io::BufReader::with_capacity(READ_BYTES, whole))?;
        decoder.window_log_max(window_log_max)?;
        Box::new(decoder)
    } else if is_lz4 {
        let watched = Watched { from: whole, bytes: 0, is_over: false };
        Box::new(Lz4 { decoder: FrameDecoder::new(watched) })
    } else {
        Box::new(whole)
    })
}

/// LZ4 frames, one after another. A decoder says that a frame is over also where it was cut off between two of its blocks.
struct Lz4 {
    decoder: FrameDecoder<Watched>,
}

/// Knows what was read since the last frame.
struct Watched {
    from: Whole,
    bytes: u64,
    is_over: bool,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.from.read(buffer)?;
        self.bytes += bytes as u64;
        self.is_over |= bytes == 0 && !buffer.is_empty();
        Ok(bytes)
    }
}

impl Read for Lz4 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.decoder.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let watched = self.decoder.get_mut();
            if watched.is_over && watched.bytes > 0 {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "the last LZ4 frame is cut off"));
            }
            if watched.is_over {
                return Ok(0);
            }
            watched.bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let source = Source {
            path: "file".into(),
            bytes_from: Box::new(Cursor::new(bytes)),
            bytes: Some(1),
            is_file: true,
        };
        let mut text = Vec::new();
        decompressed(source, Decoders::of_sort(1 << 40)).bytes_from.read_to_end(&mut text).map(|_| text)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn lz4(text: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(text, 1).unwrap()
    }

    #[test]
    fn frames_are_read_one_after_another_and_never_cut_off() {
        for text in [b"".to_vec(), b"b\na\n".to_vec(), (0..300_000u32).flat_map(u32::to_le_bytes).collect()] {
            assert!(read(text.clone()).unwrap() == text);
            for pack in [gzip, lz4, zstd] {
                let packed = pack(&text);
                assert!(read(packed.clone()).unwrap() == text);
                let twice = [packed.clone(), packed.clone()].concat();
                assert!(read(twice.clone()).unwrap() == [text.clone(), text.clone()].concat());
                for end in (4..packed.len()).step_by(packed.len() / 97 + 1).chain([packed.len() - 1]) {
                    assert!(read(packed[..end].to_vec()).is_err(), "{end} of {}", packed.len());
                    // The first four bytes of a second one are read as those of the first.
                    assert!(read(twice[..packed.len() + end].to_vec()).is_err(), "{end} of {}", packed.len());
                }
            }
        }
    }

    #[test]
    fn a_window_that_is_too_large_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.write_all(b"a\n").unwrap();
        let error = read(encoder.finish().unwrap()).unwrap_err();
        assert!(error.to_string().contains("memory"), "{error}");
    }

    #[test]
    fn decoders_have_their_share_of_the_budget() {
        const MIB: u64 = 1 << 20;
        for (budget_mib, window_log_max, taken_mib) in
            [(1, 23, 0), (64, 23, 0), (256, 25, 32), (9999, 27, 128)]
        {
            let decoders = Decoders::of_sort(budget_mib * MIB);
            assert_eq!((decoders.window_log_max, decoders.taken_bytes), (window_log_max, taken_mib * MIB));
        }
        for (budget_mib, sources, sources_max) in
            [(1, 9, 2), (64, 9, 2), (130, 9, 5), (999, 9, 9), (999, 1, 2)]
        {
            let decoders = Decoders::of_merge(budget_mib * MIB, sources);
            assert_eq!(decoders.sources_max, sources_max);
            assert!(decoders.taken_bytes <= budget_mib * MIB / 2);
        }
    }
}

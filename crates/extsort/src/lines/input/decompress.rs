//! Compressed inputs: gzip, Zstandard and LZ4 frames are decompressed as they are read; other
//! inputs pass unchanged.
//!
//! The first bytes of an input decide its compression, not its name.
//! [`recognise`](super::recognise()) reads them before the plan; this module reads them with the
//! input. Several frames may follow each other, as `cat a.gz b.gz` writes them. An input that
//! begins like a frame but is damaged or cut off is an error. So is an input in another program's
//! compression, since compressed bytes are no lines. Zeros may follow gzip, as tapes pad files;
//! other bytes there are an error (gzip skips them with a warning).
//!
//! Memory is bounded. A Zstandard window may take an eighth of the budget, at most 128 MiB, the
//! limit of `zstd -d` without `--long`. A window of 8 MiB is always accepted.

use super::super::bgzf;
use super::bgzf_input::BgzfInput;
use super::gzip::{Gzip, Whole, buffered};
use super::packing_error::{PackingError, WINDOW_SHARE, Window, window_bytes};
use super::{Content, InputBytes, LinesInput};
use lz4_flex::frame::FrameDecoder;
use std::io::{self, Cursor, ErrorKind, Read};
use xsort_records::Compression;

/// Maximum number of bytes that are needed to recognise a compression.
const HEAD_BYTES: usize = 16;

/// Logarithm of the largest Zstandard window: with any budget, and with a large one.
const WINDOW_LOG_SMALL: u32 = 23;
const WINDOW_LOG_MAX: u32 = 27;
/// Memory of a Zstandard decoder with a small window. An LZ4 decoder with its largest blocks takes
/// about as much.
const DECODER_BYTES: u64 = 13 << 20;
/// Number of decoders in the program's overhead, which is not part of the budget. A merge needs at
/// least this many.
const FREE_DECODERS: usize = 2;
/// The message of Zstandard's library for a window that is too large.
const WINDOW_REFUSED: &str = "Frame requires too much memory for decoding";

/// Limits on the memory that decoders take from a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoders {
    /// Maximum number of inputs that may be read at the same time.
    pub inputs_max: usize,
    /// Bytes of the budget reserved for decoders.
    pub taken_bytes: u64,
    window_log_max: u32,
    /// The largest window that a larger budget would allow, as a power of two.
    window_log_max_of_any: u32,
    /// Threads that inflate blocks of BGZF; the reading one with 0.
    inflating_threads: usize,
}

impl Decoders {
    /// Returns the limits for inputs that are read one after the other.
    pub fn for_sort(budget_bytes: u64) -> Decoders {
        let window_log_max =
            (budget_bytes / WINDOW_SHARE).max(1).ilog2().clamp(WINDOW_LOG_SMALL, WINDOW_LOG_MAX);
        // A small window is not part of the budget. The rest is a fixed share of the budget instead
        // of the largest window, which doubles at some budgets and would then leave the sort less
        // than a smaller budget does.
        let share = (budget_bytes / WINDOW_SHARE).min(1 << WINDOW_LOG_MAX);
        Decoders {
            inputs_max: usize::MAX,
            taken_bytes: share.saturating_sub(1 << WINDOW_LOG_SMALL),
            window_log_max,
            window_log_max_of_any: WINDOW_LOG_MAX,
            inflating_threads: 0,
        }
    }

    /// Returns the limits for at most `inputs` inputs that are read at the same time. Decoders may
    /// take half the budget.
    pub fn for_merge(budget_bytes: u64, inputs: usize) -> Decoders {
        let fitting = (budget_bytes / 2 / DECODER_BYTES) as usize;
        let inputs_max = fitting.min(inputs).max(FREE_DECODERS);
        let taken_bytes =
            if inputs_max > FREE_DECODERS { inputs_max as u64 * DECODER_BYTES } else { 0 };
        let window_log_max = WINDOW_LOG_SMALL;
        Decoders {
            inputs_max,
            taken_bytes,
            window_log_max,
            window_log_max_of_any: window_log_max,
            inflating_threads: 0,
        }
    }

    /// Lets threads inflate blocks of BGZF. Their memory isn't in
    /// [`taken_bytes`](Decoders::taken_bytes).
    #[must_use]
    pub(super) fn with_threads(self, inflating_threads: usize) -> Decoders {
        Decoders { inflating_threads, ..self }
    }

    /// Returns the input decompressed. Its decompressed size is unknown.
    #[must_use]
    pub fn decompressed(&self, input: LinesInput) -> LinesInput {
        let bytes = input.content.into_bytes();
        let content = Content::Stream(Box::new(Sniffer::New(bytes, *self)));
        LinesInput { path: input.path, bytes: None, content }
    }
}

/// Recognises the compression of its input at the first read.
enum Sniffer {
    New(InputBytes<'static>, Decoders),
    Known(InputBytes<'static>),
    /// The beginning couldn't be read or was refused.
    Broken,
}

impl Read for Sniffer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Sniffer::New(..) = self {
            let Sniffer::New(bytes, decoders) = std::mem::replace(self, Sniffer::Broken) else {
                unreachable!()
            };
            *self = Sniffer::Known(sniff(bytes, decoders)?);
        }
        match self {
            Sniffer::Known(bytes) => bytes.read(buffer),
            Sniffer::New(..) | Sniffer::Broken => Err(ErrorKind::InvalidData.into()),
        }
    }
}

/// Reads the beginning of an input, and decompresses the rest accordingly.
fn sniff(mut bytes: InputBytes<'static>, decoders: Decoders) -> io::Result<InputBytes<'static>> {
    let Decoders { window_log_max: log_max, window_log_max_of_any: log_max_of_any, .. } = decoders;
    let (mut head, found) = read_head(&mut bytes)?;
    if matches!(found, Some(Compression::Zstandard | Compression::Gzip)) {
        let missing = HEAD_BYTES.saturating_sub(head.len()) as u64;
        bytes.by_ref().take(missing).read_to_end(&mut head)?;
    }
    let window = Window { bytes: window_bytes(&head), log_max, log_max_of_any };
    let is_bgzf = bgzf::is_begin(&head);
    let whole = Cursor::new(head).chain(bytes);
    let Some(compression) = found else { return Ok(Box::new(whole)) };
    let decoder: InputBytes<'static> = match compression {
        Compression::Gzip if is_bgzf => {
            Box::new(BgzfInput::new(buffered(whole), decoders.inflating_threads))
        }
        Compression::Gzip => Box::new(Gzip::new(whole)),
        Compression::Zstandard => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(whole))?;
            decoder.window_log_max(log_max)?;
            Box::new(decoder)
        }
        // `read_head` refuses all others.
        _ => {
            let frame = Counted { ahead: Vec::new(), from: whole, bytes: 0, is_over: false };
            Box::new(Lz4 { frame: Some(FrameDecoder::new(frame)) })
        }
    };
    let name = if is_bgzf { "BGZF" } else { compression.name() };
    Ok(Box::new(Decoder { decoder, name, window }))
}

/// Reads the first bytes of an input. Reads only as many as its compression needs, because a pipe
/// may have no more. Returns them and the compression, if there is one.
///
/// # Errors
///
/// If they can't be read, or belong to a compression that isn't decompressed here.
pub(super) fn read_head(
    bytes: &mut (impl Read + ?Sized),
) -> io::Result<(Vec<u8>, Option<Compression>)> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let mut is_whole = false;
    while !is_whole && head.len() < HEAD_BYTES && Compression::may_begin(&head) {
        let mut more = [0; HEAD_BYTES];
        match bytes.read(&mut more[head.len()..]) {
            Ok(read) => {
                is_whole = read == 0;
                let from = head.len();
                head.extend_from_slice(&more[from..from + read]);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let found = Compression::detect(&head);
    if found.is_none()
        && is_whole
        && let Some(compression) = Compression::detect_truncated(&head)
    {
        return Err(PackingError::cut_off(compression));
    }
    match found {
        None | Some(Compression::Gzip | Compression::Zstandard | Compression::Lz4) => {
            Ok((head, found))
        }
        Some(other) => Err(PackingError::foreign(other)),
    }
}

/// Marks errors as errors of decompression.
struct Decoder {
    decoder: InputBytes<'static>,
    name: &'static str,
    /// The window of the first Zstandard frame.
    window: Window,
}

impl Read for Decoder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            None if error.to_string() == WINDOW_REFUSED => {
                // Later frames may have larger windows.
                let Window { bytes, log_max, .. } = self.window;
                let bytes = bytes.filter(|&bytes| bytes > 1 << log_max);
                PackingError::window(Window { bytes, ..self.window })
            }
            None => PackingError::invalid(self.name, &error),
        })
    }
}

/// LZ4 frames, one after another. Each has its own decoder, because a decoder that has read a frame
/// with large blocks expects no smaller ones. A decoder can't tell a frame that is cut off between
/// two blocks from a complete one, so the cut is detected here.
struct Lz4 {
    /// `None` once a frame couldn't be read.
    frame: Option<FrameDecoder<Counted>>,
}

/// The first bytes of an LZ4 frame. No block begins with them: it would exceed the maximum size.
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Counts the bytes read since the last frame.
struct Counted {
    /// Bytes that were peeked at and not yet read.
    ahead: Vec<u8>,
    from: Whole,
    bytes: u64,
    is_over: bool,
}

impl Counted {
    /// Returns whether another frame begins here.
    fn is_at_frame(&mut self) -> io::Result<bool> {
        if self.ahead.is_empty() {
            self.from.by_ref().take(LZ4_MAGIC.len() as u64).read_to_end(&mut self.ahead)?;
        }
        Ok(self.ahead == LZ4_MAGIC)
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ahead = self.ahead.len().min(buffer.len());
        let bytes = if ahead > 0 {
            buffer[..ahead].copy_from_slice(&self.ahead[..ahead]);
            self.ahead.drain(..ahead);
            ahead
        } else {
            self.from.read(buffer)?
        };
        self.bytes += bytes as u64;
        self.is_over |= bytes == 0 && !buffer.is_empty();
        Ok(bytes)
    }
}

impl Read for Lz4 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(frame) = &mut self.frame {
            let bytes = frame.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let counted = frame.get_mut();
            if counted.is_over && counted.bytes > 0 {
                return Err(io::Error::new(
                    ErrorKind::UnexpectedEof,
                    "the last LZ4 frame is cut off",
                ));
            }
            if counted.is_over {
                return Ok(0);
            }
            counted.bytes = 0;
            // Otherwise, the decoder has read an empty block, or this is the end.
            if counted.is_at_frame()? {
                self.frame = self.frame.take().map(|over| FrameDecoder::new(over.into_inner()));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::gzip::READ_BYTES;
    use super::*;
    use std::io::Write;

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let content = Content::Stream(Box::new(Cursor::new(bytes)));
        let input = LinesInput { path: "file".into(), bytes: Some(1), content };
        let mut text = Vec::new();
        let decoders = Decoders::for_sort(1 << 40);
        decoders.decompressed(input).into_bytes().read_to_end(&mut text).map(|_| text)
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
        for text in
            [b"".to_vec(), b"b\na\n".to_vec(), (0..300_000u32).flat_map(u32::to_le_bytes).collect()]
        {
            assert!(read(text.clone()).unwrap() == text);
            for pack in [gzip, lz4, zstd] {
                let packed = pack(&text);
                assert!(read(packed.clone()).unwrap() == text);
                let twice = [packed.clone(), packed.clone()].concat();
                assert!(read(twice.clone()).unwrap() == [text.clone(), text.clone()].concat());
                for end in
                    (2..packed.len()).step_by(packed.len() / 97 + 1).chain([packed.len() - 1])
                {
                    assert!(read(packed[..end].to_vec()).is_err(), "{end} of {}", packed.len());
                    assert!(
                        read(twice[..packed.len() + end].to_vec()).is_err(),
                        "{end} of {}",
                        packed.len()
                    );
                }
            }
        }
    }

    /// The decoder of a frame with large blocks asserted that the next frame's blocks are as large.
    #[test]
    fn frames_of_lz4_with_blocks_of_any_sizes_follow_each_other() {
        use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
        let mut frames = Vec::new();
        let text: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        for block_size in [BlockSize::Max4MB, BlockSize::Max64KB, BlockSize::Max1MB] {
            for block_mode in [BlockMode::Linked, BlockMode::Independent] {
                let info = FrameInfo::new().block_size(block_size).block_mode(block_mode);
                let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
                encoder.write_all(&text).unwrap();
                frames.push(encoder.finish().unwrap());
            }
        }
        let whole = text.repeat(frames.len());
        let packed = frames.concat();
        assert!(read(packed.clone()).unwrap() == whole);
        let content = Content::Stream(Box::new(Slow(Cursor::new(packed))));
        let input = LinesInput { path: "file".into(), bytes: None, content };
        let (decoders, mut slow) = (Decoders::for_sort(1 << 40), Vec::new());
        decoders.decompressed(input).into_bytes().read_to_end(&mut slow).unwrap();
        assert!(slow == whole);
    }

    /// A pipe that returns few bytes per read.
    struct Slow(Cursor<Vec<u8>>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = buffer.len().min(3);
            self.0.read(&mut buffer[..bytes])
        }
    }

    /// Like gzip, except that bytes which gzip skips with a warning are an error here.
    #[test]
    fn zeros_behind_gzip_are_no_data_and_anything_else_is_an_error() {
        let (a, b) = (gzip(b"a\n"), gzip(b"b\n"));
        for zeros in [1, 7, 512, 3 * READ_BYTES] {
            let padding = vec![0; zeros];
            assert_eq!(read([&a[..], &padding].concat()).unwrap(), b"a\n");
            assert_eq!(read([&a[..], &padding, &b, &padding].concat()).unwrap(), b"a\nb\n");
            for garbage in [&b"garbage"[..], b"\x1f", b"\x1f\x8b", &b[..b.len() - 1], &zstd(b"c\n")]
            {
                read([&a[..], garbage].concat()).unwrap_err();
                read([&a[..], &padding, garbage].concat()).unwrap_err();
            }
        }
    }

    /// Damages every byte of the header, except its time, level and system, and every byte after
    /// it. Some bits have no meaning: the text is the same without them.
    #[test]
    fn damaged_gzip_is_never_text() {
        let whole = gzip(b"some text\n");
        for at in (2..4).chain(10..whole.len()) {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let result = read(damaged);
                assert!(result.is_err() || result.unwrap() == b"some text\n", "{at} {bit}");
            }
        }
    }

    #[test]
    fn what_others_compressed_is_refused_with_the_way_out() {
        for (head, expected) in [
            (&b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46\x02\0\x21\x01\x16"[..], "xz -dc"),
            (b"\xfd7zXZ\0", "xz -dc"),
            (b"BZh91AY&SY\x0f\x1e\x3c\x77\x11\x22\x33", "bzip2 -dc"),
            (b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0", "bzip2 -dc"),
            (b"LZIP\x01\x0c\0\x30\x98\x88", "lzip -dc"),
            (b"\x1f\x9d\x90\x61\x14", "gzip -dc"),
            (b"PK\x03\x04\x14\0\0\0\x08\0", "unzip -p"),
            (b"\xfd7z", "cut off"),
            (b"\x28\xb5", "cut off"),
            (b"\x04\x22\x4d", "cut off"),
            (b"\x1f", "cut off"),
        ] {
            let error = read(head.to_vec()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        for text in
            [&b""[..], b"(", b"BZh9", b"BZh9 is a line\n", b"PK\n", b"7z\n", b"\xfd", b"]\0"]
        {
            assert_eq!(read(text.to_vec()).unwrap(), text);
        }
    }

    #[test]
    fn a_window_that_is_too_large_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.write_all(b"a\n").unwrap();
        let packed = encoder.finish().unwrap();
        for packed in [packed.clone(), [zstd(b"b\n"), packed].concat()] {
            let error = read(packed).unwrap_err().to_string();
            assert!(error.contains("the most that is read here"), "{error}");
            assert!(error.contains("zstd -dc --long=28 FILE"), "{error}");
        }
    }

    /// Such a file was reported as damaged.
    #[test]
    fn the_memory_that_the_refusal_of_a_window_names_is_enough() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(25).unwrap();
        encoder.write_all(b"a\n").unwrap();
        let packed = encoder.finish().unwrap();
        let read = |budget_bytes| {
            let content = Content::Stream(Box::new(Cursor::new(packed.clone())));
            let input = LinesInput { path: "file".into(), bytes: Some(1), content };
            let decoders = Decoders::for_sort(budget_bytes);
            let mut text = Vec::new();
            decoders.decompressed(input).into_bytes().read_to_end(&mut text).map(|_| text)
        };
        let error = read(64 << 20).unwrap_err().to_string();
        let (before, _) = error.split_once(" MiB of it is enough").expect("it names the memory");
        let enough: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(read(enough << 20).unwrap(), b"a\n");
        read((enough << 20) / 2).unwrap_err();
    }

    #[test]
    fn decoders_have_their_share_of_the_budget() {
        const MIB: u64 = 1 << 20;
        for (budget_mib, window_log_max, taken_mib) in
            [(1, 23, 0), (64, 23, 0), (256, 25, 24), (9999, 27, 120)]
        {
            let decoders = Decoders::for_sort(budget_mib * MIB);
            assert_eq!(
                (decoders.window_log_max, decoders.taken_bytes),
                (window_log_max, taken_mib * MIB)
            );
        }
        // A larger budget leaves the sort more memory, and has room for its windows.
        for budget_mib in 1..2000 {
            let left = |budget: u64| budget - Decoders::for_sort(budget).taken_bytes;
            assert!(left((budget_mib + 1) * MIB) > left(budget_mib * MIB), "{budget_mib}");
            let decoders = Decoders::for_sort(budget_mib * MIB);
            assert!(1 << decoders.window_log_max <= decoders.taken_bytes + 8 * MIB);
        }
        for (budget_mib, inputs, inputs_max) in
            [(1, 9, 2), (64, 9, 2), (130, 9, 5), (999, 9, 9), (999, 1, 2)]
        {
            let decoders = Decoders::for_merge(budget_mib * MIB, inputs);
            assert_eq!(decoders.inputs_max, inputs_max);
            assert!(decoders.taken_bytes <= budget_mib * MIB / 2);
        }
    }
}

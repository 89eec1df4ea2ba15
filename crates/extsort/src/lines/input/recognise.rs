//! Finds the compressed inputs by their first bytes, before the sort is planned. Other inputs keep
//! their known size, and can bypass the page cache.
//!
//! The first bytes of files at URLs are read several files at a time, because each takes a round
//! trip.
//!
//! Of inputs that are read one after the other, a pipe that isn't the first is not read here: its
//! writer may still be busy with another one. Its first read tells whether to decompress it.

use super::super::bgzf;
use super::super::codec_threads::CompressionThreads;
use super::super::reservation::Reservation;
use super::decompress::read_head;
use super::{Content, Decoders, LinesInput};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::PathBuf;
use xsort_records::Compression;

/// Most files at URLs whose first bytes are read at once.
const LOOKS_MAX: usize = 16;

/// Inputs with decompression of the compressed ones.
#[derive(Debug)]
pub struct Recognised {
    /// The inputs, in the order given.
    pub inputs: Vec<LinesInput>,
    /// Most of them that may be read at the same time.
    pub inputs_max: usize,
    /// What decoders take of the budget: nothing if no input needs much.
    pub reservation: Reservation,
}

/// What the first bytes of an input tell.
enum Beginning {
    Plain,
    Compressed(Compression),
    /// gzip in blocks, which several threads inflate.
    Bgzf,
    /// The bytes are checked when the input is read.
    Unknown,
}

/// Checks the first bytes of `inputs`, which are read one after the other, or with `is_merge` all
/// at the same time. `resources` returns the budget in bytes and the number of threads, and is
/// called only if there are decoders that need much of them.
///
/// # Errors
///
/// The path of an input that can't be read, or is compressed in a way that isn't decompressed here,
/// and the reason.
pub fn recognise(
    inputs: Vec<LinesInput>,
    is_merge: bool,
    resources: impl FnOnce() -> (u64, usize),
) -> Result<Recognised, (PathBuf, io::Error)> {
    let mut seen = Vec::with_capacity(inputs.len());
    let mut inputs = inputs.into_iter();
    let mut begun = VecDeque::new();
    loop {
        begun.extend(inputs.by_ref().take(LOOKS_MAX - begun.len()).map(Look::begin));
        let Some(Look { input, url }) = begun.pop_front() else { break };
        let path = input.path.clone();
        let can_wait = !is_merge && !seen.is_empty() && input.bytes.is_none();
        seen.push(match can_wait {
            true => (input, Beginning::Unknown),
            false => look(input, url).map_err(|error| (path, error))?,
        });
    }
    let is_compressed =
        |begin: &Beginning| matches!(begin, Beginning::Compressed(_) | Beginning::Bgzf);
    let compressed = seen.iter().filter(|(_, begin)| is_compressed(begin)).count();
    let may_have_window =
        |begin: &Beginning| matches!(begin, Beginning::Compressed(Compression::Zstandard));
    let has_windows = seen.iter().any(|(_, begin)| may_have_window(begin));
    let has_bgzf = seen.iter().any(|(_, begin)| matches!(begin, Beginning::Bgzf));
    let (decoders, reservation) = if is_merge && compressed > 0 {
        let of = move |budget| Decoders::for_merge(budget, compressed);
        (of(resources().0), reserved(move |budget| of(budget).taken_bytes))
    } else if has_windows || has_bgzf {
        let (budget_bytes, threads) = resources();
        let threads = if has_bgzf { threads } else { 0 };
        let decoders = Decoders::for_sort(if has_windows { budget_bytes } else { 0 });
        let inflating = CompressionThreads::of_budget(budget_bytes, threads);
        let taken_bytes = move |budget| {
            let windows = if has_windows { Decoders::for_sort(budget).taken_bytes } else { 0 };
            windows + CompressionThreads::of_budget(budget, threads).taken_bytes
        };
        (decoders.with_threads(inflating.threads), reserved(taken_bytes))
    } else {
        (Decoders::for_sort(0), Reservation::default())
    };
    let inputs_max =
        if decoders.inputs_max < compressed { decoders.inputs_max } else { usize::MAX };
    let inputs = seen.into_iter().map(|(input, begin)| match begin {
        Beginning::Plain => input,
        Beginning::Compressed(_) | Beginning::Bgzf | Beginning::Unknown => {
            decoders.decompressed(input)
        }
    });
    Ok(Recognised { inputs: inputs.collect(), inputs_max, reservation })
}

/// The share of a budget that decoders take.
fn reserved(bytes_of: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Reservation {
    Reservation::default().with_share("decoders", bytes_of)
}

/// An input whose first bytes are being read.
struct Look {
    input: LinesInput,
    /// The beginning of an input at a URL, which is being read.
    url: Option<io::Result<Box<dyn Read>>>,
}

impl Look {
    fn begin(input: LinesInput) -> Look {
        let url = match &input.content {
            Content::Url(file) => Some(file.begin_look().map(|bytes| Box::new(bytes) as _)),
            _ => None,
        };
        Look { input, url }
    }
}

/// Reads the first bytes of an input.
fn look(
    mut input: LinesInput,
    url: Option<io::Result<Box<dyn Read>>>,
) -> io::Result<(LinesInput, Beginning)> {
    let read = |bytes: &mut dyn Read| {
        let (head, found) = read_head(bytes)?;
        let beginning = match found {
            Some(_) if bgzf::is_begin(&head) => Beginning::Bgzf,
            Some(compression) => Beginning::Compressed(compression),
            None => Beginning::Plain,
        };
        Ok((head, beginning))
    };
    let beginning = match url {
        Some(bytes) => Some(read(&mut *bytes?)?.1),
        None => input.peek(read)?,
    };
    Ok((input, beginning.unwrap_or(Beginning::Plain)))
}

#[cfg(test)]
mod tests {
    use super::super::{Content, OpenInput};
    use super::*;
    use std::io::{Cursor, Read, Write};

    fn stream(bytes: &[u8], size: Option<u64>) -> LinesInput {
        let content = Content::Stream(Box::new(Cursor::new(bytes.to_vec())));
        LinesInput { path: "stream".into(), bytes: size, content }
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn texts(recognised: Recognised) -> Vec<(Option<u64>, Vec<u8>)> {
        let read = |input: LinesInput| {
            let (bytes, mut text) = (input.bytes, Vec::new());
            input.into_bytes().read_to_end(&mut text).unwrap();
            (bytes, text)
        };
        recognised.inputs.into_iter().map(read).collect()
    }

    /// Its size, and that it is a file.
    #[test]
    fn an_input_that_is_not_compressed_keeps_what_is_known_of_it() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"\x1f text\n").unwrap();
        let path = file.path().to_owned();
        let open = || -> io::Result<_> { Ok(Box::new(io::empty()) as _) };
        let plain =
            LinesInput { path, bytes: Some(7), content: Content::File(OpenInput::new(open)) };
        let packed = stream(&gzip(b"b\n"), Some(22));
        let inputs = vec![plain, packed, stream(b"a\n", Some(2)), stream(&gzip(b"c\n"), None)];
        let recognised = recognise(inputs, false, || (1 << 30, 2)).unwrap();
        assert!(matches!(recognised.inputs[0].content, Content::File(_)));
        assert_eq!((recognised.inputs_max, recognised.reservation.of(1 << 30)), (usize::MAX, 0));
        let expected = [
            (Some(7), b"".to_vec()),
            (None, b"b\n".to_vec()),
            (Some(2), b"a\n".to_vec()),
            (None, b"c\n".to_vec()),
        ];
        assert_eq!(texts(recognised), expected);
    }

    /// Only compressed inputs have decoders.
    #[test]
    fn decoders_take_memory_where_there_are_some() {
        let many = |head: &[u8]| (0..9).map(|_| stream(head, None)).collect::<Vec<_>>();
        let of = |inputs, is_merge, budget| {
            let Recognised { inputs_max, reservation, .. } =
                recognise(inputs, is_merge, || (budget, 2)).unwrap();
            (inputs_max, reservation.of(budget))
        };
        const MIB: u64 = 1 << 20;
        assert_eq!(of(many(b"text\n"), true, 16 * MIB), (usize::MAX, 0));
        assert_eq!(of(many(&gzip(b"a\n")), true, 16 * MIB), (2, 0));
        assert_eq!(of(many(&gzip(b"a\n")), true, 999 * MIB), (usize::MAX, 9 * 13 * MIB));
        assert_eq!(of(many(&gzip(b"a\n")), false, 999 * MIB), (usize::MAX, 0));
        let zstd = zstd::stream::encode_all(&b"a\n"[..], 1).unwrap();
        assert_eq!(of(many(&zstd), false, 999 * MIB), (usize::MAX, 999 * MIB / 8 - 8 * MIB));
    }

    /// One byte is enough to tell that text isn't compressed.
    #[test]
    fn nothing_waits_for_more_than_it_takes() {
        struct ThenStuck(bool);
        impl Read for ThenStuck {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                assert!(!std::mem::replace(&mut self.0, true), "it would wait");
                buffer[..2].copy_from_slice(b"a\n");
                Ok(2)
            }
        }
        let (head, found) = read_head(&mut ThenStuck(false)).unwrap();
        assert_eq!((head, found), (b"a\n".to_vec(), None));
    }

    #[test]
    fn what_is_not_decompressed_is_refused_at_once() {
        let inputs = vec![stream(b"a\n", Some(2)), stream(b"\xfd7zXZ\0rest", Some(10))];
        let (path, error) = recognise(inputs, false, || (1 << 30, 2)).unwrap_err();
        assert_eq!(path, PathBuf::from("stream"));
        let text = error.to_string();
        assert!(text.contains("(xz -dc FILE | ...)"), "{text}");
    }
}

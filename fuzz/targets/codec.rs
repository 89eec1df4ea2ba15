//! Bytes that come from outside, or back from a drive: compressed inputs, compressed blocks,
//! summaries. Hostile ones are refused or mean something: never a panic, never memory without
//! bound, and the same however they trickle in.
//!
//! The first byte says what the others are: `d`, an input of `--decompress`; `z` and `l`, a block
//! on scratch; `p`, text to be packed and unpacked; `s`, summaries of `xsort verify`.
#![no_main]

#[allow(dead_code, unreachable_pub, reason = "the engine uses and shows it")]
#[path = "../../crates/extsort/src/store/compression/codec.rs"]
mod codec;

use codec::{BlockCodec, BlockCompressor, BlockDecompressor};
use libfuzzer_sys::fuzz_target;
use std::io::{self, Read, Write};
use xsort_extsort::lines::{Content, Decoders, LinesInput};
use xsort_fuzz::memory::{Counting, peak_bytes};
use xsort_fuzz::texts::Dribble;
use xsort_records::{Compression, Layout, VerifySummary};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Windows of Zstandard stay small with so little.
const BUDGET_BYTES: u64 = 64 << 20;
/// So many bytes tell what a file is compressed by.
const HEAD_BYTES: usize = 16;
/// So much is read of what may be a bomb.
const READ_BYTES_MAX: u64 = 4 << 20;
/// Most that decompression allocates, but for what Zstandard's library does: two blocks of LZ4,
/// four MiB each at most or eight in the old format, what was read ahead, and the text itself,
/// which doubles as it grows.
const MEMORY_BYTES_MAX: usize = 40 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((&what, data)) = data.split_first() else { return };
    match what {
        b'd' => input(data),
        b'l' => block(BlockCodec::Lz4, data),
        b'z' => block(BlockCodec::Zstd, data),
        b'p' => there_and_back(data),
        b's' => summaries(data),
        _ => {}
    }
});

fn read(bytes: &[u8], most: usize) -> (Vec<u8>, io::Result<usize>) {
    let input = LinesInput {
        path: "input".into(),
        bytes: Some(bytes.len() as u64),
        content: Content::Stream(Box::new(Dribble::new(bytes.to_vec(), most))),
    };
    let mut text = Vec::new();
    let end = Decoders::for_sort(BUDGET_BYTES)
        .decompressed(input)
        .into_bytes()
        .take(READ_BYTES_MAX)
        .read_to_end(&mut text);
    (text, end)
}

fn input(bytes: &[u8]) {
    let ((text, end), memory) = peak_bytes(|| read(bytes, usize::MAX));
    assert!(memory < MEMORY_BYTES_MAX + bytes.len(), "{memory} bytes for {}", bytes.len());
    let (slowly, slow_end) = read(bytes, 1);
    match (&end, &slow_end) {
        (Ok(_), Ok(_)) => assert!(text == slowly),
        (Err(_), Err(_)) => assert!(text.starts_with(&slowly) || slowly.starts_with(&text)),
        _ => panic!("{end:?}, but byte by byte {slow_end:?}"),
    }
    // What is compressed, or the cut-off beginning of that, is decompressed or refused; all else is
    // text.
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let is_cut_off = bytes.len() < HEAD_BYTES && Compression::detect_truncated(head).is_some();
    let is_plain = Compression::detect(head).is_none() && !is_cut_off;
    if is_plain {
        assert!(end.is_ok() && text == bytes);
    }
}

fn block(codec: BlockCodec, packed: &[u8]) {
    let mut decompressor = BlockDecompressor::default();
    for bytes in [0, 1, 100, 16 << 10] {
        let mut block = vec![0; bytes];
        let _ = decompressor.decompress(codec, packed, &mut block).unwrap();
    }
}

fn there_and_back(text: &[u8]) {
    let (mut compressor, mut decompressor) = Default::default();
    for codec in [BlockCodec::Lz4, BlockCodec::Zstd] {
        // Repeated, so that there are pages to save.
        let block: Vec<u8> =
            text.iter().copied().cycle().take(codec.fill_bytes_max(16 << 10)).collect();
        let mut packed = vec![0; 16 << 10];
        let packed_bytes = BlockCompressor::compress(&mut compressor, codec, &block, &mut packed);
        let Some(bytes) = packed_bytes.unwrap() else { continue };
        let mut back = vec![0; block.len()];
        BlockDecompressor::decompress(&mut decompressor, codec, &packed[..bytes], &mut back)
            .unwrap()
            .unwrap();
        assert!(back == block);
    }
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let lz4 = {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::stream::encode_all(text, 1).unwrap();
    for packed in [gzip, lz4, zstd] {
        let (back, end) = read(&packed, 7);
        assert!(end.is_ok() && back == text);
    }
}

fn summaries(bytes: &[u8]) {
    let layout =
        Layout::new(4, vec!["0:2:u16le".parse().unwrap(), "2:1:desc".parse().unwrap()]).unwrap();
    let mut whole = VerifySummary::new(&layout);
    let _ = whole.append_summaries(bytes);
    assert_eq!(VerifySummary::from_bytes(&whole.to_bytes(), &layout), Ok(whole));
}

//! Compressed output, written by several threads.
//!
//! The output is cut into pieces of 1 MiB. Each is compressed independently, to a whole gzip
//! member, a whole Zstandard or LZ4 frame, or blocks of BGZF, and they are written in order. Every
//! program that reads the format reads such a sequence. Independent pieces are a little larger than
//! one stream.

use super::bgzf;
use super::codec_threads::{CodecThreads, PendingTask, ended};
use super::output_codec::OutputCodec;
use super::position_index::PositionIndex;
use libdeflater::{CompressionLvl, Compressor as Deflater};
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use std::collections::VecDeque;
use std::io::{self, Write};

/// Bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;

/// The default levels of the formats' own programs.
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: i32 = 6;

/// Compresses the bytes written to it.
pub struct CompressedOutput<'i, W> {
    to: W,
    /// The index of the positions in an output of BGZF.
    index: Option<&'i mut PositionIndex>,
    codec: OutputCodec,
    threads: usize,
    /// Bytes to compress before the first ones that are written.
    header: Vec<u8>,
    /// The piece that is being filled.
    piece: Vec<u8>,
    /// Pieces that are being compressed, in order.
    pending: VecDeque<PendingTask<Task>>,
    /// Buffers of pieces that were written, for reuse.
    free: Vec<(Vec<u8>, Vec<u8>)>,
    compressors: Option<Compressors>,
    /// True if what was written so far is whole.
    is_ended: bool,
}

/// A piece and its compressed bytes.
#[derive(Default)]
struct Task {
    piece: Vec<u8>,
    compressed: Vec<u8>,
}

/// What compresses.
enum Compressors {
    Threads(CodecThreads<Task>),
    /// Without threads, the writing thread compresses.
    Own(Compressor),
}

impl<'i, W: Write> CompressedOutput<'i, W> {
    /// An output to `to`. Nothing is written to it before the first line is known. `header` is
    /// compressed before that line. A single piece starts no thread.
    pub fn new(to: W, codec: OutputCodec, threads: usize, header: Vec<u8>) -> Self {
        CompressedOutput {
            to,
            index: None,
            codec,
            threads,
            header,
            piece: Vec::new(),
            pending: VecDeque::new(),
            free: Vec::new(),
            compressors: None,
            is_ended: false,
        }
    }

    /// Builds this index, if there is one, of an output of BGZF.
    #[must_use]
    pub fn with_index(self, index: Option<&'i mut PositionIndex>) -> Self {
        CompressedOutput { index, ..self }
    }

    /// Returns the underlying writer. Flush before.
    pub fn into_inner(self) -> W {
        self.to
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.piece.len() == PIECE_BYTES {
                self.compress_piece(false)?;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = rest;
        }
        Ok(())
    }

    /// Compresses the piece or sends it to a thread, and begins another. The next one begins with
    /// what doesn't fill a block of BGZF, except with `is_all`.
    fn compress_piece(&mut self, is_all: bool) -> io::Result<()> {
        let is_first = self.compressors.is_none();
        let is_only = is_first && self.piece.len() < PIECE_BYTES;
        let compressors = match self.compressors.take() {
            Some(compressors) => compressors,
            None if is_only => Compressors::Own(Compressor::new(self.codec)?),
            None => Compressors::start(self.codec, self.threads)?,
        };
        let compressors = self.compressors.insert(compressors);
        let (mut next, compressed) = self.free.pop().unwrap_or_default();
        if self.codec == OutputCodec::Bgzf {
            let mut rest = &self.piece[..];
            while let Some((block, after)) = bgzf::split_block(rest, is_all) {
                if let Some(index) = &mut self.index {
                    index.add_text(block)?;
                }
                rest = after;
            }
            next.extend_from_slice(rest);
            self.piece.truncate(self.piece.len() - next.len());
        }
        self.is_ended = false;
        let mut task = Task { piece: std::mem::replace(&mut self.piece, next), compressed };
        match compressors {
            Compressors::Own(compressor) => {
                compressor.compress(&mut task)?;
                self.write_compressed(task)
            }
            Compressors::Threads(threads) => {
                let pending_max = threads.tasks_max();
                self.pending.push_back(threads.begin(task));
                self.write_pending(pending_max - 1)
            }
        }
    }

    /// Writes the oldest pieces until at most `most` are left.
    fn write_pending(&mut self, most: usize) -> io::Result<()> {
        while self.pending.len() > most
            && let Some(oldest) = self.pending.pop_front()
        {
            self.write_compressed(ended(&oldest)?)?;
        }
        Ok(())
    }

    fn write_compressed(&mut self, mut task: Task) -> io::Result<()> {
        self.to.write_all(&task.compressed)?;
        if let Some(index) = &mut self.index {
            bgzf::lengths(&task.compressed).try_for_each(|bytes| index.add_block(bytes))?;
        }
        task.piece.clear();
        self.free.push((task.piece, task.compressed));
        Ok(())
    }
}

impl<W: Write> Write for CompressedOutput<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let header = std::mem::take(&mut self.header);
        self.put(&header)?;
        self.put(bytes)?;
        Ok(bytes.len())
    }

    /// Completes the compressed data written so far, so that it can be decompressed, even if it is
    /// empty.
    fn flush(&mut self) -> io::Result<()> {
        self.write(&[])?;
        let is_bgzf = self.codec == OutputCodec::Bgzf;
        if !self.piece.is_empty() || (!is_bgzf && self.compressors.is_none()) {
            self.compress_piece(true)?;
        }
        self.write_pending(0)?;
        if is_bgzf && !self.is_ended {
            self.to.write_all(&bgzf::END)?;
            if let Some(index) = &mut self.index {
                index.add_empty_block(bgzf::END.len())?;
            }
        }
        self.is_ended = true;
        self.to.flush()
    }
}

impl Compressors {
    /// Starts the wanted number of threads, or as many as the system allows.
    fn start(codec: OutputCodec, wanted: usize) -> io::Result<Compressors> {
        let worker = || {
            let mut compressor = Compressor::new(codec)?;
            Ok(move |task: &mut Task| compressor.compress(task))
        };
        Ok(match CodecThreads::start("xsort-out", wanted, worker)? {
            Some(threads) => Compressors::Threads(threads),
            None => Compressors::Own(Compressor::new(codec)?),
        })
    }
}

/// Compresses one piece after another.
enum Compressor {
    Bgzf(Deflater),
    Gzip(Deflater),
    Lz4,
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Compressor {
    fn new(codec: OutputCodec) -> io::Result<Compressor> {
        let deflater =
            || Deflater::new(CompressionLvl::new(GZIP_LEVEL).expect("libdeflate has levels to 12"));
        Ok(match codec {
            OutputCodec::Bgzf => Compressor::Bgzf(deflater()),
            OutputCodec::Gzip => Compressor::Gzip(deflater()),
            OutputCodec::Lz4 => Compressor::Lz4,
            OutputCodec::Zstd => {
                let mut compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
                compressor.include_checksum(true)?;
                Compressor::Zstd(compressor)
            }
        })
    }

    /// Compresses a piece to a whole member or frame, or to blocks.
    fn compress(&mut self, task: &mut Task) -> io::Result<()> {
        let Task { piece, compressed } = task;
        compressed.clear();
        match self {
            Compressor::Bgzf(deflater) => {
                let mut rest = &piece[..];
                while let Some((text, after)) = bgzf::split_block(rest, true) {
                    bgzf::append_block(deflater, text, compressed)?;
                    rest = after;
                }
            }
            Compressor::Gzip(deflater) => {
                compressed.resize(deflater.gzip_compress_bound(piece.len()), 0);
                let bytes = deflater.gzip_compress(piece, compressed).map_err(io::Error::other)?;
                compressed.truncate(bytes);
            }
            Compressor::Lz4 => {
                let info = FrameInfo::new()
                    .block_size(BlockSize::Max1MB)
                    .content_checksum(true)
                    .content_size(Some(piece.len() as u64));
                let mut encoder = FrameEncoder::with_frame_info(info, &mut *compressed);
                encoder.write_all(piece)?;
                encoder.finish().map_err(io::Error::other)?;
            }
            Compressor::Zstd(compressor) => {
                compressed.reserve(zstd::zstd_safe::compress_bound(piece.len()));
                compressor.compress_to_buffer(piece, compressed)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    const CODECS: [OutputCodec; 4] =
        [OutputCodec::Bgzf, OutputCodec::Gzip, OutputCodec::Lz4, OutputCodec::Zstd];

    fn read(codec: OutputCodec, compressed: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        match codec {
            OutputCodec::Bgzf | OutputCodec::Gzip => {
                flate2::read::MultiGzDecoder::new(compressed).read_to_end(&mut text).unwrap();
            }
            OutputCodec::Lz4 => {
                let mut rest = compressed;
                while !rest.is_empty() {
                    let mut decoder = lz4_flex::frame::FrameDecoder::new(rest);
                    decoder.read_to_end(&mut text).unwrap();
                    rest = decoder.into_inner();
                }
            }
            OutputCodec::Zstd => text = zstd::stream::decode_all(compressed).unwrap(),
        }
        text
    }

    /// Partly compressible text.
    fn text(bytes: usize) -> Vec<u8> {
        let number = |n: usize| (n as u32).wrapping_mul(2_654_435_761).to_be_bytes();
        (0..bytes / 8 + 1).flat_map(|n| [number(n), *b"same"].concat()).take(bytes).collect()
    }

    #[test]
    fn what_is_written_is_read_again_whatever_its_size_and_threads() {
        for codec in CODECS {
            for bytes in [0, 1, 5000, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 7_654_321] {
                for (threads, step) in [(1, 100_000), (3, 1 << 22)] {
                    let expected = text(bytes);
                    let (header, rest) = expected.split_at(bytes / 5);
                    let mut compressed = Vec::new();
                    let mut output =
                        CompressedOutput::new(&mut compressed, codec, threads, header.to_vec());
                    rest.chunks(step).for_each(|part| output.write_all(part).unwrap());
                    output.flush().unwrap();
                    drop(output);
                    assert!(!compressed.is_empty());
                    assert!(read(codec, &compressed) == expected, "{codec:?} {bytes} {threads}");
                }
            }
        }
    }

    /// A block says where the next one begins, and the last one is empty.
    #[test]
    fn bgzf_is_blocks_and_an_end() {
        for (bytes, flushes) in [(0, 1), (10, 2), (3 * PIECE_BYTES + 7, 1), (PIECE_BYTES, 3)] {
            let mut compressed = Vec::new();
            let mut output =
                CompressedOutput::new(&mut compressed, OutputCodec::Bgzf, 2, Vec::new());
            for part in text(bytes).chunks(bytes / flushes + 1) {
                output.write_all(part).unwrap();
                output.flush().unwrap();
            }
            output.flush().unwrap();
            drop(output);
            let mut rest = &compressed[..];
            while let Some(bytes) = bgzf::block_bytes(rest).filter(|_| rest != bgzf::END) {
                rest = &rest[bytes..];
            }
            assert_eq!(rest, bgzf::END, "{bytes} {flushes}");
        }
    }

    /// The output may be an input that is still to be read.
    #[test]
    fn a_header_alone_writes_nothing() {
        let mut compressed = Vec::new();
        let header = text(3 * PIECE_BYTES);
        drop(CompressedOutput::new(&mut compressed, OutputCodec::Gzip, 2, header));
        assert!(compressed.is_empty());
    }

    #[test]
    fn an_output_that_fails_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for threads in [1, 2] {
            let mut output = CompressedOutput::new(Full, OutputCodec::Zstd, threads, Vec::new());
            let error = output.write_all(&text(20 * PIECE_BYTES)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }
}

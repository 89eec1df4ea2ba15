//! An input in BGZF, whose blocks are inflated by several threads.
//!
//! ```text
//!  input --> batches of blocks --> inflated by any thread --> text, in order
//!            (a thread reads)
//! ```
//!
//! The reading thread waits for a pipe that pauses, while everything before the pause is passed on.
//! Nobody waits for it: if the text isn't wanted any more, it ends with its next read, or with the
//! process. An input of a few blocks is inflated where it is read.
//!
//! A whole file ends with a block without text. Without one it may have been cut off between two
//! blocks, which is an error. Other members of gzip may follow the blocks, as `cat` puts them
//! there; they are inflated one after the other, and nothing is expected after them.

use super::super::bgzf;
use super::super::codec_threads::{CodecThreads, PendingTask, ended};
use super::gzip::{Gzip, READ_BYTES, Whole};
use crossbeam_channel::{Receiver, Sender, bounded};
use libdeflater::Decompressor as Inflater;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::{mem, thread};

/// Most blocks of a batch, whose text is at most 1 MiB.
const BATCH_BLOCKS: usize = 16;

/// The text of an input in BGZF.
pub(super) struct BgzfInput {
    source: Source,
    /// Threads to inflate with, once there is more than one batch.
    threads: usize,
    batch: Batch,
    /// Bytes of the batch's text that were read.
    read_bytes: usize,
}

enum Source {
    /// Read and inflated here.
    Own(Box<Blocks>, Inflater),
    /// Read and inflated by threads.
    Threads(Receiver<PendingTask<Batch>>),
    /// All is read, or can't be.
    Over,
}

/// Some blocks that follow each other, and their text.
#[derive(Default)]
struct Batch {
    blocks: Vec<u8>,
    /// The address of the first block in the input.
    address: u64,
    text: Vec<u8>,
    is_last: bool,
}

impl BgzfInput {
    /// The text of `from`, inflated by this number of threads, or by the one that reads it.
    pub(super) fn new(from: BufReader<Whole>, threads: usize) -> BgzfInput {
        let blocks = Blocks { from: Some(from), others: None, address: 0, is_ended: false };
        BgzfInput {
            source: Source::Own(Box::new(blocks), Inflater::new()),
            threads,
            batch: Batch::default(),
            read_bytes: 0,
        }
    }

    /// Takes the next batch.
    fn next_batch(&mut self) -> io::Result<()> {
        self.read_bytes = 0;
        let is_first = self.batch.blocks.is_empty();
        if !is_first && self.threads > 0 {
            self.start_threads()?;
        }
        let mut batch = mem::take(&mut self.batch);
        self.batch = match mem::replace(&mut self.source, Source::Over) {
            Source::Over => Batch { is_last: true, ..Batch::default() },
            Source::Own(mut blocks, mut inflater) => {
                blocks.read_batch(&mut batch)?;
                inflate(&mut inflater, &mut batch)?;
                self.source = Source::Own(blocks, inflater);
                batch
            }
            Source::Threads(pending) => {
                let gone = |_| io::Error::other("the thread that reads the input is gone");
                let batch = ended(&pending.recv().map_err(gone)?)?;
                self.source = Source::Threads(pending);
                batch
            }
        };
        if self.batch.is_last {
            self.source = Source::Over;
        }
        Ok(())
    }

    /// Moves reading and inflating to threads, if the system allows them.
    fn start_threads(&mut self) -> io::Result<()> {
        if !matches!(self.source, Source::Own(..)) {
            return Ok(());
        }
        let worker = || {
            let mut inflater = Inflater::new();
            Ok(move |batch: &mut Batch| inflate(&mut inflater, batch))
        };
        let Some(threads) = CodecThreads::start("xsort-in", self.threads, worker)? else {
            self.threads = 0;
            return Ok(());
        };
        let (to, pending) = bounded(threads.tasks_max() - 1);
        let Source::Own(mut blocks, _) = mem::replace(&mut self.source, Source::Threads(pending))
        else {
            unreachable!()
        };
        let read = move || read_all(&mut blocks, &threads, &to);
        thread::Builder::new().name("xsort-in-read".into()).spawn(read).map(drop)
    }
}

impl Read for BgzfInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let text = &self.batch.text[self.read_bytes..];
            if !text.is_empty() || self.batch.is_last || buffer.is_empty() {
                let bytes = text.len().min(buffer.len());
                buffer[..bytes].copy_from_slice(&text[..bytes]);
                self.read_bytes += bytes;
                return Ok(bytes);
            }
            self.next_batch()?;
        }
    }
}

/// Reads all batches and has them inflated.
fn read_all(blocks: &mut Blocks, threads: &CodecThreads<Batch>, to: &Sender<PendingTask<Batch>>) {
    loop {
        let mut batch = Batch::default();
        let read = blocks.read_batch(&mut batch);
        let is_over = batch.is_last || read.is_err();
        let pending = match read {
            Ok(()) => threads.begin(batch),
            Err(error) => {
                let (failed, pending) = bounded(1);
                drop(failed.send(Err(error)));
                pending
            }
        };
        if to.send(pending).is_err() || is_over {
            return;
        }
    }
}

/// The blocks of an input.
struct Blocks {
    /// `None` once other members follow.
    from: Option<BufReader<Whole>>,
    /// Members without the length of a block.
    others: Option<Gzip>,
    /// The address of the next block.
    address: u64,
    /// True if the last block had no text.
    is_ended: bool,
}

impl Blocks {
    /// Reads a block, and those that follow it and were read with it.
    fn read_batch(&mut self, batch: &mut Batch) -> io::Result<()> {
        batch.blocks.clear();
        batch.text.clear();
        batch.address = self.address;
        let Some(from) = &mut self.from else { return self.read_others(batch) };
        from.by_ref().take(bgzf::HEADER_BYTES as u64).read_to_end(&mut batch.blocks)?;
        match bgzf::block_bytes(&batch.blocks) {
            Some(bytes) => {
                let rest_bytes = bytes - bgzf::HEADER_BYTES;
                let rest = from.by_ref().take(rest_bytes as u64).read_to_end(&mut batch.blocks)?;
                if rest < rest_bytes {
                    let what = format!("the block at byte {} is cut off", self.address);
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
                }
            }
            None if batch.blocks.is_empty() && self.is_ended => batch.is_last = true,
            None if batch.blocks.is_empty() => {
                let what = "its last block has text, and none without text marks the end, so it \
                            may have been cut off: if it is whole, inflate it by 'gzip -dc'";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
            }
            None => return self.begin_others(batch),
        }
        for _ in 1..BATCH_BLOCKS {
            let ahead = from.buffer();
            let Some(block) = bgzf::block_bytes(ahead).and_then(|bytes| ahead.get(..bytes)) else {
                break;
            };
            let bytes = block.len();
            batch.blocks.extend_from_slice(block);
            io::BufRead::consume(from, bytes);
        }
        self.address += batch.blocks.len() as u64;
        self.is_ended = batch.blocks.ends_with(&[0; 4]);
        Ok(())
    }

    /// Begins with what follows the blocks, of which the batch has the first bytes.
    fn begin_others(&mut self, batch: &mut Batch) -> io::Result<()> {
        let from = self.from.take().expect("it was just read");
        let head = [&mem::take(&mut batch.blocks)[..], from.buffer()].concat();
        let rest: Whole = Cursor::new(head).chain(Box::new(from.into_inner()));
        let others = Gzip::after_member(super::gzip::buffered(rest));
        self.others = Some(others.map_err(|error| self.not_a_block(error))?);
        self.read_others(batch)
    }

    /// Reads text of other members.
    fn read_others(&mut self, batch: &mut Batch) -> io::Result<()> {
        let Some(others) = &mut self.others else { return Err(ErrorKind::InvalidData.into()) };
        let read = others.take(READ_BYTES as u64).read_to_end(&mut batch.text);
        batch.is_last = batch.text.is_empty();
        read.map(drop).map_err(|error| self.not_a_block(error))
    }

    /// Adds to an error of what follows the blocks where that begins.
    fn not_a_block(&self, error: io::Error) -> io::Error {
        match error.raw_os_error() {
            Some(_) => error,
            None => {
                let what = format!("no block begins at byte {}, and {error}", self.address);
                io::Error::new(error.kind(), what)
            }
        }
    }
}

/// Inflates the blocks of a batch, and checks their text.
fn inflate(inflater: &mut Inflater, batch: &mut Batch) -> io::Result<()> {
    let Batch { blocks, address, text, .. } = batch;
    let mut at = 0;
    text.reserve_exact(bgzf::lengths(blocks).count() << 16);
    for bytes in bgzf::lengths(blocks) {
        let block = &blocks[at..at + bytes];
        let damaged = |what: &str| {
            let what = format!("the block at byte {} is damaged: {what}", *address + at as u64);
            io::Error::new(ErrorKind::InvalidData, what)
        };
        let from = text.len();
        let text_bytes = bgzf::text_bytes(block).ok_or_else(|| damaged("it is too long"))?;
        text.resize(from + text_bytes, 0);
        let inflated = inflater.gzip_decompress(block, &mut text[from..]);
        let inflated = inflated.map_err(|_| damaged("its data or its checksum is wrong"))?;
        if inflated != text_bytes {
            return Err(damaged("it has less text than it says"));
        }
        at += bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::bgzf::{END, append_block, lengths, split_block};
    use super::*;
    use libdeflater::{CompressionLvl, Compressor};
    use std::io::Write;

    fn text(bytes: usize) -> Vec<u8> {
        (0..bytes as u32 / 4 + 1).flat_map(|n| n.wrapping_mul(40_503).to_le_bytes()).collect()
    }

    fn packed(mut text: &[u8]) -> Vec<u8> {
        let mut deflater = Compressor::new(CompressionLvl::new(1).unwrap());
        let mut blocks = Vec::new();
        while let Some((block, rest)) = split_block(text, true) {
            append_block(&mut deflater, block, &mut blocks).unwrap();
            text = rest;
        }
        blocks
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(packed: &[u8], threads: usize) -> io::Result<Vec<u8>> {
        let empty: super::super::InputBytes<'static> = Box::new(io::empty());
        let whole = Cursor::new(packed.to_vec()).chain(empty);
        let mut text = Vec::new();
        let mut input = BgzfInput::new(super::super::gzip::buffered(whole), threads);
        input.read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn blocks_are_read_in_order_whatever_follows_them() {
        for bytes in [0, 5, 200_000, 5_000_000] {
            let expected = text(bytes);
            let blocks = packed(&expected);
            let whole = [&blocks[..], &END].concat();
            let other = gzip(b"other\n");
            for threads in [0, 1, 3] {
                assert!(read(&whole, threads).unwrap() == expected, "{bytes} {threads}");
                let twice = [&whole[..], &whole].concat();
                assert!(read(&twice, threads).unwrap() == expected.repeat(2));
                for padding in [0, 9, 600_000] {
                    let zeros = vec![0; padding];
                    let followed = [&blocks[..], &END, &zeros, &other, &whole].concat();
                    let all = [&expected[..], b"other\n", &expected].concat();
                    assert!(read(&followed, threads).unwrap() == all, "{bytes} {padding}");
                    assert!(read(&[&whole[..], &zeros].concat(), threads).unwrap() == expected);
                }
                read(&[&whole[..], b"garbage"].concat(), threads).unwrap_err();
            }
        }
    }

    /// Where it is cut decides what is wrong with it.
    #[test]
    fn a_cut_file_is_never_whole() {
        let blocks = packed(&text(2_500_000));
        let whole = [&blocks[..], &END].concat();
        let mut ends = vec![blocks.len()];
        let mut at = 0;
        for bytes in lengths(&blocks) {
            ends.extend([at + 17, at + 18, at + bytes / 2, at + bytes - 1, at + bytes]);
            at += bytes;
        }
        for end in ends {
            for threads in [0, 2] {
                let error = read(&whole[..end], threads).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{end}: {error}");
            }
        }
        let error = read(&blocks, 2).unwrap_err().to_string();
        assert!(error.contains("gzip -dc"), "{error}");
        let error = read(&blocks[..blocks.len() - 1], 2).unwrap_err().to_string();
        let last = blocks.len() - lengths(&blocks).last().unwrap();
        assert_eq!(error, format!("the block at byte {last} is cut off"));
    }

    #[test]
    fn damage_is_found_in_its_block() {
        let mut blocks = packed(&text(2_500_000));
        let lengths: Vec<usize> = lengths(&blocks).take(30).collect();
        blocks.extend_from_slice(&END);
        for (block, bytes) in lengths.iter().enumerate().filter(|(block, _)| block % 7 < 2) {
            let begin: usize = lengths[..block].iter().sum();
            for (at, bit) in [(30, 1), (1000, 128), (bytes - 6, 4), (bytes - 3, 2), (bytes - 1, 1)]
            {
                let mut damaged = blocks.clone();
                damaged[begin + at] ^= bit;
                for threads in [0, 2] {
                    let error = read(&damaged, threads).unwrap_err().to_string();
                    let expected = format!("the block at byte {begin} is damaged");
                    assert!(error.starts_with(&expected), "{block} {at}: {error}");
                }
            }
        }
        let mut damaged = blocks.clone();
        damaged[lengths[0] + 1] ^= 1;
        let error = read(&damaged, 2).unwrap_err().to_string();
        let expected = format!("no block begins at byte {}, and ", lengths[0]);
        assert!(error.starts_with(&expected), "{error}");
    }

    /// A reader that stops early ends the threads.
    #[test]
    fn threads_end_when_the_text_is_not_wanted() {
        let whole = packed(&text(9_000_000));
        let empty: super::super::InputBytes<'static> = Box::new(io::empty());
        let from = super::super::gzip::buffered(Cursor::new(whole).chain(empty));
        let mut input = BgzfInput::new(from, 2);
        input.read_exact(&mut vec![0; 3_000_000]).unwrap();
    }
}

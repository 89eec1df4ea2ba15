//! Reads Arrow's files on several threads, and streams on the caller's.

use crate::arrow_inputs::{ArrowInputs, Form, block_bytes, damage, read_block};
use crate::arrow_messages::{Messages, caught};
use crate::errors::of_thread;
use crate::file::OpenInput;
use crate::reading::ReadPlan;
use crate::source::{InputBatch, Source};
use arrow_array::RecordBatch;
use arrow_ipc::Block;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::ArrowError;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use xsort_extsort::Error;

/// A batch to decode, and where it goes.
struct Work {
    open: OpenInput,
    decoder: Arc<FileDecoder>,
    block: Block,
    bytes_max: u64,
    to: Sender<Result<Option<RecordBatch>, ArrowError>>,
}

/// A batch that was asked for.
struct Awaited {
    input: usize,
    bytes: u64,
    from: Receiver<Result<Option<RecordBatch>, ArrowError>>,
}

/// Batches of all inputs, in order.
pub(crate) struct ArrowReading {
    paths: Vec<PathBuf>,
    /// What isn't begun yet: each with its index, in order.
    left: VecDeque<(usize, Left)>,
    stream: Option<(usize, Messages)>,
    file: Option<OpenFile>,
    awaited: VecDeque<Awaited>,
    awaited_max: usize,
    /// Bytes that a batch takes at most: one of a file, and one of a stream, which is alone.
    bytes_max: u64,
    stream_bytes_max: u64,
    work: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

enum Left {
    File(crate::arrow_inputs::ArrowFile),
    Stream(Messages),
}

/// The file of which batches are asked for.
struct OpenFile {
    input: usize,
    open: OpenInput,
    decoder: Arc<FileDecoder>,
    blocks: VecDeque<Block>,
}

impl ArrowReading {
    /// Starts threads, which decode batches ahead.
    pub(crate) fn start(
        inputs: &ArrowInputs,
        threads: usize,
        plan: &ReadPlan,
    ) -> Result<ArrowReading, Error> {
        let awaited_max = plan.lanes.max(1);
        let (to, work) = unbounded::<Work>();
        let start = |_| {
            let work = work.clone();
            let thread = thread::Builder::new().name("xsort-decode".into());
            thread.spawn(move || work.iter().for_each(decode)).map_err(of_thread)
        };
        let mut left = VecDeque::new();
        for (at, input) in inputs.all.iter().enumerate() {
            match &input.form {
                Form::File(file) => left.push_back((at, Left::File(file.clone()))),
                // It is read once only.
                Form::Stream(messages) => {
                    left.extend(messages.lock().take().map(|stream| (at, Left::Stream(stream))));
                }
            }
        }
        Ok(ArrowReading {
            paths: inputs.all.iter().map(|input| input.path.clone()).collect(),
            left,
            stream: None,
            file: None,
            awaited: VecDeque::new(),
            awaited_max,
            bytes_max: (plan.queue_bytes / (awaited_max + 1)) as u64,
            stream_bytes_max: plan.queue_bytes as u64,
            threads: (0..threads.min(awaited_max).max(1)).map(start).collect::<Result<_, _>>()?,
            work: Some(to),
        })
    }

    /// Asks for batches of files, up to the next stream.
    fn ask(&mut self) -> Result<(), Error> {
        while self.awaited.len() < self.awaited_max {
            let Some(file) = &mut self.file else {
                let Some((_, Left::File(_))) = self.left.front() else { return Ok(()) };
                let Some((input, Left::File(file))) = self.left.pop_front() else { return Ok(()) };
                let (open, decoder) = file.decoder(self.bytes_max)?;
                let (decoder, blocks) = (Arc::new(decoder), file.batches.into());
                self.file = Some(OpenFile { input, open, decoder, blocks });
                continue;
            };
            let Some(block) = file.blocks.pop_front() else {
                self.file = None;
                continue;
            };
            let (to, from) = bounded(1);
            let (open, decoder) = (file.open.clone(), Arc::clone(&file.decoder));
            self.awaited.push_back(Awaited { input: file.input, bytes: block_bytes(&block), from });
            if let Some(work) = &self.work {
                // The threads end only when this is dropped.
                let bytes_max = self.bytes_max;
                let _ = work.send(Work { open, decoder, block, bytes_max, to });
            }
        }
        Ok(())
    }
}

impl Source for ArrowReading {
    fn next(&mut self) -> Result<Option<InputBatch>, Error> {
        loop {
            if let Some((input, messages)) = &mut self.stream {
                let input = *input;
                match caught(|| messages.next(self.stream_bytes_max)) {
                    Ok(Some(rows)) => return Ok(Some(InputBatch { input, bytes: 0, rows })),
                    Err(error) => return Err(damage(&self.paths[input], &error, "a batch")),
                    Ok(None) => self.stream = None,
                }
                continue;
            }
            self.ask()?;
            if let Some(Awaited { input, bytes, from }) = self.awaited.pop_front() {
                let batch = from.recv().map_err(|_| Error::Panicked)?;
                match batch.map_err(|error| damage(&self.paths[input], &error, "a batch"))? {
                    Some(rows) => return Ok(Some(InputBatch { input, bytes, rows })),
                    None => continue,
                }
            }
            match self.left.pop_front() {
                Some((input, Left::Stream(messages))) => self.stream = Some((input, messages)),
                Some(file) => self.left.push_front(file),
                None => return Ok(None),
            }
        }
    }
}

fn decode(work: Work) {
    let Work { open, decoder, block, bytes_max, to } = work;
    let batch =
        caught(|| decoder.read_record_batch(&block, &read_block(&open, &block, bytes_max)?));
    // The receiver may be gone.
    let _ = to.send(batch);
}

impl Drop for ArrowReading {
    fn drop(&mut self) {
        self.work = None;
        self.awaited.clear();
        for thread in self.threads.drain(..) {
            // A panic was reported as a result.
            drop(thread.join());
        }
    }
}

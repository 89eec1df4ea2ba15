//! A job: what it may use, decided for this machine and these files, once.

use crate::limited::{Limited, limited_input};
use crate::machine::{MemoryLimits, caches, threads};
use crate::objects::Objects;
use crate::resources::Resources;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, DiskOptions, Found, LazyDisk, RateLimit, is_standard_output, is_url};
use xsort_extsort::variable::{
    LinesCheckpoint, LinesInput, OutputCodec, Recognised, recognise, unreadable,
};
use xsort_extsort::{
    Caches, Checkpoint, Error, LinesOptions, Observer, Reserved, scratch_directories,
};

/// What a job has: memory, threads and a disk.
///
/// ```text
/// asked for | objects | names of inputs, decoders | data
///           '-- budget_bytes ---------------------'--- data_bytes()
/// ```
pub struct Job {
    /// Memory in bytes, without what objects take.
    pub budget_bytes: u64,
    /// Threads that work, at least 1.
    pub threads: usize,
    /// Caches for which a sort in memory sizes its pieces.
    pub caches: Caches,
    /// All files and, where the job has some, objects. Its engine starts with the first file.
    pub disk: Arc<dyn Disk>,
    /// A line for the user, if the memory is less than was asked for.
    pub notice: Option<String>,
    /// What else than data the budget holds.
    reserved: Reserved,
    rate: Option<Arc<RateLimit>>,
    objects: Objects,
}

impl Resources {
    /// What a job has that reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// [`Error::Memory`] if objects leave no memory, and [`Error::Settings`] if an object is to be
    /// read back and none is written.
    pub fn job<P: AsRef<Path>>(
        &self,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
    ) -> Result<Job, Error> {
        let limits = MemoryLimits::read();
        let budget = limits.budget(self.memory);
        let threads = threads(self.threads);
        let objects = Objects::of_job(self, inputs, output, threads, budget.bytes)?;
        let rate = self.bandwidth.map(|bytes_per_second| {
            let cancel = self.cancel.clone();
            Arc::new(RateLimit::new(bytes_per_second, move || cancel.is_cancelled()))
        });
        let room = limits.available_bytes.saturating_sub(budget.bytes) / 2;
        let options = DiskOptions {
            io: self.io,
            gate: self.gate.clone(),
            rate: rate.clone(),
            no_clobber: self.no_clobber,
            cached_outputs: self.read_soon_bytes.is_some_and(|bytes| bytes <= room),
            ..DiskOptions::default()
        };
        let disk = objects.on(Arc::new(LazyDisk::new(options)), rate.clone());
        Ok(Job {
            budget_bytes: budget.bytes - objects.taken_bytes(),
            threads,
            caches: caches(self.cache_bytes),
            disk,
            notice: budget.notice,
            reserved: Reserved::default(),
            rate,
            objects,
        })
    }
}

impl Job {
    /// Takes a share of the budget for something else than data, instead of an earlier one of this
    /// name.
    pub fn reserve(&mut self, name: &'static str, bytes: u64) {
        self.reserved = self.reserved.with(name, bytes);
    }

    /// Memory for data in bytes. If the other shares leave none it is 0, and the job ends with an
    /// error that says how much is enough.
    pub fn data_bytes(&self) -> u64 {
        self.budget_bytes.saturating_sub(self.reserved.bytes())
    }

    /// An error about the [memory for data](Job::data_bytes), as one about all memory.
    pub fn total_from_data(&self, error: Error) -> Error {
        self.total_from_budget(add_bytes(error, self.reserved.bytes()))
    }

    /// An error about [`budget_bytes`](Job::budget_bytes), as one about all memory.
    pub fn total_from_budget(&self, error: Error) -> Error {
        add_bytes(error, self.objects.taken_bytes())
    }

    /// Inputs that are decompressed where they are compressed. Decoders are a share of the budget.
    ///
    /// # Errors
    /// If one can't be read, or is compressed in a way that isn't decompressed here.
    pub(crate) fn decompressed(
        &mut self,
        inputs: Vec<LinesInput>,
        observer: &dyn Observer,
    ) -> Result<Vec<LinesInput>, Error> {
        let budget_bytes = self.budget_bytes;
        let Recognised { inputs, taken_bytes, .. } = recognise(inputs, false, || budget_bytes)
            .map_err(|(path, error)| match observer.is_cancelled() {
                true => Error::Cancelled,
                false => unreadable(path, error),
            })?;
        self.reserve("decoders", taken_bytes);
        Ok(inputs)
    }

    /// Bytes of all these inputs, if their disk knows them: not those of compressed ones.
    pub(crate) fn known_bytes(&self, inputs: &[PathBuf]) -> Option<u64> {
        let bytes = |path: &PathBuf| match self.disk.find(path) {
            Ok(Found::File { bytes }) if OutputCodec::of_name(path).is_none() => Some(bytes),
            _ => None,
        };
        inputs.iter().map(bytes).sum()
    }

    /// The settings of the engine of lines and keyed records, for a sort to `output` with these
    /// directories for scratch.
    pub fn engine(&self, scratch: &[PathBuf], output: &Path) -> LinesOptions {
        LinesOptions {
            delimiter: b'\n',
            is_unique: false,
            budget_bytes: self.budget_bytes,
            reserved: self.reserved.clone(),
            threads: self.threads,
            caches: self.caches,
            scratch: scratch_directories(scratch, output),
            codec: None,
            output_file: None,
            checkpoint: None,
        }
    }

    /// The requests of a job with these inputs and this output, of so many bytes each, if there are
    /// objects among them; `lists` are those that found the inputs.
    #[cfg(feature = "objects")]
    pub fn requests<'p>(
        &self,
        inputs: impl IntoIterator<Item = (&'p Path, u64)>,
        output: (&Path, u64),
        lists: u64,
    ) -> Option<xsort_objects::Requests> {
        self.objects.requests(inputs, output, lists)
    }

    /// The limit of the bandwidth, in bytes a second.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.rate.as_ref().map(|rate| rate.bytes_per_second())
    }

    /// Opens what is at these paths, for a job that reads each as a stream: a URL by the disk,
    /// another path by `at`.
    ///
    /// # Errors
    /// If there is nothing at a URL, or its store can't tell.
    pub(crate) fn inputs(
        &self,
        paths: &[PathBuf],
        at: fn(&Path) -> LinesInput,
    ) -> Result<Vec<LinesInput>, Error> {
        self.disk.announce(&mut paths.iter().map(|path| &**path));
        paths.iter().map(|path| self.input(path, at)).collect()
    }

    /// Opens what is at one path: a URL by the disk, another path by `at`.
    ///
    /// # Errors
    /// If there is nothing at a URL, or its store can't tell.
    pub fn input(&self, path: &Path, at: fn(&Path) -> LinesInput) -> Result<LinesInput, Error> {
        let input = if is_url(path) { LinesInput::on(&self.disk, path)? } else { at(path) };
        Ok(self.hold(input))
    }

    /// The checkpoint of a sort of files to a file by an engine that reads streams. `meaning` is
    /// what the output depends on besides them.
    ///
    /// # Errors
    /// [`Error::Settings`] if the output or an input is no file.
    pub(crate) fn checkpoint(
        &self,
        checkpoint: Option<Checkpoint>,
        inputs: &[PathBuf],
        output: &Path,
        meaning: impl FnOnce() -> String,
    ) -> Result<Option<LinesCheckpoint>, Error> {
        let Some(checkpoint) = checkpoint else { return Ok(None) };
        let is_file = |path: &PathBuf| matches!(self.disk.find(path), Ok(Found::File { .. }));
        if is_standard_output(output) {
            return Err(not_resumable("needs an output file (-o)"));
        }
        if !inputs.iter().all(is_file) {
            let reason = "reads files only: what comes from a pipe can't be read again";
            return Err(not_resumable(reason));
        }
        let (output, inputs, meaning) = (output.to_owned(), inputs.to_vec(), meaning());
        Ok(Some(LinesCheckpoint { checkpoint, output, inputs, meaning }))
    }

    /// An input held to the limit of the bandwidth where it doesn't pass the disk.
    pub fn hold(&self, input: LinesInput) -> LinesInput {
        limited_input(input, self.rate.as_ref())
    }

    /// A stream of data held to the same limit.
    pub fn hold_stream<W: Write + Send + 'static>(&self, to: W) -> Box<dyn Write + Send> {
        match self.rate.clone() {
            Some(rate) => Box::new(Limited::new(to, rate)),
            None => Box::new(to),
        }
    }
}

/// An error about memory, with so much more on both sides.
fn add_bytes(error: Error, bytes: u64) -> Error {
    match error {
        Error::Memory { budget_bytes, needed_bytes } => {
            Error::Memory { budget_bytes: budget_bytes + bytes, needed_bytes: needed_bytes + bytes }
        }
        other => other,
    }
}

/// The refusal of a checkpoint.
fn not_resumable(what: &str) -> Error {
    Error::Settings(format!("a sort that can be resumed {what}"))
}

//! A job and its resources, each of which is decided once, for this machine and these files.

use crate::cancel::Cancel;
use crate::limited::{Limited, limited_input};
use crate::machine::MachineShare;
use crate::objects::Objects;
use crate::resources::Resources;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, DiskOptions, Found, OsDisk, RateLimit, is_standard_output, is_url};
use xsort_extsort::lines::{
    LinesCheckpoint, LinesInput, OutputCodec, Recognised, recognise, unreadable,
};
use xsort_extsort::{
    Caches, Checkpoint, Error, LinesOptions, Observer, Reservation, scratch_directories,
};

/// The resources of a job: memory, threads and a disk. The machine is asked for its memory,
/// processors and caches when they are first needed.
///
/// ```text
/// asked for | objects | names of inputs, decoders | data
///           '-- budget_bytes ---------------------'--- data_bytes()
/// ```
pub struct Job {
    /// The disk with all files, and objects if the job has any. Its engine starts with the first
    /// file.
    pub disk: Arc<dyn Disk>,
    machine: MachineShare,
    /// Shares of the budget that are not for data.
    pub(crate) reservation: Reservation,
    rate: Option<Arc<RateLimit>>,
    objects: Objects,
}

impl Resources {
    /// Decides the resources of a job that reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// [`Error::Memory`] if objects leave no memory.
    pub fn job<P: AsRef<Path>>(
        &self,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
    ) -> Result<Job, Error> {
        let machine = MachineShare::new(self.clone());
        let objects = Objects::named(inputs, output, &machine);
        objects.check_memory(&machine)?;
        Ok(Job::new(machine, objects))
    }

    /// Decides the resources of a job with this use of objects. The caller reserves the memory that
    /// they take ([`Job::object_bytes`]).
    #[cfg(feature = "objects")]
    pub fn job_with_objects(&self, objects: xsort_objects::ObjectUse) -> Job {
        let machine = MachineShare::new(self.clone());
        let objects = Objects::new(objects, &machine);
        Job::new(machine, objects)
    }

    /// Checks that an object is written, if [`verify_output`](Resources::verify_output) is set.
    /// `option` is what the user calls that.
    ///
    /// # Errors
    /// [`Error::Settings`] if none is written.
    pub fn check_output(&self, output: Option<&Path>, option: &str) -> Result<(), Error> {
        match self.verify_output && !output.is_some_and(is_url) {
            false => Ok(()),
            true => Err(Error::Settings(format!(
                "{option} reads an object back, and none is written: leave it out, or write to a \
                 URL (s3://, gs:// or az://)"
            ))),
        }
    }
}

impl Job {
    fn new(machine: MachineShare, objects: Objects) -> Job {
        let asked = &machine.asked;
        let rate = asked.bandwidth.map(|bytes_per_second| {
            let cancel = asked.cancel.clone();
            Arc::new(RateLimit::new(bytes_per_second, move || cancel.is_cancelled()))
        });
        let is_in_cache = |bytes| bytes <= machine.room_bytes();
        let options = DiskOptions {
            io: asked.io,
            gate: asked.gate.clone(),
            rate: rate.clone(),
            no_clobber: asked.no_clobber,
            is_cached: asked.is_cached,
            cached_outputs: asked.read_soon_bytes.is_some_and(is_in_cache),
            ..DiskOptions::default()
        };
        let disk = objects.on(Arc::new(OsDisk::lazy(options)), rate.clone());
        Job { disk, machine, reservation: Reservation::default(), rate, objects }
    }

    /// Returns the memory in bytes for everything that grows with the data.
    pub fn total_bytes(&self) -> u64 {
        self.machine.budget().bytes
    }

    /// Returns the part of the memory that objects take, in bytes.
    pub fn object_bytes(&self) -> u64 {
        self.objects.taken_bytes()
    }

    /// Returns the memory in bytes, excluding the memory for objects.
    pub fn budget_bytes(&self) -> u64 {
        self.total_bytes().saturating_sub(self.object_bytes())
    }

    /// Returns a message for the user if the memory is less than requested.
    pub fn notice(&self) -> Option<String> {
        self.machine.budget().notice
    }

    /// Returns the number of worker threads, at least 1.
    pub fn threads(&self) -> usize {
        self.machine.threads()
    }

    /// Returns the flag that stops the job.
    pub fn cancel(&self) -> &Cancel {
        &self.machine.asked.cancel
    }

    /// Returns the cache sizes to which a sort in memory adapts.
    pub fn caches(&self) -> Caches {
        self.machine.caches()
    }

    /// Reserves a named share of the budget for a purpose other than data. Replaces an earlier
    /// share of this name.
    pub fn reserve(&mut self, name: &'static str, bytes: u64) {
        self.reservation = self.reservation.clone().without(name).with(name, bytes);
    }

    /// Returns the bytes of memory for data. If the other shares leave none, it is 0, and the job
    /// ends with an error that says how much memory is enough.
    pub fn data_bytes(&self) -> u64 {
        self.budget_bytes().saturating_sub(self.reserved_bytes())
    }

    /// Converts an error about the [memory for data](Job::data_bytes) to one about all memory.
    pub fn total_from_data(&self, error: Error) -> Error {
        self.total_from_budget(add_bytes(error, self.reserved_bytes()))
    }

    /// Returns the budget that is left, in bytes, and the number of threads.
    pub fn budget_and_threads(&self) -> (u64, usize) {
        (self.budget_bytes(), self.threads())
    }

    fn reserved_bytes(&self) -> u64 {
        self.reservation.of(self.budget_bytes())
    }

    /// Converts an error about [`budget_bytes`](Job::budget_bytes) to one about all memory.
    pub fn total_from_budget(&self, error: Error) -> Error {
        add_bytes(error, self.object_bytes())
    }

    /// Returns the inputs, the compressed ones decompressed. Reserves the decoders' share of the
    /// budget.
    ///
    /// # Errors
    /// If an input can't be read, or its compression isn't supported.
    pub fn decompressed(
        &mut self,
        inputs: Vec<LinesInput>,
        observer: &dyn Observer,
    ) -> Result<Vec<LinesInput>, Error> {
        let Recognised { inputs, reservation, .. } = recognise(inputs, false, || {
            self.budget_and_threads()
        })
        .map_err(|(path, error)| match observer.is_cancelled() {
            true => Error::Cancelled,
            false => unreadable(path, error),
        })?;
        self.reservation = self.reservation.clone().and(reservation);
        Ok(inputs)
    }

    /// Returns the total size of these inputs in bytes. `None` if the disk doesn't know it, or if
    /// an input is compressed.
    pub(crate) fn known_bytes(&self, inputs: &[PathBuf]) -> Option<u64> {
        let bytes = |path: &PathBuf| match self.disk.find(path) {
            Ok(Found::File { bytes }) if OutputCodec::of_name(path).is_none() => Some(bytes),
            _ => None,
        };
        inputs.iter().map(bytes).sum()
    }

    /// Returns the settings of the engine of lines and keyed records, for a sort to `output` with
    /// these scratch directories.
    pub fn engine(&self, scratch: &[PathBuf], output: &Path) -> LinesOptions {
        LinesOptions {
            reservation: self.reservation.clone(),
            caches: self.caches(),
            scratch: scratch_directories(scratch, output),
            ..LinesOptions::new(self.budget_bytes(), self.threads())
        }
    }

    /// Returns the number of requests of a job with these inputs and this output, each with its
    /// size in bytes. `None` if none of them is an object. `lists` is the number of list requests
    /// that found the inputs.
    #[cfg(feature = "objects")]
    pub fn requests<'p>(
        &self,
        inputs: impl IntoIterator<Item = (&'p Path, u64)>,
        output: (&Path, u64),
        lists: u64,
    ) -> Option<xsort_objects::Requests> {
        self.objects.requests(inputs, output, lists)
    }

    /// Returns the bandwidth limit.
    pub fn rate(&self) -> Option<&Arc<RateLimit>> {
        self.rate.as_ref()
    }

    /// Opens inputs that the job reads as streams. The disk opens URLs; `at` opens other paths.
    ///
    /// # Errors
    /// If nothing exists at a URL, or its store can't tell.
    pub(crate) fn inputs(
        &self,
        paths: &[PathBuf],
        at: fn(&Path) -> LinesInput,
    ) -> Result<Vec<LinesInput>, Error> {
        self.disk.announce(&mut paths.iter().map(|path| &**path));
        paths.iter().map(|path| self.input(path, at)).collect()
    }

    /// Opens one input. The disk opens a URL; `at` opens any other path.
    ///
    /// # Errors
    /// If nothing exists at a URL, or its store can't tell.
    pub fn input(&self, path: &Path, at: fn(&Path) -> LinesInput) -> Result<LinesInput, Error> {
        let input = if is_url(path) { LinesInput::on(&self.disk, path)? } else { at(path) };
        Ok(self.hold(input))
    }

    /// Returns the checkpoint of a sort from files to a file, by an engine that reads streams.
    /// `meaning` returns everything else that the output depends on.
    ///
    /// # Errors
    /// [`Error::Settings`] if the output or an input is not a file.
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

    /// Applies the bandwidth limit to an input that bypasses the disk.
    pub fn hold(&self, input: LinesInput) -> LinesInput {
        limited_input(input, self.rate.as_ref())
    }

    /// Applies the bandwidth limit to an output stream.
    pub fn hold_stream<'w>(&self, to: impl Write + Send + 'w) -> Box<dyn Write + Send + 'w> {
        match self.rate.clone() {
            Some(rate) => Box::new(Limited::new(to, rate)),
            None => Box::new(to),
        }
    }
}

/// Adds `bytes` to both figures of an error about memory.
fn add_bytes(error: Error, bytes: u64) -> Error {
    match error {
        Error::Memory { budget_bytes, needed_bytes } => {
            Error::Memory { budget_bytes: budget_bytes + bytes, needed_bytes: needed_bytes + bytes }
        }
        other => other,
    }
}

/// Returns the error that refuses a checkpoint.
fn not_resumable(what: &str) -> Error {
    Error::Settings(format!("a sort that can be resumed {what}"))
}

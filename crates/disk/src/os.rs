//! The operating system's disk: direct files and the engine that moves their bytes.
//!
//! A thin layer that combines the other files into a [`Disk`]: `file` decides a file's flags,
//! `output` how an output appears, `persistent` which files outlive the process. `uring` or
//! `threads` move the bytes, or `cache` copies them from memory.

use crate::cache::CacheReader;
use crate::file::OpenFile;
use crate::file_table::FileTable;
use crate::notices::Notices;
use crate::options::{DiskOptions, IoChoice};
use crate::output::PendingOutput;
use crate::snapshot::{Snapshot, modified};
use crate::stream::{StreamOutput, is_standard_output};
use crate::system;
use crate::threads::{ThreadPool, carry_out};
use crate::transfer::Transfer;
use crate::uring::UringEngine;
use crate::{
    Disk, Drive, Error, FileId, FileIdentity, Found, InputFiles, ListedFile, Operation,
    OutputFiles, Request, ScratchFiles, StoredPart, drive, nameless, output, output_place,
    persistent, place,
};
use parking_lot::Mutex;
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, ftruncate, open, stat, unlink};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Maximum number of open inputs, if the system allows four times as many files. Each takes one or
/// two kilobytes of kernel memory.
const INPUTS_OPEN_MAX: u64 = 8192;

/// The operating system's files, read and written with direct I/O if possible.
///
/// Dropping it with transfers in flight waits for them; their completions are sent as usual.
#[derive(Debug)]
pub struct OsDisk {
    options: DiskOptions,
    /// What moves the bytes, once it is started.
    mover: OnceLock<Mover>,
    starting: Mutex<()>,
    /// Threads for FUSE files if the engine is io_uring. Started by the first transfer of a FUSE
    /// file; `None` if no thread could be started.
    fuse: OnceLock<Option<ThreadPool>>,
    /// The thread for files that go through the page cache on purpose. Started by the first such
    /// transfer; `None` if that failed. One thread, because the kernel serialises writes to a file.
    cached: OnceLock<Option<ThreadPool>>,
    /// Standard output, once it is opened as an output.
    stream: OnceLock<StreamOutput>,
    notices: Arc<Notices>,
    /// Numbers of direct and buffered files opened so far, for `describe`.
    direct_files: AtomicUsize,
    buffered_files: AtomicUsize,
}

/// What the first file starts.
#[derive(Debug)]
struct Mover {
    files: FileTable,
    engine: Engine,
    cache: CacheReader,
    /// Number of threads in a pool of I/O threads.
    threads: usize,
}

#[derive(Debug)]
enum Engine {
    Uring(UringEngine),
    Threads(ThreadPool),
    /// The thread that submits a transfer carries it out.
    Caller,
}

impl Engine {
    fn start(&self, transfer: Transfer) {
        match self {
            Engine::Uring(engine) => engine.start(transfer),
            Engine::Threads(pool) => pool.start(transfer),
            Engine::Caller => carry_out(transfer),
        }
    }

    /// Returns the number of transfers under way.
    fn load(&self) -> usize {
        match self {
            Engine::Uring(engine) => engine.load(),
            Engine::Threads(pool) => pool.load(),
            Engine::Caller => 0,
        }
    }
}

impl Mover {
    fn start(options: &DiskOptions, notices: &Notices) -> Result<Mover, Error> {
        let (depth, rings) = (options.depth(), options.rings());
        let count = depth * rings;
        let threads = || ThreadPool::new(count, carry_out).map(Engine::Threads);
        let engine = match options.io {
            _ if options.is_cached => Engine::Caller,
            IoChoice::Sync => threads()?,
            IoChoice::Uring => UringEngine::new(rings, depth)
                .map(Engine::Uring)
                .map_err(|refusal| Error::new(Operation::Start, "io_uring", refusal.required()))?,
            IoChoice::Auto => match UringEngine::new(rings, depth) {
                Ok(engine) => Engine::Uring(engine),
                Err(refusal) => {
                    if let Some(notice) = refusal.preferred() {
                        notices.add(notice);
                    }
                    threads()?
                }
            },
        };
        // The table doesn't count suspended inputs that a transfer still holds. The rest of the
        // limit is for them, and for outputs, scratch and rings.
        let quarter = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4;
        let files = FileTable::new(quarter.min(INPUTS_OPEN_MAX) as usize);
        Ok(Mover { files, engine, cache: CacheReader::new(rings), threads: count })
    }
}

impl OsDisk {
    /// Creates a disk whose engine starts with the first file. Starting rings and threads takes
    /// longer than sorting a thousand lines, and a sort that never leaves memory needs none. An
    /// engine that can't be started is an error of the call that opens the first file.
    pub fn lazy(options: DiskOptions) -> OsDisk {
        OsDisk {
            options,
            mover: OnceLock::new(),
            starting: Mutex::new(()),
            fuse: OnceLock::new(),
            cached: OnceLock::new(),
            stream: OnceLock::new(),
            notices: Arc::default(),
            direct_files: AtomicUsize::new(0),
            buffered_files: AtomicUsize::new(0),
        }
    }

    /// Creates a disk and starts its engine.
    ///
    /// # Errors
    /// [`Operation::Start`] if io_uring was demanded and is unavailable (the text names the likely
    /// cause and the remedy), or if no thread could be started.
    pub fn new(options: DiskOptions) -> Result<OsDisk, Error> {
        let disk = OsDisk::lazy(options);
        disk.ensure_started()?;
        Ok(disk)
    }

    /// Starts the engine, unless it is started. Every call that opens a file begins with this.
    fn ensure_started(&self) -> Result<(), Error> {
        let _one_at_a_time = self.starting.lock();
        if self.mover.get().is_none() {
            let mover = Mover::start(&self.options, &self.notices)?;
            self.mover.set(mover).expect("one thread at a time starts it");
        }
        Ok(())
    }

    fn mover(&self) -> &Mover {
        self.mover.get().expect("opening the file has started the disk")
    }

    /// Opens an input without adding it to the table.
    fn open_input_file(&self, path: &Path) -> Result<OpenFile, Error> {
        let (fd, opened) = open_regular(path, OFlags::RDONLY)?;
        // Files in /proc and similar file systems report a length of 0, which a sort would believe.
        if opened.st_size == 0 && rustix::io::pread(&fd, &mut [0; 1], 0) == Ok(1) {
            let reason = "the system doesn't say how long it is: name '-', and redirect standard \
                 input from it";
            let source = io::Error::new(io::ErrorKind::InvalidInput, reason);
            return Err(Error::new(Operation::Open, path, source));
        }
        let mut file = self.open_file(fd, path);
        file.snapshot = Some(Snapshot::from(&opened));
        Ok(file)
    }

    /// Wraps a file, direct if possible, unless all files go through the page cache.
    fn open_file(&self, fd: OwnedFd, path: &Path) -> OpenFile {
        match self.options.is_cached {
            true => OpenFile::buffered(fd, path, &self.notices),
            false => OpenFile::new(fd, path, &self.notices),
        }
    }

    /// Returns an open file; reopens a suspended input.
    fn get(&self, file: FileId) -> Result<Arc<OpenFile>, Error> {
        self.mover().files.get(file, |path| self.open_input_file(path))
    }

    fn insert_output(&self, path: &Path, (fd, pending): (OwnedFd, PendingOutput)) -> FileId {
        if let Some(lost) = pending.lost_owner() {
            self.notices.add(lost.notice(path));
        }
        let mut file = match self.options.cached_outputs {
            true => OpenFile::cached(fd, path, &self.notices),
            false => self.open_file(fd, path),
        };
        file.pending = Some(pending);
        self.insert(file)
    }

    /// Passes a transfer to the engine. Transfers of FUSE files and of cached files always go to
    /// threads.
    ///
    /// If a FUSE file system returns fewer bytes than requested, io_uring continues at the wrong
    /// offset and reports success (Linux 6.18, 2026-11-21: of an 8 KiB read whose first answer had
    /// 4 KiB, the other 4 KiB were not the file's). pread reports the short count.
    fn start(&self, transfer: Transfer) {
        let Mover { engine, threads, .. } = self.mover();
        let (pool, threads) = match engine {
            Engine::Uring(_) if transfer.file.is_fuse => (&self.fuse, *threads),
            Engine::Uring(_) if transfer.file.is_cached => (&self.cached, 1),
            engine => return engine.start(transfer),
        };
        match pool.get_or_init(|| ThreadPool::new(threads, carry_out).ok()) {
            Some(pool) => pool.start(transfer),
            None => carry_out(transfer),
        }
    }

    /// Opens standard output as an output.
    fn open_stream(&self, path: &Path) -> Result<FileId, Error> {
        let (fd, is_on_drive) = StreamOutput::descriptor()?;
        if self.stream.get().is_none() {
            let _ = self.stream.set(StreamOutput::start()?);
        }
        let mut file = OpenFile::buffered(fd, path, &self.notices);
        (file.is_stream, file.is_memory) = (true, !is_on_drive);
        Ok(self.mover().files.insert(file))
    }

    fn stream(&self) -> &StreamOutput {
        self.stream.get().expect("started when the file was opened")
    }

    fn insert(&self, file: OpenFile) -> FileId {
        let count = if file.is_direct() { &self.direct_files } else { &self.buffered_files };
        count.fetch_add(1, Ordering::Relaxed);
        self.mover().files.insert(file)
    }
}

/// Refuses a persistent file that could not be removed.
fn refuse_unremovable(path: &Path) -> Result<(), Error> {
    output_place::refuse_unremovable(path).map_err(Operation::Persist.failed_on(path))
}

impl InputFiles for OsDisk {
    fn find(&self, path: &Path) -> Result<Found, Error> {
        place::find(path)
    }

    fn list(
        &self,
        prefix: &Path,
        found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        place::list(prefix, found)
    }

    fn open_input(&self, path: &Path) -> Result<FileId, Error> {
        self.ensure_started()?;
        Ok(self.insert(self.open_input_file(path)?))
    }

    fn check_unchanged(&self, input: FileId) -> Result<(), Error> {
        let file = self.get(input)?;
        let opened = file.snapshot.expect("only an input is checked");
        let stat = fstat(file.as_fd()).map_err(Operation::Inspect.failed_on(file.path()))?;
        match opened.changed_to(&Snapshot::from(&stat)) {
            None => Ok(()),
            Some(how) => Err(Error::new(Operation::Read, file.path(), io::Error::other(how))),
        }
    }

    fn remove_input(&self, input: FileId) -> Result<(), Error> {
        let file = self.get(input)?;
        let fail = |source: io::Error| Error::new(Operation::Remove, file.path(), source);
        // The space belongs to the link's target. Without the target the link leads nowhere, so
        // remove both.
        let target = std::fs::canonicalize(file.path()).map_err(fail)?;
        let opened = file.snapshot.expect("only an input is removed");
        let named = Snapshot::from(&stat(&target).map_err(|errno| fail(errno.into()))?);
        if (named.device, named.inode) != (opened.device, opened.inode) {
            return Err(fail(io::Error::other("its name is another file's by now")));
        }
        if named != opened {
            return Err(fail(io::Error::other("it was changed since it was opened")));
        }
        unlink(&target).map_err(|errno| fail(errno.into()))?;
        match unlink(file.path()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(fail(errno.into())),
        }
    }
}

impl ScratchFiles for OsDisk {
    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error> {
        self.ensure_started()?;
        place::refuse_scratch_at_url(directory)?;
        let fd = nameless::create_scratch(directory).map_err(|errno| {
            Error::new(Operation::Create, directory.join("(scratch file)"), errno)
        })?;
        Ok(self.insert(self.open_file(fd, directory)))
    }

    fn create_memory(&self) -> Result<FileId, Error> {
        self.ensure_started()?;
        let name = Path::new("(memory)");
        let fd = system::memory_file().map_err(Operation::Create.failed_on(name))?;
        // Doesn't use `insert`: reports and notices are about files on drives.
        let mut file = OpenFile::buffered(fd, name, &self.notices);
        file.is_memory = true;
        Ok(self.mover().files.insert(file))
    }

    fn create_persistent(&self, path: &Path) -> Result<FileId, Error> {
        self.ensure_started()?;
        refuse_unremovable(path)?;
        let fd = persistent::create(path).map_err(Operation::Persist.failed_on(path))?;
        Ok(self.insert(self.open_file(fd, path)))
    }

    fn open_persistent(&self, path: &Path) -> Result<FileId, Error> {
        self.ensure_started()?;
        let fd = persistent::open_existing(path).map_err(Operation::Persist.failed_on(path))?;
        Ok(self.insert(self.open_file(fd, path)))
    }

    fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error> {
        self.ensure_started()?;
        refuse_unremovable(path)?;
        let (fd, is_new) =
            persistent::open_or_create(path).map_err(Operation::Persist.failed_on(path))?;
        Ok((self.insert(self.open_file(fd, path)), is_new))
    }

    fn remove_persistent(&self, file: FileId) -> Result<(), Error> {
        let file = self.get(file)?;
        let removed = match &file.pending {
            Some(pending) => pending.remove_hidden(file.as_fd()),
            None => persistent::remove(CWD, file.path(), file.as_fd()),
        };
        removed.map_err(Operation::Remove.failed_on(file.path()))
    }

    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        let file = self.get(file)?;
        if file.is_stream {
            return Ok(());
        }
        reserve(&file, bytes).map_err(Operation::Reserve.failed_on(file.path()))
    }

    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error> {
        let file = self.get(file)?;
        match retry(|| system::punch_hole(file.as_fd(), offset, bytes)) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(Error::at(Operation::Discard, file.path(), offset, errno)),
        }
    }
}

impl OutputFiles for OsDisk {
    fn create_output(&self, path: &Path) -> Result<FileId, Error> {
        self.ensure_started()?;
        if is_standard_output(path) {
            return self.open_stream(path);
        }
        Ok(self.insert_output(path, output::create(path, self.options.no_clobber)?))
    }

    fn create_persistent_output(&self, path: &Path, tag: &str) -> Result<(FileId, String), Error> {
        self.ensure_started()?;
        let file = self
            .insert_output(path, output::create_persistent(path, tag, self.options.no_clobber)?);
        Ok((file, tag.to_owned()))
    }

    fn open_persistent_output(
        &self,
        path: &Path,
        tag: &str,
        _parts: &[StoredPart],
    ) -> Result<FileId, Error> {
        self.ensure_started()?;
        let output = output::open_persistent(path, tag, self.options.no_clobber)?;
        Ok(self.insert_output(path, output))
    }

    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error> {
        let file = self
            .mover()
            .files
            .remove(output)
            .unwrap_or_else(|| panic!("output {} is not open", output.0));
        let mut file = Arc::into_inner(file)
            .expect("an output is published only after all its transfers have completed");
        if file.is_stream {
            return self.stream().finish(file.as_fd(), bytes, sync);
        }
        let pending = file.pending.take().expect("only an output can be published");
        pending.publish(file.as_fd(), bytes, sync)
    }

    fn sync_name(&self, output: &Path) -> Result<(), Error> {
        output::sync_name(output)
    }

    fn open_in_place(&self, path: &Path) -> Result<FileId, Error> {
        self.ensure_started()?;
        let (fd, _) = open_regular(path, OFlags::WRONLY)?;
        Ok(self.insert(self.open_file(fd, path)))
    }

    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        let file = self.get(file)?;
        if file.is_stream {
            self.stream().set_end(bytes);
            return Ok(());
        }
        ftruncate(file.as_fd(), bytes).map_err(Operation::Write.failed_on(file.path()))
    }
}

impl Disk for OsDisk {
    fn submit(&self, request: Request) {
        let file = match self.get(request.file) {
            Ok(file) => file,
            Err(error) => return request.complete(Err(error)),
        };
        if request.bytes == 0 {
            drop(file);
            return request.complete(Ok(()));
        }
        if let Some(gate) = &self.options.gate {
            gate.pass();
        }
        if let Some(rate) = self.options.rate.as_ref().filter(|_| !file.is_memory) {
            rate.pass(request.bytes as u64);
        }
        let is_stream = file.is_stream;
        let transfer = Transfer::new(request, file);
        if is_stream {
            return self.stream().submit(transfer);
        }
        if self.options.is_cached {
            return carry_out(transfer);
        }
        let Mover { cache, engine, .. } = self.mover();
        if let Some(transfer) = cache.take_over(transfer, engine.load()) {
            self.start(transfer);
        }
    }

    fn file_bytes(&self, file: FileId) -> Result<u64, Error> {
        let file = self.get(file)?;
        let stat = fstat(file.as_fd()).map_err(Operation::Inspect.failed_on(file.path()))?;
        Ok(stat.st_size as u64)
    }

    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "the numbers have fewer bits on some machines"
    )]
    fn identity(&self, file: FileId) -> Result<FileIdentity, Error> {
        let file = self.get(file)?;
        let stat = fstat(file.as_fd()).map_err(Operation::Inspect.failed_on(file.path()))?;
        Ok(FileIdentity {
            drive: stat.st_dev as u64,
            number: stat.st_ino,
            links: u64::from(stat.st_nlink),
            modified: modified(&stat),
            content: 0,
        })
    }

    fn sync(&self, file: FileId) -> Result<(), Error> {
        let file = self.get(file)?;
        retry(|| system::fdatasync(file.as_fd())).map_err(Operation::Sync.failed_on(file.path()))
    }

    fn close(&self, file: FileId) {
        self.mover().files.remove(file);
    }

    fn drive(&self, path: &Path) -> Result<Drive, Error> {
        let limit_bytes_per_second = self.options.rate.as_ref().map(|rate| rate.bytes_per_second());
        Ok(Drive { limit_bytes_per_second, ..drive::of_path(path)? })
    }

    fn path(&self, file: FileId) -> PathBuf {
        self.mover().files.path(file)
    }

    fn describe(&self) -> String {
        let Some(Mover { engine, cache, .. }) = self.mover.get() else {
            return "not used".to_owned();
        };
        let engine = match engine {
            Engine::Uring(engine) if self.fuse.get().is_some() => {
                format!("{}, threads for fuse", engine.describe())
            }
            Engine::Uring(engine) => engine.describe(),
            Engine::Threads(pool) => format!("{} I/O threads", pool.threads()),
            Engine::Caller => "calling threads".to_owned(),
        };
        let opened = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
        let files = match (opened(&self.direct_files), opened(&self.buffered_files)) {
            (_, false) => "direct",
            (false, true) => "buffered",
            (true, true) => "direct and buffered",
        };
        let mut text = format!("{engine}, {files}");
        if let bytes @ 1.. = cache.bytes() {
            text += &format!(", {:.2} GB from the page cache", bytes as f64 / 1e9);
        }
        if let Some(lacks) = system::LACKS {
            text += &format!(" ({lacks})");
        }
        if let Some(rate) = &self.options.rate {
            let megabytes = rate.bytes_per_second() as f64 / 1e6;
            text += &format!(", at most {megabytes:.1} MB/s");
        }
        text
    }

    fn notices(&self) -> Vec<String> {
        self.notices.take()
    }
}

/// Opens a file; an error if it is not a regular file.
fn open_regular(path: &Path, access: OFlags) -> Result<(OwnedFd, Stat), Error> {
    place::refuse_url(Operation::Open, path)?;
    let fail = |source: io::Error| Error::new(Operation::Open, path, source);
    let is_regular = |stat: &Stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Fifo | FileType::CharacterDevice => Err(fail(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file: name '-', and redirect standard input from it",
        ))),
        _ => Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))),
    };
    // Checked before opening: opening a pipe would wait for its other end, and opening a device may
    // have any effect.
    is_regular(&stat(path).map_err(|errno| fail(errno.into()))?)?;
    let fd =
        open(path, access | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| fail(errno.into()))?;
    let opened = fstat(&fd).map_err(|errno| fail(errno.into()))?;
    is_regular(&opened)?;
    Ok((fd, opened))
}

/// Extends a file to at least `bytes` bytes, and reserves the space if the file system supports
/// that.
fn reserve(file: &OpenFile, bytes: u64) -> Result<(), Errno> {
    // Only beyond the end: reserving existing data costs time and would fill its holes again.
    let end = fstat(file.as_fd())?.st_size as u64;
    if bytes <= end {
        return Ok(());
    }
    match retry(|| system::extend(file.as_fd(), end, bytes - end)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => ftruncate(file.as_fd(), bytes),
        result => result,
    }
}

/// Repeats a call that a signal interrupted. Reserving many gigabytes takes long enough for that.
fn retry(call: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    rustix::io::retry_on_intr(call)
}

//! A simulated disk: files in memory, faults on demand, and completions in an order that no caller
//! should rely on.
//!
//! An ordinary implementation of [`Disk`], for the tests of a disk's callers. The seed decides what
//! fails (see [`SimOptions`]); transfers handle failures with the same state machine as the real
//! engines. Requests that break the contract panic, and reading discarded data is an error, so that
//! tests find such mistakes.
//!
//! It models time only if the options name drives with rates (see [`SimDrive`]).

mod content;
mod drives;
mod faults;
mod file_system;
mod queue;
mod workers;

pub use drives::{SimDrive, Throttle};
pub use faults::{Corruption, Damage, Fault, FaultSite, FileRole, SimOptions};

use crate::hidden_name::hidden_name;
use crate::{
    Disk, Drive, Error, FileId, FileIdentity, Found, InputFiles, ListedFile, Operation,
    OutputFiles, Request, ScratchFiles, StoredPart,
};
use file_system::{FileSystem, Handle};
use parking_lot::{Mutex, MutexGuard};
use queue::{Queue, SimTransfer};
use rustix::io::Errno;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workers::Shared;

/// Free space of a disk without a limit, in bytes.
const UNLIMITED_BYTES: u64 = 1 << 50;

/// A disk in memory that fails as its options say. All directories exist on it, and it treats a URL
/// like any other path.
///
/// Dropping it with transfers in flight waits for them.
#[derive(Debug)]
pub struct SimDisk {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl SimDisk {
    /// Creates an empty disk.
    ///
    /// # Panics
    /// If a share or a rate in the options is out of its range.
    pub fn new(options: SimOptions) -> SimDisk {
        options.check();
        let threads = if options.threads == 0 { 3 } else { options.threads };
        let queue = Queue::new(options.drives.len());
        let shared = Arc::new(Shared { options, file_system: Mutex::default(), queue });
        let work = |_| {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("xsort-sim".to_owned())
                .spawn(move || shared.work())
                .expect("a test can start a few threads")
        };
        let threads = (0..threads).map(work).collect();
        SimDisk { shared, threads }
    }

    /// Creates or replaces a file durably.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.file_system().put(path.as_ref(), bytes.as_ref());
    }

    /// Durably overwrites the file with this name, as another program might while it is open.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn overwrite(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.file_system().overwrite(path.as_ref(), bytes.as_ref());
    }

    /// Durably removes a name, as another program might.
    pub fn remove(&self, path: impl AsRef<Path>) {
        self.file_system().remove_durably(path.as_ref());
    }

    /// Returns the bytes of the file with this name, if it exists.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.file_system().get(path.as_ref())
    }

    /// Returns all names, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.file_system().paths()
    }

    /// Returns the number of open files.
    pub fn open_files(&self) -> usize {
        self.file_system().open_files()
    }

    /// Returns the space that open scratch files take, in bytes.
    pub fn scratch_bytes(&self) -> u64 {
        self.file_system().space(FileRole::Scratch)
    }

    /// Returns the space that all files take, open or named, in bytes.
    pub fn space_bytes(&self) -> u64 {
        self.file_system().space_taken()
    }

    /// Cuts the power after `operations` more operations; see [`SimOptions::power_goes_after`].
    pub fn power_goes_after(&self, operations: u64) {
        self.file_system().power_goes_after(operations);
    }

    /// Stops the machine and starts it again. Only durable names and bytes remain, and all files
    /// are closed. Transfers still under way fail with EIO, as do calls with file numbers from
    /// before the cut.
    pub fn power_cut(&self) {
        self.file_system().power_cut();
    }

    /// Waits until no transfer is under way, as the end of a process does.
    pub fn await_transfers(&self) {
        while self.file_system().transfers() > 0 {
            thread::sleep(Duration::from_micros(100));
        }
    }

    fn file_system(&self) -> MutexGuard<'_, FileSystem> {
        self.shared.file_system.lock()
    }

    /// Executes one step of a call other than a transfer: counts it, and fails if the options say
    /// so.
    fn step(
        &self,
        file_system: &mut FileSystem,
        operation: Operation,
        handle: &Handle,
        step: u32,
    ) -> Result<(), Error> {
        let fail = |errno| Error::new(operation, &handle.path, errno);
        if handle.boot != file_system.boot {
            return Err(fail(Errno::IO));
        }
        file_system.operate(self.shared.options.power_goes_after).map_err(fail)?;
        self.shared
            .options
            .fault(operation, handle.role, step)
            .map_or(Ok(()), |errno| Err(fail(errno)))
    }

    /// Executes a call about a file that has no handle yet: counts it, and fails if the options say
    /// so, else as `call` does.
    fn at_path<T>(
        &self,
        operation: Operation,
        role: FileRole,
        path: &Path,
        call: impl FnOnce(&mut FileSystem) -> Result<T, Errno>,
    ) -> Result<T, Error> {
        let mut file_system = self.file_system();
        let handle = Handle {
            inode: 0,
            role,
            path: path.to_owned(),
            boot: file_system.boot,
            version: 0,
            is_locked: false,
        };
        self.step(&mut file_system, operation, &handle, 0)?;
        call(&mut file_system).map_err(operation.failed_on(path))
    }

    /// Executes a call about an open file, like `at_path`. `step` distinguishes calls of one
    /// operation.
    fn on_file<T>(
        &self,
        operation: Operation,
        file: FileId,
        step: u32,
        call: impl FnOnce(&mut FileSystem, &Handle) -> Result<T, Errno>,
    ) -> Result<T, Error> {
        let mut file_system = self.file_system();
        let handle = file_system.handle(file);
        self.step(&mut file_system, operation, &handle, step)?;
        call(&mut file_system, &handle).map_err(operation.failed_on(&handle.path))
    }

    fn create(&self, role: FileRole, path: &Path) -> Result<FileId, Error> {
        self.at_path(Operation::Create, role, path, |files| Ok(files.create(role, path)))
    }

    fn publish_steps(
        &self,
        file_system: &mut FileSystem,
        handle: &Handle,
        bytes: u64,
        sync: bool,
    ) -> Result<(), Error> {
        self.step(file_system, Operation::Write, handle, 0)?;
        file_system.truncate(handle.inode, bytes);
        if sync {
            self.step(file_system, Operation::Sync, handle, 0)?;
            file_system.sync(handle.inode);
        }
        self.step(file_system, Operation::Rename, handle, 0)?;
        file_system.rename(handle.inode, &handle.path);
        if sync {
            self.step(file_system, Operation::SyncName, handle, 0)?;
            file_system.sync_name(&handle.path);
        }
        Ok(())
    }
}

impl InputFiles for SimDisk {
    fn find(&self, path: &Path) -> Result<Found, Error> {
        self.at_path(Operation::Inspect, FileRole::Input, path, |files| Ok(files.find(path)))
    }

    fn list(
        &self,
        prefix: &Path,
        found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let list = |files: &mut FileSystem| Ok(files.list(prefix));
        let listed = self.at_path(Operation::Inspect, FileRole::Input, prefix, list)?;
        let _ = listed.into_iter().try_for_each(found);
        Ok(())
    }

    fn open_input(&self, path: &Path) -> Result<FileId, Error> {
        let role = FileRole::Input;
        self.at_path(Operation::Open, role, path, |files| files.open(path, role))
    }

    fn check_unchanged(&self, input: FileId) -> Result<(), Error> {
        let is_same = |files: &mut FileSystem, handle: &Handle| {
            Ok(files.version(handle.inode) == handle.version)
        };
        if self.on_file(Operation::Inspect, input, 2, is_same)? {
            return Ok(());
        }
        let changed = io::Error::other("it was written to since it was opened");
        Err(Error::new(Operation::Read, self.path(input), changed))
    }

    fn remove_input(&self, input: FileId) -> Result<(), Error> {
        self.on_file(Operation::Remove, input, 0, |files, handle| files.remove(&handle.path))
    }
}

impl ScratchFiles for SimDisk {
    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error> {
        self.create(FileRole::Scratch, directory)
    }

    /// An ordinary scratch file: here all files are in memory.
    fn create_memory(&self) -> Result<FileId, Error> {
        self.create(FileRole::Scratch, "memory".as_ref())
    }

    fn create_persistent(&self, path: &Path) -> Result<FileId, Error> {
        let create = |files: &mut FileSystem| files.create_persistent(path);
        self.at_path(Operation::Persist, FileRole::Scratch, path, create)
    }

    fn open_persistent(&self, path: &Path) -> Result<FileId, Error> {
        let role = FileRole::Scratch;
        let open = |files: &mut FileSystem| files.open_persistent(path, path, role);
        self.at_path(Operation::Persist, role, path, open)
    }

    fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error> {
        let role = FileRole::Scratch;
        self.at_path(Operation::Persist, role, path, |files| {
            match files.open_persistent(path, path, role) {
                Err(Errno::NOENT) => files.create_persistent(path).map(|file| (file, true)),
                opened => opened.map(|file| (file, false)),
            }
        })
    }

    fn remove_persistent(&self, file: FileId) -> Result<(), Error> {
        self.on_file(Operation::Remove, file, 0, |files, handle| {
            files.remove_persistent(handle.inode);
            Ok(())
        })
    }

    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        let capacity = self.shared.options.capacity_bytes;
        self.on_file(Operation::Reserve, file, 0, |files, handle| {
            files.reserve(handle.inode, 0, bytes, capacity)
        })
    }

    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error> {
        self.on_file(Operation::Discard, file, 0, |files, handle| {
            files.discard(handle.inode, offset, bytes);
            Ok(())
        })
    }
}

impl OutputFiles for SimDisk {
    fn create_output(&self, path: &Path) -> Result<FileId, Error> {
        self.create(FileRole::Output, path)
    }

    fn create_persistent_output(&self, path: &Path, tag: &str) -> Result<(FileId, String), Error> {
        let hidden = persistent_name(path, tag);
        let create = |files: &mut FileSystem| files.create_persistent_output(path, &hidden);
        let file = self.at_path(Operation::Persist, FileRole::Output, path, create)?;
        Ok((file, tag.to_owned()))
    }

    fn open_persistent_output(
        &self,
        path: &Path,
        tag: &str,
        _parts: &[StoredPart],
    ) -> Result<FileId, Error> {
        let (role, hidden) = (FileRole::Output, persistent_name(path, tag));
        let open = |files: &mut FileSystem| Ok(files.open_persistent(&hidden, path, role));
        let opened = self.at_path(Operation::Persist, role, path, open)?;
        opened.map_err(Operation::Persist.failed_on(hidden))
    }

    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error> {
        let mut file_system = self.file_system();
        let handle = file_system.handle(output);
        let result = if handle.boot == file_system.boot {
            assert_eq!(handle.role, FileRole::Output, "only an output can be published");
            assert_eq!(
                file_system.in_flight(handle.inode),
                0,
                "an output is published only after all its transfers have completed"
            );
            self.publish_steps(&mut file_system, &handle, bytes, sync)
        } else {
            Err(Error::new(Operation::Write, &handle.path, Errno::IO))
        };
        file_system.close(output);
        result
    }

    fn sync_name(&self, output: &Path) -> Result<(), Error> {
        self.at_path(Operation::SyncName, FileRole::Output, output, |files| {
            files.sync_name(output);
            Ok(())
        })
    }

    fn open_in_place(&self, path: &Path) -> Result<FileId, Error> {
        let role = FileRole::Output;
        self.at_path(Operation::Open, role, path, |files| files.open(path, role))
    }

    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        self.on_file(Operation::Write, file, 1, |files, handle| {
            files.truncate(handle.inode, bytes);
            Ok(())
        })
    }
}

impl Disk for SimDisk {
    fn submit(&self, request: Request) {
        let progress = request.progress(true);
        if request.bytes == 0 {
            return request.complete(Ok(()));
        }
        let (handle, is_counted) = self.file_system().begin_transfer(request.file);
        let transfer = SimTransfer { request, progress, handle, is_counted, attempt: 0 };
        self.shared.queue.start(&self.shared.options, transfer);
    }

    fn file_bytes(&self, file: FileId) -> Result<u64, Error> {
        self.on_file(Operation::Inspect, file, 0, |files, handle| Ok(files.bytes(handle.inode)))
    }

    fn identity(&self, file: FileId) -> Result<FileIdentity, Error> {
        self.on_file(Operation::Inspect, file, 1, |_, &Handle { inode: number, .. }| {
            Ok(FileIdentity { drive: 1, number, links: 1, modified: (0, 0), content: 0 })
        })
    }

    fn sync(&self, file: FileId) -> Result<(), Error> {
        self.on_file(Operation::Sync, file, 0, |files, handle| {
            files.sync(handle.inode);
            Ok(())
        })
    }

    fn close(&self, file: FileId) {
        self.file_system().close(file);
    }

    fn drive(&self, _path: &Path) -> Result<Drive, Error> {
        let taken = self.file_system().space_taken();
        let free_bytes =
            self.shared.options.capacity_bytes.unwrap_or(UNLIMITED_BYTES).saturating_sub(taken);
        Ok(Drive {
            id: 1,
            free_bytes,
            is_memory: self.shared.options.is_memory,
            overwrites: true,
            limit_bytes_per_second: None,
            kind: "simulated".to_owned(),
        })
    }

    fn path(&self, file: FileId) -> PathBuf {
        self.file_system().handle(file).path
    }

    fn describe(&self) -> String {
        format!("simulated, seed {}", self.shared.options.seed)
    }

    fn notices(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Drop for SimDisk {
    fn drop(&mut self) {
        self.shared.queue.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Returns the hidden name of a persistent output.
fn persistent_name(path: &Path, tag: &str) -> PathBuf {
    path.with_file_name(hidden_name(path.file_name().unwrap_or_default(), tag))
}

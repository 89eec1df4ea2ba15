//! A simulated disk: files in memory, everything that can go wrong on demand, and completions in an
//! order that nobody should rely on.
//!
//! An ordinary implementation of [`Disk`] for the tests of whatever stands on one. What fails is
//! decided by the seed (see [`SimOptions`]); what a transfer does about it is the same state
//! machine that the real engines use. Requests that break the contract panic, and reading what was
//! discarded is an error, so that a test of the caller finds it.
//!
//! Not a model of time, unless the options name drives with rates (see [`SimDrive`]).

mod drives;
mod faults;
mod queue;
mod world;

pub use drives::{SimDrive, Throttle};
pub use faults::{Corruption, Damage, Fault, FileRole, Place, SimOptions};

use crate::output::hidden_name;
use crate::progress::Next;
use crate::{ALIGNMENT, Direction, Disk, Drive, Error, FileId, Identity, Operation, Request};
use queue::{Queue, SimTransfer};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use world::{Handle, Page, World, pages};

/// Free space of a disk without a limit, in bytes.
const UNLIMITED_BYTES: u64 = 1 << 50;

/// A disk in memory on which things go wrong as its options say. All directories exist on it.
///
/// Dropping it with transfers in flight waits for them.
#[derive(Debug)]
pub struct SimDisk {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    options: SimOptions,
    world: Mutex<World>,
    queue: Queue,
}

impl SimDisk {
    /// An empty disk.
    ///
    /// # Panics
    /// If a share or a rate in the options is out of its range.
    pub fn new(options: SimOptions) -> SimDisk {
        options.check();
        let threads = if options.threads == 0 { 3 } else { options.threads };
        let queue = Queue::new(options.drives.len());
        let shared = Arc::new(Shared { options, world: Mutex::default(), queue });
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

    /// Puts a file there, durable at once, instead of any that had the name.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.world().put(path.as_ref(), bytes.as_ref());
    }

    /// Does to the file with this name what another program might while it is open: gives it other
    /// bytes, durable at once.
    ///
    /// # Panics
    /// If there is none.
    pub fn overwrite(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        self.world().overwrite(path.as_ref(), bytes.as_ref());
    }

    /// Takes a name away, durably, as another program might.
    pub fn remove(&self, path: impl AsRef<Path>) {
        self.world().forget(path.as_ref());
    }

    /// The bytes of the file with this name, if there is one.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.world().get(path.as_ref())
    }

    /// All names, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.world().paths()
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        self.world().open_files()
    }

    /// Space that open scratch files take, in bytes.
    pub fn scratch_bytes(&self) -> u64 {
        self.world().space(FileRole::Scratch)
    }

    /// Space that all files take, open or named, in bytes.
    pub fn space_bytes(&self) -> u64 {
        self.world().space_taken()
    }

    /// Has the power go after so many more operations; see [`SimOptions::power_goes_after`].
    pub fn power_goes_after(&self, operations: u64) {
        self.world().power_goes_after(operations);
    }

    /// Stops the machine and starts it again: names and bytes are those that were durable, all
    /// files are closed, and transfers still under way fail with EIO, as do calls with the numbers
    /// of files from before.
    pub fn power_cut(&self) {
        self.world().power_cut();
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    /// One step of a call other than a transfer: counted, and failed if the options say so.
    fn step(
        &self,
        world: &mut World,
        operation: Operation,
        handle: &Handle,
        step: u32,
    ) -> Result<(), Error> {
        let fail = |errno| Error::new(operation, &handle.path, errno);
        if handle.boot != world.boot {
            return Err(fail(Errno::IO));
        }
        world.operate(self.shared.options.power_goes_after).map_err(fail)?;
        self.shared
            .options
            .fault(operation, handle.role, step)
            .map_or(Ok(()), |errno| Err(fail(errno)))
    }

    /// As `step`, for a file that has no handle yet.
    fn first_step(
        &self,
        world: &mut World,
        operation: Operation,
        role: FileRole,
        path: &Path,
    ) -> Result<(), Error> {
        let handle = Handle {
            inode: 0,
            role,
            path: path.to_owned(),
            boot: world.boot,
            version: 0,
            is_kept: false,
        };
        self.step(world, operation, &handle, 0)
    }

    fn create(&self, role: FileRole, path: &Path) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Create, role, path)?;
        Ok(world.create(role, path))
    }

    fn publish_steps(
        &self,
        world: &mut World,
        handle: &Handle,
        bytes: u64,
        sync: bool,
    ) -> Result<(), Error> {
        self.step(world, Operation::Write, handle, 0)?;
        world.truncate(handle.inode, bytes);
        if sync {
            self.step(world, Operation::Sync, handle, 0)?;
            world.sync(handle.inode);
        }
        self.step(world, Operation::Rename, handle, 0)?;
        world.rename(handle.inode, &handle.path);
        if sync {
            self.step(world, Operation::SyncName, handle, 0)?;
            world.sync_name(&handle.path);
        }
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open_input(&self, path: &Path) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Open, FileRole::Input, path)?;
        world.open(path, FileRole::Input).map_err(|errno| Error::new(Operation::Open, path, errno))
    }

    fn file_bytes(&self, file: FileId) -> Result<u64, Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Inspect, &handle, 0)?;
        Ok(world.bytes(handle.inode))
    }

    fn create_output(&self, path: &Path) -> Result<FileId, Error> {
        self.create(FileRole::Output, path)
    }

    fn create_kept_output(&self, path: &Path, tag: &str) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Keep, FileRole::Output, path)?;
        world
            .create_kept_output(path, &kept_name(path, tag))
            .map_err(|errno| Error::new(Operation::Keep, path, errno))
    }

    fn open_kept_output(&self, path: &Path, tag: &str) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Keep, FileRole::Output, path)?;
        let hidden = kept_name(path, tag);
        let opened = world.open_kept(&hidden, path, FileRole::Output);
        opened.map_err(|errno| Error::new(Operation::Keep, hidden, errno))
    }

    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(output);
        let result = if handle.boot == world.boot {
            assert_eq!(handle.role, FileRole::Output, "only an output can be published");
            assert_eq!(
                world.in_flight(handle.inode),
                0,
                "an output is published only after all its transfers have completed"
            );
            self.publish_steps(&mut world, &handle, bytes, sync)
        } else {
            Err(Error::new(Operation::Write, &handle.path, Errno::IO))
        };
        world.close(output);
        result
    }

    fn sync_name(&self, output: &Path) -> Result<(), Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::SyncName, FileRole::Output, output)?;
        world.sync_name(output);
        Ok(())
    }

    fn open_in_place(&self, path: &Path) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Open, FileRole::Output, path)?;
        world.open(path, FileRole::Output).map_err(|errno| Error::new(Operation::Open, path, errno))
    }

    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Write, &handle, 1)?;
        world.truncate(handle.inode, bytes);
        Ok(())
    }

    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error> {
        self.create(FileRole::Scratch, directory)
    }

    fn create_kept(&self, path: &Path) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Keep, FileRole::Scratch, path)?;
        world.create_kept(path).map_err(|errno| Error::new(Operation::Keep, path, errno))
    }

    fn open_kept(&self, path: &Path) -> Result<FileId, Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Keep, FileRole::Scratch, path)?;
        world
            .open_kept(path, path, FileRole::Scratch)
            .map_err(|errno| Error::new(Operation::Keep, path, errno))
    }

    fn open_or_create_kept(&self, path: &Path) -> Result<(FileId, bool), Error> {
        let mut world = self.world();
        self.first_step(&mut world, Operation::Keep, FileRole::Scratch, path)?;
        let made = match world.open_kept(path, path, FileRole::Scratch) {
            Err(Errno::NOENT) => world.create_kept(path).map(|file| (file, true)),
            opened => opened.map(|file| (file, false)),
        };
        made.map_err(|errno| Error::new(Operation::Keep, path, errno))
    }

    fn remove_kept(&self, file: FileId) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Remove, &handle, 0)?;
        world.remove_kept(handle.inode);
        Ok(())
    }

    fn sync(&self, file: FileId) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Sync, &handle, 0)?;
        world.sync(handle.inode);
        Ok(())
    }

    /// Scratch like any other: here all files are in memory.
    fn create_memory(&self) -> Result<FileId, Error> {
        self.create(FileRole::Scratch, "memory".as_ref())
    }

    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Reserve, &handle, 0)?;
        world
            .reserve(handle.inode, 0, bytes, self.shared.options.capacity_bytes)
            .map_err(|errno| Error::new(Operation::Reserve, &handle.path, errno))
    }

    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Discard, &handle, 0)?;
        world.discard(handle.inode, offset, bytes);
        Ok(())
    }

    fn close(&self, file: FileId) {
        self.world().close(file);
    }

    fn identity(&self, file: FileId) -> Result<Identity, Error> {
        let mut world = self.world();
        let handle = world.handle(file);
        self.step(&mut world, Operation::Inspect, &handle, 1)?;
        Ok(Identity { drive: 1, number: handle.inode, links: 1, modified: (0, 0) })
    }

    fn check_unchanged(&self, input: FileId) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(input);
        self.step(&mut world, Operation::Inspect, &handle, 2)?;
        if world.version(handle.inode) == handle.version {
            return Ok(());
        }
        Err(Error::new(
            Operation::Read,
            &handle.path,
            io::Error::other("it was written to since it was opened"),
        ))
    }

    fn remove_input(&self, input: FileId) -> Result<(), Error> {
        let mut world = self.world();
        let handle = world.handle(input);
        self.step(&mut world, Operation::Remove, &handle, 0)?;
        world
            .remove(&handle.path)
            .map_err(|errno| Error::new(Operation::Remove, &handle.path, errno))
    }

    fn submit(&self, request: Request) {
        let progress = request.progress(true);
        if request.bytes == 0 {
            return request.complete(Ok(()));
        }
        let (handle, is_counted) = self.world().begin_transfer(request.file);
        let transfer = SimTransfer { request, progress, handle, is_counted, attempt: 0 };
        self.shared.queue.start(&self.shared.options, transfer);
    }

    fn drive(&self, _path: &Path) -> Result<Drive, Error> {
        let taken = self.world().space_taken();
        let free_bytes =
            self.shared.options.capacity_bytes.unwrap_or(UNLIMITED_BYTES).saturating_sub(taken);
        Ok(Drive {
            id: 1,
            free_bytes,
            is_memory: self.shared.options.is_memory,
            kind: "simulated".to_owned(),
        })
    }

    fn path(&self, file: FileId) -> PathBuf {
        self.world().handle(file).path
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

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread's life: any transfer out of the queue, one answer for it, until the disk is
    /// closed and all are done.
    fn work(&self) {
        while let Some(mut transfer) = self.queue.take(&self.options) {
            let operation = transfer.operation();
            let span = transfer.progress.span();
            thread::sleep(self.options.delay(
                operation,
                transfer.handle.role,
                span.offset,
                transfer.attempt,
            ));
            match self.answer(&mut transfer) {
                Next::Again | Next::Undirect | Next::Later(_) => self.queue.go_on(transfer),
                Next::Done => self.finish(transfer, Ok(())),
                Next::Failed { offset, source } => {
                    let error = Error::at(operation, &transfer.handle.path, offset, source);
                    self.finish(transfer, Err(error));
                }
            }
        }
    }

    /// What the simulated system says to a transfer, and what that means.
    fn answer(&self, transfer: &mut SimTransfer) -> Next {
        let operation = transfer.operation();
        let SimTransfer { request, progress, handle, attempt, .. } = transfer;
        let span = progress.span();
        let options = &self.options;
        let role = handle.role;
        let now = *attempt;
        *attempt += 1;
        let bytes = options.moved(operation, role, span.offset, span.bytes, now);
        let memory = &mut request.lease[span.start..span.start + bytes];
        // Copied before and after the world is locked, so that threads do it side by side.
        let written =
            if request.direction == Direction::Write { pages(memory) } else { Vec::new() };
        let mut world = self.world();
        if handle.boot != world.boot || world.operate(options.power_goes_after).is_err() {
            return progress.advance(Err(Errno::IO));
        }
        if let Some(errno) = options.interrupt(operation, role, span.offset, now) {
            return progress.advance(Err(errno));
        }
        // Without the attempt: what fails for good fails again.
        if let Some(errno) = options.fault_in(operation, role, span.offset, span.bytes as u64, 0) {
            return progress.advance(Err(errno));
        }
        let answer = match request.direction {
            Direction::Read => world.read(handle.inode, span.offset, bytes),
            Direction::Write => {
                let moved = self.write(&mut world, handle, span.offset, written, bytes);
                moved.map(|bytes| (bytes, Vec::new())).map_err(io::Error::from)
            }
        };
        drop(world);
        match answer {
            Ok((bytes, read)) => {
                fill(&mut memory[..bytes], &read);
                progress.advance(Ok(bytes))
            }
            Err(source) => match Errno::from_io_error(&source) {
                Some(errno) => progress.advance(Err(errno)),
                None => Next::Failed { offset: span.offset, source },
            },
        }
    }

    fn write(
        &self,
        world: &mut World,
        handle: &Handle,
        offset: u64,
        pages: Vec<Page>,
        bytes: usize,
    ) -> Result<usize, Errno> {
        let room = self.options.capacity_bytes;
        match self.options.damage(handle.role, offset, bytes as u64) {
            None => world.write(handle.inode, offset, pages, bytes, room),
            Some((Damage::LoseWrite, _)) => {
                world.reserve(handle.inode, offset, bytes as u64, room)?;
                Ok(bytes)
            }
            Some((Damage::FlipBit, bit)) => {
                let written = world.write(handle.inode, offset, pages, bytes, room)?;
                world.flip_bit(handle.inode, bit);
                Ok(written)
            }
        }
    }

    /// The file is let go before the completion is sent, as on the real disk.
    fn finish(&self, transfer: SimTransfer, result: Result<(), Error>) {
        if transfer.is_counted {
            self.world().end_transfer(transfer.handle.inode);
        }
        transfer.request.complete(result);
    }
}

/// The hidden name of a kept output.
fn kept_name(path: &Path, tag: &str) -> PathBuf {
    path.with_file_name(hidden_name(path.file_name().unwrap_or_default(), tag))
}

/// Copies pages to memory.
fn fill(memory: &mut [u8], pages: &[Option<Page>]) {
    for (place, page) in memory.chunks_mut(ALIGNMENT).zip(pages) {
        match page {
            Some(page) => place.copy_from_slice(&page[..place.len()]),
            None => place.fill(0),
        }
    }
}

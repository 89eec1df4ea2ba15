//! Helpers of the tests: a disk of each kind with a directory, and whole files through single
//! transfers.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use xsort_disk::{
    BlockPool, Completion, Direction, Disk, DiskOptions, Error, FileId, IoChoice, Lease, OsDisk,
    Request, SimDisk, SimOptions, align_up,
};
use xsort_testing::Random;

/// A disk and a directory on it.
pub(crate) struct Bench {
    pub(crate) name: String,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: PathBuf,
    /// The disk, if it is simulated.
    pub(crate) sim: Option<Arc<SimDisk>>,
    _temporary: Option<TempDir>,
}

/// Runs a test on every kind of disk.
pub(crate) fn on_each_disk(test: impl Fn(&Bench)) {
    on_real_disks(&test);
    for (name, options) in [
        ("calm", SimOptions { seed: 7, ..SimOptions::default() }),
        ("rough", SimOptions::rough(11)),
    ] {
        run(&simulated(name, options), &test);
    }
}

/// Runs a test on the operating system's disk with every engine.
pub(crate) fn on_real_disks(test: impl Fn(&Bench)) {
    let kinds = [
        ("uring", IoChoice::Uring, 1, false),
        ("uring, 3 rings", IoChoice::Uring, 3, false),
        ("uring, cached outputs", IoChoice::Uring, 1, true),
        ("sync", IoChoice::Sync, 1, false),
        ("sync, cached outputs", IoChoice::Sync, 1, true),
    ];
    for (name, io, rings, cached_outputs) in kinds {
        let options = DiskOptions { io, rings, depth: 4, cached_outputs, ..DiskOptions::default() };
        match OsDisk::new(options) {
            Ok(disk) => run(&real(name, disk), &test),
            Err(error) if io == IoChoice::Uring => eprintln!("SKIPPED on {name}: {error}"),
            Err(error) => panic!("{error}"),
        }
    }
}

pub(crate) fn real(name: &str, disk: OsDisk) -> Bench {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = temporary.path().to_owned();
    Bench { _temporary: Some(temporary), ..real_in(directory, name, disk) }
}

/// Creates a bench in a directory that stays.
pub(crate) fn real_in(directory: PathBuf, name: &str, disk: OsDisk) -> Bench {
    Bench { name: name.to_owned(), disk: Arc::new(disk), directory, sim: None, _temporary: None }
}

pub(crate) fn simulated(name: &str, options: SimOptions) -> Bench {
    let sim = Arc::new(SimDisk::new(options));
    let directory = PathBuf::from("/sim");
    Bench {
        name: format!("simulated, {name}"),
        disk: Arc::clone(&sim) as _,
        directory,
        sim: Some(sim),
        _temporary: None,
    }
}

fn run(bench: &Bench, test: impl Fn(&Bench)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(bench))) {
        eprintln!("the failure above was on: {}", bench.name);
        std::panic::resume_unwind(panic);
    }
}

impl Bench {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the bytes of a file, on either kind of disk.
    pub(crate) fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        match &self.sim {
            Some(sim) => sim.get(path),
            None => fs::read(path).ok(),
        }
    }

    /// Creates a file without using the disk.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        match &self.sim {
            Some(sim) => sim.put(path, bytes),
            None => fs::write(path, bytes).unwrap(),
        }
    }

    /// Returns all names in the directory.
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        match &self.sim {
            Some(sim) => sim.paths(),
            None => {
                fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().path()).collect()
            }
        }
    }

    /// Writes `bytes` from the file's beginning in blocks, the last one first. Zeros fill the last
    /// block up to the alignment.
    pub(crate) fn write(
        &self,
        file: FileId,
        bytes: &[u8],
        block_bytes: usize,
    ) -> Result<(), Error> {
        let block_pool = BlockPool::map(5, block_bytes).unwrap();
        let mut flight = Flight::new();
        for (index, chunk) in bytes.chunks(block_bytes).enumerate().rev() {
            let mut lease = flight.lease(&block_pool)?;
            lease[..chunk.len()].copy_from_slice(chunk);
            let length = align_up(chunk.len() as u64) as usize;
            lease[chunk.len()..length].fill(0);
            flight.submit(
                &*self.disk,
                Direction::Write,
                file,
                (index * block_bytes) as u64,
                length,
                length,
                lease,
            );
        }
        flight.land(|_| ())
    }

    /// Reads the file's first `bytes` bytes in blocks.
    pub(crate) fn read(
        &self,
        file: FileId,
        bytes: usize,
        block_bytes: usize,
    ) -> Result<Vec<u8>, Error> {
        let block_pool = BlockPool::map(5, block_bytes).unwrap();
        let mut all = vec![0; bytes];
        let mut flight = Flight::new();
        for offset in (0..bytes).step_by(block_bytes) {
            if flight.count == block_pool.capacity() {
                take_in(&mut all, &flight.one()?);
            }
            let needed = block_bytes.min(bytes - offset);
            let lease = block_pool.try_take().unwrap();
            flight.submit(
                &*self.disk,
                Direction::Read,
                file,
                offset as u64,
                block_bytes,
                needed,
                lease,
            );
        }
        flight.land(|completion| take_in(&mut all, completion))?;
        Ok(all)
    }
}

fn take_in(all: &mut [u8], completion: &Completion) {
    let offset = completion.offset as usize;
    let end = all.len().min(offset + completion.bytes);
    all[offset..end].copy_from_slice(&completion.lease[..end - offset]);
}

/// Transfers under way and where their completions arrive.
pub(crate) struct Flight {
    reply: Sender<Completion>,
    pub(crate) completions: Receiver<Completion>,
    pub(crate) count: usize,
}

impl Flight {
    pub(crate) fn new() -> Flight {
        let (reply, completions) = unbounded();
        Flight { reply, completions, count: 0 }
    }

    #[expect(clippy::too_many_arguments, reason = "a request has that many parts")]
    pub(crate) fn submit(
        &mut self,
        disk: &dyn Disk,
        direction: Direction,
        file: FileId,
        offset: u64,
        bytes: usize,
        bytes_needed: usize,
        lease: Lease,
    ) {
        let (reply, tag) = (self.reply.clone(), offset ^ 0x5eed);
        self.count += 1;
        disk.submit(Request { direction, file, offset, bytes, bytes_needed, lease, tag, reply });
    }

    /// Submits a write of a whole lease.
    pub(crate) fn write(&mut self, disk: &dyn Disk, file: FileId, offset: u64, lease: Lease) {
        let bytes = lease.len();
        self.submit(disk, Direction::Write, file, offset, bytes, bytes, lease);
    }

    /// Submits a read that fills a whole lease.
    pub(crate) fn read(&mut self, disk: &dyn Disk, file: FileId, offset: u64, lease: Lease) {
        let bytes = lease.len();
        self.submit(disk, Direction::Read, file, offset, bytes, bytes, lease);
    }

    /// Returns a lease. Waits for as many completions as that takes.
    pub(crate) fn lease(&mut self, block_pool: &Arc<BlockPool>) -> Result<Lease, Error> {
        loop {
            match block_pool.try_take() {
                Some(lease) => return Ok(lease),
                None => drop(self.one()?),
            }
        }
    }

    /// Waits for the next completion.
    pub(crate) fn one(&mut self) -> Result<Completion, Error> {
        let mut completion = self.completions.recv().unwrap();
        assert_eq!(completion.tag, completion.offset ^ 0x5eed);
        self.count -= 1;
        match std::mem::replace(&mut completion.result, Ok(())) {
            Ok(()) => Ok(completion),
            Err(error) => Err(error),
        }
    }

    /// Waits for all completions, then returns the first error.
    pub(crate) fn land(mut self, mut look: impl FnMut(&Completion)) -> Result<(), Error> {
        let mut first = Ok(());
        while self.count > 0 {
            match self.one() {
                Ok(completion) => look(&completion),
                Err(error) if first.is_ok() => first = Err(error),
                Err(_) => {}
            }
        }
        first
    }
}

/// Returns bytes that differ everywhere.
pub(crate) fn pattern(bytes: usize, seed: u64) -> Vec<u8> {
    Random::new(seed).bytes(bytes)
}

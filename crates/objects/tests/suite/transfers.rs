//! Helpers of the tests: read and write whole objects on a disk.

use crossbeam_channel::{Receiver, Sender, unbounded};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use xsort_disk::{
    ALIGNMENT, Completion, Direction, Disk, Error, FileId, Lease, Request, SimDisk, SimOptions,
    StoredPart, align_up,
};
use xsort_objects::{ObjectDisk, ObjectSettings, RetryPolicy, SimStore, StoreOptions};

pub(crate) const PAGE: usize = ALIGNMENT;

/// Returns settings with small parts. The time limits are seconds of simulated time.
pub(crate) fn settings(part_pages: usize) -> ObjectSettings {
    ObjectSettings {
        part_bytes: (part_pages * PAGE) as u64,
        connections: 3,
        writers: 2,
        retry: RetryPolicy { give_up_after: Duration::from_secs(100), ..RetryPolicy::default() },
        ..ObjectSettings::default()
    }
}

/// Returns a disk on top of an empty local disk and a store.
pub(crate) fn disk(store: &Arc<SimStore>, settings: ObjectSettings) -> ObjectDisk {
    let local = Arc::new(SimDisk::new(SimOptions::default()));
    ObjectDisk::with_client(local, settings, Arc::clone(store) as _)
}

/// Begins a persistent output of these bytes, except their last page. Leaves it when the store has
/// this many parts, for another process to continue.
pub(crate) fn leave_behind(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    parts: usize,
) -> (String, Vec<StoredPart>) {
    let (output, tag) = disk.create_persistent_output(path, "").unwrap();
    write_pages(disk, output, bytes, 0..bytes.len() / PAGE - 1).unwrap();
    while disk.stored_parts(output, 0).unwrap().len() < parts {
        std::thread::yield_now();
    }
    let parts = disk.stored_parts(output, 0).unwrap();
    disk.close(output);
    (tag, parts)
}

/// Continues such an output from `from` to its end.
pub(crate) fn go_on(
    disk: &dyn Disk,
    path: &Path,
    (tag, parts): &(String, Vec<StoredPart>),
    bytes: &[u8],
    from: usize,
) {
    let output = disk.open_persistent_output(path, tag, parts).unwrap();
    let begins = disk.begins_with(output, from as u64, crc32fast::hash(&bytes[..from]));
    assert_eq!(begins, Some(true));
    write_pages(disk, output, bytes, from / PAGE..bytes.len() / PAGE).unwrap();
    disk.publish(output, bytes.len() as u64, true).unwrap();
}

/// Returns whether a test is alone in its process. If not, runs it in another process.
pub(crate) fn is_alone(test: &str) -> bool {
    const CHILD: &str = "XSORT_TEST_ALONE";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Returns a store without faults, and a disk on top of it.
pub(crate) fn smooth() -> (Arc<SimStore>, ObjectDisk) {
    let store = Arc::new(SimStore::new(StoreOptions::default()));
    let disk = disk(&store, settings(4));
    (store, disk)
}

/// Transfers under way.
pub(crate) struct Transfers<'d> {
    disk: &'d dyn Disk,
    reply: Sender<Completion>,
    completions: Receiver<Completion>,
}

impl<'d> Transfers<'d> {
    pub(crate) fn new(disk: &'d dyn Disk) -> Transfers<'d> {
        let (reply, completions) = unbounded();
        Transfers { disk, reply, completions }
    }

    fn submit(&self, direction: Direction, file: FileId, offset: u64, lease: Lease, needed: usize) {
        let bytes = lease.len();
        let bytes_needed = needed;
        let reply = self.reply.clone();
        let tag = offset;
        let request = Request { direction, file, offset, bytes, bytes_needed, lease, tag, reply };
        self.disk.submit(request);
    }

    /// Starts a write of whole pages.
    pub(crate) fn write(&self, file: FileId, offset: u64, bytes: &[u8]) {
        let mut lease = Lease::map(bytes.len()).unwrap();
        lease.copy_from_slice(bytes);
        self.submit(Direction::Write, file, offset, lease, bytes.len());
    }

    /// Starts a read.
    pub(crate) fn read(&self, file: FileId, offset: u64, bytes: usize, needed: usize) {
        let mut lease = Lease::map(bytes).unwrap();
        lease.fill(0xee);
        self.submit(Direction::Read, file, offset, lease, needed);
    }

    /// Returns the next completion.
    pub(crate) fn wait(&self) -> Completion {
        self.completions.recv().unwrap()
    }

    /// Returns a completion if one has arrived.
    pub(crate) fn poll(&self) -> Option<Completion> {
        self.completions.try_recv().ok()
    }
}

/// Reads a whole file, with `pages` pages in each read.
pub(crate) fn read_all(disk: &dyn Disk, path: &Path, pages: usize) -> Result<Vec<u8>, Error> {
    let file = disk.open_input(path)?;
    let length = disk.file_bytes(file)? as usize;
    let transfers = Transfers::new(disk);
    let step = pages * PAGE;
    for offset in (0..length).step_by(step) {
        transfers.read(file, offset as u64, step, step.min(length - offset));
    }
    let mut all = vec![0; length];
    let mut result = Ok(());
    for _ in (0..length).step_by(step) {
        let completion = transfers.wait();
        let start = completion.offset as usize;
        let end = length.min(start + step);
        all[start..end].copy_from_slice(&completion.lease[..end - start]);
        result = result.and(completion.result);
    }
    disk.close(file);
    result.map(|()| all)
}

/// Writes a whole file, page by page in this order, and publishes it.
pub(crate) fn write_all(
    disk: &dyn Disk,
    path: &Path,
    bytes: &[u8],
    order: impl IntoIterator<Item = usize>,
) -> Result<(), Error> {
    let output = disk.create_output(path)?;
    let result = write_pages(disk, output, bytes, order);
    if let Err(error) = result {
        disk.close(output);
        return Err(error);
    }
    disk.publish(output, bytes.len() as u64, true)
}

/// Writes pages in this order.
pub(crate) fn write_pages(
    disk: &dyn Disk,
    output: FileId,
    bytes: &[u8],
    order: impl IntoIterator<Item = usize>,
) -> Result<(), Error> {
    let mut padded = bytes.to_vec();
    padded.resize(align_up(bytes.len() as u64) as usize, 0);
    let transfers = Transfers::new(disk);
    let mut result = Ok(());
    for page in order {
        let start = page * PAGE;
        transfers.write(output, start as u64, &padded[start..start + PAGE]);
        result = result.and(transfers.wait().result);
    }
    result
}

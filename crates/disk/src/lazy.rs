//! A disk whose engine starts with its first file, so that a sort that never leaves memory starts
//! no rings and no threads. Starting them takes longer than sorting a thousand lines.

use crate::{
    Disk, DiskOptions, Drive, Error, FileId, FileIdentity, Found, ListedFile, OsDisk, Request,
    StoredPart, drive, place,
};
use parking_lot::Mutex;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An [`OsDisk`] whose engine starts when the first file is opened.
#[derive(Debug)]
pub struct LazyDisk {
    options: DiskOptions,
    disk: OnceLock<OsDisk>,
    starting: Mutex<()>,
}

impl LazyDisk {
    /// Creates the disk without starting its engine.
    pub fn new(options: DiskOptions) -> LazyDisk {
        LazyDisk { options, disk: OnceLock::new(), starting: Mutex::new(()) }
    }

    /// Returns whether the engine has been started, by the first file.
    pub fn is_started(&self) -> bool {
        self.disk.get().is_some()
    }

    fn start(&self) -> Result<&OsDisk, Error> {
        let _one_at_a_time = self.starting.lock();
        if let Some(disk) = self.disk.get() {
            return Ok(disk);
        }
        let disk = OsDisk::new(self.options.clone())?;
        Ok(self.disk.get_or_init(|| disk))
    }

    /// Returns the disk, which an open file implies has been started.
    fn started(&self) -> &OsDisk {
        self.disk.get().expect("opening the file has started the disk")
    }
}

impl Disk for LazyDisk {
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
        self.start()?.open_input(path)
    }

    fn file_bytes(&self, file: FileId) -> Result<u64, Error> {
        self.started().file_bytes(file)
    }

    fn create_output(&self, path: &Path) -> Result<FileId, Error> {
        self.start()?.create_output(path)
    }

    fn create_persistent_output(&self, path: &Path, tag: &str) -> Result<(FileId, String), Error> {
        self.start()?.create_persistent_output(path, tag)
    }

    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error> {
        self.started().publish(output, bytes, sync)
    }

    fn sync_name(&self, output: &Path) -> Result<(), Error> {
        self.start()?.sync_name(output)
    }

    fn open_in_place(&self, path: &Path) -> Result<FileId, Error> {
        self.start()?.open_in_place(path)
    }

    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        self.started().set_bytes(file, bytes)
    }

    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error> {
        self.start()?.create_scratch(directory)
    }

    fn create_memory(&self) -> Result<FileId, Error> {
        self.start()?.create_memory()
    }

    fn create_persistent(&self, path: &Path) -> Result<FileId, Error> {
        self.start()?.create_persistent(path)
    }

    fn open_persistent(&self, path: &Path) -> Result<FileId, Error> {
        self.start()?.open_persistent(path)
    }

    fn open_persistent_output(
        &self,
        path: &Path,
        tag: &str,
        parts: &[StoredPart],
    ) -> Result<FileId, Error> {
        self.start()?.open_persistent_output(path, tag, parts)
    }

    fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error> {
        self.start()?.open_or_create_persistent(path)
    }

    fn remove_persistent(&self, file: FileId) -> Result<(), Error> {
        self.started().remove_persistent(file)
    }

    fn sync(&self, file: FileId) -> Result<(), Error> {
        self.started().sync(file)
    }

    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        self.started().reserve(file, bytes)
    }

    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error> {
        self.started().discard(file, offset, bytes)
    }

    fn close(&self, file: FileId) {
        self.started().close(file);
    }

    fn identity(&self, file: FileId) -> Result<FileIdentity, Error> {
        self.started().identity(file)
    }

    fn check_unchanged(&self, input: FileId) -> Result<(), Error> {
        self.started().check_unchanged(input)
    }

    fn remove_input(&self, input: FileId) -> Result<(), Error> {
        self.started().remove_input(input)
    }

    fn submit(&self, request: Request) {
        self.started().submit(request);
    }

    fn drive(&self, path: &Path) -> Result<Drive, Error> {
        drive::of_path(path)
    }

    fn path(&self, file: FileId) -> PathBuf {
        self.started().path(file)
    }

    fn describe(&self) -> String {
        self.disk.get().map_or_else(|| "not used".into(), OsDisk::describe)
    }

    fn notices(&self) -> Vec<String> {
        self.disk.get().map_or_else(Vec::new, OsDisk::notices)
    }
}

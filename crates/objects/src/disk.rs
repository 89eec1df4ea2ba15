//! A disk on which some files are objects: paths that are URLs lead to a store, all others,
//! including scratch, to the disk below.

use crate::ahead::Ahead;
use crate::client::Client;
use crate::environment::{Environment, of_process};
use crate::failure::{Failure, Reason};
use crate::input::Input;
use crate::listing;
use crate::location::Location;
use crate::retry::Caller;
use crate::settings::{ObjectSettings, RetryPolicy};
use crate::stores::Stores;
use crate::upload::Upload;
use crate::workers::Workers;
use crossbeam_channel::unbounded;
use md5::{Digest, Md5};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use xsort_disk::{
    ALIGNMENT, Direction, Disk, Drive, Error, FileId, FileIdentity, Found, InputFiles, ListedFile,
    Notices, Operation, OutputFiles, RateLimit, Request, ScratchFiles, StoredPart, is_url,
};

/// Distinguishes the numbers of objects from those of the disk below.
const OBJECT_BIT: u32 = 1 << 31;
/// Distinguishes the drives of objects from those of the disk below.
const STORE_BIT: u64 = 1 << 63;
/// Free space of a store, which is unlimited.
const STORE_FREE_BYTES: u64 = 1 << 60;

/// An open object.
#[derive(Clone)]
enum Object {
    Input(Arc<Input>),
    Output(Arc<Upload>),
}

impl Object {
    fn location(&self) -> &Location {
        match self {
            Object::Input(input) => &input.location,
            Object::Output(upload) => upload.location(),
        }
    }
}

/// The open objects.
#[derive(Default)]
struct Objects {
    open: HashMap<u32, Object>,
    next: u32,
}

/// The threads and the client that move objects.
struct Engine {
    /// The first field, because the workers must end first.
    workers: Workers,
    caller: Arc<Caller>,
}

/// Creates the client of the stores.
type Connect = Box<dyn Fn() -> Result<Arc<dyn Client>, Error> + Send + Sync>;

/// Returns the client of all stores over HTTP. It looks for credentials when they are needed.
///
/// # Errors
/// If the system has no threads for it, or no certificates.
pub fn connect(environment: Environment) -> Result<Arc<dyn Client>, Error> {
    Ok(Arc::new(Stores::connect(environment, RetryPolicy::default().give_up_after)?))
}

/// A disk whose inputs and outputs may be objects of a store: those named by URLs. It costs nothing
/// until the first URL is used.
///
/// Dropping it abandons unpublished outputs.
pub struct ObjectDisk {
    local: Arc<dyn Disk>,
    settings: ObjectSettings,
    rate: Option<Arc<RateLimit>>,
    connect: Connect,
    engine: OnceLock<Engine>,
    starting: Mutex<()>,
    objects: Mutex<Objects>,
    ahead: Arc<Ahead>,
    notices: Notices,
}

impl ObjectDisk {
    /// Creates a disk that finds stores and credentials as the AWS tools do. It doesn't look for
    /// them yet.
    ///
    /// # Panics
    /// If a setting is out of its range.
    pub fn new(local: Arc<dyn Disk>, settings: ObjectSettings) -> ObjectDisk {
        ObjectDisk::with_environment(local, settings, Arc::new(of_process))
    }

    /// Creates a disk that uses another environment than the process's.
    ///
    /// # Panics
    /// If a setting is out of its range.
    pub fn with_environment(
        local: Arc<dyn Disk>,
        settings: ObjectSettings,
        environment: Environment,
    ) -> ObjectDisk {
        settings.check_for_s3();
        let give_up_after = settings.retry.give_up_after;
        let connect = move || -> Result<Arc<dyn Client>, Error> {
            Ok(Arc::new(Stores::connect(Arc::clone(&environment), give_up_after)?))
        };
        ObjectDisk::connecting(local, settings, Box::new(connect))
    }

    /// Creates a disk that uses the caller's client.
    ///
    /// # Panics
    /// If a setting is out of its range.
    pub fn with_client(
        local: Arc<dyn Disk>,
        settings: ObjectSettings,
        client: Arc<dyn Client>,
    ) -> ObjectDisk {
        settings.check();
        ObjectDisk::connecting(local, settings, Box::new(move || Ok(Arc::clone(&client))))
    }

    fn connecting(local: Arc<dyn Disk>, settings: ObjectSettings, connect: Connect) -> ObjectDisk {
        ObjectDisk {
            local,
            settings,
            rate: None,
            connect,
            engine: OnceLock::new(),
            starting: Mutex::new(()),
            objects: Mutex::default(),
            ahead: Arc::default(),
            notices: Notices::default(),
        }
    }

    /// Adds a limit on the bytes per second of objects.
    #[must_use]
    pub fn with_rate(mut self, rate: Option<Arc<RateLimit>>) -> ObjectDisk {
        self.rate = rate;
        self
    }

    /// Returns the settings: how objects are moved, and the resources for that.
    pub fn settings(&self) -> &ObjectSettings {
        &self.settings
    }

    fn start(&self) -> Result<&Engine, Error> {
        let _one_at_a_time = self.starting.lock();
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let caller = Arc::new(Caller::new(
            (self.connect)()?,
            self.settings.retry.clone(),
            self.rate.clone(),
        ));
        let workers = Workers::start(self.settings.connections)?;
        Ok(self.engine.get_or_init(|| Engine { caller, workers }))
    }

    fn engine(&self) -> &Engine {
        self.engine.get().expect("opening the object has started it")
    }

    fn add(&self, object: Object) -> FileId {
        let mut objects = self.objects.lock();
        let number = objects.next;
        objects.next += 1;
        assert!(number < OBJECT_BIT, "two billion objects were opened");
        objects.open.insert(number, object);
        FileId(number | OBJECT_BIT)
    }

    /// Returns the object with this number; `None` for files of the disk below.
    fn object(&self, file: FileId) -> Option<Object> {
        let number = file.0 & !OBJECT_BIT;
        (file.0 & OBJECT_BIT != 0)
            .then(|| self.objects.lock().open.get(&number).expect("the object is open").clone())
    }

    fn remove(&self, file: FileId) -> Option<Object> {
        self.objects.lock().open.remove(&(file.0 & !OBJECT_BIT))
    }
}

/// Returns the error for an operation that no object store supports.
fn unsupported(operation: Operation, path: &Path, what: &str) -> Error {
    let text = format!("an object store takes inputs and outputs, but {what}");
    refusal(operation, path, Failure::new(Reason::Unusable, text))
}

/// Fails if the path is a URL: what is to be done there, no object store supports.
fn refuse_url(operation: Operation, path: &Path, what: &str) -> Result<(), Error> {
    if is_url(path) { Err(unsupported(operation, path, what)) } else { Ok(()) }
}

fn refuse_checkpoint(path: &Path) -> Result<(), Error> {
    refuse_url(Operation::Persist, path, "a checkpoint needs a directory (-T)")
}

fn refusal(operation: Operation, path: &Path, failure: Failure) -> Error {
    let kind = std::io::ErrorKind::Unsupported;
    Error::new(operation, path, std::io::Error::new(kind, failure.detail))
}

/// Parses the URL in a path.
fn location(operation: Operation, path: &Path) -> Result<Location, Error> {
    Location::parse(path).map_err(|failure| refusal(operation, path, failure))
}

/// Returns a number derived from `words`.
fn number_of(words: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// Returns the drive number of a bucket.
fn drive_number(location: &Location) -> u64 {
    number_of((location.scheme, &location.bucket)) | STORE_BIT
}

/// Returns a number for a tag, equal in every process.
fn content_number(tag: &str) -> u64 {
    let digest = Md5::digest(tag.as_bytes());
    u64::from_be_bytes(digest[..8].try_into().expect("an MD5 has 16 bytes"))
}

/// Returns the seconds since 1970 for an HTTP date.
fn seconds(date: Option<&str>) -> i64 {
    let parsed = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
    parsed.map_or(0, |time| time.timestamp().as_second())
}

impl InputFiles for ObjectDisk {
    fn find(&self, path: &Path) -> Result<Found, Error> {
        if !is_url(path) {
            return self.local.find(path);
        }
        let location = location(Operation::Inspect, path)?;
        listing::find(&self.start()?.caller, &location, &self.ahead)
    }

    fn list(
        &self,
        prefix: &Path,
        found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        if !is_url(prefix) {
            return self.local.list(prefix, found);
        }
        let location = location(Operation::Inspect, prefix)?;
        if !location.scheme.is_store() {
            let what = "a web server doesn't list what it has";
            return Err(unsupported(Operation::Inspect, prefix, what));
        }
        listing::list(&self.start()?.caller, &location, found)
    }

    fn announce(&self, paths: &mut dyn Iterator<Item = &Path>) {
        let urls = paths.filter(|path| is_url(path));
        let mut locations = urls.filter_map(|path| Location::of_object(path).ok()).peekable();
        if locations.peek().is_some()
            && let Ok(Engine { caller, workers }) = self.start()
        {
            self.ahead.ask(locations, caller, &workers.queue());
        }
    }

    fn open_input(&self, path: &Path) -> Result<FileId, Error> {
        if !is_url(path) {
            return self.local.open_input(path);
        }
        let location =
            Location::of_object(path).map_err(|failure| refusal(Operation::Open, path, failure))?;
        let caller = &self.start()?.caller;
        let known = self.ahead.info(&location);
        let input = Input::open(caller, location, known)?;
        if !input.info.is_distinct {
            self.notices.add(indistinct(&input.location));
        }
        Ok(self.add(Object::Input(Arc::new(input))))
    }

    fn read_bytes(&self, file: FileId) -> u64 {
        match self.object(file) {
            Some(_) => self.settings.read_bytes,
            None => self.local.read_bytes(file),
        }
    }

    fn check_unchanged(&self, input: FileId) -> Result<(), Error> {
        match self.object(input) {
            None => self.local.check_unchanged(input),
            Some(Object::Input(input)) => input.check_unchanged(),
            Some(Object::Output(_)) => panic!("an output is no input"),
        }
    }

    fn check_all_unchanged(&self, inputs: &[FileId]) -> Result<(), Error> {
        let (results_to, results) = unbounded();
        for &file in inputs {
            let Some(Object::Input(input)) = self.object(file) else {
                self.check_unchanged(file)?;
                continue;
            };
            let results_to = results_to.clone();
            self.engine().workers.queue().push(move || {
                let _ = results_to.send(input.check_unchanged());
            });
        }
        drop(results_to);
        results.iter().collect()
    }

    fn is_of_one_version(&self, input: FileId) -> bool {
        match self.object(input) {
            None => self.local.is_of_one_version(input),
            Some(Object::Input(input)) => input.is_of_one_version(),
            Some(Object::Output(_)) => panic!("an output is no input"),
        }
    }

    fn remove_input(&self, input: FileId) -> Result<(), Error> {
        match self.object(input) {
            None => self.local.remove_input(input),
            Some(Object::Input(input)) => input.remove(),
            Some(Object::Output(_)) => panic!("an output is no input"),
        }
    }
}

impl ScratchFiles for ObjectDisk {
    fn create_scratch(&self, directory: &Path) -> Result<FileId, Error> {
        refuse_url(Operation::Create, directory, "scratch needs a directory (-T)")?;
        self.local.create_scratch(directory)
    }

    fn create_memory(&self) -> Result<FileId, Error> {
        self.local.create_memory()
    }

    fn create_persistent(&self, path: &Path) -> Result<FileId, Error> {
        refuse_checkpoint(path)?;
        self.local.create_persistent(path)
    }

    fn open_persistent(&self, path: &Path) -> Result<FileId, Error> {
        refuse_checkpoint(path)?;
        self.local.open_persistent(path)
    }

    fn open_or_create_persistent(&self, path: &Path) -> Result<(FileId, bool), Error> {
        refuse_checkpoint(path)?;
        self.local.open_or_create_persistent(path)
    }

    fn remove_persistent(&self, file: FileId) -> Result<(), Error> {
        match self.object(file) {
            None => self.local.remove_persistent(file),
            Some(Object::Output(upload)) => upload.remove(),
            Some(Object::Input(_)) => panic!("an input is no persistent file"),
        }
    }

    fn reserve(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        match self.object(file) {
            None => self.local.reserve(file, bytes),
            Some(Object::Output(upload)) => upload.check_length(Operation::Reserve, bytes),
            Some(Object::Input(_)) => panic!("an input is not open for writing"),
        }
    }

    fn discard(&self, file: FileId, offset: u64, bytes: u64) -> Result<(), Error> {
        if self.object(file).is_some() { Ok(()) } else { self.local.discard(file, offset, bytes) }
    }
}

impl OutputFiles for ObjectDisk {
    fn create_output(&self, path: &Path) -> Result<FileId, Error> {
        if !is_url(path) {
            return self.local.create_output(path);
        }
        let location = Location::of_output(path)
            .map_err(|failure| refusal(Operation::Create, path, failure))?;
        let Engine { caller, workers } = self.start()?;
        let upload = Upload::create(caller, workers.queue(), location, &self.settings)?;
        Ok(self.add(Object::Output(upload)))
    }

    fn create_persistent_output(&self, path: &Path, tag: &str) -> Result<(FileId, String), Error> {
        if !is_url(path) {
            return self.local.create_persistent_output(path, tag);
        }
        let location = Location::of_output(path)
            .map_err(|failure| refusal(Operation::Create, path, failure))?;
        let Engine { caller, workers } = self.start()?;
        let (upload, tag) =
            Upload::create_persistent(caller, workers.queue(), location, &self.settings)?;
        Ok((self.add(Object::Output(upload)), tag))
    }

    fn open_persistent_output(
        &self,
        path: &Path,
        tag: &str,
        parts: &[StoredPart],
    ) -> Result<FileId, Error> {
        if !is_url(path) {
            return self.local.open_persistent_output(path, tag, parts);
        }
        let location = Location::of_output(path)
            .map_err(|failure| refusal(Operation::Persist, path, failure))?;
        let Engine { caller, workers } = self.start()?;
        let (queue, known) = (workers.queue(), (tag, parts));
        let upload = Upload::reopen(caller, queue, location, &self.settings, known)?;
        Ok(self.add(Object::Output(upload)))
    }

    fn stored_parts(&self, output: FileId, known: usize) -> Option<Vec<StoredPart>> {
        match self.object(output)? {
            Object::Output(upload) => upload.stored_parts(known),
            Object::Input(_) => None,
        }
    }

    fn begins_with(&self, output: FileId, bytes: u64, crc: u32) -> Option<bool> {
        match self.object(output)? {
            Object::Output(upload) => upload.begins_with(bytes, crc),
            Object::Input(_) => None,
        }
    }

    fn publish(&self, output: FileId, bytes: u64, sync: bool) -> Result<(), Error> {
        match self.object(output) {
            None => self.local.publish(output, bytes, sync),
            Some(Object::Input(_)) => panic!("only an output can be published"),
            Some(Object::Output(upload)) => {
                self.remove(output);
                self.ahead.forget(upload.location());
                upload.publish(bytes)
            }
        }
    }

    fn sync_name(&self, output: &Path) -> Result<(), Error> {
        // The name of a published object is durable.
        if is_url(output) { Ok(()) } else { self.local.sync_name(output) }
    }

    fn open_in_place(&self, path: &Path) -> Result<FileId, Error> {
        refuse_url(Operation::Open, path, "an object can't be overwritten in place")?;
        self.local.open_in_place(path)
    }

    fn set_bytes(&self, file: FileId, bytes: u64) -> Result<(), Error> {
        match self.object(file) {
            None => self.local.set_bytes(file, bytes),
            Some(Object::Output(upload)) => upload.check_length(Operation::Write, bytes),
            Some(Object::Input(_)) => panic!("an input is not open for writing"),
        }
    }
}

impl Disk for ObjectDisk {
    fn submit(&self, mut request: Request) {
        let Some(object) = self.object(request.file) else { return self.local.submit(request) };
        let Request { offset, bytes, bytes_needed, .. } = request;
        assert!(
            offset.is_multiple_of(ALIGNMENT as u64)
                && bytes.is_multiple_of(ALIGNMENT)
                && bytes <= request.lease.len()
                && bytes_needed <= bytes,
            "a transfer of {bytes} bytes at byte {offset}, which breaks its contract"
        );
        match (object, request.direction) {
            (Object::Input(input), Direction::Read) => {
                self.engine().workers.queue().push(move || {
                    let result = input.read(&mut request);
                    drop(input);
                    request.complete(result);
                });
            }
            (Object::Output(upload), Direction::Write) => upload.write(request),
            (object, direction) => {
                panic!("{direction:?} of {}, which is open for the other", object.location())
            }
        }
    }

    fn file_bytes(&self, file: FileId) -> Result<u64, Error> {
        match self.object(file) {
            None => self.local.file_bytes(file),
            Some(Object::Input(input)) => Ok(input.info.bytes),
            Some(Object::Output(upload)) => {
                let path = upload.location().url();
                Err(unsupported(Operation::Inspect, &path, "an output has no length yet"))
            }
        }
    }

    fn identity(&self, file: FileId) -> Result<FileIdentity, Error> {
        let Some(object) = self.object(file) else { return self.local.identity(file) };
        let location = object.location();
        let (etag, modified) = match &object {
            Object::Input(input) => {
                (input.version().etag.as_deref(), input.version().modified.as_deref())
            }
            Object::Output(_) => (None, None),
        };
        Ok(FileIdentity {
            drive: drive_number(location),
            number: number_of((&location.key, etag)),
            links: 1,
            modified: (seconds(modified), 0),
            content: etag.map_or(0, content_number),
        })
    }

    fn sync(&self, file: FileId) -> Result<(), Error> {
        // The parts that the store has taken are durable; the rest will be when the object is
        // published.
        if self.object(file).is_some() { Ok(()) } else { self.local.sync(file) }
    }

    fn close(&self, file: FileId) {
        match self.object(file) {
            None => self.local.close(file),
            Some(object) => {
                self.remove(file);
                close(&object);
            }
        }
    }

    fn drive(&self, path: &Path) -> Result<Drive, Error> {
        if !is_url(path) {
            return self.local.drive(path);
        }
        let location = location(Operation::Inspect, path)?;
        Ok(Drive {
            id: drive_number(&location),
            free_bytes: STORE_FREE_BYTES,
            is_memory: false,
            overwrites: false,
            limit_bytes_per_second: None,
            kind: location.scheme.prefix().trim_end_matches("://").to_owned(),
        })
    }

    fn path(&self, file: FileId) -> PathBuf {
        self.object(file).map_or_else(|| self.local.path(file), |object| object.location().url())
    }

    fn describe(&self) -> String {
        let local = self.local.describe();
        let Some(engine) = self.engine.get() else { return local };
        let ObjectSettings { connections, part_bytes, .. } = self.settings;
        let store = engine.caller.client.describe();
        format!("{local}; {store}, {connections} connections, parts of {} MiB", part_bytes >> 20)
    }

    fn notices(&self) -> Vec<String> {
        [self.local.notices(), self.notices.take()].concat()
    }
}

/// Returns the notice that versions of objects at this place can't be distinguished.
fn indistinct(object: &Location) -> String {
    let host = object.with_key("");
    format!(
        "{host} gives what it serves neither a tag nor a time of change that tells versions apart: \
         if it is written to while it is read, only another length is noticed"
    )
}

/// Stops the transfers of an object that is being closed.
fn close(object: &Object) {
    match object {
        Object::Input(input) => input.stop.set(),
        Object::Output(upload) => upload.give_up(),
    }
}

impl Drop for ObjectDisk {
    fn drop(&mut self) {
        self.ahead.stop.set();
        for object in std::mem::take(&mut self.objects.get_mut().open).values() {
            close(object);
        }
    }
}

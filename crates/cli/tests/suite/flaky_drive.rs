//! A drive that fails in the way and at the place that a test chooses: a file system in this
//! process (FUSE), whose files are in memory.
//!
//! The kernel passes its answers on, so they reach a program for any kind of I/O, including
//! io_uring. It supports one directory, no nameless files and no permissions. One thread answers
//! the calls in their order; an answer that is held back doesn't delay the others.

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const BLOCK: u64 = 4096;
/// Has the kernel ask every time.
const NEVER: Duration = Duration::ZERO;

/// Bypasses the page cache, which takes a short answer for the end of the file.
const UNCACHED: FopenFlags = FopenFlags::FOPEN_DIRECT_IO;

/// The calls that a rule can apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Create,
    Read,
    Write,
    /// Reserves space.
    Reserve,
    /// Frees space.
    Punch,
    Truncate,
    Sync,
    SyncDirectory,
    Rename,
    Remove,
}

/// How the drive answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// With this error, every time.
    Fails(i32),
    /// With only a part of the bytes.
    Short,
    /// Not until the test releases it. Other calls are answered meanwhile.
    Stalls,
}

/// Applies to calls of one kind that reach beyond this byte of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) call: Call,
    pub(crate) beyond: u64,
    pub(crate) answer: Answer,
}

/// A mounted drive. Its directory is empty at first.
pub(crate) struct FlakyDrive {
    shared: Arc<Shared>,
    /// Dropped before the directory that it is mounted on.
    _session: BackgroundSession,
    directory: TempDir,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    met: Condvar,
}

#[derive(Default)]
struct State {
    files: BTreeMap<u64, File>,
    names: BTreeMap<OsString, u64>,
    last: u64,
    rule: Option<Rule>,
    /// The number of calls of each kind.
    calls: BTreeMap<Call, u32>,
    /// The number of times that the rule applied.
    times_met: u32,
    held_back: Vec<Box<dyn FnOnce() + Send>>,
}

struct File {
    /// The bytes that were written.
    bytes: Vec<u8>,
    /// The file's length. After the bytes that were written there are zeros.
    length: u64,
    modified: SystemTime,
    has_name: bool,
    opened: u32,
}

impl FlakyDrive {
    /// Mounts a drive. Prints a note and returns `None` if no file system can be mounted.
    pub(crate) fn mount() -> Option<FlakyDrive> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let shared = Arc::<Shared>::default();
        match fuser::spawn_mount(Served(Arc::clone(&shared)), directory.path(), &Config::default())
        {
            Ok(session) => Some(FlakyDrive { shared, _session: session, directory }),
            Err(error) => {
                eprintln!("skipped: no file system can be mounted here: {error}");
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Removes the rule, and resets the counters.
    pub(crate) fn behave(&self) {
        let mut state = self.shared.lock();
        state.rule = None;
        state.times_met = 0;
        state.calls.clear();
    }

    /// Sets the rule from now on.
    pub(crate) fn set(&self, call: Call, beyond: u64, answer: Answer) {
        self.behave();
        self.shared.lock().rule = Some(Rule { call, beyond, answer });
    }

    /// The number of times that the rule applied.
    pub(crate) fn times_met(&self) -> u32 {
        self.shared.lock().times_met
    }

    /// The number of calls of a kind since `behave` or `set`.
    pub(crate) fn calls(&self, call: Call) -> u32 {
        self.shared.lock().calls.get(&call).copied().unwrap_or(0)
    }

    /// Waits until the rule applies, or until `gives_up`, which is called repeatedly, returns true.
    /// Returns true if the rule applied.
    pub(crate) fn wait_until_met(&self, mut gives_up: impl FnMut() -> bool) -> bool {
        let mut state = self.shared.lock();
        while state.times_met == 0 {
            let waited = self.shared.met.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.times_met == 0 && gives_up() {
                return false;
            }
        }
        true
    }

    /// Removes the rule, and answers the calls that were held back.
    pub(crate) fn release(&self) {
        let mut state = self.shared.lock();
        state.rule = None;
        let held_back = std::mem::take(&mut state.held_back);
        drop(state);
        held_back.into_iter().for_each(|answer| answer());
    }

    /// The numbers of the open files without a name, and the offsets of their pages that are not
    /// all zeros.
    pub(crate) fn nameless_pages(&self) -> Vec<(u64, u64)> {
        let state = self.shared.lock();
        let mut pages = Vec::new();
        for (number, file) in state.files.iter().filter(|(_, file)| !file.has_name) {
            let page = |(index, page): (usize, &[u8])| {
                page.iter().any(|byte| *byte != 0).then_some((*number, index as u64 * BLOCK))
            };
            pages.extend(file.bytes.chunks(BLOCK as usize).enumerate().filter_map(page));
        }
        pages
    }

    /// Flips a bit without a call.
    pub(crate) fn flip(&self, file: u64, byte: u64, bit: u32) {
        self.shared.lock().files.get_mut(&file).unwrap().bytes[byte as usize] ^= 1 << bit;
    }

    /// Changes a file as another program might.
    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.shared.lock();
        let number = state.names[OsStr::new(name)];
        let file = state.files.get_mut(&number).unwrap();
        change(&mut file.bytes);
        file.length = file.bytes.len() as u64;
        file.modified += Duration::from_secs(1);
    }

    /// All names in the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        self.shared.lock().names.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call that reaches up to the byte `end` of a file. Returns the answer if the rule
    /// applies.
    fn meet(&mut self, call: Call, end: u64, met: &Condvar) -> Option<Answer> {
        *self.calls.entry(call).or_default() += 1;
        let rule = self.rule.filter(|rule| rule.call == call && end > rule.beyond)?;
        self.times_met += 1;
        met.notify_all();
        Some(rule.answer)
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let (size, modified, kind) = match self.files.get(&number) {
            Some(file) => (file.length, file.modified, FileType::RegularFile),
            None if number == INodeNo::ROOT.0 => (0, SystemTime::UNIX_EPOCH, FileType::Directory),
            None => return None,
        };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(512),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind,
            perm: 0o777,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK as u32,
            flags: 0,
        })
    }

    /// Removes a file that can't be reached any more.
    fn collect(&mut self, number: u64) {
        if self.files.get(&number).is_some_and(|file| !file.has_name && file.opened == 0) {
            self.files.remove(&number);
        }
    }

    fn unlink(&mut self, name: &OsStr) -> bool {
        let Some(number) = self.names.remove(name) else { return false };
        self.files.get_mut(&number).unwrap().has_name = false;
        self.collect(number);
        true
    }
}

/// A part of `bytes` bytes: whole sectors, and at least a block, so that a direct transfer
/// progresses.
fn part(bytes: usize) -> usize {
    (bytes / 2 / 512 * 512).max(BLOCK as usize)
}

/// The file system that the kernel calls.
struct Served(Arc<Shared>);

impl Served {
    /// Handles a call without bytes: fails it, holds it back, or executes it.
    fn plainly(
        &self,
        call: Call,
        end: u64,
        reply: ReplyEmpty,
        does: impl FnOnce(&mut State) -> bool,
    ) {
        let mut state = self.0.lock();
        match state.meet(call, end, &self.0.met) {
            Some(Answer::Fails(errno)) => reply.error(Errno::from_i32(errno)),
            answer => {
                let is_done = does(&mut state);
                let say = move || if is_done { reply.ok() } else { reply.error(Errno::ENOENT) };
                if answer == Some(Answer::Stalls) {
                    state.held_back.push(Box::new(say));
                } else {
                    say();
                }
            }
        }
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.0.lock();
        match state.names.get(name).and_then(|number| state.attributes(*number)) {
            Some(attributes) => reply.entry(&NEVER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.lock().attributes(ino.0) {
            Some(attributes) => reply.attr(&NEVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.0.lock();
        if let Some(size) = size {
            if let Some(Answer::Fails(errno)) = state.meet(Call::Truncate, u64::MAX, &self.0.met) {
                return reply.error(Errno::from_i32(errno));
            }
            if let Some(file) = state.files.get_mut(&ino.0) {
                file.bytes.truncate(size as usize);
                file.length = size;
                file.modified = SystemTime::now();
            }
        }
        match state.attributes(ino.0) {
            Some(attributes) => reply.attr(&NEVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mut state = self.0.lock();
        if let Some(Answer::Fails(errno)) = state.meet(Call::Create, u64::MAX, &self.0.met) {
            return reply.error(Errno::from_i32(errno));
        }
        state.last += 1;
        let number = INodeNo::ROOT.0 + state.last;
        let file = File {
            bytes: Vec::new(),
            length: 0,
            modified: SystemTime::now(),
            has_name: true,
            opened: 1,
        };
        state.files.insert(number, file);
        state.names.insert(name.to_owned(), number);
        let attributes = state.attributes(number).unwrap();
        reply.created(&NEVER, &attributes, Generation(0), FileHandle(0), UNCACHED);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if let Some(file) = self.0.lock().files.get_mut(&ino.0) {
            file.opened += 1;
        }
        reply.opened(FileHandle(0), UNCACHED);
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let mut state = self.0.lock();
        if let Some(file) = state.files.get_mut(&ino.0) {
            file.opened -= 1;
        }
        state.collect(ino.0);
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut state = self.0.lock();
        let answer = state.meet(Call::Read, offset + u64::from(size), &self.0.met);
        if let Some(Answer::Fails(errno)) = answer {
            return reply.error(Errno::from_i32(errno));
        }
        // The content at the time of the answer, if the call is held back.
        let say = move |state: &State| {
            let Some(file) = state.files.get(&ino.0) else { return reply.error(Errno::EBADF) };
            let mut wanted = file.length.saturating_sub(offset).min(size.into()) as usize;
            if answer == Some(Answer::Short) && wanted > BLOCK as usize {
                wanted = part(wanted);
            }
            let written = &file.bytes[file.bytes.len().min(offset as usize)..];
            let mut bytes = written[..written.len().min(wanted)].to_vec();
            bytes.resize(wanted, 0);
            reply.data(&bytes);
        };
        if answer == Some(Answer::Stalls) {
            let shared = Arc::clone(&self.0);
            state.held_back.push(Box::new(move || say(&shared.lock())));
        } else {
            say(&state);
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.0.lock();
        let end = offset as usize + data.len();
        let answer = state.meet(Call::Write, end as u64, &self.0.met);
        if let Some(Answer::Fails(errno)) = answer {
            return reply.error(Errno::from_i32(errno));
        }
        let Some(file) = state.files.get_mut(&ino.0) else { return reply.error(Errno::EBADF) };
        let is_short = answer == Some(Answer::Short) && data.len() > BLOCK as usize;
        let taken = if is_short { part(data.len()) } else { data.len() };
        let end = end - data.len() + taken;
        file.bytes.resize(file.bytes.len().max(end), 0);
        file.bytes[offset as usize..end].copy_from_slice(&data[..taken]);
        file.length = file.length.max(end as u64);
        file.modified = SystemTime::now();
        let say = move || reply.written(taken as u32);
        if answer == Some(Answer::Stalls) { state.held_back.push(Box::new(say)) } else { say() }
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let (start, end) = (offset as usize, (offset + length) as usize);
        let call = if mode == 0 { Call::Reserve } else { Call::Punch };
        self.plainly(call, offset + length, reply, |state| {
            let Some(file) = state.files.get_mut(&ino.0) else { return false };
            match call {
                Call::Reserve => file.length = file.length.max(end as u64),
                _ => {
                    let all = file.bytes.len();
                    file.bytes[start.min(all)..end.min(all)].fill(0);
                }
            }
            true
        });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.plainly(Call::Sync, u64::MAX, reply, |_| true);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.plainly(Call::SyncDirectory, u64::MAX, reply, |_| true);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: INodeNo,
        to: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        self.plainly(Call::Rename, u64::MAX, reply, |state| {
            state.unlink(to);
            let Some(number) = state.names.remove(name) else { return false };
            state.names.insert(to.to_owned(), number);
            true
        });
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.plainly(Call::Remove, u64::MAX, reply, |state| state.unlink(name));
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let state = self.0.lock();
        let own = [(".", ino), ("..", ino)]
            .map(|(name, ino)| (OsStr::new(name), ino, FileType::Directory));
        let files = state
            .names
            .iter()
            .map(|(name, number)| (&**name, INodeNo(*number), FileType::RegularFile));
        for (number, (name, ino, kind)) in
            (1..).zip(own.into_iter().chain(files)).skip(offset as usize)
        {
            if reply.add(ino, number, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = 1 << 20;
        reply.statfs(blocks, blocks, blocks, blocks, blocks, BLOCK as u32, 255, BLOCK as u32);
    }
}

//! The walk: what each task does.

use crate::batch::{BUFFER_BYTES, Batch, Entry, GNU_ENTRIES_MAX, is_sorted_by_gnu};
use crate::directory::{Directory, Place, Sums};
use crate::handle::{self, Handles, Opened};
use crate::links::{Kept, Link};
use crate::medium::{self, Medium};
use crate::mounts;
use crate::options::{Detail, Follow, Links, Options};
use crate::seen::Seen;
use crate::status::{Kind, Nature, Question, Status};
use crate::usage::Usage;
use crate::visitor::{Failure, Found, Operation, Visitor};
use crate::worker_pool::{Bounds, Spawner, Worker, WorkerPool};
use rustix::fs::{Mode, openat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::mem::{self, MaybeUninit};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, Scope};

/// Entries that are read before any of them is looked at: the more, the better they can be sorted.
const BATCH_ENTRIES: usize = 16 << 10;

/// Entries of a large batch that are one task: half a millisecond, if the kernel knows them all.
const LOOK_ENTRIES: usize = 512;

/// Threads in all, whatever the device bears.
const THREADS_MAX: usize = 256;

/// Bytes of a thread's stack. Nothing recurses, and the buffer for listings is on the heap.
const STACK_BYTES: usize = 256 << 10;

/// Walks one argument after the other, each taken when its turn comes. Every inode counts once over
/// all (but for [`Links::Each`]). Returns the sum over all arguments.
///
/// Memory goes with what is open, a batch of entries for each level, and with files of several
/// names; not with files.
///
/// # Panics
/// If the visitor does.
pub fn walk(
    options: &Options,
    arguments: &mut dyn Iterator<Item = Vec<u8>>,
    visitor: &dyn Visitor,
) -> Usage {
    let walk = Walk::new(options, visitor);
    thread::scope(|scope| {
        let _end = End(&walk.worker_pool);
        let mut desk = Desk::default();
        let mut hand = walk.worker_pool.join(1).expect("the first place is free");
        let mut total = Usage::default();
        for argument in arguments {
            if visitor.is_stopped() {
                break;
            }
            total +=
                walk.argument(&argument, &mut hand, &mut desk, &Starter { walk: &walk, scope });
        }
        total
    })
}

/// Sends the worker_pool home, also when there was a panic.
struct End<'a>(&'a WorkerPool<Task>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Starts the threads after the first.
struct Starter<'scope, 'env> {
    walk: &'scope Walk<'scope>,
    scope: &'scope Scope<'scope, 'env>,
}

impl Spawner for Starter<'_, '_> {
    fn bounds(&self) -> Bounds {
        if let Some(threads) = self.walk.threads {
            return Bounds { busy: threads.get(), waiting: threads.get() };
        }
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let top = self.walk.top.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let medium =
            top.map_or(Medium::Solid, |top| Medium::of(&*top, top.directory.identity.device));
        Bounds { busy: processors, waiting: medium.threads_max(processors) }
    }

    /// If the system has no more threads, the walk goes on with those that there are.
    fn start(&self, threads_max: usize) {
        let &Starter { walk, scope } = self;
        let Some(mut hand) = walk.worker_pool.join(threads_max) else { return };
        let thread = Builder::new().name("walk".into()).stack_size(STACK_BYTES);
        let work = move || {
            let end = End(&walk.worker_pool);
            let mut desk = Desk::default();
            let help = Starter { walk, scope };
            hand.work_until_over(|hand, task| walk.perform(hand, &mut desk, task), &help);
            // Only a panic ends the others' work.
            mem::forget(end);
        };
        let _ = thread.spawn_scoped(scope, work);
    }
}

/// What a thread does at a time.
#[derive(Debug)]
enum Task {
    /// A directory, to be opened.
    Open { within: Within, name: Box<CStr>, place: Place },
    /// An open directory, to be listed on.
    Read { opened: Arc<Opened>, rest: Batch },
    /// Some of the entries that were listed.
    Look { within: Within, batch: Arc<Batch>, range: Range<usize> },
}

/// The directory that something is in.
#[derive(Debug)]
enum Within {
    Open(Arc<Opened>),
    Closed(Arc<Directory>),
}

impl Within {
    fn directory(&self) -> &Arc<Directory> {
        match self {
            Within::Open(opened) => &opened.directory,
            Within::Closed(directory) => directory,
        }
    }
}

/// What all threads share.
struct Walk<'a> {
    options: &'a Options,
    visitor: &'a dyn Visitor,
    question: Question,
    /// `None`: as the machine and the device bear.
    threads: Option<NonZeroUsize>,
    /// Entries are taken strictly in the order of their listing, directories as they come: GNU's
    /// order. Else by inode, directories after files.
    is_in_order: bool,
    /// Files of several names are kept aside until the argument is walked.
    keeps_links: bool,
    remembers_all: bool,
    worker_pool: WorkerPool<Task>,
    handles: Arc<Handles>,
    seen: Seen,
    links: Mutex<Kept>,
    /// The argument's directory.
    top: Mutex<Option<Arc<Opened>>>,
}

/// What a thread works with.
struct Desk {
    buffer: Box<[MaybeUninit<u8>]>,
    batch: Batch,
    found: Counted,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            buffer: Box::new_uninit_slice(BUFFER_BYTES),
            batch: Batch::default(),
            found: Counted::default(),
        }
    }
}

/// What came of some of a directory's entries.
#[derive(Default)]
struct Counted {
    own: Usage,
    /// Files that count once, and may have been counted.
    remembered: Vec<(Status, Entry)>,
    directories: Vec<Entry>,
}

impl<'a> Walk<'a> {
    fn new(options: &'a Options, visitor: &'a dyn Visitor) -> Walk<'a> {
        // What all symbolic links lead to can't be ordered afterwards: whole trees would have to
        // change their places.
        let must_be_in_order = options.follow == Follow::Always && options.detail != Detail::Total;
        let threads = if must_be_in_order { NonZeroUsize::new(1) } else { options.threads };
        let is_in_order = threads.is_some_and(|threads| threads.get() == 1);
        let threads_max = threads.map_or(THREADS_MAX, NonZeroUsize::get).min(handle::threads_max());
        Walk {
            options,
            visitor,
            question: Question::new(options),
            is_in_order,
            keeps_links: options.links == Links::Once
                && options.detail != Detail::Total
                && !is_in_order,
            remembers_all: options.remembers_all || options.follow == Follow::Always,
            threads,
            worker_pool: WorkerPool::new(threads_max),
            handles: Handles::new(threads_max),
            seen: Seen::new(),
            links: Mutex::default(),
            top: Mutex::default(),
        }
    }

    /// Walks an argument to its end, and returns what it adds to the sum.
    fn argument(
        &self,
        argument: &[u8],
        hand: &mut Worker<'_, Task>,
        desk: &mut Desk,
        help: &impl Spawner,
    ) -> Usage {
        let name = without_slashes(argument);
        if self.options.has_excludes && self.visitor.excludes(name) {
            return Usage::default();
        }
        let looked = match CString::new(name) {
            Ok(path) => self.question.of_argument(&path).map(|status| (path, status)),
            // No file has such a name.
            Err(_) => Err(Errno::NOENT),
        };
        let (path, status) = match looked {
            Ok(looked) => looked,
            Err(errno) => {
                self.fail(Operation::Access, name.to_vec(), errno);
                return Usage::default();
            }
        };
        if !self.is_new(&status) {
            return Usage::default();
        }
        self.visitor.advance(1, status.usage.allocated_bytes);
        if status.is_directory() {
            match handle::open_argument(&path, self.options.follow != Follow::Never) {
                Ok(file) => return self.tree(name, &status, file, hand, desk, help),
                Err(errno) => self.fail(Operation::Open, name.to_vec(), errno),
            }
        }
        let sums = Sums { own: status.usage, total: status.usage };
        self.show(None, name, 0, status.nature(), sums);
        status.usage
    }

    /// Walks an argument that is an open directory.
    fn tree(
        &self,
        name: &[u8],
        status: &Status,
        file: OwnedFd,
        hand: &mut Worker<'_, Task>,
        desk: &mut Desk,
        help: &impl Spawner,
    ) -> Usage {
        let place = Place { ordinal: 0, inode: status.identity.inode };
        let directory = Directory::new(None, name.into(), place, status);
        let opened = Opened::new(Arc::new(directory), file, &self.handles);
        *self.top.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&opened));
        let root = Arc::clone(&opened.directory);
        hand.push_all([Task::Read { opened, rest: Batch::default() }].into_iter());
        self.worker_pool.forget_bounds();
        hand.work_until_done(|hand, task| self.perform(hand, desk, task), help);
        *self.top.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.charge_links();
        root.total()
    }

    fn perform(&self, hand: &Worker<'_, Task>, desk: &mut Desk, task: Task) {
        if self.visitor.is_stopped() {
            return;
        }
        match task {
            Task::Open { within, name, place } => self.open(hand, desk, within, &name, place),
            Task::Read { opened, rest } => self.read(hand, desk, &opened, rest),
            Task::Look { within, batch, range } => match self.opened(within) {
                Ok(opened) => self.look(hand, desk, &opened, &batch, range),
                Err((directory, errno)) => {
                    self.fail(Operation::List, directory.path(), errno);
                    self.settle(&directory, Usage::default(), 0, 1);
                }
            },
        }
    }

    /// An open directory for a task that waits: closed in the meantime, where handles are scarce.
    fn within(&self, opened: &Arc<Opened>) -> Within {
        if self.handles.are_scarce() {
            Within::Closed(Arc::clone(&opened.directory))
        } else {
            Within::Open(Arc::clone(opened))
        }
    }

    /// The directory of a task that waited, open.
    fn opened(&self, within: Within) -> Result<Arc<Opened>, (Arc<Directory>, Errno)> {
        match within {
            Within::Open(opened) => Ok(opened),
            Within::Closed(directory) => match self.reopen(&directory) {
                Ok(file) => Ok(Opened::new(directory, file, &self.handles)),
                Err(errno) => Err((directory, errno)),
            },
        }
    }

    /// Opens a directory, and begins with what is in it.
    fn open(
        &self,
        hand: &Worker<'_, Task>,
        desk: &mut Desk,
        within: Within,
        name: &CStr,
        place: Place,
    ) {
        let parent = within.directory();
        let path = || parent.path_of(name.to_bytes());
        let (file, status) = match self.open_entry(&within, name) {
            Ok(opened) => opened,
            Err((operation, errno)) => {
                self.fail(operation, path(), errno);
                return self.settle(parent, Usage::default(), 0, 1);
            }
        };
        if !self.is_wanted(parent, &status) || !self.is_new(&status) {
            return self.settle(parent, Usage::default(), 0, 1);
        }
        // Only a mount, or a link that was followed, makes a sound tree hold itself.
        let is_followed = self.options.follow == Follow::Always;
        let is_below_mount = parent.is_below_mount || status.is_mount != Some(false);
        if status.is_directory() && parent.is_within(status.identity, is_below_mount || is_followed)
        {
            if !is_followed && !mounts::is_mounted(&self.question, status.identity) {
                self.fail(Operation::Cycle, path(), Errno::LOOP);
            }
            return self.settle(parent, Usage::default(), 0, 1);
        }
        self.visitor.advance(1, status.usage.allocated_bytes);
        let Some(file) = file.filter(|_| status.is_directory()) else {
            return self.count_closed(parent, name, &status);
        };
        let directory =
            Directory::new(Some(Arc::clone(parent)), name.to_bytes().into(), place, &status);
        let opened = Opened::new(Arc::new(directory), file, &self.handles);
        // The directory that it is in may close.
        drop(within);
        self.read(hand, desk, &opened, Batch::default());
    }

    /// A directory that is counted, but can't be opened; or what was a directory when it was
    /// listed.
    fn count_closed(&self, parent: &Arc<Directory>, name: &CStr, status: &Status) {
        let sums = Sums { own: status.usage, total: status.usage };
        self.show(Some(parent), name.to_bytes(), parent.depth + 1, status.nature(), sums);
        if status.is_directory() {
            self.rise(parent.settle_below(status.usage), parent);
        } else {
            self.settle(parent, status.usage, 0, 1);
        }
    }

    /// Opens a name in a directory and looks at it; only looks, if it can't be opened.
    fn open_entry(
        &self,
        within: &Within,
        name: &CStr,
    ) -> Result<(Option<OwnedFd>, Status), (Operation, Errno)> {
        let flags = handle::flags(self.options.follow == Follow::Always);
        let anew;
        let directory = match within {
            Within::Open(opened) => opened.as_fd(),
            Within::Closed(directory) => {
                anew = self.reopen(directory).map_err(|errno| (Operation::Access, errno))?;
                anew.as_fd()
            }
        };
        match openat(directory, name, flags, Mode::empty()) {
            Ok(file) => match self.question.of_open(&file) {
                Ok(status) => Ok((Some(file), status)),
                Err(errno) => Err((Operation::Access, errno)),
            },
            Err(errno) => {
                let status = self
                    .question
                    .of_entry(directory, name)
                    .map_err(|errno| (Operation::Access, errno))?;
                if status.is_directory() {
                    let path = within.directory().path_of(name.to_bytes());
                    self.fail(Operation::Open, path, errno);
                }
                Ok((None, status))
            }
        }
    }

    /// Opens a directory again that closed early.
    fn reopen(&self, directory: &Directory) -> Result<OwnedFd, Errno> {
        let top = self.top.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let file =
            handle::reopen(&top.expect("an argument is open while it is walked"), directory)?;
        let is_same = self.question.of_open(&file)?.identity == directory.identity;
        // Its name, or that of one above it, is another's now.
        if is_same { Ok(file) } else { Err(Errno::NOENT) }
    }

    /// Lists a directory, or more of it, and begins with what was listed.
    fn read(&self, hand: &Worker<'_, Task>, desk: &mut Desk, opened: &Arc<Opened>, rest: Batch) {
        let directory = &opened.directory;
        let entries_max = if self.is_in_order { GNU_ENTRIES_MAX } else { BATCH_ENTRIES };
        let mut batch = mem::take(&mut desk.batch);
        if rest.entries.is_empty() {
            batch.clear();
        } else {
            batch = rest;
        }
        let mut ordinal = directory.entries.load(Ordering::Relaxed);
        let read = batch.read(&**opened, &mut desk.buffer, entries_max, &mut ordinal);
        // No two threads list a directory at a time.
        directory.entries.store(ordinal, Ordering::Relaxed);
        let has_more = read.unwrap_or_else(|errno| {
            self.fail(Operation::List, directory.path(), errno);
            false
        });
        let mut rest = Batch::default();
        if !self.is_in_order {
            batch.sort_by_inode();
        } else {
            rest = batch.split_off(GNU_ENTRIES_MAX);
            if is_sorted_by_gnu(batch.entries.len()) && medium::is_sorted_by_gnu(&**opened) {
                batch.sort_by_inode();
            }
        }
        if !has_more {
            directory.finish_listing(
                !is_sorted_by_gnu(ordinal as usize) || medium::is_sorted_by_gnu(&**opened),
            );
        }
        if has_more || !rest.entries.is_empty() {
            self.settle(directory, Usage::default(), 1, 0);
            hand.push_all([Task::Read { opened: Arc::clone(opened), rest }].into_iter());
        }
        self.share(hand, desk, opened, batch);
    }

    /// Looks at a batch: at small ones at once, at large ones in pieces that others may take.
    fn share(&self, hand: &Worker<'_, Task>, desk: &mut Desk, opened: &Arc<Opened>, batch: Batch) {
        let entries = batch.entries.len();
        if self.is_in_order || entries <= 2 * LOOK_ENTRIES {
            let batch = Arc::new(batch);
            self.look(hand, desk, opened, &batch, 0..entries);
            // What is left of it is in the hands of a task, if it is.
            desk.batch = Arc::into_inner(batch).unwrap_or_default();
            return;
        }
        let batch = Arc::new(batch);
        let pieces = entries.div_ceil(LOOK_ENTRIES);
        self.settle(&opened.directory, Usage::default(), pieces - 1, 0);
        hand.push_all((1..pieces).rev().map(|piece| Task::Look {
            within: self.within(opened),
            batch: Arc::clone(&batch),
            range: piece * LOOK_ENTRIES..((piece + 1) * LOOK_ENTRIES).min(entries),
        }));
        self.look(hand, desk, opened, &batch, 0..LOOK_ENTRIES);
    }

    /// Looks at some of a directory's entries: counts files, and pushes directories.
    fn look(
        &self,
        hand: &Worker<'_, Task>,
        desk: &mut Desk,
        opened: &Arc<Opened>,
        batch: &Arc<Batch>,
        range: Range<usize>,
    ) {
        let counted = &mut desk.found;
        for (index, entry) in batch.entries[range.clone()].iter().enumerate() {
            self.look_at(opened, batch, entry, counted);
            if self.is_in_order && !counted.directories.is_empty() {
                // The directory comes first, then what is after it.
                let next = range.start + index + 1;
                let rest = Task::Look {
                    within: self.within(opened),
                    batch: Arc::clone(batch),
                    range: next..range.end,
                };
                self.settle(&opened.directory, Usage::default(), 1, 0);
                hand.push_all([rest].into_iter());
                break;
            }
        }
        self.hand_in(hand, counted, opened, batch);
    }

    fn look_at(&self, opened: &Arc<Opened>, batch: &Batch, entry: &Entry, counted: &mut Counted) {
        let (directory, name) = (&opened.directory, batch.name(entry));
        let path = || directory.path_of(name.to_bytes());
        if self.options.has_excludes && self.visitor.excludes(&path()) {
            return;
        }
        if entry.is_directory {
            return counted.directories.push(*entry);
        }
        let status = match self.question.of_entry(&**opened, name) {
            Ok(status) => status,
            Err(errno) => return self.fail(Operation::Access, path(), errno),
        };
        if status.is_directory() {
            return counted.directories.push(*entry);
        }
        if !self.is_wanted(directory, &status) {
            return;
        }
        if self.must_remember(&status) {
            if !self.is_in_order {
                return counted.remembered.push((status, *entry));
            }
            // Later it would be shown after the directory's other files.
            if !self.seen.insert(status.identity) {
                return;
            }
        }
        counted.own += status.usage;
        self.show_file(directory, name, &status);
    }

    /// Adds to a directory what came of looking at some of its entries.
    fn hand_in(
        &self,
        hand: &Worker<'_, Task>,
        counted: &mut Counted,
        opened: &Arc<Opened>,
        batch: &Batch,
    ) {
        let directory = &opened.directory;
        let Counted { own, remembered, directories } = counted;
        if !self.keeps_links {
            let identity = |(status, _): &(Status, Entry)| status.identity;
            self.seen.insert_all(remembered, identity, |(status, entry)| {
                *own += status.usage;
                self.show_file(directory, batch.name(entry), status);
            });
            remembered.clear();
        }
        let own = mem::take(own);
        self.visitor.advance(own.inodes, own.allocated_bytes);
        self.settle(directory, own, directories.len() + remembered.len(), 1);
        if !remembered.is_empty() {
            self.keep(directory, batch, remembered);
            remembered.clear();
        }
        hand.push_all(directories.drain(..).rev().map(|entry| Task::Open {
            within: self.within(opened),
            name: batch.name(&entry).into(),
            place: Place::from(&entry),
        }));
    }

    /// Keeps files of several names for later.
    fn keep(&self, within: &Arc<Directory>, batch: &Batch, remembered: &[(Status, Entry)]) {
        let links = remembered.iter().map(|(status, entry)| Link {
            nature: status.nature(),
            usage: status.usage,
            within: Arc::clone(within),
            place: Place::from(entry),
            name: self.is_file_shown(within).then(|| batch.name(entry).to_bytes().into()),
        });
        let out = self.links.lock().unwrap_or_else(PoisonError::into_inner).add(links);
        out.iter().for_each(|link| self.settle(&link.within, Usage::default(), 0, 1));
    }

    /// Charges each file of several names to the one that comes first, unless it was counted with
    /// an argument before.
    fn charge_links(&self) {
        let kept = mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner));
        if self.visitor.is_stopped() {
            return;
        }
        let (links, out) = kept.decide();
        out.iter().for_each(|link| self.settle(&link.within, Usage::default(), 0, 1));
        for link in links {
            let mut own = Usage::default();
            if self.seen.insert(link.nature.identity) {
                own = link.usage;
                self.visitor.advance(own.inodes, own.allocated_bytes);
                if let Some(name) = &link.name {
                    self.show(
                        Some(&link.within),
                        name,
                        link.within.depth + 1,
                        link.nature,
                        Sums { own, total: own },
                    );
                }
            }
            self.settle(&link.within, own, 0, 1);
        }
    }

    /// Whether it is on a file system that counts. Below an argument everything that counts is on
    /// the file system of the directory that it is in.
    fn is_wanted(&self, within: &Directory, status: &Status) -> bool {
        let device = status.identity.device;
        device == within.identity.device
            || !(self.options.one_file_system || self.options.skipped_devices.contains(&device))
    }

    /// Whether a file may be met again under another name.
    fn must_remember(&self, status: &Status) -> bool {
        self.options.links == Links::Once && (self.remembers_all || status.has_links)
    }

    /// Whether a file or directory that is met wasn't counted before.
    fn is_new(&self, status: &Status) -> bool {
        !self.must_remember(status) || self.seen.insert(status.identity)
    }

    fn settle(&self, directory: &Arc<Directory>, own: Usage, more: usize, done: usize) {
        self.rise(directory.settle(own, more, done), directory);
    }

    /// Tells of a directory that is complete, and adds it to the one above, which may be complete
    /// then.
    fn rise(&self, sums: Option<Sums>, directory: &Arc<Directory>) {
        let (mut sums, mut directory) = (sums, directory);
        while let Some(complete) = sums {
            let parent = directory.parent();
            let nature = Nature::of_directory(directory.identity);
            self.show(parent, &directory.name, directory.depth, nature, complete);
            let Some(parent) = parent else { return };
            sums = parent.settle_below(complete.total);
            directory = parent;
        }
    }

    fn is_file_shown(&self, within: &Directory) -> bool {
        self.options.detail == Detail::Files && within.depth < self.options.depth_max
    }

    fn show_file(&self, within: &Arc<Directory>, name: &CStr, status: &Status) {
        if self.is_file_shown(within) {
            let sums = Sums { own: status.usage, total: status.usage };
            self.show(Some(within), name.to_bytes(), within.depth + 1, status.nature(), sums);
        }
    }

    fn show(
        &self,
        within: Option<&Arc<Directory>>,
        name: &[u8],
        depth: usize,
        nature: Nature,
        sums: Sums,
    ) {
        let is_shown = match self.options.detail {
            Detail::Total => depth == 0,
            Detail::Directories => {
                nature.kind == Kind::Directory && depth <= self.options.depth_max
            }
            Detail::Files => depth <= self.options.depth_max,
        };
        if is_shown || depth == 0 {
            let Sums { own, total } = sums;
            let within = within.map(|within| &**within);
            let Nature { kind, identity, has_links } = nature;
            self.visitor.found(&Found {
                depth,
                kind,
                identity,
                has_links,
                total,
                own,
                within,
                name,
            });
        }
    }

    fn fail(&self, operation: Operation, path: Vec<u8>, errno: Errno) {
        self.visitor.failed(&Failure { path, operation, source: errno.into() });
    }
}

/// Less all slashes at its end but one.
fn without_slashes(argument: &[u8]) -> &[u8] {
    let mut name = argument;
    while let [before @ .., b'/'] = name
        && before.ends_with(b"/")
    {
        name = before;
    }
    name
}

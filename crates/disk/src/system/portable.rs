//! Other systems, of which macOS is built and not yet run.
//!
//! What is POSIX is used everywhere; macOS has calls of its own for direct I/O, reserved space,
//! holes and durability, all of fcntl(2), and renameatx_np(2).
#![allow(unsafe_code)]

use super::{Advice, Attributes, CachedPages};
use crate::hidden_name::create_hidden;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, StatFs, fstat, openat, readlinkat, stat, statat,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CString, OsStr, c_void};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// What Linux has and this system lacks, for `-v`.
pub(crate) const LACKS: Option<&str> =
    Some("this system has no io_uring, huge pages, control groups and temperatures of drives");

/// Opens a directory only to name what is in it (O_SEARCH of open(2)).
#[cfg(target_vendor = "apple")]
pub(crate) const PATH_ONLY: OFlags = OFlags::from_bits_retain(libc::O_SEARCH as _);
/// Opens a directory only to name what is in it: few systems can, so it must be readable.
#[cfg(not(target_vendor = "apple"))]
pub(crate) const PATH_ONLY: OFlags = OFlags::empty();

/// The type of file systems in user space.
pub(crate) const FUSE: &str = "macfuse";

/// File systems that overwrite blocks in place, in any order. APFS copies on write.
pub(crate) const OVERWRITING: [&str; 1] = ["hfs"];

/// Returns the name of a file system's type, and whether its files are in memory (statfs(2)).
#[cfg(target_vendor = "apple")]
pub(crate) fn kind(stat: &StatFs) -> (String, bool) {
    let name = stat.f_fstypename.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0);
    let name = String::from_utf8_lossy(&name.collect::<Vec<u8>>()).into_owned();
    let is_memory = name == "tmpfs";
    (name, is_memory)
}

/// Returns the name of a file system's type, and whether its files are in memory: systems have no
/// common way to tell.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn kind(_: &StatFs) -> (String, bool) {
    ("the file system".to_owned(), false)
}

/// Makes an open file direct, or returns a message for the user with the reason why not.
pub(crate) fn make_direct(fd: &OwnedFd, kind: &str) -> Result<(), String> {
    set_direct(fd, true).map_err(|errno| {
        format!(
            "{kind} refused direct I/O ({errno}): its files go through the page cache, which costs \
             more CPU"
        )
    })
}

/// Makes a direct file buffered.
pub(crate) fn make_buffered(fd: &OwnedFd) {
    let _ = set_direct(fd, false);
}

/// Sets or clears F_NOCACHE.
#[cfg(target_vendor = "apple")]
fn set_direct(fd: &OwnedFd, is_direct: bool) -> Result<(), Errno> {
    rustix::fs::fcntl_nocache(fd, is_direct)
}

/// Sets or clears O_DIRECT.
#[cfg(not(target_vendor = "apple"))]
fn set_direct(fd: &OwnedFd, is_direct: bool) -> Result<(), Errno> {
    let mut flags = rustix::fs::fcntl_getfl(fd)?;
    flags.set(OFlags::DIRECT, is_direct);
    rustix::fs::fcntl_setfl(fd, flags)
}

/// Opens no file without a name, which only Linux can.
pub(crate) fn open_nameless(_: BorrowedFd<'_>, _: OFlags, _: Mode) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Creates a file without a name in the directory for temporary files: shm_open(2) gives files that
/// pread(2) refuses.
pub(crate) fn memory_file() -> Result<OwnedFd, Errno> {
    let directory = openat(CWD, std::env::temp_dir(), OFlags::DIRECTORY, Mode::empty())?;
    let name = OsStr::new("memory");
    let (file, hidden) = create_hidden(directory.as_fd(), name, Mode::from_raw_mode(0o600))?;
    unlinkat(&directory, hidden, AtFlags::empty())?;
    Ok(file)
}

/// Extends a file by `bytes` reserved bytes from its end on.
#[cfg(target_vendor = "apple")]
pub(crate) fn extend(file: BorrowedFd<'_>, end: u64, bytes: u64) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let store = libc::fstore_t {
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: bytes as i64,
        fst_bytesalloc: 0,
    };
    // SAFETY: F_PREALLOCATE reads and writes this structure, which outlives the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PREALLOCATE, &raw const store) } == -1 {
        return Err(last_errno());
    }
    rustix::fs::ftruncate(file, end + bytes)
}

/// Extends a file by `bytes` reserved bytes from its end on (posix_fallocate(3)).
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn extend(file: BorrowedFd<'_>, end: u64, bytes: u64) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    // SAFETY: it takes three numbers, and returns the error.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), end as i64, bytes as i64) } {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Gives back the space of a range, which then reads as zeros.
#[cfg(target_vendor = "apple")]
pub(crate) fn punch_hole(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let hole = libc::fpunchhole_t {
        fp_flags: 0,
        reserved: 0,
        fp_offset: offset as i64,
        fp_length: bytes as i64,
    };
    // SAFETY: F_PUNCHHOLE reads this structure, which outlives the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PUNCHHOLE, &raw const hole) } {
        -1 => Err(last_errno()),
        _ => Ok(()),
    }
}

/// Keeps the space of a range: POSIX has no holes.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn punch_hole(_: BorrowedFd<'_>, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}

#[cfg(target_vendor = "apple")]
fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Makes a file durable: on macOS fsync(2) leaves its bytes in the drive's own cache.
#[cfg(target_vendor = "apple")]
pub(crate) fn fsync(file: impl AsFd) -> Result<(), Errno> {
    // Some file systems, such as those of other machines, know only the other call.
    match rustix::fs::fcntl_fullfsync(&file) {
        Err(Errno::NOTSUP | Errno::NOTTY | Errno::INVAL) => rustix::fs::fsync(file),
        result => result,
    }
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) use rustix::fs::fsync;

/// Makes a file's bytes durable.
pub(crate) fn fdatasync(file: impl AsFd) -> Result<(), Errno> {
    fsync(file)
}

/// Renames a file in a directory, unless its new name is taken (renameatx_np(2)).
#[cfg(target_vendor = "apple")]
pub(crate) fn rename_if_free(
    directory: BorrowedFd<'_>,
    old: &OsStr,
    new: &OsStr,
) -> Result<(), Errno> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(directory, old, directory, new, RenameFlags::NOREPLACE) {
        // The file system doesn't know the flag.
        Err(Errno::NOTSUP) => Err(Errno::NOSYS),
        renamed => renamed,
    }
}

/// Leaves it to the caller to make a link: POSIX always replaces.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn rename_if_free(_: BorrowedFd<'_>, _: &OsStr, _: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Returns the attributes of a name in a directory, or of the directory itself without a name.
pub(crate) fn attributes(directory: impl AsFd, name: &OsStr) -> Attributes {
    let found = match name.is_empty() {
        true => fstat(&directory),
        false => statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW),
    };
    let Ok(found) = found else { return Attributes::default() };
    let is_mount_point = fstat(directory).is_ok_and(|above| above.st_dev != found.st_dev);
    Attributes { is_mount_point, is_append_only: is_append_only(&found) }
}

/// Returns whether a file has one of the flags of chflags(2) for only appending: UF_APPEND and
/// SF_APPEND.
#[cfg(target_vendor = "apple")]
fn is_append_only(found: &Stat) -> bool {
    found.st_flags & (0x4 | 0x4_0000) != 0
}

#[cfg(not(target_vendor = "apple"))]
fn is_append_only(_: &Stat) -> bool {
    false
}

/// An entry of a directory.
pub(crate) struct Entry {
    /// Where it leads, if it is a symbolic link.
    text: Option<CString>,
}

impl Entry {
    /// Returns where a symbolic link leads.
    pub(crate) fn link_text(self) -> Result<CString, Errno> {
        self.text.ok_or(Errno::INVAL)
    }
}

/// Looks up a name in a directory, without following a link, and returns its properties. Those who
/// may put another link there between the two calls could have done so before.
pub(crate) fn look_up(directory: &OwnedFd, name: &OsStr) -> Result<(Entry, Stat), Errno> {
    let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let text = match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => Some(readlinkat(directory, name, Vec::new())?),
        _ => None,
    };
    Ok((Entry { text }, found))
}

/// Returns whether the directory's symbolic links stand for open files: those of the file system
/// that has `/dev/fd`.
pub(crate) fn has_kernel_links(directory: &OwnedFd) -> bool {
    let device = |found: Result<Stat, Errno>| found.map(|found| found.st_dev).ok();
    let open_files = device(stat(c"/dev/fd"));
    open_files.is_some() && device(fstat(directory)) == open_files
}

/// A file lacks an extended attribute.
#[cfg(target_vendor = "apple")]
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NOATTR;
#[cfg(not(target_vendor = "apple"))]
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NODATA;

/// Gives `new` the access control list of the file at `path` (fcopyfile(3)).
#[cfg(target_vendor = "apple")]
pub(crate) fn copy_access_list(new: &OwnedFd, path: &Path) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let old = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let (old, new, state) = (old.as_raw_fd(), new.as_raw_fd(), std::ptr::null_mut());
    // SAFETY: both files are open during the call, which needs no state.
    match unsafe { libc::fcopyfile(old, new, state, libc::COPYFILE_ACL) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

/// Copies an access control list that isn't an extended attribute: systems have no common kind.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn copy_access_list(_: &OwnedFd, _: &Path) -> Result<(), Errno> {
    Ok(())
}

/// Says what a range of memory is for: nothing that these systems would want to know.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn advise(_: *mut c_void, _: usize, _: Advice) {}

/// Returns how many pages of a range are in the page cache: `None`, as nothing tells.
pub(crate) fn cached_pages(_: impl AsFd, _: u64, _: u64) -> Option<CachedPages> {
    None
}

/// Reads what the page cache holds: nothing, as far as is known.
pub(crate) fn read_cached(_: impl AsFd, _: &mut [u8], _: u64) -> Result<usize, Errno> {
    Err(Errno::NOSYS)
}

/// Asks for a range of a file to be read into the page cache (F_RDADVISE).
#[cfg(target_vendor = "apple")]
pub(crate) fn read_ahead(file: impl AsFd, offset: u64, bytes: NonZeroU64) {
    let _ = rustix::fs::fcntl_rdadvise(file, offset, bytes.get());
}

/// Asks for nothing, because systems have no common way to.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn read_ahead(_: impl AsFd, _: u64, _: NonZeroU64) {}

/// Tells nothing: systems find out themselves that a file is read in order.
pub(crate) fn read_in_order(_: impl AsFd) {}

/// Returns the machine's memory in bytes (sysconf(3)); 0 if the system doesn't tell.
pub(crate) fn memory_bytes() -> u64 {
    // SAFETY: it takes any number, and returns -1 for one that it doesn't know.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    u64::try_from(pages).unwrap_or(0) * rustix::param::page_size() as u64
}

/// Consumes the signals of a set that arrived while they were blocked. Otherwise they would be
/// delivered on unblocking.
pub(crate) fn take_pending(set: &libc::sigset_t) {
    // SAFETY: all zeros are a valid value of this C structure. The functions read the first set and
    // write the second and the number; sigwait returns at once, as a signal of the set is pending.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending);
        if libc::sigismember(&raw const pending, libc::SIGPIPE) == 1 {
            let mut signal = 0;
            libc::sigwait(set, &raw mut signal);
        }
    }
}

//! Linux: direct I/O by O_DIRECT, nameless files by O_TMPFILE, descriptors that only stand for a
//! place (O_PATH), and what statx(2), statfs(2), fallocate(2), madvise(2) and cachestat(2) tell and
//! do.
#![allow(unsafe_code)]

use super::{Advice, Attributes, CachedPages};
use crate::ALIGNMENT;
use rustix::fs::{
    AtFlags, FallocateFlags, MemfdFlags, Mode, OFlags, PROC_SUPER_MAGIC, RenameFlags, Stat, StatFs,
    StatxAttributes, StatxFlags, fadvise, fallocate, fcntl_getfl, fcntl_setfl, fstat, fstatfs,
    memfd_create, open, openat, readlinkat, renameat_with, statx,
};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::mm::madvise;
use std::ffi::{CString, OsStr, c_long, c_void};
use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{from_ref, null_mut};

pub(crate) use rustix::fs::{fdatasync, fsync};

/// What other Linux systems have and this one lacks: nothing.
pub(crate) const LACKS: Option<&str> = None;

/// Opens a file or directory only to name it.
pub(crate) const PATH_ONLY: OFlags = OFlags::PATH;

/// Magic numbers of statfs(2), from linux/magic.h and the file systems' own headers.
const KINDS: &[(u64, &str)] = &[
    (0xef53, EXT4),
    (0x5846_5342, XFS),
    (0x9123_683e, "btrfs"),
    (0x0102_1994, TMPFS),
    (0x8584_58f6, RAMFS),
    (0x9584_58f6, "hugetlbfs"),
    (0x794c_7630, "overlay"),
    (0x6969, "nfs"),
    (0x6573_5546, FUSE),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x0102_1997, "9p"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb"),
    (0x00c3_6400, "ceph"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x7366_746e, "ntfs3"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
    (0xf15f, "ecryptfs"),
    (0x3434, "nilfs"),
    (0x3153_464a, "jfs"),
    (0x0116_1970, "gfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
];
const EXT4: &str = "ext4";
const XFS: &str = "xfs";
const TMPFS: &str = "tmpfs";
/// All file systems in user space share this type.
pub(crate) const FUSE: &str = "fuse";
const RAMFS: &str = "ramfs";

/// File systems that overwrite blocks in place, in any order. Others copy on write, or fill the gap
/// in front of a block written out of order.
pub(crate) const OVERWRITING: [&str; 3] = [EXT4, XFS, TMPFS];

/// Returns the name of a file system's type, and whether its files are in memory.
pub(crate) fn kind(stat: &StatFs) -> (String, bool) {
    // The field's width differs by architecture; magic numbers have 32 bits.
    let magic = stat.f_type as u64 & 0xffff_ffff;
    match KINDS.iter().find(|(known, _)| *known == magic) {
        Some(&(_, name)) => (name.to_owned(), name == TMPFS || name == RAMFS),
        None => (format!("{magic:#x}"), false),
    }
}

/// Sets O_DIRECT on an open file on a file system of type `kind`, or returns a message for the user
/// with the reason why not. It uses fcntl rather than a flag of open: so a file system can refuse
/// only the flag, never the file.
pub(crate) fn make_direct(fd: &OwnedFd, kind: &str) -> Result<(), String> {
    let fallback = "its files go through the page cache, which costs more CPU";
    // Kernels before 6.1 and many file systems don't answer. Then setting the flag is the test.
    if let Ok(answer) = statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        && StatxFlags::from_bits_retain(answer.stx_mask).contains(StatxFlags::DIOALIGN)
    {
        let needed = answer.stx_dio_mem_align.max(answer.stx_dio_offset_align) as usize;
        if needed == 0 {
            return Err(format!("{kind} offers no direct I/O here: {fallback}"));
        }
        if !ALIGNMENT.is_multiple_of(needed) {
            return Err(format!(
                "{kind} wants direct I/O aligned to {needed} bytes, more than {ALIGNMENT}: \
                 {fallback}"
            ));
        }
    }
    fcntl_getfl(fd).and_then(|flags| fcntl_setfl(fd, flags | OFlags::DIRECT)).map_err(|errno| {
        match errno {
            Errno::INVAL => format!("{kind} offers no direct I/O: {fallback}"),
            other => format!("{kind} refused direct I/O ({other}): {fallback}"),
        }
    })
}

/// Removes O_DIRECT from an open file.
pub(crate) fn make_buffered(fd: &OwnedFd) {
    if let Ok(flags) = fcntl_getfl(fd) {
        let _ = fcntl_setfl(fd, flags - OFlags::DIRECT);
    }
}

/// Opens a new file without a name in a directory.
pub(crate) fn open_nameless(
    directory: BorrowedFd<'_>,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    openat(directory, c".", flags | OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode)
}

/// Creates a file in memory, without a name.
pub(crate) fn memory_file() -> Result<OwnedFd, Errno> {
    memfd_create(c"xsort", MemfdFlags::CLOEXEC)
}

/// Extends a file by `bytes` reserved bytes from its end on.
pub(crate) fn extend(file: BorrowedFd<'_>, end: u64, bytes: u64) -> Result<(), Errno> {
    fallocate(file, FallocateFlags::empty(), end, bytes)
}

/// Gives back the space of a range, which then reads as zeros.
pub(crate) fn punch_hole(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Result<(), Errno> {
    fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)
}

/// Renames a file in a directory, unless its new name is taken.
pub(crate) fn rename_if_free(
    directory: BorrowedFd<'_>,
    old: &OsStr,
    new: &OsStr,
) -> Result<(), Errno> {
    renameat_with(directory, old, directory, new, RenameFlags::NOREPLACE)
}

/// Returns the attributes of a name in a directory, or of the directory itself without a name.
pub(crate) fn attributes(directory: impl AsFd, name: &OsStr) -> Attributes {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::EMPTY_PATH;
    let found = statx(directory, name, flags, StatxFlags::empty())
        .map_or(StatxAttributes::empty(), |found| found.stx_attributes);
    Attributes {
        is_mount_point: found.contains(StatxAttributes::MOUNT_ROOT),
        is_append_only: found.contains(StatxAttributes::APPEND),
    }
}

/// An entry of a directory, open only to be named.
pub(crate) struct Entry(OwnedFd);

impl Entry {
    /// Returns where a symbolic link leads.
    pub(crate) fn link_text(self) -> Result<CString, Errno> {
        readlinkat(&self.0, c"", Vec::new())
    }
}

/// Looks up a name in a directory, without following a link, and returns its properties.
pub(crate) fn look_up(directory: &OwnedFd, name: &OsStr) -> Result<(Entry, Stat), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = openat(directory, name, flags, Mode::empty())?;
    let found = fstat(&entry)?;
    Ok((Entry(entry), found))
}

/// Returns whether the directory's symbolic links are the kernel's, such as `/proc/self/fd/1`:
/// these lead to open files, whatever the link's text says.
pub(crate) fn has_kernel_links(directory: &OwnedFd) -> bool {
    fstatfs(directory).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

/// A file lacks an extended attribute.
pub(crate) const NO_ATTRIBUTE: Errno = Errno::NODATA;

/// Copies an access control list that isn't an extended attribute: Linux has none.
pub(crate) fn copy_access_list(_: &OwnedFd, _: &Path) -> Result<(), Errno> {
    Ok(())
}

/// Says what a range of memory is for. It is a preference: a refusal is ignored.
///
/// # Safety
/// The range lies within a private anonymous mapping. With [`Advice::Forget`] the caller owns its
/// bytes.
pub(crate) unsafe fn advise(start: *mut c_void, bytes: usize, advice: Advice) {
    let advice = match advice {
        Advice::HugePages => rustix::mm::Advice::LinuxHugepage,
        Advice::SmallPages => rustix::mm::Advice::LinuxNoHugepage,
        Advice::NotInChildren => rustix::mm::Advice::LinuxDontFork,
        Advice::Populate => rustix::mm::Advice::LinuxPopulateWrite,
        Advice::Forget => rustix::mm::Advice::LinuxDontNeed,
    };
    // SAFETY: guaranteed by the caller. Only the last advice changes bytes: to zeros.
    let _ = unsafe { madvise(start, bytes, advice) };
}

/// The number of cachestat(2) on every architecture except Alpha and MIPS, where no call has it.
const CACHESTAT: c_long = 451;

/// A range of a file: the kernel's `struct cachestat_range`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    bytes: u64,
}

/// Number of the range's pages in each state: the kernel's `struct cachestat`.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    in_writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns how many pages of a range are in the page cache, by cachestat(2). `None` if the kernel
/// can't or won't tell.
pub(crate) fn cached_pages(file: impl AsFd, offset: u64, bytes: u64) -> Option<CachedPages> {
    let (range, mut pages) = (CachestatRange { offset, bytes }, Cachestat::default());
    let (fd, range, answer) = (file.as_fd().as_raw_fd(), from_ref(&range), &raw mut pages);
    // SAFETY: the kernel reads `range` and writes `pages`. Both have the layout that it defines and
    // outlive the call. A kernel without this call touches neither.
    let result = unsafe { libc::syscall(CACHESTAT, fd, range, answer, 0) };
    let Cachestat { cached, dirty, in_writeback, .. } = pages;
    (result == 0).then_some(CachedPages { cached, unwritten: dirty + in_writeback })
}

/// Reads what the page cache holds, through a descriptor without O_DIRECT.
pub(crate) fn read_cached(file: impl AsFd, memory: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let buffered = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    preadv2(&buffered, &mut [IoSliceMut::new(memory)], offset, ReadWriteFlags::NOWAIT)
}

/// Asks for a range of a file to be read into the page cache.
pub(crate) fn read_ahead(file: impl AsFd, offset: u64, bytes: NonZeroU64) {
    let _ = fadvise(file, offset, Some(bytes), rustix::fs::Advice::WillNeed);
}

/// Tells that a file will be read from its beginning to its end.
pub(crate) fn read_in_order(file: impl AsFd) {
    let _ = fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

/// Returns the machine's memory in bytes.
pub(crate) fn memory_bytes() -> u64 {
    let memory = rustix::system::sysinfo();
    memory.totalram as u64 * u64::from(memory.mem_unit)
}

/// Consumes the signals of a set that arrived while they were blocked. Otherwise they would be
/// delivered on unblocking.
pub(crate) fn take_pending(set: &libc::sigset_t) {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function reads both arguments, and accepts null for the unused one.
    while unsafe { libc::sigtimedwait(set, null_mut(), from_ref(&at_once)) } == -1 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
}

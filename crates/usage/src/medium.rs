//! What kind of device holds a tree, and how many threads that bears.

use rustix::fs::{fstatfs, major, minor};
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

/// What a thread waits for if it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A head that moves: the more ask, the more it moves.
    Spinning,
    /// A drive without one, or memory.
    Solid,
    /// Another machine, or another process: a round trip for each question.
    Remote,
}

/// Types of file systems (`statfs`) behind which there is another machine or process: NFS, CIFS,
/// SMB2, SMB, FUSE, Ceph, 9P, AFS, Lustre, GPFS, Coda, OrangeFS.
const REMOTE: [u32; 12] = [
    0x6969,
    0xff53_4d42,
    0xfe53_4d42,
    0x517b,
    0x6573_5546,
    0x00c3_6400,
    0x0102_1997,
    0x5346_414f,
    0x0bd0_0bd0,
    0x4750_4653,
    0x7375_7245,
    0x2003_0528,
];

/// Types in which GNU's walk never sorts a directory: CIFS, NFS, tmpfs.
const UNSORTED_BY_GNU: [u32; 3] = [0xff53_4d42, 0x6969, 0x0102_1994];

/// Buses of devices that another system makes up.
const VIRTUAL: [&str; 3] = ["/virtio", "/vbd-", "/VMBUS:"];

impl Medium {
    /// Of a directory on a device; solid where nothing is known.
    pub(crate) fn of(directory: impl AsFd, device: u64) -> Medium {
        if kind_of(directory).is_some_and(|kind| REMOTE.contains(&kind)) {
            return Medium::Remote;
        }
        let block = fs::canonicalize(format!("/sys/dev/block/{}:{}", major(device), minor(device)));
        if block.is_ok_and(|block| is_spinning(&block)) { Medium::Spinning } else { Medium::Solid }
    }

    /// Threads while they wait for the device, given how many there are while they don't. A drive
    /// without a head answers 32 questions at once and more; one with a head has enough to choose
    /// from with four; another machine is asked by as many as may wait for it.
    pub(crate) fn threads_max(self, processors: usize) -> usize {
        match self {
            Medium::Spinning => 4,
            Medium::Solid => (processors * 8).clamp(16, 128),
            Medium::Remote => (processors * 16).clamp(32, 128),
        }
    }
}

/// Whether a block device, by its place among the system's devices, says that it turns. Virtual
/// ones say so whatever is behind them.
fn is_spinning(block: &Path) -> bool {
    let is_virtual = VIRTUAL.iter().any(|bus| block.to_string_lossy().contains(bus));
    // A partition's queue is that of its drive.
    let mut queues =
        ["queue/rotational", "../queue/rotational"].into_iter().map(|file| block.join(file));
    let says = queues.find_map(|file| fs::read_to_string(file).ok());
    !is_virtual && says.is_some_and(|text| text.trim() == "1")
}

/// Whether GNU's walk sorts large directories here.
pub(crate) fn is_sorted_by_gnu(directory: impl AsFd) -> bool {
    !kind_of(directory).is_some_and(|kind| UNSORTED_BY_GNU.contains(&kind))
}

/// The type of the file system; these are 32 bits, whatever the field's width and sign.
fn kind_of(directory: impl AsFd) -> Option<u32> {
    fstatfs(directory).ok().map(|statfs| statfs.f_type as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_told_apart_by_what_they_say() {
        let tree = tempfile::tempdir().unwrap();
        for (drive, says, is_expected) in [
            ("pci0/ata1/block/sda", Some("1\n"), true),
            ("pci0/nvme/nvme0/nvme0n1", Some("0\n"), false),
            ("pci0/virtio0/block/vda", Some("1\n"), false),
            ("virtual/block/dm-0", Some("1\n"), true),
            ("virtual/block/zram0", None, false),
        ] {
            let drive = tree.path().join(drive);
            fs::create_dir_all(drive.join("queue")).unwrap();
            fs::create_dir_all(drive.join("part1")).unwrap();
            if let Some(says) = says {
                fs::write(drive.join("queue/rotational"), says).unwrap();
            }
            assert_eq!(is_spinning(&drive), is_expected, "{drive:?}");
            assert_eq!(is_spinning(&drive.join("part1")), is_expected, "a partition of {drive:?}");
        }
    }
}

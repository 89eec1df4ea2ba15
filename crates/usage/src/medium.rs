//! The kind of device that holds a tree, and how many threads it can serve.

use rustix::fs::{fstatfs, major, minor};
use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

/// The kind of device for which threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A head that moves: more requests make it move more.
    Spinning,
    /// A drive without a moving head, or memory.
    Solid,
    /// Another machine or another process: each request is a round trip.
    Remote,
}

/// Types of file systems (`statfs`) that another machine or process serves: NFS, CIFS, SMB2, SMB,
/// FUSE, Ceph, 9P, AFS, Lustre, GPFS, Coda, OrangeFS.
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

/// Parts of the /sys paths of devices that a hypervisor provides.
const VIRTUAL: [&str; 3] = ["/virtio", "/vbd-", "/VMBUS:"];

impl Medium {
    /// Returns the medium of a directory on a device; solid if nothing is known.
    pub(crate) fn of(directory: impl AsFd, device: u64) -> Medium {
        if file_system_type(directory).is_some_and(|kind| REMOTE.contains(&kind)) {
            return Medium::Remote;
        }
        let block = fs::canonicalize(format!("/sys/dev/block/{}:{}", major(device), minor(device)));
        if block.is_ok_and(|block| is_spinning(&block)) { Medium::Spinning } else { Medium::Solid }
    }

    /// Returns how many threads may wait for the device at once. With four requests a spinning
    /// drive can choose the nearest; a solid one serves 32 and more at once; for a remote one as
    /// many round trips as possible should overlap.
    pub(crate) fn threads_max(self, processors: usize) -> usize {
        match self {
            Medium::Spinning => 4,
            Medium::Solid => (processors * 8).clamp(16, 128),
            Medium::Remote => (processors * 16).clamp(32, 128),
        }
    }
}

/// Returns whether a block device, given by its directory in /sys, says that it rotates. Virtual
/// devices say so regardless of the real device, so they are ignored.
fn is_spinning(block: &Path) -> bool {
    let is_virtual = VIRTUAL.iter().any(|bus| block.to_string_lossy().contains(bus));
    // A partition uses its drive's queue.
    let mut queues =
        ["queue/rotational", "../queue/rotational"].into_iter().map(|file| block.join(file));
    let says = queues.find_map(|file| fs::read_to_string(file).ok());
    !is_virtual && says.is_some_and(|text| text.trim() == "1")
}

/// Returns the type of a directory's file system: 32 bits, whatever the field's width and sign.
pub(crate) fn file_system_type(directory: impl AsFd) -> Option<u32> {
    fstatfs(directory).ok().map(|statfs| statfs.f_type as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_drives_are_recognised() {
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

//! The kind of device that holds a tree, and how many threads it can serve.

use crate::system::is_remote;
use rustix::fs::{Dev, major, minor};
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

/// Parts of the /sys paths of devices that a hypervisor provides.
const VIRTUAL: [&str; 3] = ["/virtio", "/vbd-", "/VMBUS:"];

impl Medium {
    /// Returns the medium of a directory on a device; solid if nothing is known.
    pub(crate) fn of(directory: impl AsFd, device: u64) -> Medium {
        if is_remote(directory) {
            return Medium::Remote;
        }
        let device = device as Dev;
        // Systems without /sys don't tell.
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

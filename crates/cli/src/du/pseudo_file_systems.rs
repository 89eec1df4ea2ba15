//! Finds mounted file systems that hold no data. They show the kernel's state in files that take no
//! space, or seem to take more than there is (/proc/kcore).

use rustix::fs::makedev;

/// The types of these file systems. Those in memory (tmpfs, devtmpfs) are not among them, because
/// they hold data.
const TYPES: [&str; 20] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "mqueue",
    "nfsd",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// The devices of the mounted file systems without data.
pub(super) fn devices() -> Vec<u64> {
    // If the list can't be read, /proc isn't mounted, and hardly any such file system is.
    devices_in(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// The devices of file systems without data in the text of `/proc/self/mountinfo`. The third word
/// of a line is the device, and the word after a single dash the type.
fn devices_in(mounts: &str) -> Vec<u64> {
    let device = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        TYPES.contains(&after.split(' ').next()?).then_some(())?;
        let (major, minor) = before.split(' ').nth(2)?.split_once(':')?;
        Some(makedev(major.parse().ok()?, minor.parse().ok()?) as u64)
    };
    mounts.lines().filter_map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_their_types() {
        let mounts = "22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
                      23 28 0:21 / /proc rw - proc proc rw\n\
                      24 28 0:5 / /dev rw - devtmpfs udev rw\n\
                      28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n";
        assert_eq!(devices_in(mounts), [makedev(0, 20), makedev(0, 21)]);
        assert!(devices_in("").is_empty() && devices_in("what\n - proc\n").is_empty());
    }
}

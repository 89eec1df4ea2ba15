//! Determines how much memory a job may use: the machine's available memory, within the limits of
//! control groups and resource limits.
//!
//! A container sees the whole machine's memory in `/proc/meminfo`, but is killed at its own limit.
//! So both count, and so do the limits of all groups above. The kernel reclaims a group's file
//! cache when memory is needed, so the cache counts as free.
//!
//! The figures hold for one moment, and no memory is reserved: other programs may take it later.

use crate::size::Memory;
use std::fs;
use std::path::{Path, PathBuf};
use xsort_disk::DisplayPath;
use xsort_extsort::units::Bytes;

/// Part of a hard limit for the program itself: code, stacks, the allocator, the kernel's
/// bookkeeping. A pipeline's memory stays within the budget plus this overhead.
const OVERHEAD_BYTES: u64 = 64 << 20;

/// Part of an address space limit for the program itself. Address space also includes reservations
/// that use no memory: threads' stacks, the allocator's arenas, libraries.
const ADDRESS_OVERHEAD_BYTES: u64 = 256 << 20;

/// The memory available to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Number of bytes that can be used without swapping.
    pub available_bytes: u64,
    /// Number of bytes that the tightest hard limit leaves, minus the program's overhead, and the
    /// name of that limit.
    pub limit: Option<(u64, String)>,
}

/// What counts as available on systems that don't tell how much is.
fn half_of_machine() -> Option<u64> {
    let bytes = if cfg!(target_os = "linux") { 0 } else { xsort_disk::machine_memory_bytes() };
    (bytes > 0).then_some(bytes / 2)
}

/// The memory to plan with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of bytes for everything that grows with the data.
    pub bytes: u64,
    /// A message for the user if this is less than requested.
    pub notice: Option<String>,
}

impl MemoryLimits {
    /// Reads the limits of this process.
    pub fn read() -> MemoryLimits {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let available_bytes = meminfo_bytes(&read("/proc/meminfo"), "MemAvailable")
            .or_else(half_of_machine)
            .unwrap_or(1 << 30);
        let mut limits = group_limits(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
        limits.extend(resource_limit(&read("/proc/self/limits"), &read("/proc/self/status")));
        MemoryLimits::with_limits(available_bytes, limits)
    }

    fn with_limits(available_bytes: u64, limits: Vec<(u64, String)>) -> MemoryLimits {
        let limit = limits.into_iter().min();
        let headroom = limit.as_ref().map_or(u64::MAX, |(bytes, _)| *bytes);
        MemoryLimits { available_bytes: available_bytes.min(headroom), limit }
    }

    /// Returns the budget for a request. Without a request, it is half of the available memory.
    pub fn budget(&self, requested: Option<Memory>) -> Budget {
        let percent = |part: u8| Budget {
            bytes: (u128::from(self.available_bytes) * u128::from(part) / 100) as u64,
            notice: None,
        };
        match (requested, &self.limit) {
            (None, _) => percent(50),
            (Some(Memory::Percent(part)), _) => percent(part),
            (Some(Memory::Bytes(bytes)), Some((limit, source))) if bytes > *limit => Budget {
                bytes: *limit,
                notice: Some(format!(
                    "-m asks for {}, but {source} leaves {}: using that",
                    Bytes(bytes),
                    Bytes(*limit)
                )),
            },
            (Some(Memory::Bytes(bytes)), _) => Budget { bytes, notice: None },
        }
    }
}

/// Returns a value of `/proc/meminfo` or `/proc/self/status` in bytes.
fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the headroom under the limits of this process's control groups and all groups above, of
/// versions 1 and 2. `groups` is the text of `/proc/self/cgroup`.
fn group_limits(groups: &str, mount: &Path) -> Vec<(u64, String)> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let files = if controllers.is_empty() {
            // Above `memory.high`, the kernel throttles a group so much that it acts as a limit.
            let (max, cache) = (["memory.max", "memory.high"], ["active_file", "inactive_file"]);
            GroupFiles { root: mount.to_path_buf(), max, usage: "memory.current", cache }
        } else if controllers.split(',').any(|name| name == "memory") {
            let root = mount.join("memory");
            let max = ["memory.limit_in_bytes", "memory.soft_limit_in_bytes"];
            let cache = ["total_active_file", "total_inactive_file"];
            GroupFiles { root, max, usage: "memory.usage_in_bytes", cache }
        } else {
            continue;
        };
        let mut directory = files.root.join(path.trim_start_matches('/'));
        // In a container the path may be the host's, and only its end, or nothing, is mounted here.
        // Missing directories are skipped.
        loop {
            limits.extend(files.headroom(&directory));
            if directory == files.root || !directory.pop() {
                break;
            }
        }
    }
    limits
}

/// The files of one version of control groups that contain its figures.
struct GroupFiles {
    root: PathBuf,
    max: [&'static str; 2],
    usage: &'static str,
    cache: [&'static str; 2],
}

impl GroupFiles {
    fn headroom(&self, directory: &Path) -> Option<(u64, String)> {
        let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
        // "max", and the huge number that version 1 uses for it, mean no limit.
        let limit = |name| read(name)?.trim().parse().ok().filter(|bytes: &u64| *bytes < 1 << 60);
        let max = self.max.into_iter().filter_map(limit).min()?;
        let usage: u64 = read(self.usage).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let stat = read("memory.stat").unwrap_or_default();
        let cache: u64 = stat
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| self.cache.contains(name))
            .filter_map(|(_, bytes)| bytes.trim().parse::<u64>().ok())
            .sum();
        let headroom =
            max.saturating_sub(usage.saturating_sub(cache)).saturating_sub(OVERHEAD_BYTES);
        Some((
            headroom,
            format!(
                "the memory limit of the control group ({}, {})",
                DisplayPath(directory),
                Bytes(max)
            ),
        ))
    }
}

/// Returns the headroom under `RLIMIT_AS` and `RLIMIT_DATA`, from the texts of `/proc/self/limits`
/// and `/proc/self/status`.
fn resource_limit(limits: &str, status: &str) -> Vec<(u64, String)> {
    let soft = |name: &str| -> Option<u64> {
        limits
            .lines()
            .find_map(|line| line.strip_prefix(name))?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    };
    let headroom = |limit: &str, used: &str, ulimit: &str| {
        let max = soft(limit)?;
        let used = meminfo_bytes(status, used).unwrap_or(0);
        let bytes = max.saturating_sub(used).saturating_sub(ADDRESS_OVERHEAD_BYTES);
        Some((bytes, format!("the resource limit (ulimit {ulimit}, {})", Bytes(max))))
    };
    headroom("Max address space", "VmSize", "-v")
        .into_iter()
        .chain(headroom("Max data size", "VmData", "-d"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn half_by_default() {
        let machine = MemoryLimits::with_limits(1000 * MIB, vec![]);
        assert_eq!(machine.budget(None).bytes, 500 * MIB);
        assert_eq!(machine.budget(Some(Memory::Percent(20))).bytes, 200 * MIB);
        let requested = machine.budget(Some(Memory::Bytes(4000 * MIB)));
        assert_eq!((requested.bytes, requested.notice), (4000 * MIB, None));
    }

    #[test]
    fn a_hard_limit_is_honoured_and_named() {
        let limits = vec![(900 * MIB, "the big one".into()), (300 * MIB, "the small one".into())];
        let machine = MemoryLimits::with_limits(8000 * MIB, limits);
        assert_eq!(machine.budget(None).bytes, 150 * MIB);
        assert_eq!(machine.budget(Some(Memory::Bytes(300 * MIB))).notice, None);
        let capped = machine.budget(Some(Memory::Bytes(1024 * MIB)));
        assert_eq!(capped.bytes, 300 * MIB);
        assert_eq!(
            capped.notice.unwrap(),
            "-m asks for 1.00 GiB, but the small one leaves 300 MiB: using that"
        );
    }

    #[test]
    fn groups_of_both_versions_and_their_parents_count() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/memory.max", &(1000 * MIB).to_string());
        write("a/memory.current", &(500 * MIB).to_string());
        let cache = format!("anon 1\nactive_file {}\ninactive_file {}\n", 100 * MIB, 200 * MIB);
        write("a/memory.stat", &cache);
        write("a/b/memory.max", "max\n");
        write("memory/old/memory.limit_in_bytes", &(400 * MIB).to_string());
        write("memory/old/memory.usage_in_bytes", "0");
        write("memory/memory.limit_in_bytes", "9223372036854771712");

        let two: Vec<u64> =
            group_limits("0::/a/b\n", root.path()).into_iter().map(|limit| limit.0).collect();
        assert_eq!(two, [(1000 - 200 - 64) * MIB]);
        let one: Vec<u64> = group_limits("3:cpu,memory:/old/gone\n2:cpu:/x\n", root.path())
            .into_iter()
            .map(|limit| limit.0)
            .collect();
        assert_eq!(one, [(400 - 64) * MIB]);
        assert!(group_limits("0::/\ngarbage\n", root.path()).is_empty());
    }

    #[test]
    fn resource_limits_are_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         1073741824           unlimited            bytes\n";
        let found = resource_limit(limits, "VmSize:\t    1024 kB\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, (1024 - 1 - 256) * MIB);
    }
}

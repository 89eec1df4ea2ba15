//! How much memory there is for us: what the machine has left, and what a control group or a
//! resource limit allows.
//!
//! A container sees the whole machine's memory in `/proc/meminfo` but is killed at its own limit,
//! so both are looked at, and every group above ours counts as well. Memory that the group holds as
//! file cache is there for the taking and counts as free.
//!
//! It is a snapshot. Others may take the memory a second later; nothing here reserves any.

use crate::size::{Binary, Memory};
use std::fs;
use std::path::{Path, PathBuf};
use xsort_disk::DisplayPath;

/// What is kept of a hard limit for the program itself: code, stacks, the allocator, the kernel's
/// own books. The pipelines promise to stay within the budget and this.
const OVERHEAD_BYTES: u64 = 64 << 20;

/// An address space is also filled by things that take no memory: the threads' stacks, the
/// allocator's arenas, the libraries.
const ADDRESS_OVERHEAD_BYTES: u64 = 256 << 20;

/// What is there. All in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// What could be used without pushing anyone out.
    pub(crate) available_bytes: u64,
    /// The tightest hard limit's headroom, the program's own overhead taken off, and who sets it.
    pub(crate) limit: Option<(u64, String)>,
}

/// The memory to plan with, and what the user should know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) bytes: u64,
    pub(crate) notice: Option<String>,
}

impl Machine {
    /// Looks at this machine.
    pub(crate) fn look() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let available_bytes =
            meminfo_bytes(&read("/proc/meminfo"), "MemAvailable").unwrap_or(1 << 30);
        let mut limits = group_limits(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
        limits.extend(resource_limit(&read("/proc/self/limits"), &read("/proc/self/status")));
        Machine::with_limits(available_bytes, limits)
    }

    fn with_limits(available_bytes: u64, limits: Vec<(u64, String)>) -> Machine {
        let limit = limits.into_iter().min();
        let headroom = limit.as_ref().map_or(u64::MAX, |(bytes, _)| *bytes);
        Machine { available_bytes: available_bytes.min(headroom), limit }
    }

    /// The budget for what was asked; half of what is available if nothing was.
    pub(crate) fn budget(&self, asked: Option<Memory>) -> Budget {
        let percent = |part: u8| Budget {
            bytes: (u128::from(self.available_bytes) * u128::from(part) / 100) as u64,
            notice: None,
        };
        match (asked, &self.limit) {
            (None, _) => percent(50),
            (Some(Memory::Percent(part)), _) => percent(part),
            (Some(Memory::Bytes(bytes)), Some((limit, source))) if bytes > *limit => Budget {
                bytes: *limit,
                notice: Some(format!(
                    "-m asks for {}, but {source} leaves {}: using that",
                    Binary(bytes),
                    Binary(*limit)
                )),
            },
            (Some(Memory::Bytes(bytes)), _) => Budget { bytes, notice: None },
        }
    }
}

/// A line of `/proc/meminfo` or `/proc/self/status`, in bytes.
fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Headroom under the limits of our control groups, version 1 and 2, ours and all above. `groups`
/// is the text of `/proc/self/cgroup`.
fn group_limits(groups: &str, mount: &Path) -> Vec<(u64, String)> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let names = if controllers.is_empty() {
            // Above memory.high the kernel brings a group to a crawl, which is as bad as a limit.
            let (max, cache) = (["memory.max", "memory.high"], ["active_file", "inactive_file"]);
            Names { root: mount.to_path_buf(), max, usage: "memory.current", cache }
        } else if controllers.split(',').any(|name| name == "memory") {
            let root = mount.join("memory");
            let max = ["memory.limit_in_bytes", "memory.soft_limit_in_bytes"];
            let cache = ["total_active_file", "total_inactive_file"];
            Names { root, max, usage: "memory.usage_in_bytes", cache }
        } else {
            continue;
        };
        let mut directory = names.root.join(path.trim_start_matches('/'));
        // In a container the path may be the host's, of which only the end, or nothing, is mounted
        // here: what is missing is skipped.
        loop {
            limits.extend(names.headroom(&directory));
            if directory == names.root || !directory.pop() {
                break;
            }
        }
    }
    limits
}

/// Where a version of control groups keeps its figures.
struct Names {
    root: PathBuf,
    max: [&'static str; 2],
    usage: &'static str,
    cache: [&'static str; 2],
}

impl Names {
    fn headroom(&self, directory: &Path) -> Option<(u64, String)> {
        let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
        // "max", and version 1's huge number for the same, are no limit.
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
                Binary(max)
            ),
        ))
    }
}

/// Headroom under RLIMIT_AS and RLIMIT_DATA, from the texts of `/proc/self/limits` and
/// `/proc/self/status`.
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
        Some((bytes, format!("the resource limit (ulimit {ulimit}, {})", Binary(max))))
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
    fn half_unless_told() {
        let machine = Machine::with_limits(1000 * MIB, vec![]);
        assert_eq!(machine.budget(None).bytes, 500 * MIB);
        assert_eq!(machine.budget(Some(Memory::Percent(20))).bytes, 200 * MIB);
        let asked = machine.budget(Some(Memory::Bytes(4000 * MIB)));
        assert_eq!((asked.bytes, asked.notice), (4000 * MIB, None));
    }

    #[test]
    fn a_hard_limit_is_honoured_and_said() {
        let limits = vec![(900 * MIB, "the big one".into()), (300 * MIB, "the small one".into())];
        let machine = Machine::with_limits(8000 * MIB, limits);
        assert_eq!(machine.budget(None).bytes, 150 * MIB);
        assert_eq!(machine.budget(Some(Memory::Bytes(300 * MIB))).notice, None);
        let capped = machine.budget(Some(Memory::Bytes(1024 * MIB)));
        assert_eq!(capped.bytes, 300 * MIB);
        assert_eq!(
            capped.notice.unwrap(),
            "-m asks for 1.00 GiB, but the small one leaves 300.0 MiB: using that"
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

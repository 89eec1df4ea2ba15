//! One thread's share of the processor's caches, according to the kernel.
//!
//! ```text
//! /sys/devices/system/cpu/cpu0/cache/index2/level            2
//!                                          /type             Unified
//!                                          /size             2048K
//!                                          /shared_cpu_list  0,32        processors that share it
//! ```
//!
//! The first processor stands for all. If the kernel shows no caches (in some containers and on
//! some boards), the sizes of nearly all processors are assumed.

use crate::size;
use std::fs;
use std::path::Path;
use xsort_extsort::Caches;

/// Returns the cache sizes to which a sort in memory adapts: this machine's, or with `l2_bytes` for
/// the second level.
pub fn caches(l2_bytes: Option<u64>) -> Caches {
    let machine = read_caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
    l2_bytes.map_or(machine, |bytes| {
        let l2_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Caches { l1_bytes: machine.l1_bytes.min(l2_bytes), l2_bytes }
    })
}

/// Returns each thread's share of the caches described in `directory`.
fn read_caches(directory: &Path) -> Caches {
    let usual = Caches::default();
    let of_level = |level| {
        let entries = fs::read_dir(directory).ok()?;
        entries.flatten().find_map(|entry| share_bytes(&entry.path(), level))
    };
    Caches {
        l1_bytes: of_level("1").unwrap_or(usual.l1_bytes),
        l2_bytes: of_level("2").unwrap_or(usual.l2_bytes),
    }
}

/// Returns one processor's share of the cache described in `directory`. `None` if the cache holds
/// no data or is of another level.
fn share_bytes(directory: &Path, level: &str) -> Option<usize> {
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    if read("level")?.trim() != level || read("type")?.trim() == "Instruction" {
        return None;
    }
    let bytes = size::bytes(read("size")?.trim()).ok()? as usize;
    let sharers = read("shared_cpu_list").and_then(|list| processors(list.trim())).unwrap_or(1);
    Some(bytes / sharers).filter(|&share| share > 0)
}

/// Returns the number of processors in a list such as `0-3,8`.
fn processors(list: &str) -> Option<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (last + 1).checked_sub(first)
    };
    list.split(',').map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a directory like the kernel's, with caches given by level, type, size and sharers.
    fn described(caches: &[[&str; 4]]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (number, texts) in caches.iter().enumerate() {
            let index = directory.path().join(format!("index{number}"));
            fs::create_dir(&index).unwrap();
            for (name, text) in ["level", "type", "size", "shared_cpu_list"].iter().zip(texts) {
                fs::write(index.join(name), format!("{text}\n")).unwrap();
            }
        }
        directory
    }

    #[test]
    fn caches_for_data_are_shared_out() {
        let directory = described(&[
            ["1", "Instruction", "64K", "0,32"],
            ["1", "Data", "48K", "0,32"],
            ["2", "Unified", "2048K", "0-1,32-33"],
            ["3", "Unified", "107520K", "0-63"],
        ]);
        assert_eq!(
            read_caches(directory.path()),
            Caches { l1_bytes: 24 << 10, l2_bytes: 512 << 10 }
        );
    }

    #[test]
    fn what_is_not_shown_is_the_usual() {
        let usual = Caches::default();
        assert_eq!(read_caches(Path::new("/nowhere")), usual);
        let strange = described(&[["1", "Data", "lots", "0"], ["2", "Unified", "0K", "0"]]);
        assert_eq!(read_caches(strange.path()), usual);
        let level1 = described(&[["1", "Data", "128K", "0"]]);
        assert_eq!(read_caches(level1.path()), Caches { l1_bytes: 128 << 10, ..usual });
        let sharers_unknown = described(&[["2", "Unified", "4096K", "?"]]);
        assert_eq!(read_caches(sharers_unknown.path()), Caches { l2_bytes: 4 << 20, ..usual });
    }

    #[test]
    fn asked_for_is_the_last_level_and_bounds_the_first() {
        let small = caches(Some(1000));
        assert_eq!((small.l1_bytes, small.l2_bytes), (1000, 1000));
        let large = caches(Some(1 << 40));
        assert_eq!((large.l1_bytes, large.l2_bytes), (caches(None).l1_bytes, 1 << 40));
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(processors("0"), Some(1));
        assert_eq!(processors("0-3,8"), Some(5));
        assert_eq!(processors("5-4,0"), Some(1));
        assert_eq!(processors("7-3"), None);
        assert_eq!(processors(""), None);
    }
}

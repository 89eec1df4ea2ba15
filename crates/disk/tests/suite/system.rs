//! A disk's information about drives and about itself.

use crate::bench::on_real_disks;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;
use xsort_disk::{Disk, DiskOptions, IoChoice, OsDisk, ScratchFiles};

#[test]
fn a_drive_is_known_by_its_device_and_space() {
    on_real_disks(|bench| {
        let here = bench.disk.drive(&bench.directory).unwrap();
        assert_eq!(here.id, std::fs::metadata(&bench.directory).unwrap().dev());
        assert!(here.free_bytes > 0 && !here.kind.is_empty());
        // Free space changes all the time, so only constant figures are compared.
        let unborn = bench.disk.drive(&bench.path("not there yet")).unwrap();
        assert_eq!((unborn.id, &unborn.kind), (here.id, &here.kind));
        assert!(bench.disk.drive(&bench.path("no/such/directory")).is_err());
        assert!(bench.disk.drive(Path::new("bare name")).is_ok());
        let proc = bench.disk.drive(Path::new("/proc")).unwrap();
        assert!(!proc.is_memory && proc.id != here.id);
    });
}

#[test]
fn a_disk_describes_itself() {
    let sync = OsDisk::new(DiskOptions {
        io: IoChoice::Sync,
        depth: 3,
        rings: 2,
        ..DiskOptions::default()
    })
    .unwrap();
    let lacks = match cfg!(portable) {
        true => {
            " (this system has no io_uring, huge pages, control groups and temperatures of drives)"
        }
        false => "",
    };
    assert_eq!(sync.describe(), format!("6 I/O threads, direct{lacks}"));
    assert!(sync.notices().is_empty());
    let cached = OsDisk::new(DiskOptions { is_cached: true, ..DiskOptions::default() }).unwrap();
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let _scratch = cached.create_scratch(directory.path()).unwrap();
    assert_eq!(cached.describe(), format!("calling threads, buffered{lacks}"));
    match OsDisk::new(DiskOptions {
        io: IoChoice::from_str("uring").unwrap(),
        ..DiskOptions::default()
    }) {
        Ok(uring) => assert!(uring.describe().starts_with("io_uring"), "{}", uring.describe()),
        Err(error) => eprintln!("SKIPPED: {error}"),
    }
}

/// An idle ring's thread sleeps in the kernel. Half a second of spinning would be fifty ticks.
#[test]
fn an_idle_disk_costs_no_processor_time() {
    let ticks = |stat: &str| -> u64 {
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let disk = OsDisk::new(DiskOptions { rings: 4, ..DiskOptions::default() }).unwrap();
    let spent = || -> u64 {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let io = threads.filter_map(|thread| {
            let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
            stat.contains("(xsort-").then(|| ticks(&stat))
        });
        io.sum()
    };
    // Other tests' threads count, too. But a spinning thread alone would add fifty ticks, so the
    // smallest of a few measurements is judged.
    let quietest = (0..5).map(|_| {
        let before = spent();
        std::thread::sleep(std::time::Duration::from_millis(500));
        spent().saturating_sub(before)
    });
    assert!(quietest.min().unwrap() < 25, "{}", disk.describe());
}

#[test]
fn a_lazy_disk_starts_with_its_first_file() {
    let lazy = OsDisk::lazy(DiskOptions { io: IoChoice::Sync, ..DiskOptions::default() });
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    lazy.drive(directory).unwrap();
    assert!(lazy.notices().is_empty());
    assert_eq!(lazy.describe(), "not used");
    let file = lazy.create_scratch(directory).unwrap();
    assert!(lazy.describe().contains("threads"));
    lazy.reserve(file, 4096).unwrap();
    assert_eq!((lazy.file_bytes(file).unwrap(), lazy.path(file).as_path()), (4096, directory));
    lazy.close(file);
}

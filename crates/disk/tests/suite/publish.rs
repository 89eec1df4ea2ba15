//! The output appears complete or not at all, with the right name, mode and length.

use crate::bench::{on_each_disk, on_real_disks, pattern};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

#[test]
fn nothing_is_seen_before_publish_and_all_of_it_after() {
    on_each_disk(|bench| {
        let path = bench.path("out");
        let new = pattern(100_000, 2);
        for sync in [false, true] {
            bench.put(&path, b"old");
            let output = bench.disk.create_output(&path).unwrap();
            assert_eq!(bench.disk.path(output), path);
            bench.write(output, &new, 16 << 10).unwrap();
            assert_eq!(bench.contents(&path).unwrap(), b"old");
            let mut names = bench.names();
            if cfg!(portable) {
                names
                    .retain(|name| !name.file_name().unwrap().as_encoded_bytes().starts_with(b"."));
            }
            assert_eq!(
                names,
                std::slice::from_ref(&path),
                "the new file has no name that a glob would find"
            );
            bench.disk.publish(output, 100_000, sync).unwrap();
            assert!(bench.contents(&path).unwrap() == new);
            assert_eq!(bench.names(), std::slice::from_ref(&path));
        }
    });
}

#[test]
fn an_output_that_is_closed_or_dropped_leaves_nothing() {
    on_each_disk(|bench| {
        let output = bench.disk.create_output(&bench.path("out")).unwrap();
        bench.write(output, &pattern(9000, 1), 4096).unwrap();
        bench.disk.close(output);
        assert_eq!(bench.names(), [] as [&Path; 0]);
        if let Some(sim) = &bench.sim {
            assert_eq!((sim.open_files(), sim.space_bytes()), (0, 0));
        }
    });
}

#[test]
fn the_output_may_be_the_input() {
    on_each_disk(|bench| {
        let path = bench.path("both");
        let bytes = pattern(50_000, 4);
        bench.put(&path, &bytes);
        let input = bench.disk.open_input(&path).unwrap();
        let output = bench.disk.create_output(&path).unwrap();
        let read = bench.read(input, 50_000, 16 << 10).unwrap();
        let reversed: Vec<u8> = read.iter().rev().copied().collect();
        bench.write(output, &reversed, 16 << 10).unwrap();
        bench.disk.publish(output, 50_000, true).unwrap();
        assert!(
            bench.read(input, 50_000, 16 << 10).unwrap() == bytes,
            "the open input is still the old file"
        );
        assert!(bench.contents(&path).unwrap() == reversed);
    });
}

#[test]
fn a_reservation_beyond_the_output_is_cut_off() {
    on_each_disk(|bench| {
        let path = bench.path("out");
        let output = bench.disk.create_output(&path).unwrap();
        bench.disk.reserve(output, 1 << 20).unwrap();
        bench.write(output, &pattern(10_000, 1), 4096).unwrap();
        bench.disk.publish(output, 10_000, false).unwrap();
        assert!(bench.contents(&path).unwrap() == pattern(10_000, 1));
        if bench.sim.is_none() {
            assert!(
                fs::metadata(&path).unwrap().blocks() * 512 <= 64 << 10,
                "the reserved space is free again"
            );
        }
    });
}

#[test]
fn a_new_output_has_the_mode_that_the_umask_leaves() {
    on_real_disks(|bench| {
        let path = bench.path("out");
        // The file that the shell would create, whatever the umask is.
        let made_otherwise = bench.path("made otherwise");
        fs::write(&made_otherwise, "").unwrap();
        let output = bench.disk.create_output(&path).unwrap();
        bench.disk.publish(output, 0, true).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode();
        assert_eq!(mode(&path), mode(&made_otherwise));
    });
}

#[test]
fn a_replaced_output_keeps_its_mode() {
    on_real_disks(|bench| {
        let path = bench.path("out");
        for mode in [0o600, 0o640, 0o755, 0o666] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let output = bench.disk.create_output(&path).unwrap();
            bench.disk.publish(output, 0, false).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        }
    });
}

#[test]
fn a_replaced_output_keeps_its_owner_if_the_system_lets_us() {
    on_real_disks(|bench| {
        let path = bench.path("out");
        fs::write(&path, "old").unwrap();
        if std::os::unix::fs::chown(&path, Some(12_345), Some(54_321)).is_err() {
            eprintln!("SKIPPED: only root can give files away");
            return;
        }
        let output = bench.disk.create_output(&path).unwrap();
        bench.disk.publish(output, 0, false).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (12_345, 54_321));
    });
}

#[test]
fn a_symbolic_link_is_followed_and_stays() {
    on_real_disks(|bench| {
        fs::create_dir(bench.path("elsewhere")).unwrap();
        let target = bench.path("elsewhere/target");
        for (name, leads_to) in
            [("absolute", target.as_path()), ("relative", Path::new("elsewhere/target"))]
        {
            let link = bench.path(name);
            symlink(leads_to, &link).unwrap();
            let second = bench.path(&format!("to {name}"));
            symlink(&link, &second).unwrap();
            // At first the link dangles, then it leads to the published file.
            for round in 0..2 {
                let output = bench.disk.create_output(&second).unwrap();
                bench.write(output, &pattern(5000, round), 4096).unwrap();
                bench.disk.publish(output, 5000, false).unwrap();
                assert!(fs::read(&target).unwrap() == pattern(5000, round));
                assert!(fs::symlink_metadata(&second).unwrap().is_symlink());
                assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            }
            fs::remove_file(&target).unwrap();
        }
        let circle = bench.path("circle");
        symlink(&circle, &circle).unwrap();
        let error = bench.disk.create_output(&circle).unwrap_err();
        assert!(error.to_string().contains("circle"), "{error}");
    });
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    on_real_disks(|bench| {
        for (path, reason) in [
            (bench.directory.clone(), "it is a directory"),
            (bench.path("name/"), "ends in a slash"),
            ("/dev/null".into(), "redirect standard output"),
            ("/dev/full".into(), "redirect standard output"),
            ("/".into(), "ends in a slash"),
        ] {
            let error = bench.disk.create_output(&path).unwrap_err();
            assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
            assert!(
                error.to_string().starts_with("creating /") && error.to_string().contains(reason),
                "{error}"
            );
        }
        let error = bench.disk.create_output(&bench.path("missing/out")).unwrap_err();
        assert!(error.to_string().contains("its directory does not exist"), "{error}");
        fs::write(bench.path("file"), "").unwrap();
        let error = bench.disk.create_output(&bench.path("file/out")).unwrap_err();
        assert!(error.to_string().contains("a part of this path is a file"), "{error}");
    });
}

#[test]
fn a_bare_name_is_a_file_of_the_working_directory() {
    on_real_disks(|bench| {
        // A crate's tests run in its directory.
        let name = format!("test-output-{}", std::process::id());
        let output = bench.disk.create_output(Path::new(&name)).unwrap();
        bench.disk.publish(output, 0, true).unwrap();
        assert_eq!(fs::metadata(&name).unwrap().len(), 0);
        fs::remove_file(&name).unwrap();
    });
}

#[test]
fn a_name_of_the_longest_length_can_be_replaced() {
    on_real_disks(|bench| {
        let path = bench.path(&"n".repeat(255));
        for _ in 0..2 {
            let output = bench.disk.create_output(&path).unwrap();
            bench.disk.publish(output, 0, false).unwrap();
        }
        assert_eq!(bench.names(), [path]);
    });
}

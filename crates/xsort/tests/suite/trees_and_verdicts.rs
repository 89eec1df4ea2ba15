//! The lists of `Du`, and the comparisons of `Verify`.

use std::fs;
use xsort::{Cancel, Du, Generate, Sort, Verify};

#[test]
fn the_largest_directories_come_first() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a/inner", 300_000), ("b", 100_000), ("c", 200_000)] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("file"), vec![1; bytes]).unwrap();
    }
    let names = |top| -> Vec<String> {
        let usage = Du::trees([folder.path()]).top(top).run();
        assert_eq!((usage.total.inodes, usage.is_cancelled), (8, false));
        let relative =
            |path: &std::path::Path| path.strip_prefix(folder.path()).unwrap().to_owned();
        usage.largest.iter().map(|(path, _)| relative(path).display().to_string()).collect()
    };
    assert_eq!(names(9), ["", "a", "a/inner", "c", "b"]);
    assert_eq!(names(3), ["", "a", "a/inner"]);
    assert!(names(0).is_empty());
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(Du::trees([folder.path()]).cancel(&cancel).run().is_cancelled);
}

#[test]
fn a_verdict_says_whether_other_files_have_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    Generate::records(5000).run(path("data")).unwrap();
    Generate::records(5000).seed(1).run(path("other")).unwrap();
    Sort::files([path("data")]).memory(4 << 20).run(path("sorted")).unwrap();
    let against = |name: &str| Verify::files([path("sorted")]).against([path(name)]).run().unwrap();
    let same = against("data");
    assert!(same.is_sorted() && same.is_same());
    assert_eq!(same.against, Some((5000, same.checksum)));
    assert!(!against("other").is_same());
    let alone = Verify::files([path("data")]).run().unwrap();
    assert!(!alone.is_sorted() && alone.is_same() && alone.first_unordered.is_some());
}

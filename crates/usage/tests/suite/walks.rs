//! What a walk tells, at any number of threads.

use crate::model::{Model, Told};
use crate::trees::{file, random};
use std::ffi::OsStr;
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use xsort_testing::Random;
use xsort_usage::{
    Detail, Follow, FoundFile, Identity, Kind, Links, Operation, Options, Usage, Visitor,
    WalkError, walk,
};

/// Writes down what it is told.
#[derive(Default)]
struct Recorder {
    told: Mutex<Told>,
    order: Mutex<Vec<Vec<u8>>>,
    failures: Mutex<Vec<(Vec<u8>, Operation)>>,
    advanced: AtomicU64,
    excluded: Option<&'static [u8]>,
}

impl Visitor for Recorder {
    fn excludes(&self, path: &[u8]) -> bool {
        self.excluded.is_some_and(|name| path.ends_with(name))
    }

    fn found(&self, found: &FoundFile<'_>) {
        let path = found.path();
        assert!(path.ends_with(found.name()));
        let before = self.told.lock().unwrap().insert(path.clone(), (found.total, found.own));
        assert!(before.is_none(), "told twice of {path:?}");
        self.order.lock().unwrap().push(path);
    }

    fn failed(&self, failure: &WalkError) {
        self.failures.lock().unwrap().push((failure.path.clone(), failure.operation));
    }

    fn advance(&self, inodes: u64, _: u64) {
        self.advanced.fetch_add(inodes, Ordering::Relaxed);
    }
}

fn record(options: &Options, arguments: &[&Path]) -> (Usage, Recorder) {
    let recorder = Recorder::default();
    let total = run(options, arguments, &recorder);
    (total, recorder)
}

fn run(options: &Options, arguments: &[&Path], visitor: &dyn Visitor) -> Usage {
    walk(options, &mut arguments.iter().map(|path| path.as_os_str().as_bytes().to_vec()), visitor)
}

fn threads(number: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(number)
}

#[test]
fn every_way_of_walking_tells_what_a_plain_walk_does() {
    let sandbox = tempfile::tempdir().unwrap();
    let (a, b) = (sandbox.path().join("a"), sandbox.path().join("b"));
    for seed in 0..12 {
        random(&a, seed);
        random(&b, 1000 + seed);
        fs::hard_link(fs::canonicalize(file_in(&a)).unwrap(), b.join("link")).unwrap();
        // What is allocated late changes sizes while they are compared.
        rustix::fs::syncfs(fs::File::open(sandbox.path()).unwrap()).unwrap();
        let inner =
            fs::read_dir(&b).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
        for follow in [Follow::Never, Follow::Arguments, Follow::Always] {
            for (links, detail) in [
                (Links::Once, Detail::Directories),
                (Links::Once, Detail::Files),
                (Links::Each, Detail::Files),
                (Links::Once, Detail::Total),
            ] {
                if links == Links::Each && follow == Follow::Always {
                    continue; // What is reached twice is told twice.
                }
                for (arguments, remembers_all) in
                    [(vec![&*a], false), (vec![&a, &b, &a, inner.as_deref().unwrap_or(&b)], true)]
                {
                    if links == Links::Each && remembers_all {
                        continue;
                    }
                    let options = Options {
                        follow,
                        links,
                        detail,
                        remembers_all,
                        depth_max: 3,
                        ..Options::default()
                    };
                    let model = Model::walk(&options, &arguments);
                    for number in [0, 1, 2, 9] {
                        let options = Options { threads: threads(number), ..options.clone() };
                        let (total, recorder) = record(&options, &arguments);
                        let case = format!("seed {seed}, {options:?}, {arguments:?}");
                        assert_eq!(
                            told(recorder.told, detail),
                            told(model.told.clone().into(), detail),
                            "{case}"
                        );
                        assert_eq!(
                            recorder.failures.into_inner().unwrap().len(),
                            model.failed,
                            "{case}"
                        );
                        assert_eq!(total.inodes, recorder.advanced.into_inner(), "{case}");
                    }
                }
            }
        }
        fs::remove_dir_all(&a).unwrap();
        fs::remove_dir_all(&b).unwrap();
    }
}

/// Compares what it is told of a file with what the standard library says.
struct Judge;

impl Visitor for Judge {
    fn found(&self, found: &FoundFile<'_>) {
        let path = found.path();
        let metadata = fs::symlink_metadata(OsStr::from_bytes(&path)).unwrap();
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_file() => Kind::Regular,
            kind if kind.is_symlink() => Kind::Link,
            _ => Kind::Special,
        };
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        let has_links = kind != Kind::Directory && metadata.nlink() > 1;
        assert_eq!(
            (found.kind, found.identity, found.has_links),
            (kind, identity, has_links),
            "{path:?}"
        );
    }

    fn failed(&self, _: &WalkError) {}
}

#[test]
fn it_tells_what_each_file_is() {
    let sandbox = tempfile::tempdir().unwrap();
    let tree = sandbox.path().join("tree");
    random(&tree, 77);
    fs::hard_link(fs::canonicalize(file_in(&tree)).unwrap(), tree.join("another name")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.join("dangling")).unwrap();
    std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
    for links in [Links::Once, Links::Each] {
        for number in [1, 2] {
            let options = Options {
                links,
                detail: Detail::Files,
                threads: threads(number),
                ..Options::default()
            };
            assert!(run(&options, &[&tree], &Judge).inodes > 3);
            run(&options, &[&tree.join("socket"), &tree.join("dangling")], &Judge);
        }
    }
}

/// What matters of what was told: of a total nothing but that.
fn told(told: Mutex<Told>, detail: Detail) -> Told {
    let mut told = told.into_inner().unwrap();
    if detail == Detail::Total {
        told.values_mut().for_each(|(total, own)| *own = *total);
    }
    told
}

/// Some regular file below a directory.
fn file_in(root: &Path) -> std::path::PathBuf {
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap()) {
            let kind = entry.file_type().unwrap();
            if kind.is_file() {
                return entry.path();
            }
            if kind.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    unreachable!("every tree has a file");
}

#[test]
fn one_thread_tells_in_the_order_of_the_listing() {
    let sandbox = tempfile::tempdir().unwrap();
    let root = sandbox.path().join("root");
    random(&root, 77);
    fn plain(path: &Path, order: &mut Vec<Vec<u8>>) {
        if path.is_dir() && !path.is_symlink() {
            fs::read_dir(path).unwrap().for_each(|entry| plain(&entry.unwrap().path(), order));
        }
        order.push(path.as_os_str().as_bytes().to_vec());
    }
    let mut order = Vec::new();
    plain(&root, &mut order);
    let options = Options {
        threads: threads(1),
        detail: Detail::Files,
        links: Links::Each,
        ..Options::default()
    };
    assert_eq!(record(&options, &[&root]).1.order.into_inner().unwrap(), order);
}

/// Many names, so that those which don't count go before the end, and some of them in a directory
/// that is large enough to be sorted.
#[test]
fn hard_links_are_charged_to_the_first_name_at_any_number_of_threads() {
    let sandbox = tempfile::tempdir().unwrap();
    let root = sandbox.path().join("root");
    fs::create_dir(&root).unwrap();
    let mut random = Random::new(5);
    let originals = sandbox.path().join("originals");
    fs::create_dir(&originals).unwrap();
    (0..700).for_each(|number| file(&originals.join(number.to_string()), 10));
    for directory in ["large", "one", "two", "two/three"] {
        fs::create_dir(root.join(directory)).unwrap();
        let names = if directory == "large" { 11_000 } else { 9_000 };
        for name in 0..names {
            let original = originals.join(random.below(700).to_string());
            fs::hard_link(original, root.join(directory).join(format!("n{name}"))).unwrap();
        }
    }
    let options =
        |number| Options { threads: threads(number), detail: Detail::Files, ..Options::default() };
    let (total, expected) = record(&options(1), &[&root]);
    assert_eq!(total.inodes, 700 + 5);
    let expected = expected.told.into_inner().unwrap();
    for number in [0, 2, 3, 16] {
        let told = record(&options(number), &[&root]).1.told.into_inner().unwrap();
        assert!(told == expected, "{number} threads");
    }
}

#[test]
fn names_of_any_bytes_are_told_as_they_are() {
    let sandbox = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = [b"new\nline", b"\xff\xfe", b" ", b"-s"];
    for name in names {
        fs::create_dir(sandbox.path().join(OsStr::from_bytes(name))).unwrap();
    }
    let told = record(&Options::default(), &[sandbox.path()]).1.told.into_inner().unwrap();
    for name in names {
        let path = [sandbox.path().as_os_str().as_bytes(), b"/", name].concat();
        assert!(told.contains_key(&path), "{name:?}");
    }
    assert_eq!(told.len(), 5);
}

#[test]
fn arguments_lose_their_last_slashes_but_one() {
    let sandbox = tempfile::tempdir().unwrap();
    fs::create_dir(sandbox.path().join("in")).unwrap();
    let path = sandbox.path().to_str().unwrap();
    let recorder = Recorder::default();
    walk(&Options::default(), &mut [format!("{path}///").into_bytes()].into_iter(), &recorder);
    let expected = [format!("{path}/").into_bytes(), format!("{path}/in").into_bytes()];
    assert!(recorder.told.into_inner().unwrap().into_keys().eq(expected));
}

#[test]
fn what_is_excluded_doesnt_count_and_nothing_below_it() {
    let sandbox = tempfile::tempdir().unwrap();
    let root = sandbox.path();
    fs::create_dir_all(root.join("keep/drop/in")).unwrap();
    file(&root.join("keep/drop/in/file"), 5);
    file(&root.join("keep/file"), 7);
    let options = Options { has_excludes: true, ..Options::default() };
    let recorder = Recorder { excluded: Some(b"/drop"), ..Recorder::default() };
    assert_eq!(run(&options, &[root], &recorder).inodes, 3);
    let recorder = Recorder {
        excluded: Some(root.as_os_str().as_bytes().to_vec().leak()),
        ..Recorder::default()
    };
    assert_eq!(run(&options, &[root], &recorder), Usage::default());
    assert!(recorder.told.into_inner().unwrap().is_empty());
}

#[test]
fn what_is_missing_is_told_and_the_rest_counted() {
    let sandbox = tempfile::tempdir().unwrap();
    let missing = sandbox.path().join("missing");
    let (total, recorder) = record(&Options::default(), &[&missing, sandbox.path()]);
    assert_eq!(total.inodes, 1);
    let failures = recorder.failures.into_inner().unwrap();
    assert_eq!(failures, [(missing.as_os_str().as_bytes().to_vec(), Operation::Access)]);
    // No file has such a name.
    let recorder = Recorder::default();
    walk(&Options::default(), &mut [b"a\0b".to_vec()].into_iter(), &recorder);
    assert_eq!(recorder.failures.into_inner().unwrap().len(), 1);
}

/// Longer than any path that the kernel takes.
#[test]
fn thousands_of_levels_are_walked() {
    let sandbox = tempfile::tempdir().unwrap();
    let mut open =
        rustix::fs::open(sandbox.path(), rustix::fs::OFlags::PATH, rustix::fs::Mode::empty())
            .unwrap();
    let levels = 3000;
    for _ in 0..levels {
        rustix::fs::mkdirat(&open, "level", 0o755.into()).unwrap();
        rustix::fs::mkdirat(&open, "side", 0o755.into()).unwrap();
        open =
            rustix::fs::openat(&open, "level", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty())
                .unwrap();
    }
    for number in [1, 2, 0] {
        let options = Options { threads: threads(number), ..Options::default() };
        let (total, recorder) = record(&options, &[sandbox.path()]);
        assert_eq!(recorder.failures.into_inner().unwrap(), []);
        assert_eq!(
            (total.inodes, recorder.told.into_inner().unwrap().len()),
            (2 * levels + 1, 2 * levels as usize + 1)
        );
    }
    // The standard library's way takes whole paths.
    assert!(
        std::process::Command::new("rm").arg("-rf").arg(sandbox.path()).status().unwrap().success()
    );
}

/// Files come and go: whatever is counted then, the walk ends, and what it fails at is gone.
#[test]
fn a_tree_may_change_under_the_walk() {
    let sandbox = tempfile::tempdir().unwrap();
    let root = sandbox.path().join("root");
    random(&root, 3);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(9);
            while !is_over.load(Ordering::Relaxed) {
                let path = root.join(format!("moving{}", random.below(20)));
                match random.below(5) {
                    0 => drop(fs::write(&path, "some")),
                    1 => drop(fs::create_dir_all(path.join("a/b/c"))),
                    2 => drop(fs::remove_file(&path)),
                    3 => drop(fs::rename(
                        path.join("a"),
                        root.join(format!("other{}", random.below(9))),
                    )),
                    _ => drop(fs::remove_dir_all(&path)),
                }
            }
        });
        let walks = catch_unwind(AssertUnwindSafe(|| {
            for round in 0..300 {
                let options = Options {
                    threads: threads(round % 5),
                    detail: Detail::Total,
                    ..Options::default()
                };
                let (total, recorder) = record(&options, &[&root]);
                assert!(total.inodes > 100);
                for (_, operation) in recorder.failures.into_inner().unwrap() {
                    assert!(
                        matches!(operation, Operation::Access | Operation::Open),
                        "{operation:?}"
                    );
                }
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        walks.unwrap();
    });
}

/// Stops, or breaks, in the middle.
struct Breaker {
    found: AtomicU64,
    panics: bool,
}

impl Visitor for Breaker {
    fn found(&self, _: &FoundFile<'_>) {
        if self.found.fetch_add(1, Ordering::Relaxed) == 5 && self.panics {
            panic!("a visitor's fault");
        }
    }

    fn failed(&self, _: &WalkError) {}

    fn is_stopped(&self) -> bool {
        !self.panics && self.found.load(Ordering::Relaxed) > 5
    }
}

#[test]
fn a_walk_ends_when_it_is_stopped_and_when_its_visitor_breaks() {
    let sandbox = tempfile::tempdir().unwrap();
    let root = sandbox.path().join("root");
    random(&root, 8);
    for number in [1, 2, 8] {
        for panics in [false, true] {
            let options =
                Options { threads: threads(number), detail: Detail::Files, ..Options::default() };
            let breaker = Breaker { found: AtomicU64::new(0), panics };
            let result = catch_unwind(AssertUnwindSafe(|| run(&options, &[&root], &breaker)));
            assert_eq!(result.is_err(), panics);
            assert!(panics || breaker.found.into_inner() < 100);
        }
    }
}

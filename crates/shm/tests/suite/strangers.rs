//! Strangers: files that another user made, or can write to, or that have other names are not taken
//! over, and names that strangers took are gone around.

use crate::rights::as_other;
use crate::{names, on_disk, stamp};
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use xsort_shm::{Error, LocalReader, Owner, Reader, ReaderOptions, Writer, WriterOptions, Xxh3};

/// The user that `as_other` makes of root.
const OTHER: u32 = 65534;

/// A folder where everybody may make files, and nobody remove those of others, as in /dev/shm.
/// `None` for who can't become somebody else.
fn shared() -> Option<(TempDir, PathBuf)> {
    let (folder, prefix) = on_disk();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        return Some((folder, prefix));
    }
    eprintln!("NOTICE: this is not root: strangers are not tested");
    None
}

fn beside(prefix: &Path, suffix: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

fn with_owner(prefix: &Path, owner: Owner) -> xsort_shm::Result<Reader> {
    let mut options = ReaderOptions::default();
    options.owner = owner;
    Reader::with_options(prefix, options)
}

fn with_mode(prefix: &Path, mode: u32, readers_mode: u32) -> Writer {
    let mut options = WriterOptions::default();
    (options.mode, options.readers_mode) = (mode, readers_mode);
    Writer::with_options(prefix, options).unwrap()
}

fn is_stranger<T>(result: xsort_shm::Result<T>) -> bool {
    matches!(result, Err(Error::WrongOwner { owner: OTHER, .. }))
}

/// A stranger in /dev/shm made the files first. Root's writer went on with them: the stranger could
/// forge the current version, and end the writer by cutting the state.
#[test]
fn files_of_a_stranger_are_not_taken_over() {
    let Some((folder, prefix)) = shared() else { return };
    as_other(|| assert_eq!(stamp::write(&mut Writer::open(&prefix).unwrap()).unwrap(), 1));
    let before = names(&folder);
    assert!(is_stranger(Writer::open(&prefix)));
    assert!(is_stranger(Reader::open(&prefix)));
    assert!(is_stranger(LocalReader::open(&prefix)));
    assert!(is_stranger(with_owner(&prefix, Owner::User(1))));
    assert_eq!(names(&folder), before, "they are left as they are");

    for owner in [Owner::User(OTHER), Owner::Anyone] {
        stamp::check(1, &with_owner(&prefix, owner).unwrap().read().unwrap());
    }
    // The way out that the error names.
    fs::remove_file(beside(&prefix, ".state")).unwrap();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    stamp::check(1, &Reader::open(&prefix).unwrap().read().unwrap());
    for name in names(&folder) {
        assert_eq!(fs::metadata(folder.path().join(name)).unwrap().uid(), 0);
    }
    as_other(|| stamp::check(1, &Reader::open(&prefix).unwrap().read().unwrap()));
}

/// An empty state, which a writer fills and a reader waits for, is a stranger's all the same; and a
/// stranger's files can be removed by who may.
#[test]
fn an_empty_state_of_a_stranger_is_no_state() {
    let Some((folder, prefix)) = shared() else { return };
    as_other(|| drop(File::create(beside(&prefix, ".state")).unwrap()));
    assert!(is_stranger(Writer::open(&prefix)));
    assert!(is_stranger(Reader::open(&prefix)));
    assert!(xsort_shm::remove(&prefix).unwrap());
    assert!(names(&folder).is_empty());
}

/// The slot_table of a stranger beside a state of one's own, with the right lineage, which all can
/// read: its maker can cut it, and what readers pin there protects nothing.
#[test]
fn a_roll_of_a_stranger_is_done_without() {
    let Some((_folder, prefix)) = shared() else { return };
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let slot_table = beside(&prefix, ".readers");
    let bytes = fs::read(&slot_table).unwrap();
    fs::remove_file(&slot_table).unwrap();
    as_other(|| {
        fs::write(&slot_table, bytes).unwrap();
        fs::set_permissions(&slot_table, Permissions::from_mode(0o666)).unwrap();
    });
    let reader = Reader::open(&prefix).unwrap();
    assert!(!reader.has_slots());
    stamp::check(1, &reader.read().unwrap());
    drop(writer);
    let mut writer = Writer::open(&prefix).unwrap();
    assert_eq!(fs::metadata(&slot_table).unwrap().uid(), 0);
    assert_eq!(writer.version(), Some(1));
    assert_eq!(stamp::write(&mut writer).unwrap(), 2);
    assert!(Reader::open(&prefix).unwrap().has_slots());
}

/// A buffer of a stranger in the place of one's own: the bytes could change under who reads them.
#[test]
fn a_buffer_of_a_stranger_is_not_read() {
    let Some((_folder, prefix)) = shared() else { return };
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let buffer = beside(&prefix, ".buffer-0");
    let bytes = fs::read(&buffer).unwrap();
    fs::remove_file(&buffer).unwrap();
    as_other(|| fs::write(&buffer, bytes).unwrap());
    assert!(is_stranger(Reader::open(&prefix).unwrap().read()));
    stamp::write(&mut writer).unwrap();
    stamp::check(2, &Reader::open(&prefix).unwrap().read().unwrap());
}

/// One buffer of another user in /dev/shm, and no writer could open there, nor anything be removed.
#[test]
fn names_that_strangers_took_are_gone_around() {
    let Some((folder, prefix)) = shared() else { return };
    for suffix in [".buffer-0", ".buffer-1", ".buffer-9"] {
        fs::write(beside(&prefix, suffix), b"root's").unwrap();
    }
    as_other(|| {
        assert!(!xsort_shm::remove(&prefix).unwrap(), "nothing that it could remove");
        let mut writer = Writer::open(&prefix).unwrap();
        let reader = Reader::open(&prefix).unwrap();
        let mut held = Vec::new();
        for sequence in 1..=20 {
            assert_eq!(stamp::write(&mut writer).unwrap(), sequence);
            held.push(reader.read().unwrap());
        }
        held.iter().for_each(|version| stamp::check(version.sequence(), version));
        drop(held);
        writer.trim().unwrap();
        drop(writer);
        let writer = Writer::open(&prefix).unwrap();
        assert_eq!(writer.version(), Some(20));
        drop(writer);
        assert!(xsort_shm::remove(&prefix).unwrap());
    });
    // A slot_table's name can't be gone around: the error says whose it is, and that there are
    // other paths.
    fs::write(beside(&prefix, ".readers"), b"root's").unwrap();
    as_other(|| {
        assert!(matches!(Writer::open(&prefix), Err(Error::WrongOwner { owner: 0, .. })));
        assert!(!xsort_shm::remove(&prefix).unwrap());
    });
    assert_eq!(names(&folder), ["p.buffer-0", "p.buffer-1", "p.buffer-9", "p.readers"]);
}

/// A directory with the name of a buffer did the same; and a number that no writer would write so
/// was taken for another buffer, and never removed.
#[test]
fn names_that_are_no_buffers_are_gone_around() {
    let (folder, prefix) = on_disk();
    for suffix in [".buffer-0", ".buffer-2", ".buffer-4000"] {
        fs::create_dir(beside(&prefix, suffix)).unwrap();
    }
    for suffix in [".buffer-007", ".buffer-4095", ".buffer-", ".buffer-99999999999999999999"] {
        fs::write(beside(&prefix, suffix), b"not ours").unwrap();
    }
    let foreign = names(&folder);
    assert!(!xsort_shm::remove(&prefix).unwrap(), "there is nothing of ours");
    assert_eq!(names(&folder), foreign);
    for first in [1, 12] {
        let mut writer = Writer::open(&prefix).unwrap();
        let reader = Reader::open(&prefix).unwrap();
        let mut held = Vec::new();
        for sequence in first..first + 10 {
            assert_eq!(stamp::write(&mut writer).unwrap(), sequence);
            held.push(reader.read().unwrap());
        }
        held.iter().for_each(|version| stamp::check(version.sequence(), version));
    }
    assert!(xsort_shm::remove(&prefix).unwrap());
    assert_eq!(names(&folder), foreign);
}

/// With a name that came to be taken while it was not needed, also a longer version finds a buffer.
#[test]
fn a_buffer_whose_name_is_taken_meanwhile_is_left() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    writer.write(b"short").unwrap();
    for index in 0..5 {
        let name = beside(&prefix, &format!(".buffer-{index}"));
        let _ = fs::remove_file(&name);
        fs::create_dir(&name).unwrap();
    }
    assert_eq!(writer.write(&[7; 100_000]).unwrap(), 2);
    assert_eq!(&*Reader::open(&prefix).unwrap().read().unwrap(), &[7; 100_000]);
    fs::remove_dir(beside(&prefix, ".buffer-3")).unwrap();
    writer.trim().unwrap();
    assert_eq!(writer.write(&[8; 200_000]).unwrap(), 3);
}

/// Who could write to a file may have it open, and what its mode says now doesn't help.
#[test]
fn files_that_others_could_write_to_are_made_anew() {
    for (suffix, mode) in [(".state", 0o646), (".readers", 0o666), (".state", 0o664)] {
        let (_folder, prefix) = on_disk();
        let mut writer = Writer::open(&prefix).unwrap();
        stamp::write(&mut writer).unwrap();
        drop(writer);
        let path = beside(&prefix, suffix);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let open_still = OpenOptions::new().write(true).open(&path).unwrap();

        let mut writer = Writer::open(&prefix).unwrap();
        open_still.set_len(0).unwrap();
        assert_eq!(writer.version(), Some(1));
        let reader = Reader::open(&prefix).unwrap();
        stamp::check(1, &reader.read().unwrap());
        assert_eq!(stamp::write(&mut writer).unwrap(), 2);
        stamp::check(2, &reader.read().unwrap());
    }
}

/// A reader believes no state and no buffer that its owner has opened to others, unless it is told
/// to.
#[test]
fn files_that_others_may_write_to_are_not_read() {
    for suffix in [".state", ".buffer-0"] {
        let (_folder, prefix) = on_disk();
        stamp::write(&mut Writer::open(&prefix).unwrap()).unwrap();
        for mode in [0o646, 0o664] {
            let path = beside(&prefix, suffix);
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            let refused = Reader::open(&prefix).and_then(|reader| reader.read().map(drop));
            assert!(matches!(refused, Err(Error::Foreign { .. })), "{suffix} {mode:o}");
            stamp::check(1, &with_owner(&prefix, Owner::Anyone).unwrap().read().unwrap());
        }
    }
}

/// A writer gives nobody leave to change what it has published, and one that is asked to does not
/// make its files anew each time. Who may pin is another matter.
#[test]
fn nobody_else_may_write_versions() {
    let (_folder, prefix) = on_disk();
    stamp::write(&mut with_mode(&prefix, 0o666, 0o666)).unwrap();
    let mode = |suffix| fs::metadata(beside(&prefix, suffix)).unwrap().mode() & 0o7777;
    assert_eq!([".state", ".readers", ".buffer-0"].map(mode), [0o644, 0o666, 0o644]);
    let reader = Reader::open(&prefix).unwrap();
    assert_eq!(with_mode(&prefix, 0o666, 0o666).version(), Some(1));
    assert!(!reader.is_orphaned().unwrap());
}

/// A hard link makes a writer write to a file with another name, and set its mode.
#[test]
fn a_file_with_another_name_is_not_taken_over() {
    let (folder, prefix) = on_disk();
    let (elsewhere, state) = (folder.path().join("elsewhere"), beside(&prefix, ".state"));
    fs::write(&elsewhere, b"").unwrap();
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&elsewhere, &state).unwrap();
    assert!(matches!(Writer::open(&prefix), Err(Error::Foreign { .. })));
    let metadata = fs::metadata(&elsewhere).unwrap();
    assert_eq!((metadata.len(), metadata.mode() & 0o7777), (0, 0o600));
    fs::remove_file(&state).unwrap();

    stamp::write(&mut Writer::open(&prefix).unwrap()).unwrap();
    let (slot_table, other) = (beside(&prefix, ".readers"), folder.path().join("other"));
    fs::hard_link(&slot_table, &other).unwrap();
    let mut writer = Writer::open(&prefix).unwrap();
    assert_eq!(stamp::write(&mut writer).unwrap(), 2);
    assert_ne!(fs::metadata(&slot_table).unwrap().ino(), fs::metadata(&other).unwrap().ino());
}

/// What a directory, a link or a pipe has taken is told, or replaced; nothing is lost by it.
#[test]
fn a_roll_that_is_something_else_costs_no_version() {
    let (folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    for _ in 0..1000 {
        stamp::write(&mut writer).unwrap();
    }
    drop(writer);
    let slot_table = beside(&prefix, ".readers");
    fs::remove_file(&slot_table).unwrap();
    fs::create_dir(&slot_table).unwrap();
    assert!(matches!(
        Writer::<Xxh3>::with_options(&prefix, WriterOptions::default()),
        Err(Error::Io { .. })
    ));
    fs::remove_dir(&slot_table).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &slot_table).unwrap();
    let mut writer = Writer::open(&prefix).unwrap();
    assert_eq!(writer.version(), Some(1000));
    stamp::check(1000, &Reader::open(&prefix).unwrap().read().unwrap());
    assert_eq!(stamp::write(&mut writer).unwrap(), 1001);
    assert!(!folder.path().join("elsewhere").exists());
    assert_eq!(names(&folder).iter().filter(|name| name.contains("buffer")).count(), 2);
}

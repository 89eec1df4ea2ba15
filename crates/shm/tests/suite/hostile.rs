//! Files that are short, damaged, or made to deceive: errors, and never a look beyond what is
//! mapped.

use crate::{on_disk, stamp};
use std::cell::{Cell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::os::unix::fs::{FileExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_shm::{Error, LocalReader, Reader, ReaderOptions, Version, Writer, WriterOptions, Xxh3};

// Where the words are; docs/formats.md draws them.
const CURRENT: u64 = 128;
const CAPACITY: u64 = 24;
const HEADER_LENGTH: u64 = 16;
const HEADER_CHECKSUM: u64 = 24;
const BYTES: u64 = 64;

fn file(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn put(path: &Path, at: u64, word: u64) {
    file(path).write_all_at(&word.to_ne_bytes(), at).unwrap();
}

fn get(path: &Path, at: u64) -> u64 {
    let mut word = [0; 8];
    file(path).read_exact_at(&mut word, at).unwrap();
    u64::from_ne_bytes(word)
}

/// One version, a stamped one, and no writer.
fn written() -> (tempfile::TempDir, PathBuf) {
    let (folder, prefix) = on_disk();
    stamp::write(&mut Writer::open(&prefix).unwrap()).unwrap();
    (folder, prefix)
}

fn state(prefix: &Path) -> PathBuf {
    prefix.with_extension("state")
}

fn readers(prefix: &Path) -> PathBuf {
    prefix.with_extension("readers")
}

fn buffer(prefix: &Path) -> PathBuf {
    prefix.with_extension("buffer-0")
}

/// With a slot and without.
fn both(prefix: &Path) -> [Reader; 2] {
    let mut copy = ReaderOptions::default();
    copy.copy = true;
    [Reader::open(prefix).unwrap(), Reader::<Xxh3>::with_options(prefix, copy).unwrap()]
}

#[test]
fn a_state_that_is_none() {
    let (_folder, prefix) = on_disk();
    for bytes in [vec![1; 16], vec![1; 4096], b"xsortshm".repeat(512), vec![0; 4095], vec![0; 8192]]
    {
        fs::write(state(&prefix), &bytes).unwrap();
        assert!(matches!(Reader::open(&prefix), Err(Error::Foreign { .. })));
        assert!(matches!(Writer::open(&prefix), Err(Error::Foreign { .. })));
        assert_eq!(fs::read(state(&prefix)).unwrap(), bytes, "what is not ours is left as it is");
    }
}

#[test]
fn names_that_are_no_files() {
    let (folder, prefix) = on_disk();
    fs::create_dir(state(&prefix)).unwrap();
    assert!(Reader::open(&prefix).is_err() && Writer::open(&prefix).is_err());
    fs::remove_dir(state(&prefix)).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(state(&prefix)).status();
    if pipe.is_ok_and(|status| status.success()) {
        assert!(Reader::open(&prefix).is_err() && Writer::open(&prefix).is_err());
        fs::remove_file(state(&prefix)).unwrap();
    }
    // A planted link makes a writer write somewhere else.
    let elsewhere = folder.path().join("elsewhere");
    symlink(&elsewhere, state(&prefix)).unwrap();
    assert!(Writer::open(&prefix).is_err());
    fs::remove_file(state(&prefix)).unwrap();
    symlink(&elsewhere, buffer(&prefix)).unwrap();
    symlink(&elsewhere, readers(&prefix)).unwrap();
    stamp::write(&mut Writer::open(&prefix).unwrap()).unwrap();
    assert!(!elsewhere.exists());
}

#[test]
fn a_roll_that_is_none() {
    let (_folder, prefix) = written();
    for (at, word) in
        [(0, 7), (8, 7), (16, 7), (CAPACITY, 0), (CAPACITY, 4094), (CAPACITY, u64::MAX)]
    {
        let before = get(&readers(&prefix), at);
        put(&readers(&prefix), at, word);
        assert!(matches!(Reader::open(&prefix), Err(Error::Foreign { .. })), "{word} at {at}");
        put(&readers(&prefix), at, before);
    }
    let length = fs::metadata(readers(&prefix)).unwrap().len();
    for shorter in [0, 100, 256, length - 1] {
        file(&readers(&prefix)).set_len(shorter).unwrap();
        assert!(matches!(Reader::open(&prefix), Err(Error::Foreign { .. })), "{shorter} bytes");
    }
    // The writer makes a new one, and with it a new state.
    let mut writer = Writer::open(&prefix).unwrap();
    assert_eq!(stamp::write(&mut writer).unwrap(), 2);
    stamp::check(2, &Reader::open(&prefix).unwrap().read().unwrap());
}

#[test]
fn a_current_version_that_can_not_be() {
    let (_folder, prefix) = written();
    let sound = get(&state(&prefix), CURRENT);
    for reader in both(&prefix) {
        for word in [
            u64::MAX,
            u64::MAX - 1,
            1 << 52,
            4095 << 52 | 1,
            4094 << 52 | 1,
            7 << 52 | 1,
            sound + 1,
        ] {
            put(&state(&prefix), CURRENT, word);
            assert!(reader.read().is_err(), "{word:#x}");
        }
        put(&state(&prefix), CURRENT, 0);
        assert!(matches!(reader.read(), Err(Error::NotReady { .. })));
        put(&state(&prefix), CURRENT, sound);
        stamp::check(1, &reader.read().unwrap());
    }
    // Four years of writing at full speed are over.
    put(&state(&prefix), CURRENT, (1 << 52) - 3);
    let mut writer = Writer::open(&prefix).unwrap();
    assert_eq!(writer.write(b"the last").unwrap(), (1 << 52) - 1);
    assert!(matches!(writer.write(b"one more"), Err(Error::Exhausted { .. })));
    assert_eq!(&*Reader::open(&prefix).unwrap().read().unwrap(), b"the last");
}

#[test]
fn a_buffer_that_is_short_or_lies() {
    let (_folder, prefix) = written();
    let bytes = fs::read(buffer(&prefix)).unwrap();
    let refused =
        || both(&prefix).iter().all(|reader| matches!(reader.read(), Err(Error::Corrupt { .. })));
    let length = bytes.len() as u64 - BYTES;
    for (at, word) in [
        (0, 1),
        (8, 3),
        (HEADER_LENGTH, length + 1),
        (HEADER_LENGTH, u64::MAX),
        (HEADER_LENGTH, u64::MAX - 63),
        (HEADER_LENGTH, 0),
        (HEADER_CHECKSUM, 1),
        (BYTES, 1),
    ] {
        put(&buffer(&prefix), at, word);
        assert!(refused(), "{word} at {at}");
        fs::write(buffer(&prefix), &bytes).unwrap();
    }
    for shorter in [0, 63, 64, 71] {
        file(&buffer(&prefix)).set_len(shorter).unwrap();
        assert!(both(&prefix).iter().all(|reader| reader.read().is_err()), "{shorter} bytes");
        fs::write(buffer(&prefix), &bytes).unwrap();
    }
    fs::remove_file(buffer(&prefix)).unwrap();
    assert!(both(&prefix).iter().all(|reader| matches!(reader.read(), Err(Error::Io { .. }))));
    fs::write(buffer(&prefix), &bytes).unwrap();
    both(&prefix).iter().for_each(|reader| stamp::check(1, &reader.read().unwrap()));
}

/// Damage is found in the version that has it; the next one is read.
#[test]
fn after_a_damaged_version_comes_a_sound_one() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    for reader in both(&prefix) {
        let held = reader.read().unwrap();
        let sequence = stamp::write(&mut writer).unwrap();
        let index = get(&state(&prefix), CURRENT) >> 52;
        let path = prefix.with_extension(format!("buffer-{index}"));
        put(&path, BYTES, !get(&path, BYTES));
        assert!(matches!(reader.read(), Err(Error::Corrupt { .. })));
        assert!(matches!(reader.read(), Err(Error::Corrupt { .. })));
        stamp::check(sequence - 1, &held);
        stamp::write(&mut writer).unwrap();
        stamp::check(sequence + 1, &reader.read().unwrap());
        stamp::check(sequence - 1, &held);
    }
}

/// Who waits hears once of a version that can't be read, and then sleeps until the next. Once the
/// same error came back at full speed.
#[test]
fn a_damaged_version_ends_one_wait() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let readers = both(&prefix);
    let mut local = LocalReader::open(&prefix).unwrap();
    for sequence in [1, 3, 5] {
        let path = prefix.with_extension(format!("buffer-{}", get(&state(&prefix), CURRENT) >> 52));
        put(&path, BYTES, !get(&path, BYTES));
        for reader in &readers {
            assert!(matches!(
                reader.wait_newer(Duration::from_secs(60)),
                Err(Error::Corrupt { .. })
            ));
            assert!(reader.wait_newer(Duration::from_millis(1)).unwrap().is_none());
            assert!(matches!(reader.read(), Err(Error::Corrupt { .. })));
        }
        assert!(matches!(local.wait_newer(Duration::from_secs(60)), Err(Error::Corrupt { .. })));
        assert!(local.wait_newer(Duration::from_millis(1)).unwrap().is_none());
        assert!(matches!(local.read(), Err(Error::Corrupt { .. })));
        stamp::write(&mut writer).unwrap();
        for reader in &readers {
            let version = reader.wait_newer(Duration::from_secs(60)).unwrap().expect("a sound one");
            stamp::check(sequence + 1, &version);
        }
        let version = local.wait_newer(Duration::from_secs(60)).unwrap().expect("a sound one");
        stamp::check(sequence + 1, &version);
        stamp::write(&mut writer).unwrap();
    }
}

/// Whatever a member of the readers' group writes into the slot_table, the writer writes on, and
/// honest readers read on.
#[test]
fn any_words_in_the_roll() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::open(&prefix).unwrap();
    stamp::write(&mut writer).unwrap();
    let reader = Reader::open(&prefix).unwrap();
    let held = reader.read().unwrap();
    let slot_table = file(&readers(&prefix));
    let mut word = 1u64;
    for round in 0..3000 {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let value = [word, 0, u64::MAX, word >> 40, (word % 4096) << 52][(word >> 33) as usize % 5];
        // Its own slots are the first two. The groups that have slots, the flag of those who wait,
        // the slots of a group that are taken, and what others hold.
        let (taken, slot) = (256 + 8 * (word % 64), 768 + 128 * (1 + word % 1000));
        let at = [128, 136, taken, slot][round % 4];
        slot_table.write_all_at(&value.to_ne_bytes(), at).unwrap();
        if at == 128 || at == 256 {
            // Who says that the slots of others are free breaks those. What he can't is to lead the
            // writer out of the file.
            slot_table.write_all_at(&(value | 0b11).to_ne_bytes(), at).unwrap();
        }
        let sequence = stamp::write(&mut writer).unwrap();
        stamp::check(sequence, &reader.read().unwrap());
        stamp::check(1, &held);
    }
}

/// Random damage of state and header under attached readers: errors or whole versions, nothing
/// else.
#[test]
fn any_words_in_state_and_header() {
    let (_folder, prefix) = written();
    let readers = both(&prefix);
    let paths = [state(&prefix), buffer(&prefix)];
    let sound = paths.each_ref().map(|path| fs::read(path).unwrap());
    let mut word = 3u64;
    for _ in 0..3000 {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let which = (word >> 60) as usize % 2;
        let at = (word >> 40) % 22 * 8;
        let value =
            [word, 0, u64::MAX, word >> 40, (word % 4096) << 52 | 1][(word >> 33) as usize % 5];
        put(&paths[which], at, value);
        for reader in &readers {
            if let Ok(version) = reader.read() {
                assert!(
                    version.is_empty() || version.len() == sound[1].len() || {
                        stamp::check(1, &version);
                        true
                    }
                );
            }
            reader.release();
        }
        if word >> 50 & 3 == 0 {
            for (path, bytes) in paths.iter().zip(&sound) {
                file(path).write_all_at(bytes, 0).unwrap();
            }
        }
    }
}

/// A writer that changes what it has published deceives readers that look at its files, but not
/// those that copy; also not if it says that its files are fresh.
#[test]
fn who_copies_is_not_deceived() {
    let (_folder, prefix) = on_disk();
    let mut options = WriterOptions::default();
    options.fresh_files = true;
    let mut writer = Writer::<Xxh3>::with_options(&prefix, options).unwrap();
    stamp::write(&mut writer).unwrap();
    let [_, reader] = both(&prefix);
    let held = reader.read().unwrap();
    put(&buffer(&prefix), BYTES, 1);
    stamp::check(1, &held);
    stamp::check(1, &reader.read().unwrap());
}

thread_local! {
    static NOSY: Cell<Option<&'static Reader<Nosy>>> = const { Cell::new(None) };
    static SEEN: RefCell<Option<Version<'static>>> = const { RefCell::new(None) };
}

/// A hasher that reads while it hashes.
#[derive(Default)]
struct Nosy(Xxh3);

impl Hasher for Nosy {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(reader) = NOSY.take() {
            SEEN.set(reader.read().ok());
        }
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

thread_local! {
    static IS_CLUMSY: Cell<bool> = const { Cell::new(false) };
}

/// A hasher that panics now and then.
#[derive(Default)]
struct Clumsy(Xxh3);

impl Hasher for Clumsy {
    fn write(&mut self, bytes: &[u8]) {
        assert!(!IS_CLUMSY.get(), "on purpose");
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// A hasher that panicked once left its version pinned, in a slot that nobody had any more.
#[test]
fn a_hasher_may_panic() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::<Clumsy>::with_options(&prefix, WriterOptions::default()).unwrap();
    writer.write(&[0; 4096]).unwrap();
    let reader = Reader::<Clumsy>::with_options(&prefix, Default::default()).unwrap();
    let mut local = reader.local().unwrap();
    for number in 1..20 {
        let held = reader.read().unwrap();
        local.read().unwrap();
        writer.write(&[number; 4096]).unwrap();
        IS_CLUMSY.set(true);
        let panics =
            |read: &mut dyn FnMut()| assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
        panics(&mut || drop(reader.read()));
        panics(&mut || drop(local.read()));
        IS_CLUMSY.set(false);
        assert_eq!(&*held, &[number - 1; 4096]);
        assert_eq!(&*reader.read().unwrap(), &[number; 4096]);
        assert_eq!(&*local.read().unwrap(), &[number; 4096]);
    }
    // Two of the thread's, for it held an older version, and that of the reader of one owner.
    assert_eq!(writer.readers().unwrap(), 3);
}

/// A hasher is other people's code, and may call the reader that calls it: two versions are held
/// then, by two slots.
#[test]
fn a_hasher_may_read() {
    let (_folder, prefix) = on_disk();
    let mut writer = Writer::<Nosy>::with_options(&prefix, WriterOptions::default()).unwrap();
    writer.write(&[1; 4096]).unwrap();
    let reader: &'static Reader<Nosy> =
        Box::leak(Box::new(Reader::with_options(&prefix, Default::default()).unwrap()));
    NOSY.set(Some(reader));
    let outer = reader.read().unwrap();
    let inner = SEEN.take().expect("the hasher has read");
    assert_eq!(writer.readers().unwrap(), 2);
    drop(inner);
    reader.release();
    for number in 2..10 {
        writer.write(&[number; 4096]).unwrap();
    }
    assert_eq!(&*outer, &[1; 4096]);
}

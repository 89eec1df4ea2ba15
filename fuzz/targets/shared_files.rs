//! Files that versions are shared by, changed in any way: under readers that are attached, before
//! readers attach, and before the next writer comes. Errors or bytes within what is mapped, never a
//! panic or a signal; and after the next writer's version, that version, or an error that says that
//! the files are foreign.
//!
//! The input is changes: eight bytes each, which say where, and what.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use xsort_shm::{LocalReader, Reader, ReaderOptions, Writer, WriterOptions, Xxh3};

/// Words worth writing: none, all ones, the two versions that there are, one in a buffer that there
/// is not, lengths, and the input's own.
fn word(kind: u8, own: u32) -> u64 {
    match kind % 8 {
        0 => 0,
        1 => u64::MAX,
        2 => 1,
        3 => 1 << 52 | 2,
        4 => u64::from(own % 4096) << 52 | 1,
        5 => 64,
        6 => 1 << 63 | u64::from(own),
        _ => u64::from(own),
    }
}

/// Writes a word into one of the files, at a place that somebody reads.
fn change(prefix: &Path, change: &[u8; 8]) {
    let [file, place, kind, _, own @ ..] = *change;
    let name = ["state", "readers", "buffer-0", "buffer-1"][usize::from(file) % 4];
    let Ok(file) = OpenOptions::new().write(true).open(prefix.with_extension(name)) else { return };
    file.write_all_at(
        &word(kind, u32::from_le_bytes(own)).to_ne_bytes(),
        u64::from(place % 80) * 8,
    )
    .unwrap();
}

fn look(reader: &Reader, local: &mut LocalReader) {
    for _ in 0..2 {
        for version in
            [reader.read().map(|version| version.to_vec()), local.read().map(|view| view.to_vec())]
        {
            assert!(version.is_err() || version.is_ok_and(|bytes| bytes.len() <= 4096));
        }
        let _ = (reader.version(), reader.has_writer(), reader.is_orphaned());
    }
    // Not by who maps the files: bytes that are changed after they were checked deceive it, as its
    // documentation says.
    if let Ok(value) = local.read_archived::<Vec<String>>() {
        assert!(value.iter().all(|text| text.len() <= 4096));
    }
}

fuzz_target!(|data: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let prefix = folder.path().join("p");
    let mut options = WriterOptions::default();
    options.readers_max = 3;
    let open = || Writer::<Xxh3>::with_options(&prefix, options.clone());
    let mut writer = open().unwrap();
    writer.write(b"one").unwrap();
    writer.write_archived(&vec!["two".to_owned()]).unwrap();
    drop(writer);

    let mut copy = ReaderOptions::default();
    copy.copy = true;
    let reader = Reader::open(&prefix).unwrap();
    let mut local = LocalReader::<Xxh3>::with_options(&prefix, copy).unwrap();
    look(&reader, &mut local);
    let (changes, _) = data.as_chunks::<8>();
    for bytes in changes.iter().take(16) {
        change(&prefix, bytes);
        look(&reader, &mut local);
    }
    if let (Ok(reader), Ok(mut local)) = (Reader::open(&prefix), LocalReader::open(&prefix)) {
        look(&reader, &mut local);
    }
    drop((reader, local));
    let Ok(mut writer) = open() else { return };
    if writer.write(b"three").is_ok()
        && let Ok(reader) = Reader::open(&prefix)
    {
        assert_eq!(&*reader.read().unwrap(), b"three");
    }
});

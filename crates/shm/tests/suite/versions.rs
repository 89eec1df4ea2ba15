//! Writing and reading versions in one process.

use xsort_shm::{Reader, Writer};

#[test]
fn a_held_version_stays_and_the_next_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let mut writer = Writer::open(&path).unwrap();
    assert_eq!(writer.write(b"one").unwrap(), 1);
    let reader = Reader::open(&path).unwrap();
    let one = reader.read().unwrap();
    assert!(one.is_new() && one.sequence() == 1);
    writer.write(b"two").unwrap();
    writer.write(b"three").unwrap();
    writer.write(&[7; 100_000]).unwrap();
    assert_eq!(&*one, b"one");
    let four = reader.read().unwrap();
    assert_eq!((four.sequence(), &*four), (4, &[7; 100_000][..]));
    assert!(!reader.read().unwrap().is_new());
}

//! The index of a sorted slice: the ranges of its manifest, in a file of which a merge reads only
//! the few bytes that it needs. The manifests of all slices have slices times parts entries.
//!
//! ```text
//!  "xsortidx" | job (32) | splitters (32) | slice (8) | parts (8) | XXH3 of these (8)
//!  offset (8) | bytes (8) | records (8) | sum (16) | XXH3 of these (8)      one for each part
//! ```
//!
//! The XXH3 of the header, combined with the part's number, is the seed of the other hashes.
//! Numbers are little-endian, and IDs are padded with zeros.

use crate::error::Error;
use crate::manifest::{Manifest, SliceFiles};
use crate::part_entry::PartEntry;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, Operation};
use xsort_extsort::lines::FileOutput;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const MAGIC: &[u8; 8] = b"xsortidx";
const ID_BYTES: usize = 32;
const HEAD_BYTES: usize = 8 + 2 * ID_BYTES + 16;
const ENTRY_BYTES: usize = 40;
const HASH_BYTES: usize = 8;

fn id(text: &str) -> [u8; ID_BYTES] {
    let mut bytes = [0; ID_BYTES];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

/// Returns the index of a slice.
fn index_of(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(id(&manifest.job));
    bytes.extend(id(&manifest.splitters));
    bytes.extend((manifest.slice as u64).to_le_bytes());
    bytes.extend((manifest.parts.len() as u64).to_le_bytes());
    let head = xxh3_64(&bytes);
    bytes.extend(head.to_le_bytes());
    for (part, range) in manifest.parts.iter().enumerate() {
        let at = bytes.len();
        for number in [range.offset, range.bytes, range.records] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(range.sum.to_le_bytes());
        let hash = xxh3_64_with_seed(&bytes[at..], head ^ part as u64);
        bytes.extend(hash.to_le_bytes());
    }
    bytes
}

/// Writes the index of a slice, which appears completely or not at all.
///
/// # Errors
/// If it can't be written.
pub(crate) fn write_index(
    disk: &Arc<dyn Disk>,
    path: &Path,
    manifest: &Manifest,
    sync: bool,
) -> Result<(), Error> {
    let bytes = index_of(manifest);
    let mut output = FileOutput::create(&**disk, path, bytes.len() as u64)?;
    let written = output.write_all(&bytes);
    written.map_err(|error| xsort_extsort::Error::Output(error).of_output(path))?;
    Ok(output.publish(sync)?)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// Reads a slice's entry for a part. Returns `None` if it has no such part, or no index.
///
/// # Errors
/// If the index can't be read; [`Error::DamagedSlice`] if it is not this slice's index.
pub(crate) fn read_entry(
    directory: &Path,
    slice: usize,
    part: usize,
) -> Result<Option<PartEntry>, Error> {
    let path = &SliceFiles::of(directory, slice).index;
    let not_opened = |error| xsort_disk::Error::new(Operation::Open, path, error);
    let wrong = || Error::DamagedSlice {
        slice,
        origin: directory.to_string_lossy().into_owned(),
        what: "its index isn't what was written".into(),
    };
    let of_read = |at: u64, error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong(),
        _ => xsort_disk::Error::at(Operation::Read, path, at, error).into(),
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(not_opened)?,
    };
    let mut head = [0; HEAD_BYTES + HASH_BYTES];
    file.read_exact_at(&mut head, 0).map_err(|error| of_read(0, error))?;
    let hash = number(&head, HEAD_BYTES);
    let is_right = head.starts_with(MAGIC) && xxh3_64(&head[..HEAD_BYTES]) == hash;
    let (found, parts) = (number(&head, HEAD_BYTES - 16), number(&head, HEAD_BYTES - 8));
    if !is_right || found != slice as u64 {
        return Err(wrong());
    }
    if part as u64 >= parts {
        return Ok(None);
    }
    let mut entry = [0; ENTRY_BYTES + HASH_BYTES];
    let at = head.len() as u64 + part as u64 * entry.len() as u64;
    file.read_exact_at(&mut entry, at).map_err(|error| of_read(at, error))?;
    if xxh3_64_with_seed(&entry[..ENTRY_BYTES], hash ^ part as u64) != number(&entry, ENTRY_BYTES) {
        return Err(wrong());
    }
    let ids = &head[MAGIC.len()..];
    let (job, splitters) = (text(&ids[..ID_BYTES]), text(&ids[ID_BYTES..2 * ID_BYTES]));
    Ok(Some(PartEntry {
        job: job.ok_or_else(wrong)?,
        splitters: splitters.ok_or_else(wrong)?,
        slice,
        offset: number(&entry, 0),
        bytes: number(&entry, 8),
        records: number(&entry, 16),
        sum: u128::from_le_bytes(entry[24..40].try_into().expect("16 bytes")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Job, Slice};
    use crate::manifest::PartRange;
    use crate::sample::{Sample, SliceSample};
    use crate::splitters::quantiles;
    use std::fs;

    fn manifest() -> Manifest {
        let slice = |index| Slice { index, ..Slice::default() };
        let job = Job::new(Vec::new(), (None, None), (0..4).map(slice).collect(), 2);
        let empty = |slice| SliceSample { slice, bytes: 0, keys: Vec::new() };
        let sample = Sample::new(&job, (0..4).map(empty).collect());
        let splitters = quantiles(&job, &[sample], Ord::cmp).unwrap();
        let ranges = vec![
            PartRange { offset: 0, bytes: 200, records: 2, sum: 1 << 70 },
            PartRange { offset: 200, bytes: 100, records: 1, sum: 7 },
        ];
        Manifest::new(&job, &splitters, 3, ranges)
    }

    #[test]
    fn entries_are_those_of_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_entry(folder.path(), 3, 0).unwrap().is_none());
        let manifest = manifest();
        fs::write(SliceFiles::of(folder.path(), 3).index, index_of(&manifest)).unwrap();
        for (part, range) in manifest.parts.iter().enumerate() {
            let entry = read_entry(folder.path(), 3, part).unwrap().unwrap();
            assert_eq!((&entry.job, &entry.splitters), (&manifest.job, &manifest.splitters));
            let found = (entry.slice, entry.offset, entry.bytes, entry.checksum());
            assert_eq!(found, (3, range.offset, range.bytes, range.checksum()));
        }
        assert!(read_entry(folder.path(), 3, 2).unwrap().is_none());
    }

    #[test]
    fn an_index_that_can_not_be_read_is_named_with_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        // A directory can be opened, and not read.
        let path = SliceFiles::of(folder.path(), 3).index;
        fs::create_dir(&path).unwrap();
        let error = read_entry(folder.path(), 3, 0).unwrap_err().to_string();
        assert!(error.contains(&format!("{} at byte 0", path.display())), "{error}");
    }

    #[test]
    fn an_index_of_which_any_byte_changed_or_is_missing_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, bytes) = (SliceFiles::of(folder.path(), 3).index, index_of(&manifest()));
        let is_right = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let entry = |part| read_entry(folder.path(), 3, part);
            let found = [entry(0), entry(1)];
            found.iter().all(|entry| matches!(entry, Ok(Some(_))))
        };
        assert!(is_right(&bytes));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!is_right(&changed), "byte {at}");
            assert!(!is_right(&bytes[..at]), "{at} bytes");
        }
        // Another slice's index.
        fs::write(SliceFiles::of(folder.path(), 2).index, &bytes).unwrap();
        read_entry(folder.path(), 2, 0).unwrap_err();
    }
}

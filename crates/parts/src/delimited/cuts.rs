//! Finds the positions of splitters in sorted data, by binary search over its bytes.

use crate::cutting::{Ranges, sum_ranges};
use crate::error::Error;
use crate::job::{Job, Slice};
use crate::means::Means;
use crate::record_sum::Framing;
use crate::splitters::{Splitter, Splitters};
use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use xsort_disk::Operation;
use xsort_extsort::LinesReport;
use xsort_extsort::lines::LineKernels;

/// Number of bytes per read.
const LOOK_BYTES: usize = 4 << 10;

/// A file of sorted records.
#[derive(Clone, Copy)]
pub(crate) struct SortedData<'a> {
    pub(crate) path: &'a Path,
    /// The byte that ends each record.
    pub(crate) end: u8,
    pub(crate) order: &'a dyn LineKernels,
}

/// Sorted data that is open.
struct OpenData<'a> {
    data: SortedData<'a>,
    file: File,
    bytes: u64,
}

/// Finds the splitters in a sorted slice, and sums the ranges between them.
pub(crate) fn cut_data(
    (job, splitters): (&Job, &Splitters),
    slice: &Slice,
    data: SortedData<'_>,
    means: &Means<'_>,
) -> Result<Ranges, Error> {
    let cuts = || -> io::Result<Vec<u64>> {
        let file = File::open(data.path)?;
        let open = OpenData { data, bytes: file.metadata()?.len(), file };
        splitters.splitters.iter().map(|splitter| open.cut(splitter, slice)).collect()
    };
    let cuts = cuts().map_err(|error| xsort_disk::Error::of_read(data.path, error))?;
    sum_ranges(data.path, Framing::End(data.end), &cuts, job.parts, means)
}

/// Compares the sorted records with those read back.
pub(crate) fn check_written(report: &LinesReport, cut: &Ranges, data: &Path) -> Result<(), Error> {
    let sorted = (report.lines, report.checksum.unwrap_or(cut.hash));
    let read = (cut.checksum.records(), cut.hash);
    if sorted == read {
        return Ok(());
    }
    let what = format!(
        "{}: {} records with checksum {:016x} were written, and {} with {:016x} read back",
        data.display(),
        sorted.0,
        sorted.1,
        read.0,
        read.1
    );
    Err(xsort_extsort::Error::Lost { what }.into())
}

impl OpenData<'_> {
    /// Returns the offset of the first record that doesn't lie below a splitter.
    fn cut(&self, splitter: &Splitter, slice: &Slice) -> io::Result<u64> {
        let below = self.bound(&splitter.key.0, Ordering::is_lt)?;
        let up_to = self.bound(&splitter.key.0, Ordering::is_le)?;
        let wanted = splitter.position(slice.index, slice.bytes, below, up_to);
        self.record_begin(wanted)
    }

    /// Returns the offset of the first record that isn't before `key`, according to `is_before`.
    fn bound(&self, key: &[u8], is_before: fn(Ordering) -> bool) -> io::Result<u64> {
        let mut comparer = self.data.order.comparer();
        // A record begins at `low`, and all records that end at or before it are before the key. No
        // record that begins at or after `high` is.
        let (mut low, mut high) = (0, self.bytes);
        while low < high {
            let middle = low + (high - low) / 2;
            let begin = self.record_begin(middle)?;
            if begin >= self.bytes {
                high = middle;
                continue;
            }
            let record = self.record(begin)?;
            match is_before(comparer.compare(&record, key)) {
                true => low = begin + record.len() as u64 + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Returns the first offset at or after `at` where a record begins, or the data's length if
    /// there is none.
    fn record_begin(&self, at: u64) -> io::Result<u64> {
        if at == 0 || at >= self.bytes {
            return Ok(at);
        }
        let mut from = at - 1;
        let mut look = [0; LOOK_BYTES];
        loop {
            let bytes = self.read(from, &mut look)?;
            if bytes == 0 {
                return Ok(self.bytes);
            }
            if let Some(found) = memchr::memchr(self.data.end, &look[..bytes]) {
                return Ok(from + found as u64 + 1);
            }
            from += bytes as u64;
        }
    }

    /// Returns the record at `begin`, without the byte that ends it.
    fn record(&self, begin: u64) -> io::Result<Vec<u8>> {
        let mut record = Vec::new();
        let mut look = [0; LOOK_BYTES];
        loop {
            let bytes = self.read(begin + record.len() as u64, &mut look)?;
            let found = memchr::memchr(self.data.end, &look[..bytes]);
            record.extend_from_slice(&look[..found.unwrap_or(bytes)]);
            if found.is_some() || bytes == 0 {
                return Ok(record);
            }
        }
    }

    /// Reads at an offset. An error names the offset.
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read_at(into, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let error = xsort_disk::Error::at(Operation::Read, self.data.path, at, error);
                    return Err(io::Error::other(error));
                }
                read => return read,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::Hex;
    use std::io::Write;
    use xsort_extsort::lines::ByBytes;

    fn open(file: File, bytes: u64) -> OpenData<'static> {
        let data = SortedData { path: Path::new("data"), end: b'\n', order: &ByBytes };
        OpenData { data, file, bytes }
    }

    fn data(text: &[u8]) -> OpenData<'static> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        open(file, text.len() as u64)
    }

    #[test]
    fn bounds_are_where_records_begin() {
        let long = format!("b{}", "x".repeat(9000));
        for lines in [
            vec![],
            vec!["", "", "a"],
            vec!["a", "b", "b", "b", "c"],
            vec!["a", "b", &long, "c", "d", "d"],
            vec![&long, &long],
        ] {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let data = data(text.as_bytes());
            for key in ["", "a", "aa", "b", "c", "d", "e", &long] {
                for is_before in [Ordering::is_lt, Ordering::is_le] as [fn(Ordering) -> bool; 2] {
                    let before = lines.iter().filter(|line| is_before((**line).cmp(key)));
                    let expected: usize = before.map(|line| line.len() + 1).sum();
                    let found = data.bound(key.as_bytes(), is_before).unwrap();
                    assert_eq!(found, expected as u64, "{lines:?} {key}");
                }
            }
        }
    }

    #[test]
    fn an_error_names_the_byte_at_which_it_was() {
        // A directory can be opened but not read.
        let data = open(File::open(".").unwrap(), 9000);
        let error = data.bound(b"a", Ordering::is_lt).unwrap_err();
        let error = xsort_disk::Error::of_read("data", error);
        assert_eq!(error.offset, Some(4499), "{error}");
        assert!(error.to_string().contains("data at byte 4499"), "{error}");
    }

    #[test]
    fn equal_records_are_divided_between_two_of_them() {
        let data = data(b"a\nbb\nbb\nbb\nbb\nc\n");
        let slice = |index| Slice { index, inputs: Vec::new(), bytes: 100 };
        let at = |offset| Splitter { key: Hex(b"bb".to_vec()), slice: 1, offset };
        let cut = |offset, index| data.cut(&at(offset), &slice(index)).unwrap();
        assert_eq!((cut(50, 0), cut(50, 2)), (14, 2));
        assert_eq!([0, 20, 50, 60, 99].map(|offset| cut(offset, 1)), [2, 5, 8, 11, 14]);
    }
}

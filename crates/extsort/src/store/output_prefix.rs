//! The beginning of the output that an earlier process has written: its length, its checksum, and
//! whether the file still holds it.
//!
//! The journal says what was on the drive. The file may since have been removed, cut or replaced,
//! or its file system may have lost data in a reboot. So the whole prefix is read before the sort
//! appends to it.

use crate::job::traffic::Traffic;
use crate::store::ordered_reads::{FileRange, OrderedReads, check_cancelled};
use crate::{Error, Observer};
use serde::{Deserialize, Serialize};
use xsort_disk::{ALIGNMENT, Disk, FileId, Lease, align_down, align_up};

/// The beginning of the output, written without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputPrefix {
    /// Length in bytes, including the tail.
    pub(crate) bytes: u64,
    /// CRC-32 of the whole prefix. Threads write neighbouring ranges, and their CRCs combine.
    pub(crate) crc: u32,
    /// The last bytes, which are not on the drive yet: they are in the page or block that is still
    /// being filled. A process that resumes the sort writes them from the journal.
    pub(crate) tail: Vec<u8>,
}

impl OutputPrefix {
    /// Bytes on the drive: whole pages, or the whole output.
    pub(crate) fn durable_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.tail.len() as u64)
    }

    /// CRC-32 of the durable bytes. The CRC of the whole prefix is the durable bytes' CRC, shifted
    /// by the tail's length, plus the tail's CRC. A shift by 2^32 - 1 bits or bytes changes nothing
    /// (the polynomial is primitive), so a shift by 2^32 - 1 less the tail's length undoes the
    /// tail's shift.
    fn durable_crc(&self) -> u32 {
        let undone = u64::from(u32::MAX) - self.tail.len() as u64;
        let mut shifted =
            crc32fast::Hasher::new_with_initial(self.crc ^ crc32fast::hash(&self.tail));
        shifted.combine(&crc32fast::Hasher::new_with_initial_len(0, undone));
        shifted.finalize()
    }

    /// Adds the next `bytes` bytes. `crc` is their CRC-32, if the sort has a journal.
    pub(crate) fn append(&mut self, crc: Option<u32>, bytes: u64) {
        if let Some(crc) = crc {
            let mut whole = crc32fast::Hasher::new_with_initial_len(self.crc, self.bytes);
            whole.combine(&crc32fast::Hasher::new_with_initial_len(crc, bytes));
            self.crc = whole.finalize();
        }
        self.bytes += bytes;
    }

    /// True if `file` begins with this prefix. Asks the disk first; otherwise reads the whole
    /// prefix, with at most `memory_bytes` bytes of memory.
    pub(crate) fn is_in(
        &self,
        file: FileId,
        memory_bytes: u64,
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        if let Some(is_there) = disk.begins_with(file, self.durable_bytes(), self.durable_crc()) {
            return Ok(is_there);
        }
        let Some(mut crc) = crc_of(file, self.durable_bytes(), memory_bytes, disk, observer)?
        else {
            return Ok(false);
        };
        crc.update(&self.tail);
        Ok(crc.finalize() == self.crc)
    }
}

/// Number of reads in flight, so that the drive stays busy while one read is hashed.
const READS: usize = 4;
/// Maximum size of each read in bytes.
const READ_BYTES_MAX: u64 = 1 << 20;

/// CRC-32 of the first `bytes` bytes of a file; `None` if the file is shorter.
pub(crate) fn crc_of(
    file: FileId,
    bytes: u64,
    memory_bytes: u64,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<Option<crc32fast::Hasher>, Error> {
    let mut crc = crc32fast::Hasher::new();
    if disk.file_bytes(file)? < bytes {
        return Ok(None);
    }
    if bytes == 0 {
        return Ok(Some(crc));
    }
    observer.phase("check output", bytes);
    let read_bytes = align_down(memory_bytes / READS as u64)
        .clamp(ALIGNMENT as u64, READ_BYTES_MAX)
        .min(align_up(bytes));
    let count = bytes.div_ceil(read_bytes).min(READS as u64);
    let buffers = (0..count).map(|_| Lease::map(read_bytes as usize)).collect::<Result<_, _>>()?;
    let ranges = (0..bytes).step_by(read_bytes as usize).map(|offset| {
        let range = FileRange { file, offset, bytes: (bytes - offset).min(read_bytes) as usize };
        (range, ())
    });
    let reads = OrderedReads {
        disk,
        traffic: &Traffic::default(),
        check_stop: &|| check_cancelled(observer),
    };
    reads.run(buffers, ranges, |(), read| {
        crc.update(read);
        observer.advance(read.len() as u64);
        Ok(())
    })?;
    Ok(Some(crc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use xsort_disk::{InputFiles, SimDisk, SimOptions};

    #[test]
    fn a_prefix_is_known_by_all_of_its_bytes() {
        let content: Vec<u8> = (0..300_000u32).map(|byte| (byte % 251) as u8).collect();
        for durable in [0, 4096, 40_960, 286_720] {
            let mut prefix = OutputPrefix::default();
            let bytes = durable + 1000;
            for range in
                [&content[..durable / 3], &content[durable / 3..durable], &content[durable..bytes]]
            {
                prefix.append(Some(crc32fast::hash(range)), range.len() as u64);
            }
            prefix.tail = content[durable..bytes].to_vec();
            assert_eq!(prefix.durable_bytes(), durable as u64);
            assert_eq!(prefix.durable_crc(), crc32fast::hash(&content[..durable]));
            let is_in = |there: &[u8]| {
                let disk = SimDisk::new(SimOptions::rough(durable as u64));
                disk.put("/out", there);
                let file = disk.open_input("/out".as_ref()).unwrap();
                prefix.is_in(file, 64 << 10, &disk, &Unobserved).unwrap()
            };
            assert!(is_in(&content));
            assert!(is_in(&content[..durable]));
            if durable > 0 {
                assert!(!is_in(&content[..durable - 1]));
                assert!(!is_in(&vec![0; durable]));
                for at in [0, durable / 2, durable - 1] {
                    let mut other = content.clone();
                    other[at] ^= 1;
                    assert!(!is_in(&other), "byte {at} of {durable}");
                }
            }
        }
    }
}

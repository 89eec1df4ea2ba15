//! Verifying prefixed records one after another, in one thread.
//!
//! The code reads prefixes itself, byte by byte, and shares nothing with the sort except the names
//! of prefixes.

use crate::{Error, Gauges, JobInfo, Observer};
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use xsort_disk::Operation;
use xsort_records::{Endian, KeyField, Prefix, VaryingSummary};

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;
/// A record may take this share of the budget. The preceding record takes the same, and each takes
/// it once more while its memory grows.
const RECORD_SHARE: u64 = 4;
const MIB: u64 = 1 << 20;
/// No machine has memory for a record of this many bytes.
const BYTES_MAX: u64 = 1 << 48;
/// Maximum size of a varint in bytes.
const VARINT_BYTES_MAX: usize = 10;

/// The options of [`verify_prefixed`].
#[derive(Clone, Debug)]
pub struct PrefixedVerifyOptions {
    /// The records' prefix.
    pub prefix: Prefix,
    /// The fields of the key, as for a sort.
    pub fields: Vec<KeyField>,
    /// Memory in bytes.
    pub budget_bytes: u64,
}

/// The result of [`verify_prefixed`].
#[derive(Clone, Debug)]
pub struct PrefixedVerifyReport {
    /// Order, duplicates, count and checksum.
    pub summary: VaryingSummary,
    /// Number of bytes read.
    pub bytes: u64,
}

/// Reads the inputs one after another, as one sequence of records.
///
/// Disorder is a result, not an error.
///
/// # Errors
/// [`Error::Input`] if an input doesn't consist of such records, [`Error::Disk`] if it can't be
/// read, [`Error::Cancelled`] if the observer cancels.
pub fn verify_prefixed<R: Read>(
    options: &PrefixedVerifyOptions,
    inputs: impl IntoIterator<Item = (PathBuf, R)>,
    observer: &dyn Observer,
) -> Result<PrefixedVerifyReport, Error> {
    let frame = JobInfo {
        record_bytes: None,
        budget_bytes: options.budget_bytes,
        threads: 1,
        chunks: None,
    };
    observer.show(Gauges::new(frame, observer.spans()));
    let (mut summary, mut bytes) = (VaryingSummary::new(options.fields.clone()), 0);
    for (path, input) in inputs {
        let mut walk = Walk::new(input, options);
        let mut advanced = 0;
        while walk.next().map_err(|error| of_read(error, &path, observer))? {
            let added = summary.add(&walk.whole, &walk.whole[walk.prefix_bytes..]);
            added.map_err(|field| too_short(&walk, field, &path))?;
            let new = walk.offset - advanced;
            if new >= READ_BYTES as u64 {
                observer.advance(new);
                advanced = walk.offset;
                if observer.is_cancelled() {
                    return Err(Error::Cancelled);
                }
            }
        }
        observer.advance(walk.offset - advanced);
        bytes += walk.offset;
    }
    Ok(PrefixedVerifyReport { summary, bytes })
}

/// The records of an input.
struct Walk<R> {
    from: BufReader<R>,
    prefix: Prefix,
    record_bytes_max: u64,
    /// The current record, and the size of its prefix in bytes.
    whole: Vec<u8>,
    prefix_bytes: usize,
    /// The number of the current record, from 1 on, and the offset of its end.
    record: u64,
    offset: u64,
}

impl<R: Read> Walk<R> {
    fn new(input: R, options: &PrefixedVerifyOptions) -> Walk<R> {
        Walk {
            from: BufReader::with_capacity(READ_BYTES, input),
            prefix: options.prefix,
            record_bytes_max: options.budget_bytes / RECORD_SHARE,
            whole: Vec::new(),
            prefix_bytes: 0,
            record: 0,
            offset: 0,
        }
    }

    /// Goes to the next record. Returns false after the last one.
    fn next(&mut self) -> io::Result<bool> {
        self.whole.clear();
        self.record += 1;
        let Some(length) = self.length()? else { return Ok(false) };
        self.prefix_bytes = self.whole.len();
        let bytes = length.saturating_add(self.prefix_bytes as u64);
        if bytes > self.record_bytes_max {
            let bytes_max = self.record_bytes_max;
            let way_out = match bytes {
                ..BYTES_MAX => {
                    let enough = bytes.div_ceil(MIB / RECORD_SHARE);
                    format!("-m {enough}M is enough for it, a longer one needs more")
                }
                _ => "no memory is enough for it".into(),
            };
            return Err(self.bad(&format!(
                "has {length} bytes by its prefix; with it, records may have {bytes_max} in this \
                 memory: is --record right? If so, {way_out}"
            )));
        }
        self.whole.resize(bytes as usize, 0);
        match self.from.read_exact(&mut self.whole[self.prefix_bytes..]) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.bad(&format!("is cut off: its prefix promises {length} bytes")))
            }
            Err(error) => Err(error),
            Ok(()) => {
                self.offset += bytes;
                Ok(true)
            }
        }
    }

    /// Reads a prefix; `None` at the end of the input.
    fn length(&mut self) -> io::Result<Option<u64>> {
        let (width, endian) = match self.prefix {
            Prefix::U8 => (1, Endian::Little),
            Prefix::U16(endian) => (2, endian),
            Prefix::U32(endian) => (4, endian),
            Prefix::U64(endian) => (8, endian),
            Prefix::Varint => return self.varint(),
        };
        let mut length = 0;
        for at in 0..width {
            let Some(byte) = self.byte()?.map(u64::from) else { return Ok(None) };
            match endian {
                Endian::Little => length |= byte << (8 * at),
                Endian::Big => length = length << 8 | byte,
            }
        }
        Ok(Some(length))
    }

    fn varint(&mut self) -> io::Result<Option<u64>> {
        let mut length = 0_u128;
        for at in 0..VARINT_BYTES_MAX {
            let Some(byte) = self.byte()? else { return Ok(None) };
            length |= u128::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                let fits = u64::try_from(length);
                return fits.map(Some).map_err(|_| self.bad("has a varint beyond 64 bits"));
            }
        }
        Err(self.bad("has a varint of more than 10 bytes"))
    }

    /// The next byte of a prefix; `None` if the input ends before it.
    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        match self.from.read_exact(&mut byte) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(error),
            Err(_) if self.whole.is_empty() => return Ok(None),
            Err(_) => return Err(self.bad("is cut off: the input ends in its prefix")),
            Ok(()) => {}
        }
        self.whole.push(byte[0]);
        Ok(Some(byte[0]))
    }

    /// The error for the record that is being read.
    fn bad(&self, what: &str) -> io::Error {
        let text = format!("record {}, from byte {} on, {what}", self.record, self.offset);
        io::Error::new(ErrorKind::InvalidData, text)
    }
}

fn too_short<R>(walk: &Walk<R>, field: KeyField, path: &Path) -> Error {
    let reason = format!(
        "record {}, which ends at byte {}, is too short for the number of --key {field}",
        walk.record, walk.offset
    );
    Error::Input { path: path.to_owned(), reason }
}

fn of_read(source: io::Error, path: &Path, observer: &dyn Observer) -> Error {
    match source.kind() {
        _ if observer.is_cancelled() => Error::Cancelled,
        ErrorKind::InvalidData | ErrorKind::Other => {
            Error::Input { path: path.to_owned(), reason: source.to_string() }
        }
        ErrorKind::NotFound | ErrorKind::PermissionDenied => {
            xsort_disk::Error::new(Operation::Open, path, source).into()
        }
        _ => xsort_disk::Error::new(Operation::Read, path, source).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;

    fn verdict(prefix: &str, fields: &[&str], bytes: &[u8]) -> Result<PrefixedVerifyReport, Error> {
        let options = PrefixedVerifyOptions {
            prefix: prefix.parse().unwrap(),
            fields: fields.iter().map(|field| field.parse().unwrap()).collect(),
            budget_bytes: 1 << 20,
        };
        verify_prefixed(&options, [("in".into(), bytes)], &Unobserved)
    }

    #[test]
    fn records_are_judged_by_their_keys() {
        for (prefix, bytes) in [
            ("prefixed:u8", &[2, 1, 5, 0, 3, 1, 6, 7, 2, 0, 8][..]),
            ("prefixed:u16be", &[0, 2, 1, 5, 0, 0, 0, 3, 1, 6, 7, 0, 2, 0, 8]),
            ("prefixed:varint", &[0x82, 0, 1, 5, 0, 3, 1, 6, 7, 2, 0, 8]),
        ] {
            let PrefixedVerifyReport { summary, bytes: read } =
                verdict(prefix, &["0:1"], bytes).unwrap();
            assert_eq!((summary.records(), read), (4, bytes.len() as u64));
            assert_eq!((summary.unordered(), summary.first_unordered()), (2, Some(1)));
            let summary = verdict(prefix, &["1:1"], bytes).unwrap().summary;
            assert_eq!((summary.unordered(), summary.duplicates()), (1, 0), "{prefix}");
        }
    }

    #[test]
    fn what_is_no_record_is_named() {
        for (prefix, fields, bytes, words) in [
            ("prefixed:u8", &[][..], &[0, 2, 1][..], "record 2, from byte 1 on, is cut off"),
            ("prefixed:u32le", &[], &[0, 0], "record 1, from byte 0 on, is cut off: the input"),
            ("prefixed:u64be", &[], &[9; 8], "may have 262144 in this memory: is"),
            ("prefixed:varint", &[], &[0xff; 11], "varint of more than 10 bytes"),
            ("prefixed:varint", &[], &[[0xff; 9].as_slice(), &[2]].concat(), "beyond 64 bits"),
            ("prefixed:u8", &["0:2:u16"], &[2, 1, 1, 1, 0], "record 2, which ends at byte 5,"),
        ] {
            let said = verdict(prefix, fields, bytes).unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
    }
}

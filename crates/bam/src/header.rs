//! The header of a BAM file: SAM's lines, and the sequences. Those of several files become one.

use crate::bad_record::BadRecord;
use std::collections::HashSet;
use std::io::{self, Read};
use xsort_extsort::Error;

/// How BAM begins.
const MAGIC: &[u8; 4] = b"BAM\x01";
/// Most bytes of the lines, and of the sequences.
const BYTES_MAX: u64 = 256 << 20;
/// The version of SAM for a header without a line that says it.
const VERSION: &str = "1.6";

/// A header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BamHeader {
    /// The lines of SAM.
    pub(crate) lines: Vec<u8>,
    /// Names and lengths of the sequences, as they are in the file.
    sequences: Vec<u8>,
    /// Number of the sequences.
    pub(crate) count: u32,
}

impl BamHeader {
    /// Reads the header at the beginning of a file. Also returns the number of its bytes.
    ///
    /// # Errors
    /// If it can't be read, or if there is none.
    pub(crate) fn read(from: &mut dyn Read) -> io::Result<(BamHeader, u64)> {
        let mut from = Counted { from, bytes: 0 };
        if from.take(4).map_or(true, |magic| magic != MAGIC) {
            return Err(BadRecord::NoBam.into());
        }
        let lines_bytes = from.number()?;
        let lines = from.take(u64::from(lines_bytes))?;
        let count = from.number()?;
        let mut sequences = Vec::new();
        for _ in 0..count {
            let name_bytes = from.number()?;
            sequences.extend(name_bytes.to_le_bytes());
            sequences.extend(from.take(u64::from(name_bytes) + 4)?);
            if sequences.len() as u64 > BYTES_MAX {
                return Err(BadRecord::LongHeader { bytes_max: BYTES_MAX }.into());
            }
        }
        let end = lines.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let header = BamHeader { lines: lines[..end].to_vec(), sequences, count };
        Ok((header, from.bytes))
    }

    /// Adds the lines of the header of another file, which must have the same sequences. Returns
    /// the number of lines that were left out because another one has their ID.
    ///
    /// # Errors
    /// [`Error::Settings`] if the sequences differ.
    pub(crate) fn add(&mut self, other: &BamHeader) -> Result<u64, Error> {
        if (&self.sequences, self.count) != (&other.sequences, other.count) {
            return Err(Error::Settings(
                "its sequences aren't those of the first input: these files belong to different \
                 genomes, or have them in another order"
                    .into(),
            ));
        }
        let (known, mut left_out) = (self.lines.clone(), 0);
        let all: HashSet<&[u8]> = lines(&known).collect();
        let named: HashSet<(&[u8], &[u8])> = lines(&known).filter_map(kind_and_id).collect();
        for line in lines(&other.lines).filter(|line| !all.contains(line)) {
            let is_single = line.starts_with(b"@HD") || line.starts_with(b"@SQ");
            if is_single || kind_and_id(line).is_some_and(|own| named.contains(&own)) {
                left_out += u64::from(!is_single);
                continue;
            }
            end_line(&mut self.lines);
            self.lines.extend_from_slice(line);
            self.lines.push(b'\n');
        }
        Ok(left_out)
    }

    /// Says in which order the records are, in the first line.
    pub(crate) fn set_order(&mut self, order: &str) {
        let old = std::mem::take(&mut self.lines);
        let (first, rest) = match old.strip_prefix(b"@HD") {
            Some(_) => old.split_at(memchr::memchr(b'\n', &old).map_or(old.len(), |end| end + 1)),
            None => (&b""[..], &old[..]),
        };
        let fields = without_end(first).split(|&byte| byte == b'\t');
        let says_order = |field: &&[u8]| {
            [&b"SO:"[..], b"GO:", b"SS:"].iter().any(|before| field.starts_with(before))
        };
        let kept: Vec<&[u8]> = fields.filter(|field| !says_order(field)).collect();
        self.lines = match first.is_empty() {
            true => format!("@HD\tVN:{VERSION}").into_bytes(),
            false => kept.join(&b'\t'),
        };
        self.lines.extend(format!("\tSO:{order}\n").bytes());
        self.lines.extend_from_slice(rest);
    }

    /// Adds the line of a program, after the last one that there is.
    pub(crate) fn add_program(&mut self, version: &str, command_line: &str) {
        let programs = || lines(&self.lines).filter(|line| line.starts_with(b"@PG"));
        let id = |line| kind_and_id(line).map(|(_, id)| id);
        let last = programs().filter_map(id).last().map(<[u8]>::to_vec);
        let is_free = |name: &String| programs().filter_map(id).all(|id| id != name.as_bytes());
        let mut names = (0..).map(|number| match number {
            0 => "xsort".to_owned(),
            _ => format!("xsort.{number}"),
        });
        let name = names.find(is_free).expect("names don't end");
        end_line(&mut self.lines);
        self.lines.extend(format!("@PG\tID:{name}\tPN:xsort").bytes());
        if let Some(last) = last {
            self.lines.extend([b"\tPP:", &last[..]].concat());
        }
        // A line of SAM has no tabs and line ends within a field.
        let command_line = command_line.replace(['\t', '\n', '\r'], " ");
        self.lines.extend(format!("\tVN:{version}\tCL:{command_line}\n").bytes());
    }

    /// The header as it is in a file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.lines.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.lines);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend_from_slice(&self.sequences);
        bytes
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

fn end_line(text: &mut Vec<u8>) {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// The kind of a line, and the ID of what it describes, if only one line may.
fn kind_and_id(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = line.split(|&byte| byte == b'\t');
    let kind = fields.next()?;
    Some((kind, fields.find_map(|field| field.strip_prefix(b"ID:"))?))
}

/// Reads a header, and counts its bytes.
struct Counted<'f> {
    from: &'f mut dyn Read,
    bytes: u64,
}

impl Counted<'_> {
    fn take(&mut self, bytes: u64) -> io::Result<Vec<u8>> {
        if bytes > BYTES_MAX {
            return Err(BadRecord::LongHeader { bytes_max: BYTES_MAX }.into());
        }
        let mut taken = Vec::new();
        self.from.take(bytes).read_to_end(&mut taken)?;
        self.bytes += taken.len() as u64;
        match taken.len() as u64 == bytes {
            true => Ok(taken),
            false => Err(BadRecord::CutHeader { offset: self.bytes }.into()),
        }
    }

    fn number(&mut self) -> io::Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(lines: &str) -> BamHeader {
        let sequences = b"\x02\0\0\0a\0\x09\0\0\0".to_vec();
        BamHeader { lines: lines.into(), sequences, count: 1 }
    }

    fn lines_of(header: &BamHeader) -> &str {
        std::str::from_utf8(&header.lines).unwrap()
    }

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let own = header("@HD\tVN:1.6\n");
        let bytes = [own.to_bytes(), b"rest".to_vec()].concat();
        let (read, length) = BamHeader::read(&mut &bytes[..]).unwrap();
        assert_eq!((read, length as usize), (own, bytes.len() - 4));
        for end in 0..bytes.len() - 4 {
            assert!(BamHeader::read(&mut &bytes[..end]).is_err(), "{end}");
        }
        let huge = b"BAM\x01\xff\xff\xff\x7f";
        let error = BamHeader::read(&mut &huge[..]).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
    }

    #[test]
    fn the_order_and_the_program_are_said() {
        let mut own = header("@HD\tVN:1.5\tSO:unsorted\tGO:query\n@PG\tID:bwa\n@PG\tID:xsort");
        own.set_order("coordinate");
        own.add_program("0.1.0", "xsort bam\ta");
        assert_eq!(
            lines_of(&own),
            "@HD\tVN:1.5\tSO:coordinate\n@PG\tID:bwa\n@PG\tID:xsort\n\
             @PG\tID:xsort.1\tPN:xsort\tPP:xsort\tVN:0.1.0\tCL:xsort bam a\n"
        );
        let mut bare = header("");
        bare.set_order("queryname");
        bare.add_program("1", "x");
        assert_eq!(
            lines_of(&bare),
            "@HD\tVN:1.6\tSO:queryname\n@PG\tID:xsort\tPN:xsort\tVN:1\tCL:x\n"
        );
    }

    #[test]
    fn headers_of_one_genome_become_one() {
        let mut own = header("@HD\tVN:1.6\n@RG\tID:a\n@PG\tID:bwa\tCL:1\n");
        let other = header("@HD\tVN:1.5\n@RG\tID:a\n@RG\tID:b\n@PG\tID:bwa\tCL:2\n@CO\tx\n");
        assert_eq!(own.add(&other).unwrap(), 1);
        assert_eq!(
            lines_of(&own),
            "@HD\tVN:1.6\n@RG\tID:a\n@PG\tID:bwa\tCL:1\n@RG\tID:b\n@CO\tx\n"
        );
        let another = BamHeader { count: 2, ..header("") };
        assert!(own.add(&another).is_err());
    }
}

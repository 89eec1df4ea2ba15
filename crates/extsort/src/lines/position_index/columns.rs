//! Where a row says its position: the columns of BED, GFF, VCF, SAM and pairs, or any others, read
//! as tabix reads them.

use std::path::Path;
use std::str::FromStr;

/// Most digits of a position.
const DIGITS_MAX: usize = 18;

/// The columns of a row, separated by tabs and counted from 1, that say its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexColumns {
    kind: Kind,
    sequence: usize,
    begin: usize,
    /// The same as `begin` if each row has one position; 0 where the kind says the end.
    end: usize,
    /// True if the first base has the position 0, and an end is that of the next base.
    is_zero_based: bool,
    /// The first byte of lines that are no rows.
    pub(super) comment: u8,
}

/// What else of a row says its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Columns = 0,
    /// The CIGAR string.
    Sam = 1,
    /// The length of REF, or END in INFO.
    Vcf = 2,
}

/// What a row says: its sequence, and the first base and the one after the last, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position<'r> {
    pub(super) sequence: &'r [u8],
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl IndexColumns {
    const GFF: IndexColumns = IndexColumns {
        kind: Kind::Columns,
        sequence: 1,
        begin: 4,
        end: 5,
        is_zero_based: false,
        comment: b'#',
    };
    const BED: IndexColumns =
        IndexColumns { begin: 2, end: 3, is_zero_based: true, ..IndexColumns::GFF };
    const PAIRS: IndexColumns = IndexColumns { sequence: 2, begin: 3, end: 3, ..IndexColumns::GFF };
    const SAM: IndexColumns = IndexColumns {
        kind: Kind::Sam,
        sequence: 3,
        begin: 4,
        end: 0,
        comment: b'@',
        ..IndexColumns::GFF
    };
    const VCF: IndexColumns =
        IndexColumns { kind: Kind::Vcf, begin: 2, end: 0, ..IndexColumns::GFF };

    /// The columns of a format: `bed`, `gff`, `gff3`, `gtf`, `pairs`, `sam` or `vcf`.
    fn of_format(format: &str) -> Option<IndexColumns> {
        match format {
            "bed" => Some(IndexColumns::BED),
            "gff" | "gff3" | "gtf" => Some(IndexColumns::GFF),
            "pairs" => Some(IndexColumns::PAIRS),
            "sam" => Some(IndexColumns::SAM),
            "vcf" => Some(IndexColumns::VCF),
            _ => None,
        }
    }

    /// The columns of the format that a file's name tells: `a.bed.gz`.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<IndexColumns> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".bgz")).unwrap_or(name);
        IndexColumns::of_format(Path::new(name).extension()?.to_str()?)
    }

    /// The fields of an index's header that describe the columns.
    pub(super) fn header(&self, skipped_rows: u32) -> [u32; 6] {
        let zero_based = if self.is_zero_based { 1 << 16 } else { 0 };
        let columns = [self.sequence, self.begin, self.end].map(|column| column as u32);
        let [sequence, begin, end] = columns;
        let kind = self.kind as u32 | zero_based;
        [kind, sequence, begin, end, u32::from(self.comment), skipped_rows]
    }

    /// The position of a row without its line end, or what is wrong with it.
    pub(super) fn position<'r>(&self, row: &'r [u8]) -> Result<Position<'r>, String> {
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        let last = match self.kind {
            Kind::Columns => self.sequence.max(self.begin).max(self.end),
            Kind::Sam => 6,
            Kind::Vcf => 8,
        };
        let (mut sequence, mut begin, mut end) = (None, None, None);
        let (mut reference_bases, mut info) = (0, &b""[..]);
        let mut rest = Some(row);
        for column in 1..=last {
            let Some(from) = rest else { break };
            let (field, after) = match memchr::memchr(b'\t', from) {
                Some(at) => (&from[..at], Some(&from[at + 1..])),
                None => (from, None),
            };
            rest = after;
            if column == self.sequence {
                sequence = Some(field).filter(|name| !name.is_empty());
            } else if column == self.begin {
                begin = Some(number(field).ok_or_else(|| no_position(column, field))?);
            } else if column == self.end {
                end = Some(number(field).ok_or_else(|| no_position(column, field))?);
            } else {
                match (self.kind, column) {
                    (Kind::Sam, 6) => reference_bases = bases_of_cigar(field),
                    (Kind::Vcf, 4) => reference_bases = field.len() as u64,
                    (Kind::Vcf, 8) => info = field,
                    _ => {}
                }
            }
        }
        let missing = |column| format!("it has no column {column}");
        let sequence = sequence.ok_or_else(|| missing(self.sequence))?;
        let begin = begin.ok_or_else(|| missing(self.begin))?;
        let begin = if self.is_zero_based { begin } else { begin.saturating_sub(1) };
        let end = match self.kind {
            _ if self.end == self.begin => begin + 1,
            Kind::Columns => end.ok_or_else(|| missing(self.end))?,
            Kind::Sam => begin + reference_bases.max(1),
            Kind::Vcf => end_of_info(info)
                .filter(|end| *end > begin)
                .unwrap_or(begin + reference_bases.max(1)),
        };
        if end < begin {
            return Err(format!("it ends at {end}, before it begins"));
        }
        // An insertion between two bases, or the place before the first one, has no base.
        Ok(Position { sequence, begin, end: end.max(begin + 1) })
    }
}

/// There are no such columns.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "bed, gff, pairs, sam, vcf or the numbers of columns are wanted: SEQUENCE,BEGIN or \
     SEQUENCE,BEGIN,END, such as 1,4,5, and :0 after them if the first base has the number 0"
)]
pub struct BadIndexColumns;

impl FromStr for IndexColumns {
    type Err = BadIndexColumns;

    fn from_str(text: &str) -> Result<IndexColumns, BadIndexColumns> {
        if let Some(columns) = IndexColumns::of_format(text) {
            return Ok(columns);
        }
        let (text, is_zero_based) = match text.strip_suffix(":0") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let column = |text: &str| text.parse::<u16>().ok().filter(|column| *column > 0);
        let columns: Option<Vec<u16>> = text.split(',').map(column).collect();
        let (sequence, begin, end) = match columns.as_deref() {
            Some(&[sequence, begin]) => (sequence, begin, begin),
            Some(&[sequence, begin, end]) => (sequence, begin, end),
            _ => return Err(BadIndexColumns),
        };
        if sequence == begin || sequence == end {
            return Err(BadIndexColumns);
        }
        let [sequence, begin, end] = [sequence, begin, end].map(usize::from);
        Ok(IndexColumns { sequence, begin, end, is_zero_based, ..IndexColumns::GFF })
    }
}

fn no_position(column: usize, field: &[u8]) -> String {
    let field: String = String::from_utf8_lossy(field).chars().take(40).collect();
    format!("column {column} is no position: {field:?}")
}

/// A number in digits.
fn number(field: &[u8]) -> Option<u64> {
    let is_number = (1..=DIGITS_MAX).contains(&field.len()) && field.iter().all(u8::is_ascii_digit);
    let digit = |byte: &u8| u64::from(byte - b'0');
    is_number.then(|| field.iter().fold(0, |number, byte| 10 * number + digit(byte)))
}

/// Bases of the reference that an alignment covers.
fn bases_of_cigar(cigar: &[u8]) -> u64 {
    let (mut bases, mut length) = (0_u64, 0_u64);
    for byte in cigar {
        match byte {
            b'0'..=b'9' => {
                length = length.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
            }
            _ => {
                if matches!(byte, b'M' | b'D' | b'N' | b'=' | b'X') {
                    bases = bases.saturating_add(length);
                }
                length = 0;
            }
        }
    }
    bases.min(1 << 40)
}

/// The value of END in the column INFO of VCF, if it is a number.
fn end_of_info(info: &[u8]) -> Option<u64> {
    let found = memchr::memmem::find_iter(info, b"END=");
    let mut starts = found.filter(|at| *at == 0 || info[at - 1] == b';');
    let value = &info[starts.next()? + 4..];
    number(&value[..memchr::memchr(b';', value).unwrap_or(value.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_each_format_have_their_position() {
        let of = |format: &str, row: &str| {
            let columns: IndexColumns = format.parse().unwrap();
            let found = columns.position(row.as_bytes()).map(|position| {
                let Position { sequence, begin, end } = position;
                (String::from_utf8(sequence.to_vec()).unwrap(), begin, end)
            });
            found.map(|(sequence, begin, end)| format!("{sequence}:{begin}-{end}"))
        };
        for (format, row, expected) in [
            ("bed", "chr1\t10\t20\tname", "chr1:10-20"),
            ("bed", "chr1\t10\t10", "chr1:10-11"),
            ("bed", "chr1\t0\t5\r", "chr1:0-5"),
            ("gff", "1\tsource\tgene\t10\t20\t.", "1:9-20"),
            ("pairs", "read\tchr2\t7\tchr3\t9", "chr2:6-7"),
            ("sam", "read\t0\tchr1\t100\t60\t5S10M2I3D4N=\t*", "chr1:99-116"),
            ("sam", "read\t4\t*\t0\t0\t*\t*", "*:0-1"),
            ("vcf", "20\t100\t.\tACG\tA\t1\tPASS\tDP=3", "20:99-102"),
            ("vcf", "20\t100\t.\tA\t<DEL>\t1\tPASS\tCIEND=5;END=200;X", "20:99-200"),
            ("vcf", "20\t100\t.\tA\tT\t1\tPASS\tEND=50", "20:99-100"),
            ("vcf", "20\t0\t.\tA\tT", "20:0-1"),
            ("3,1", "8\tx\tchr1", "chr1:7-8"),
            ("3,1:0", "8\tx\tchr1", "chr1:8-9"),
            ("1,4,2", "c\t9\tx\t8", "c:7-9"),
        ] {
            assert_eq!(of(format, row).as_deref(), Ok(expected), "{format} {row}");
        }
        for (format, row, expected) in [
            ("bed", "chr1\t10", "it has no column 3"),
            ("bed", "", "it has no column 1"),
            ("bed", "chr1\tten\t20", "column 2 is no position: \"ten\""),
            ("bed", "chr1\t10\t9", "it ends at 9, before it begins"),
            ("gff", "1\ts\tgene\t-4\t5", "column 4 is no position: \"-4\""),
        ] {
            assert_eq!(of(format, row), Err(expected.to_owned()), "{format} {row}");
        }
    }

    #[test]
    fn names_and_numbers_say_the_columns() {
        let of = |name: &str| IndexColumns::of_name(Path::new(name));
        assert_eq!(of("a/b.bed.gz"), Some(IndexColumns::BED));
        assert_eq!(of("b.gtf.bgz"), Some(IndexColumns::GFF));
        assert_eq!(of("b.vcf"), Some(IndexColumns::VCF));
        assert_eq!((of("bed.gz"), of("b.txt.gz"), of("a.bed/b")), (None, None, None));
        for bad in ["", "1", "1,1", "0,2", "1,2,3,4", "x", "1,2,1", "1,2:1", "1,70000"] {
            assert!(bad.parse::<IndexColumns>().is_err(), "{bad}");
        }
    }
}

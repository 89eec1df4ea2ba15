//! A sample of the rows of inputs, read here and there, before a sort.

use crate::format::RowFormat;
use crate::split::{Dialect, Row};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use xsort_extsort::Error;
use xsort_extsort::lines::{Content, LinesInput};

/// Places of all files where rows are read, and rows at each of them.
const PLACES: u64 = 256;
const ROWS: usize = 64;
/// Bytes that are read at a place, and at the beginning of what has no other place.
const PLACE_BYTES: usize = 32 << 10;
const BEGINNING_BYTES: u64 = 4 << 20;

/// Some rows of an input.
#[derive(Clone, Debug, Default)]
pub struct RowSample {
    /// Its header, if it has one.
    pub header: Vec<u8>,
    /// Rows, without comments.
    pub rows: Vec<u8>,
}

/// Returns rows of each input, from many places of files and from the beginning of what can only
/// be read once. Where a quoted field has line ends, a row may be a part of one.
///
///
/// # Errors
/// If an input can't be read.
pub fn sample_rows(
    inputs: &mut [LinesInput],
    format: RowFormat,
    has_header: bool,
) -> Result<Vec<RowSample>, Error> {
    let all: u64 = inputs.iter().filter_map(|input| input.bytes).sum();
    let one = |input: &mut LinesInput| {
        let mut sampling = Sampling { format, has_header, sample: RowSample::default() };
        match (&input.content, input.bytes) {
            (Content::File(_), Some(bytes)) => {
                let places = (PLACES * bytes).checked_div(all).unwrap_or(0).max(1);
                // The later read tells why it can't be opened.
                if let Ok(file) = File::open(&input.path) {
                    sampling.take_places(&file, bytes, places)?;
                }
            }
            _ => sampling.take_beginning(input)?,
        }
        Ok(sampling.sample)
    };
    let sample = |input: &mut LinesInput| {
        let sample = one(input);
        sample.map_err(|error: io::Error| {
            xsort_disk::Error::new(xsort_disk::Operation::Read, &input.path, error).into()
        })
    };
    inputs.iter_mut().map(sample).collect()
}

struct Sampling {
    format: RowFormat,
    has_header: bool,
    sample: RowSample,
}

impl Sampling {
    fn take_places(&mut self, file: &File, bytes: u64, places: u64) -> io::Result<()> {
        let mut window = vec![0; PLACE_BYTES];
        for place in 0..places {
            let at = (u128::from(bytes) * u128::from(place) / u128::from(places)) as u64;
            let read = file.read_at(&mut window, at)?;
            let window = &window[..read];
            // The end of the row that the place is in.
            let begin = match at {
                0 => Some(0),
                _ => memchr::memchr(b'\n', window).map(|end| end + 1),
            };
            if let Some(begin) = begin {
                self.take_rows(&window[begin..], at == 0, ROWS);
            }
        }
        Ok(())
    }

    fn take_beginning(&mut self, input: &mut LinesInput) -> io::Result<()> {
        let read = |from: &mut dyn Read| {
            let mut head = Vec::new();
            from.take(BEGINNING_BYTES).read_to_end(&mut head)?;
            Ok((head.clone(), head))
        };
        if let Some(head) = input.peek(read)? {
            self.take_rows(&head, true, usize::MAX);
        }
        Ok(())
    }

    /// Takes the first rows of a text, which is that of an input from its beginning if
    /// `is_beginning` is true.
    fn take_rows(&mut self, text: &[u8], is_beginning: bool, rows_max: usize) {
        let (dialect, has_header) = match self.format {
            RowFormat::Delimited(dialect) => (dialect, self.has_header),
            RowFormat::Ndjson => (Dialect::TSV, false),
        };
        let (mut at, mut fields) = (0, Vec::new());
        let mut left = rows_max;
        let mut is_header = is_beginning && has_header;
        while at < text.len() && left > 0 {
            let Row::Whole(bytes) = dialect.row(&text[at..], false, usize::MAX, &mut fields) else {
                break;
            };
            let row = &text[at..at + bytes];
            at += bytes;
            if dialect.is_comment(row) {
                continue;
            }
            if std::mem::take(&mut is_header) {
                self.sample.header = row.to_vec();
                continue;
            }
            self.sample.rows.extend_from_slice(row);
            left -= 1;
        }
    }
}

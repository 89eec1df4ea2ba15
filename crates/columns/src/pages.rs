//! The sizes of pages, from their headers.
//!
//! A footer has the sum of a column's pages only. Most writers end a page at one MiB, but some
//! write a single page of any size. So where the sum is larger, the headers of one row group are
//! read: a few hundred bytes each.

use crate::file::OpenInput;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use std::io::{self, Read};

/// The sizes of a column's largest page, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageSizes {
    /// As it is in the file, and decompressed.
    pub(crate) packed: u64,
    pub(crate) plain: u64,
}

impl PageSizes {
    pub(crate) fn max(self, other: PageSizes) -> PageSizes {
        let (packed, plain) = (self.packed.max(other.packed), self.plain.max(other.plain));
        PageSizes { packed, plain }
    }
}

/// What the header of a page says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) sizes: PageSizes,
    /// The CRC-32 of the page as it is in the file, if the writer has computed one.
    pub(crate) checksum: Option<u32>,
    /// Values of a page of data, nulls included. Dictionaries have none here.
    pub(crate) values: u64,
}

/// Reads the headers of a column of a row group. Stops at what is no header: the reader of the
/// pages will say what is wrong.
pub(crate) fn largest_page(input: &OpenInput, column: &ColumnChunkMetaData) -> Result<PageSizes> {
    let (mut at, bytes) = column.byte_range();
    let end = at.saturating_add(bytes);
    let mut largest = PageSizes::default();
    while at < end {
        let mut read = Counted::new(input.get_read(at)?);
        let Some(page) = page_header(&mut read) else { break };
        largest = largest.max(page.sizes);
        at = at.saturating_add(read.bytes).saturating_add(page.sizes.packed);
    }
    Ok(largest)
}

/// A reader whose bytes are counted.
pub(crate) struct Counted<R> {
    read: R,
    bytes: u64,
}

impl<R: Read> Counted<R> {
    pub(crate) fn new(read: R) -> Counted<R> {
        Counted { read, bytes: 0 }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.check_room(1)?;
        self.read.read_exact(&mut byte)?;
        self.bytes += 1;
        Ok(byte[0])
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.check_room(bytes)?;
        let skipped = io::copy(&mut self.read.by_ref().take(bytes), &mut io::sink())?;
        self.bytes += skipped;
        if skipped == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Fails if a header would have too many bytes.
    fn check_room(&self, bytes: u64) -> io::Result<()> {
        match bytes <= HEADER_BYTES_MAX.saturating_sub(self.bytes) {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Reads a number with a sign, whose lowest bit is the sign.
    fn integer(&mut self) -> io::Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

/// Most bytes of a header. Old writers put the least and the largest value of a page there.
const HEADER_BYTES_MAX: u64 = 1 << 20;
/// Most structs in each other: a header has three.
const DEPTH_MAX: usize = 8;

/// Reads a page's header, a struct of Thrift's compact protocol. Field 2 is the plain size, field 3
/// that in the file, field 4 a checksum; fields 5 and 8 tell about data. `None` if there is none.
pub(crate) fn page_header<R: Read>(read: &mut Counted<R>) -> Option<PageHeader> {
    let (mut page, mut field) = (PageHeader::default(), 0);
    let mut sizes = 0;
    loop {
        let header = read.byte().ok()?;
        if header == 0 {
            return (sizes >= 2).then_some(page);
        }
        field = match header >> 4 {
            0 => read.number().ok()?,
            more => field + u64::from(more),
        };
        match (field, header & 15) {
            (2 | 3, I32) => {
                let size = u64::try_from(read.integer().ok()?).ok()?;
                let sizes_of = &mut page.sizes;
                *(if field == 2 { &mut sizes_of.plain } else { &mut sizes_of.packed }) = size;
                sizes += 1;
            }
            (4, I32) => page.checksum = Some(read.integer().ok()? as u32),
            (5 | 8, STRUCT) => page.values = data_header(read).ok()?,
            (_, kind) => skip(read, kind, 0).ok()?,
        }
    }
}

/// Reads the part of a header that tells about data. Field 1 of either version is the number of
/// values, which is returned.
fn data_header<R: Read>(read: &mut Counted<R>) -> io::Result<u64> {
    let (mut values, mut field) = (0, 0);
    loop {
        let header = read.byte()?;
        if header == 0 {
            return Ok(values);
        }
        field = match header >> 4 {
            0 => read.number()?,
            more => field + u64::from(more),
        };
        match (field, header & 15) {
            (1, I32) => values = read.integer()?.max(0) as u64,
            (_, kind) => skip(read, kind, 1)?,
        }
    }
}

/// A number of 32 bits in the compact protocol.
const I32: u8 = 5;
/// A struct in the compact protocol.
const STRUCT: u8 = 12;

/// Skips a value.
fn skip<R: Read>(read: &mut Counted<R>, kind: u8, depth: usize) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    match kind {
        // Truth values are in the field's own byte.
        1 | 2 => Ok(()),
        3 => read.skip(1),
        4..=6 => read.number().map(|_| ()),
        7 => read.skip(8),
        8 => {
            let bytes = read.number()?;
            read.skip(bytes)
        }
        9 | 10 => {
            let header = read.byte()?;
            let count = if header >> 4 == 15 { read.number()? } else { u64::from(header >> 4) };
            (0..count).try_for_each(|_| match header & 15 {
                // Here they have a byte.
                1 | 2 => read.skip(1),
                kind => skip(read, kind, depth + 1),
            })
        }
        STRUCT => loop {
            let header = read.byte()?;
            if header == 0 {
                return Ok(());
            }
            if header >> 4 == 0 {
                read.number()?;
            }
            skip(read, header & 15, depth + 1)?;
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_to_its_end() {
        // type 0, plain size 100, size 60, and a header of a data page with statistics.
        let bytes = [
            0x15, 0, 0x15, 200, 1, 0x15, 120, 0x2c, 0x15, 20, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c,
            0x18, 2, 1, 2, 0, 0, 0, 99,
        ];
        let mut read = Counted::new(&bytes[..]);
        let page = page_header(&mut read).unwrap();
        let sizes = PageSizes { packed: 60, plain: 100 };
        assert_eq!(page, PageHeader { sizes, checksum: None, values: 10 });
        assert_eq!(read.bytes, bytes.len() as u64 - 1);
        for end in 0..bytes.len() - 1 {
            let mut read = Counted::new(&bytes[..end]);
            assert!(page_header(&mut read).is_none(), "{end}");
        }
    }

    #[test]
    fn a_header_that_never_ends_is_none() {
        // Lists of 2^63 truth values, bytes and doubles, and a text of 2^35 bytes.
        for kind in [0xf1, 0xf3, 0xf7] {
            let list = [&[0x19, kind][..], &[0xff; 9], &[1], &[7; 64]].concat();
            assert!(page_header(&mut Counted::new(&list[..])).is_none(), "{kind:x}");
            let endless = list.chain(io::repeat(7));
            assert!(page_header(&mut Counted::new(endless)).is_none(), "{kind:x}");
        }
        let text = [0x18, 0xff, 0xff, 0xff, 0xff, 0x7f].chain(io::repeat(7));
        let mut read = Counted::new(text);
        assert!(page_header(&mut read).is_none() && read.bytes < 10);
    }
}

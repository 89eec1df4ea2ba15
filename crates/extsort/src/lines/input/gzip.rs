//! gzip of any program: members one after another, each inflated from its beginning.

use super::InputBytes;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};

/// Bytes per read.
pub(super) const READ_BYTES: usize = 256 << 10;

/// All bytes of an input, including the first bytes, which were read to recognise its compression.
pub(super) type Whole = Chain<Cursor<Vec<u8>>, InputBytes<'static>>;

pub(super) fn buffered(whole: Whole) -> BufReader<Whole> {
    BufReader::with_capacity(READ_BYTES, whole)
}

/// gzip members, one after another, with zeros between and after them.
pub(super) struct Gzip {
    /// `None` once all members are read, or one can't be read.
    member: Option<GzDecoder<BufReader<Whole>>>,
}

impl Gzip {
    /// The members of an input that begins with one.
    pub(super) fn new(whole: Whole) -> Gzip {
        Gzip { member: Some(GzDecoder::new(buffered(whole))) }
    }

    /// What follows a member.
    pub(super) fn after_member(mut rest: BufReader<Whole>) -> io::Result<Gzip> {
        match byte_behind_zeros(&mut rest)? {
            None => Ok(Gzip { member: None }),
            Some(0x1f) => Ok(Gzip { member: Some(GzDecoder::new(rest)) }),
            Some(_) => {
                let what = "bytes follow the gzip data that are neither gzip nor zeros: \
                            cut them off, or leave them out by 'gzip -dc'";
                Err(io::Error::new(ErrorKind::InvalidData, what))
            }
        }
    }
}

impl Read for Gzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let rest = self.member.take().expect("it was just read").into_inner();
            *self = Gzip::after_member(rest)?;
        }
        Ok(0)
    }
}

/// Skips zeros. Returns the byte after them without consuming it.
fn byte_behind_zeros(from: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let ahead = match from.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result?,
        };
        let zeros = ahead.iter().take_while(|byte| **byte == 0).count();
        match ahead.get(zeros) {
            Some(&byte) => {
                from.consume(zeros);
                return Ok(Some(byte));
            }
            None if zeros == 0 => return Ok(None),
            None => from.consume(zeros),
        }
    }
}

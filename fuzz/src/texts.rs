//! Inputs from the fuzzer's few bytes: as they are, or grown beyond the memory of the smallest
//! sort, and split into sources.

use arbitrary::Arbitrary;
use std::io::{self, Cursor, Read};

/// A text grown has so many bytes at most, and so many lines: enough for several runs in 2 MiB of
/// memory.
const BYTES_MAX: usize = 400 << 10;
const LINES_MAX: usize = 60_000;

/// How a text grows.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Growth {
    /// It doesn't.
    No,
    /// The whole again and again, mostly to little, for the size is that of a cube.
    Repeated(u8),
    /// So too, and each line ends with a number by chance.
    Numbered(u8),
    /// Each byte of a line so many times.
    Stretched(u16),
}

/// `text`, whose lines end with `terminator`, grown.
pub fn grown(text: &[u8], growth: Growth, terminator: u8) -> Vec<u8> {
    let most = |edge: u8| BYTES_MAX * usize::from(edge).pow(3) / 255_usize.pow(3);
    let lines = || text.split(|&byte| byte == terminator);
    let mut grown = Vec::new();
    match growth {
        Growth::No => grown.extend_from_slice(text),
        Growth::Stretched(times) => {
            for &byte in text {
                let times = if byte == terminator { 1 } else { usize::from(times) };
                let room = BYTES_MAX.saturating_sub(grown.len());
                grown.resize(grown.len() + times.min(room), byte);
            }
        }
        Growth::Repeated(edge) | Growth::Numbered(edge) => {
            let mut state = 1_u64;
            for line in lines().cycle().take(LINES_MAX) {
                if grown.len() >= most(edge) {
                    break;
                }
                grown.extend_from_slice(line);
                if let Growth::Numbered(_) = growth {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    grown.extend(
                        ((state >> 40) % 10_000)
                            .to_string()
                            .bytes()
                            .filter(|&byte| byte != terminator),
                    );
                }
                grown.push(terminator);
            }
        }
    }
    grown
}

/// `text` in as many parts as there are `cuts`, and one.
pub fn parts<'t>(mut text: &'t [u8], cuts: &[u16]) -> Vec<&'t [u8]> {
    let mut parts = Vec::new();
    for &cut in cuts {
        let (part, rest) = text.split_at(usize::from(cut) % (text.len() + 1));
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    parts
}

/// The lines of all texts; the last of each may lack its end.
pub fn lines<'t>(texts: &[&'t [u8]], terminator: u8) -> Vec<&'t [u8]> {
    let lines = |text: &&'t [u8]| {
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == terminator).collect();
        lines.pop_if(|last| last.is_empty());
        lines
    };
    texts.iter().flat_map(lines).collect()
}

/// Bytes that come a few at a time, as from a pipe.
#[derive(Debug)]
pub struct Dribble {
    bytes: Cursor<Vec<u8>>,
    most: usize,
}

impl Dribble {
    /// At most `most` bytes at a time, and one at least.
    pub fn new(bytes: Vec<u8>, most: usize) -> Dribble {
        Dribble { bytes: Cursor::new(bytes), most: most.max(1) }
    }
}

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.most);
        self.bytes.read(&mut buffer[..most])
    }
}

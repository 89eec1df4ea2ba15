//! An order of names that a list gives, such as that of a genome's sequences.
//!
//! ```text
//!  chr1                           a name in each line, up to a tab (.fai, .genome, plain lists)
//!  @SQ  SN:chr1  LN:248956422     a sequence of SAM (.dict, headers)
//!  ##contig=<ID=chr1,length=...>  a sequence of VCF
//!  #chromsize: chr1 248956422     a sequence of pairs
//! ```
//!
//! Other lines that begin with `#` or `@` name nothing. After the sequences of SAM comes `*`, which
//! reads without a place have. Source: the specifications of SAM and VCF
//! (hts-specs), of samtools' faidx, and of pairs (4DN).

use memchr::memchr;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use thiserror::Error;

/// The beginning of a line of SAM that has a sequence.
const SAM_SEQUENCE: &[u8] = b"@SQ\t";
/// Estimated bytes of memory of a name, besides its own bytes.
const NAME_BYTES: usize = 64;

/// Names and their places in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameOrder {
    ranks: HashMap<Box<[u8]>, u32>,
    name_bytes: usize,
}

/// A list names something twice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} has '{}' again, which line {first_line} has", name.escape_ascii())]
pub struct NamedTwice {
    /// The name.
    pub name: Vec<u8>,
    /// The line that has it first, from 1.
    pub first_line: usize,
    /// The line that has it again.
    pub line: usize,
}

impl NameOrder {
    /// Reads a list in one of the forms above. It may name nothing.
    ///
    /// # Errors
    /// If it has a name twice.
    pub fn parse(text: &[u8]) -> Result<NameOrder, NamedTwice> {
        let mut order = NameOrder::default();
        let (mut lines_of_names, mut is_sam) = (Vec::new(), false);
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let Some(name) = name_in(line.strip_suffix(b"\r").unwrap_or(line)) else { continue };
            if let Some(rank) = order.add(name) {
                let first_line = lines_of_names[rank as usize];
                return Err(NamedTwice { name: name.to_vec(), first_line, line: number });
            }
            lines_of_names.push(number);
            is_sam |= line.starts_with(SAM_SEQUENCE);
        }
        if is_sam {
            order.add(b"*");
        }
        Ok(order)
    }

    /// Adds a name after all others. Returns its place if the list has it already.
    pub fn add(&mut self, name: &[u8]) -> Option<u32> {
        let rank = self.count() as u32;
        match self.ranks.entry(name.into()) {
            Entry::Occupied(found) => Some(*found.get()),
            Entry::Vacant(free) => {
                free.insert(rank);
                self.name_bytes += name.len();
                None
            }
        }
    }

    /// The place of a name, from 0.
    #[inline]
    #[must_use]
    pub fn rank(&self, name: &[u8]) -> Option<u32> {
        self.ranks.get(name).copied()
    }

    /// The number of names.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranks.len()
    }

    /// Estimated bytes of memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.name_bytes + NAME_BYTES * self.ranks.capacity()
    }

    /// The names in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&[u8]> {
        let mut names: Vec<(u32, &[u8])> =
            self.ranks.iter().map(|(name, &rank)| (rank, &**name)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }
}

/// The name that a line of a list has.
fn name_in(line: &[u8]) -> Option<&[u8]> {
    let up_to = |text: &'_ [u8], ends: &[u8]| {
        text.iter().position(|byte| ends.contains(byte)).unwrap_or(text.len())
    };
    let name = if let Some(fields) = line.strip_prefix(b"##contig=<") {
        let id = match fields.strip_prefix(b"ID=") {
            Some(id) => id,
            None => &fields[memchr::memmem::find(fields, b",ID=")? + 4..],
        };
        &id[..up_to(id, b",>")]
    } else if let Some(fields) = line.strip_prefix(SAM_SEQUENCE) {
        fields.split(|&byte| byte == b'\t').find_map(|field| field.strip_prefix(b"SN:"))?
    } else if let Some(sizes) = line.strip_prefix(b"#chromsize:") {
        let sizes = sizes.trim_ascii_start();
        &sizes[..up_to(sizes, b" \t")]
    } else if line.starts_with(b"#") || line.starts_with(b"@") {
        return None;
    } else {
        &line[..memchr(b'\t', line).unwrap_or(line.len())]
    };
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let order = NameOrder::parse(text.as_bytes()).unwrap();
        let names = order.names();
        names.into_iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn all_forms_of_lists_are_understood() {
        let expected = ["chr2", "chr10", "chrM"];
        for list in [
            "chr2\nchr10\nchrM",
            "chr2\t100\nchr10\t20\n\nchrM\t5\n",
            "chr2\t100\t5\t60\t61\r\nchr10\t20\t9\t60\t61\r\nchrM\t5\t9\t9\t9\r\n",
            "@HD\tVN:1.6\n@SQ\tSN:chr2\tLN:100\n@SQ\tLN:20\tSN:chr10\n@SQ\tSN:chrM\n@PG\tID:x\n",
            "##fileformat=VCFv4.3\n##contig=<ID=chr2,length=100>\n##contig=<length=2,ID=chr10>\n\
             ##contig=<ID=chrM>\n#CHROM\tPOS\n",
            "## pairs\n#chromsize: chr2 100\n#chromsize: chr10 20\n#chromsize:\tchrM 1\n",
        ] {
            let expected = expected.into_iter().chain(list.contains("@SQ").then_some("*"));
            assert_eq!(names(list), expected.collect::<Vec<_>>(), "{list}");
        }
        assert!(names("").is_empty());
    }

    #[test]
    fn a_name_has_one_place() {
        let order = NameOrder::parse(b"b\na\n").unwrap();
        assert_eq!([b"b", b"a", b"c"].map(|name| order.rank(name)), [Some(0), Some(1), None]);
        let twice = NameOrder::parse(b"b\n\na\nb\t7\n").unwrap_err();
        assert_eq!(twice.to_string(), "line 4 has 'b' again, which line 1 has");
    }
}

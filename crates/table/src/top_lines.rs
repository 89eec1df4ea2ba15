//! Lines above the rows of an input that begin with given texts: the headers of VCF, SAM, GFF and
//! BED. Those of several inputs become one.

use crate::bad_row::{BadRow, shown};
use crate::encoding::BYTE_ORDER_MARK;
use crate::key::{Column, KeyColumn, KeyKind, Keys};
use crate::listed::{ListedNames, NameList};
use crate::options::TableOptions;
use crate::row_room::lists_bytes;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_extsort::lines::LinesInput;
use xsort_extsort::units::Count;
use xsort_extsort::{Error, LinesOptions, Observer};
use xsort_gnu::NameOrder;

/// Most bytes of such lines in an input.
pub(crate) const TOP_BYTES_MAX: usize = 64 << 20;
/// Bytes that are read at once to find them, and more if they are longer.
const READ_BYTES: usize = 64 << 10;
/// Copies of the lines that a sort has in memory.
const COPIES: u64 = 6;
/// The share of the budget that these lines and lists of names may take, as a divisor.
const BUDGET_SHARE: u64 = 2;
/// Words of which a header has one line only.
const SINGLE_WORDS: [&[u8]; 3] = [b"##fileformat", b"##gff-version", b"@HD"];
/// Words of lines that say which sequences there are, and how long they are.
const SEQUENCE_WORDS: [&[u8]; 2] = [b"##contig", b"@SQ"];

/// A sort whose inputs were asked for the lines above their rows.
pub(crate) struct Opening {
    /// The options, with the lists of names that are in these lines.
    pub(crate) options: TableOptions,
    /// The engine's settings, less the memory of these lines.
    pub(crate) engine: LinesOptions,
    /// The lines of all inputs.
    pub(crate) top: Vec<u8>,
    /// The number of these lines in the inputs that have some.
    counts: Vec<(PathBuf, u64)>,
}

impl Opening {
    /// Reads the lines, if the options say by which texts they begin. Also returns the inputs.
    ///
    /// # Errors
    /// [`Error::Settings`] if a list of names isn't there; [`Error::Memory`] if it and the lines
    /// take too much of the budget; [`Error::Input`] if lines of several inputs contradict each
    /// other; a disk's error if an input can't be read.
    pub(crate) fn new(
        options: &TableOptions,
        engine: &LinesOptions,
        mut inputs: Vec<LinesInput>,
        observer: &dyn Observer,
    ) -> Result<(Opening, Vec<LinesInput>), Error> {
        let (mut counts, mut all) = (Vec::new(), TopLines::default());
        if !options.top_prefixes.is_empty() {
            for input in &mut inputs {
                let (lines, count) = peek(input, &options.top_prefixes)?;
                if count > 0 {
                    counts.push((input.path.clone(), count));
                }
                all.add(lines, &input.path)?;
            }
        }
        if all.differences > 0 {
            observer.notice(&format!(
                "{} of later headers differ from those of the same name before: these stay",
                Count(all.differences, "line")
            ));
        }
        let top = all.into_text();
        let mut options = options.clone();
        resolve_lists(&mut options.keys, &top)?;
        resolve_lists(&mut options.sorted_by, &top)?;
        let bytes = COPIES * top.len() as u64;
        let (budget_bytes, lists_bytes) = (engine.budget_bytes, lists_bytes(&options.keys));
        let needed_bytes = BUDGET_SHARE * (bytes + lists_bytes);
        if needed_bytes > budget_bytes {
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        let reservation = engine.reservation.clone().with("lines above the rows", bytes);
        let engine = LinesOptions { reservation, ..engine.clone() };
        Ok((Opening { options, engine, top, counts }, inputs))
    }

    /// The number of lines above the first row of an input, its header included.
    pub(crate) fn lines_above(&self, path: &Path) -> u64 {
        let own = self.counts.iter().find(|(of, _)| of == path).map_or(0, |&(_, count)| count);
        own + self.options.header_rows()
    }
}

/// Reads the lines that an input begins with. Returns them and their number.
fn peek(input: &mut LinesInput, prefixes: &[Vec<u8>]) -> Result<(Vec<u8>, u64), Error> {
    let found = input.peek(|from| {
        let (mut read, mut wanted) = (Vec::new(), READ_BYTES);
        loop {
            let missing = wanted - read.len();
            let is_last = from.take(missing as u64).read_to_end(&mut read)? < missing;
            let mark = if read.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            if let Some((bytes, lines)) = top_of(&read[mark..], is_last, prefixes) {
                let top = read[mark..mark + bytes].to_vec();
                return Ok((read, (top, lines)));
            }
            if wanted > TOP_BYTES_MAX {
                return Err(too_long().into());
            }
            wanted *= 2;
        }
    });
    match found {
        Ok(found) => Ok(found.unwrap_or_default()),
        Err(error) => Err(xsort_disk::Error::of_read(&input.path, error).into()),
    }
}

/// The error for lines that take too much memory.
pub(crate) fn too_long() -> BadRow {
    BadRow::LongTop { bytes_max: TOP_BYTES_MAX }
}

/// Returns the bytes and the number of the lines at the beginning of a text that begin with one of
/// the prefixes. `None` if more of the text is needed to tell. `is_last` is true if nothing follows
/// the text.
pub(crate) fn top_of(text: &[u8], is_last: bool, prefixes: &[Vec<u8>]) -> Option<(usize, u64)> {
    let (mut bytes, mut lines) = (0, 0);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if !prefixes.iter().any(|prefix| line.starts_with(prefix)) {
            let may_become_one =
                |prefix: &Vec<u8>| line.len() < prefix.len() && prefix.starts_with(line);
            let is_whole = is_last || line.ends_with(b"\n");
            let is_decided = is_whole || !prefixes.iter().any(may_become_one);
            return is_decided.then_some((bytes, lines));
        }
        if !is_last && !line.ends_with(b"\n") {
            return None;
        }
        (bytes, lines) = (bytes + line.len(), lines + 1);
    }
    is_last.then_some((bytes, lines))
}

/// Gives keys by `order(header)` their lists.
fn resolve_lists(keys: &mut Keys, top: &[u8]) -> Result<(), Error> {
    let mut known = None;
    for key in &mut keys.0 {
        let columns = match &mut key.column {
            Column::Curve(curve) => &mut curve.columns[..],
            _ => std::slice::from_mut(key),
        };
        for column in columns {
            let KeyColumn { kind: KeyKind::Listed(listed), .. } = column else { continue };
            if let ListedNames { list: list @ NameList::Header, .. } = listed {
                let order = match &known {
                    Some(order) => Arc::clone(order),
                    None => known.insert(names_in(top)?).clone(),
                };
                *list = NameList::Known(order);
            }
        }
    }
    Ok(())
}

/// The sequences that a header names.
fn names_in(top: &[u8]) -> Result<Arc<NameOrder>, Error> {
    // Other lines, such as those of BED's tracks, name none.
    let lines = top.split_inclusive(|&byte| byte == b'\n');
    let named: Vec<&[u8]> =
        lines.filter(|line| line.starts_with(b"#") || line.starts_with(b"@")).collect();
    let order = NameOrder::parse(&named.concat())
        .map_err(|twice| Error::Settings(format!("order(header): the header's {twice}")))?;
    Ok(Arc::new(order))
}

/// The lines of several inputs.
#[derive(Default)]
struct TopLines {
    /// The lines of the first input that has some, as they are there.
    first: Vec<u8>,
    /// Lines that only later inputs have, by their first words.
    more: HashMap<Vec<u8>, Vec<u8>>,
    /// The first words of `more` in the order of the inputs.
    more_words: Vec<Vec<u8>>,
    index: Option<LineIndex>,
    /// Lines of later inputs that were left out, because another line has their name.
    differences: u64,
}

/// The lines that are there already.
#[derive(Default)]
struct LineIndex {
    lines: HashSet<Vec<u8>>,
    /// By first word and name.
    named: HashMap<(Vec<u8>, Vec<u8>), Vec<u8>>,
}

impl LineIndex {
    fn new(text: &[u8]) -> LineIndex {
        let mut index = LineIndex::default();
        for line in lines_of(text) {
            index.lines.insert(line.to_vec());
            if let (word, Some(name)) = word_and_name(line) {
                index.named.insert((word.to_vec(), name.to_vec()), line.to_vec());
            }
        }
        index
    }
}

impl TopLines {
    /// Adds the lines of the input at `path`.
    fn add(&mut self, lines: Vec<u8>, path: &Path) -> Result<(), Error> {
        if self.first.is_empty() {
            self.first = lines;
            return Ok(());
        }
        if lines == self.first {
            return Ok(());
        }
        let index = self.index.get_or_insert_with(|| LineIndex::new(&self.first));
        for line in lines_of(&lines) {
            if !index.lines.insert(line.to_vec()) {
                continue;
            }
            let (word, name) = word_and_name(line);
            if let Some(name) = name {
                match index.named.entry((word.to_vec(), name.to_vec())) {
                    Entry::Vacant(free) => drop(free.insert(line.to_vec())),
                    Entry::Occupied(before) => {
                        refuse_other_length(word, before.get(), line, path)?;
                        self.differences += 1;
                        continue;
                    }
                }
            }
            let more = self.more.entry(word.to_vec()).or_insert_with(|| {
                self.more_words.push(word.to_vec());
                Vec::new()
            });
            more.extend_from_slice(line);
            more.push(b'\n');
        }
        Ok(())
    }

    /// All lines. A line of a later input follows the last one with its first word.
    fn into_text(mut self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.first.len());
        let mut last = HashMap::new();
        for (number, line) in lines_of(&self.first).enumerate() {
            last.insert(word_and_name(line).0.to_vec(), number);
        }
        for (number, line) in self.first.split_inclusive(|&byte| byte == b'\n').enumerate() {
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.push(b'\n');
            }
            let word = word_and_name(without_end(line)).0;
            if last.get(word) == Some(&number) {
                text.extend(self.more.remove(word).unwrap_or_default());
            }
        }
        for word in &self.more_words {
            text.extend(self.more.remove(word).unwrap_or_default());
        }
        text
    }
}

/// Refuses inputs that were made for different sequences of one name.
fn refuse_other_length(word: &[u8], a: &[u8], b: &[u8], path: &Path) -> Result<(), Error> {
    let length = |line: &[u8]| {
        let at = [&b"length="[..], b"\tLN:"]
            .into_iter()
            .find_map(|before| memchr::memmem::find(line, before).map(|at| at + before.len()))?;
        let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        Some(line[at..at + digits].to_vec())
    };
    let (Some(length_a), Some(length_b)) = (length(a), length(b)) else { return Ok(()) };
    if length_a == length_b || !SEQUENCE_WORDS.contains(&word) {
        return Ok(());
    }
    Err(Error::Input {
        path: path.to_path_buf(),
        reason: format!(
            "its header has '{}', and that of an input before has '{}': these inputs belong to \
             different genomes",
            shown(b),
            shown(a)
        ),
    })
}

/// The first word of a line, and the name of what the line describes, if only one line may.
fn word_and_name(line: &[u8]) -> (&[u8], Option<&[u8]>) {
    let ends = |bytes: &'static [u8]| move |byte: &u8| bytes.contains(byte);
    let word = &line[..line.iter().position(ends(b"=\t: ")).unwrap_or(line.len())];
    if SINGLE_WORDS.contains(&word) {
        return (word, Some(b""));
    }
    let rest = &line[word.len()..];
    let fields = rest.strip_prefix(b"=<");
    let id = fields.and_then(|fields| {
        let later = || Some(&fields[memchr::memmem::find(fields, b",ID=")? + 4..]);
        fields.strip_prefix(b"ID=").or_else(later)
    });
    let name =
        id.map(|id| &id[..id.iter().position(ends(b",>")).unwrap_or(id.len())]).or_else(|| {
            let mut fields = rest.split(|&byte| byte == b'\t').filter(|_| word.starts_with(b"@"));
            fields.find_map(|field| field.strip_prefix(b"SN:").or(field.strip_prefix(b"ID:")))
        });
    (word, name)
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').map(without_end)
}

fn without_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(tops: &[&str]) -> Result<String, Error> {
        let mut all = TopLines::default();
        for top in tops {
            all.add(top.as_bytes().to_vec(), Path::new("x"))?;
        }
        Ok(String::from_utf8(all.into_text()).unwrap())
    }

    #[test]
    fn headers_become_one() {
        let a = "##fileformat=VCFv4.3\n##contig=<ID=1,length=5>\n##INFO=<ID=DP,Number=1>\n##x\n";
        let b = "##fileformat=VCFv4.2\n##contig=<ID=1,length=5,md5=0>\n##contig=<ID=2>\n##y\n\
                 ##INFO=<ID=AF,Number=A>\n##x\n";
        let both = "##fileformat=VCFv4.3\n##contig=<ID=1,length=5>\n##contig=<ID=2>\n\
                    ##INFO=<ID=DP,Number=1>\n##INFO=<ID=AF,Number=A>\n##x\n##y\n";
        assert_eq!(merged(&[a, b, a, b]).unwrap(), both);
        assert_eq!(merged(&["", a, "", a]).unwrap(), a);
        let sam = ["@HD\tVN:1.6\n@SQ\tSN:1\tLN:5\n@RG\tID:a\n", "@SQ\tSN:1\tLN:5\n@RG\tID:b"];
        assert_eq!(merged(&sam).unwrap(), "@HD\tVN:1.6\n@SQ\tSN:1\tLN:5\n@RG\tID:a\n@RG\tID:b\n");
    }

    #[test]
    fn they_end_where_no_prefix_begins_a_line() {
        let prefixes = [b"#".to_vec(), b"track ".to_vec()];
        let top = |text: &str, is_last| top_of(text.as_bytes(), is_last, &prefixes);
        assert_eq!(top("#a\ntrack x\nchr1\n#b\n", false), Some((11, 2)));
        assert_eq!(top("#a\ntrac", false), None);
        assert_eq!(top("#a\ntrac", true), Some((3, 1)));
        assert_eq!(top("#a\n#b", false), None);
        assert_eq!(top("#a\n#b", true), Some((5, 2)));
        assert_eq!(top("#a\nt\n", false), Some((3, 1)));
        assert_eq!([top("", false), top("", true)], [None, Some((0, 0))]);
    }

    #[test]
    fn different_genomes_are_refused() {
        for (a, b) in [
            ("##contig=<ID=1,length=5>\n", "##contig=<ID=1,length=50>\n"),
            ("@SQ\tSN:1\tLN:5\n", "@SQ\tSN:1\tLN:6\n"),
        ] {
            assert!(matches!(merged(&[a, b]), Err(Error::Input { .. })), "{b}");
        }
    }
}

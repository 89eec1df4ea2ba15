//! The type `order(...)`: names in the order of a list.

use crate::encoding::BYTE_ORDER_MARK;
use std::fmt::{self, Debug, Formatter};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use xsort_gnu::NameOrder;

/// Most bytes of a list. All of its names are in memory.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// A list of names: of a file, of the lines above the rows of the input, or given as such.
///
/// ```text
///  order(genome.fai)    order(header)    order(=low,medium,high)
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ListedNames {
    /// Where the list is.
    pub list: NameList,
    /// True if names that aren't in the list come after all others. Otherwise such a name is of
    /// another type.
    pub are_others_last: bool,
}

/// Where a list of names is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameList {
    /// The list itself. One from a file was read when the key was parsed.
    Known(Arc<NameOrder>),
    /// In the lines above the rows, which say what sequences there are.
    Header,
}

impl ListedNames {
    /// The place of a name; `None` if the list doesn't have it.
    pub(crate) fn rank(&self, name: &[u8]) -> Option<u32> {
        match &self.list {
            NameList::Known(order) => order.rank(name),
            NameList::Header => None,
        }
    }

    /// Estimated bytes of memory of the list.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match &self.list {
            NameList::Known(order) => order.memory_bytes() as u64,
            NameList::Header => 0,
        }
    }
}

/// Tells lists with other names apart, without all names.
impl Debug for ListedNames {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let others = if self.are_others_last { ", others last" } else { "" };
        match &self.list {
            NameList::Header => write!(f, "header{others}"),
            NameList::Known(order) => {
                let mut hasher = DefaultHasher::new();
                order.names().hash(&mut hasher);
                write!(f, "{} names, hash {:016x}{others}", order.count(), hasher.finish())
            }
        }
    }
}

impl FromStr for ListedNames {
    type Err = String;

    /// Reads the list if it is a file's.
    fn from_str(text: &str) -> Result<ListedNames, String> {
        let list = match text.strip_prefix('=') {
            _ if text == "header" => NameList::Header,
            Some(names) => NameList::Known(Arc::new(given(names)?)),
            None => {
                let path = PathBuf::from(text);
                let order = read_names(&path)
                    .map_err(|reason| format!("order({}): {reason}", path.display()))?;
                NameList::Known(Arc::new(order))
            }
        };
        Ok(ListedNames { list, are_others_last: false })
    }
}

/// The names between commas.
fn given(names: &str) -> Result<NameOrder, String> {
    let mut order = NameOrder::default();
    for name in names.split(',') {
        if order.add(name.trim().as_bytes()).is_some() {
            return Err(format!("order(={names}) has '{}' twice", name.trim()));
        }
    }
    Ok(order)
}

/// Reads the list in a file.
///
/// # Errors
/// The reason why there is none.
pub fn read_names(path: &Path) -> Result<NameOrder, String> {
    let text = || -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        File::open(path)?.take(LIST_BYTES_MAX + 1).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = text().map_err(|error| error.to_string())?;
    if text.len() as u64 > LIST_BYTES_MAX {
        return Err(format!("a list may have {} MiB", LIST_BYTES_MAX >> 20));
    }
    if text.starts_with(&[0x1f, 0x8b]) {
        return Err("it is compressed: give the list as text (gzip -dc)".into());
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let mut order = NameOrder::parse(text).map_err(|twice| twice.to_string())?;
    match order.count() {
        0 => Err("it has no names: a name in each line is wanted, or a .fai, .genome or .dict \
                  file"
            .into()),
        _ => {
            // Reads of SAM without a place have this for a name.
            order.add(b"*");
            Ok(order)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lists_come_from_files_and_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let listed = |text: &str| {
            fs::write(&path, text).unwrap();
            path.display().to_string().parse::<ListedNames>()
        };
        let rank = |listed: &ListedNames, name: &str| listed.rank(name.as_bytes());
        let found = listed("b\t5\na\t7\n").unwrap();
        assert_eq!(
            [rank(&found, "b"), rank(&found, "a"), rank(&found, "5")],
            [Some(0), Some(1), None]
        );
        let given: ListedNames = "=b, a,*".parse().unwrap();
        assert_eq!(given, found);
        assert_eq!(given, listed("\u{feff}b\na\n").unwrap());
        assert_ne!(format!("{given:?}"), format!("{:?}", listed("a\nb").unwrap()));
        for (text, why) in [("a\nb\na\n", "line 3"), ("\n", "no names"), ("# x\n", "no names")] {
            assert!(listed(text).unwrap_err().contains(why), "{text:?}");
        }
        assert!("=a,a".parse::<ListedNames>().unwrap_err().contains("twice"));
        assert!("/no/such/list".parse::<ListedNames>().unwrap_err().contains("No such file"));
    }
}

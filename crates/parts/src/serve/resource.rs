//! Finds the resource at a path: the directory's slices and lists of parts, and nothing else.

use super::served::Served;
use crate::coverage::slices_in;
use crate::index::read_entry;
use crate::manifest::SliceFiles;
use crate::part_entry::PartEntry;
use rustix::fs::{Mode, OFlags, open};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// A readable resource.
pub(super) enum Resource {
    File { file: File, bytes: u64, tag: String },
    Text { text: Vec<u8>, tag: String },
}

impl Resource {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Resource::File { bytes, .. } => *bytes,
            Resource::Text { text, .. } => text.len() as u64,
        }
    }

    pub(super) fn tag(&self) -> &str {
        match self {
            Resource::File { tag, .. } | Resource::Text { tag, .. } => tag,
        }
    }
}

/// The resource that a path names, without the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Data(usize),
    Manifest(usize),
    Part(usize),
}

/// Parses a number without a sign or leading zeros.
fn number(text: &str) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

fn name_of(path: &str) -> Option<Name> {
    if let Some(part) = path.strip_prefix("parts/") {
        return number(part).map(Name::Part);
    }
    let (slice, kind) = path.strip_prefix("slice-")?.split_once('.')?;
    match kind {
        "data" => number(slice).map(Name::Data),
        "json" => number(slice).map(Name::Manifest),
        _ => None,
    }
}

/// Returns whether two texts are equal, in a time that doesn't depend on where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && difference == 0
}

impl Served {
    /// Returns whether a target contains the right token.
    pub(super) fn is_known(&self, target: &str) -> bool {
        self.path(target).is_some()
    }

    /// Returns the path after the token.
    fn path<'t>(&self, target: &'t str) -> Option<&'t str> {
        let (token, path) = target.strip_prefix('/')?.split_once('/')?;
        is_same(token.as_bytes(), self.token.as_bytes()).then_some(path)
    }

    /// Returns the resource at a target such as `/TOKEN/parts/3`.
    pub(super) fn find(&self, target: &str) -> Option<Resource> {
        match name_of(self.path(target)?)? {
            Name::Data(slice) => file(&SliceFiles::of(&self.directory, slice).data),
            Name::Manifest(slice) => file(&SliceFiles::of(&self.directory, slice).manifest),
            Name::Part(part) => Some(self.part(part)),
        }
    }

    /// Returns the entries of a part in all complete slices. A slice with an invalid index is left
    /// out.
    fn part(&self, part: usize) -> Resource {
        let entry = |slice| read_entry(&self.directory, slice, part).ok().flatten();
        let slices = slices_in(&self.directory).unwrap_or_default();
        let entries: Vec<PartEntry> = slices.into_iter().filter_map(entry).collect();
        let text = serde_json::to_vec(&entries).expect("all of it has a form in JSON");
        let tag = format!("\"{:032x}\"", xxh3_128(&text));
        Resource::Text { text, tag }
    }
}

/// Opens a regular file, but follows no symbolic link.
fn file(path: &Path) -> Option<Resource> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Some(Resource::File { bytes: metadata.len(), tag: tag_of(&metadata), file })
}

/// Returns a tag that differs for any other content of the file.
fn tag_of(metadata: &Metadata) -> String {
    format!(
        "\"{:x}-{:x}-{:x}.{:x}\"",
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slices_and_parts_have_names() {
        assert_eq!(name_of("slice-7.data"), Some(Name::Data(7)));
        assert_eq!(name_of("slice-0.json"), Some(Name::Manifest(0)));
        assert_eq!(name_of("parts/12"), Some(Name::Part(12)));
        for path in [
            "",
            "slice-7",
            "slice-7.txt",
            "slice-07.data",
            "slice-+7.data",
            "slice--7.data",
            "slice-../x.data",
            "parts/",
            "parts/01",
            "parts/1/",
            "../slice-7.data",
            "slice-7.data/",
            "slice-7.data?x",
            "slice-%37.data",
        ] {
            assert_eq!(name_of(path), None, "{path}");
        }
    }

    #[test]
    fn tokens_compare_whole() {
        assert!(is_same(b"abc", b"abc"));
        for other in [&b"abd"[..], b"ab", b"abcd", b""] {
            assert!(!is_same(b"abc", other));
        }
    }
}

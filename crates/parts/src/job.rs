//! A job: its inputs, divided into slices, and its number of parts.

use crate::document::{Document, VERSION, digest};
use crate::error::Error;
use crate::hex::Hex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use xsort_disk::{Operation, is_url};

/// An input of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInput {
    /// An absolute path or a URL.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its content's tag, from [`input_tag`](crate::input_tag()).
    pub tag: String,
}

/// A range of an input that belongs to a slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceInput {
    /// An absolute path or a URL.
    pub path: String,
    /// The offset in bytes at which the range begins.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether it is the whole input.
    pub whole: bool,
    /// The tag of the input's content.
    pub tag: String,
}

impl SliceInput {
    /// Returns the name of the range as an input, which tells messages which bytes are meant.
    #[must_use]
    pub fn name(&self) -> PathBuf {
        let SliceInput { path, offset, bytes, whole, .. } = self;
        match whole {
            true => path.into(),
            false => format!("{path} (bytes {offset} to {})", offset + bytes).into(),
        }
    }
}

/// The input of one map task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Its number, from 0.
    pub index: usize,
    /// Ranges of inputs, in order; none of them is empty.
    pub inputs: Vec<SliceInput>,
    /// Total length of all ranges in bytes.
    pub bytes: u64,
}

/// A sort in slices and parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    version: u32,
    /// A digest of all other fields.
    pub id: String,
    /// The words of the command, without files and resources: `sort`, `--format`, `gensort`.
    pub command: Vec<String>,
    /// The locale whose rules compare text, if text is compared.
    pub locale: Option<String>,
    /// The beginning of each part: the header of the first table.
    pub header: Option<Hex>,
    /// The slices; at least one.
    pub slices: Vec<Slice>,
    /// The number of parts of the output; at least one.
    pub parts: usize,
    /// Total length of all slices in bytes.
    pub bytes: u64,
}

impl Job {
    /// Creates a job with these slices.
    #[must_use]
    pub fn new(
        command: Vec<String>,
        (locale, header): (Option<String>, Option<Hex>),
        slices: Vec<Slice>,
        parts: usize,
    ) -> Job {
        let bytes = slices.iter().map(|slice| slice.bytes).sum();
        let (version, id) = (VERSION, String::new());
        let job = Job { version, id, command, locale, header, slices, parts, bytes };
        Job { id: job.digest(), ..job }
    }

    fn digest(&self) -> String {
        digest(&(&self.command, &self.locale, &self.header, &self.slices, self.parts, self.bytes))
    }

    /// Returns the paths of all inputs, once for each range.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.slices.iter().flat_map(|slice| &slice.inputs).map(|input| &*input.path)
    }
}

impl Document for Job {
    const KIND: &'static str = "a job";

    fn version(&self) -> u32 {
        self.version
    }

    fn check(&self) -> Result<(), String> {
        if self.id != self.digest() {
            return Err("its id is not the digest of what it says".into());
        }
        if self.slices.is_empty() || self.parts == 0 {
            return Err("there is no slice, or no part".into());
        }
        for (index, slice) in self.slices.iter().enumerate() {
            let bytes = sum(slice.inputs.iter().map(|input| input.bytes));
            if slice.index != index || bytes != Some(slice.bytes) {
                return Err(format!("slice {index} contradicts itself"));
            }
        }
        match sum(self.slices.iter().map(|slice| slice.bytes)) == Some(self.bytes) {
            true => Ok(()),
            false => Err("it has other bytes than its slices".into()),
        }
    }
}

/// Returns the sum, or `None` if it overflows.
fn sum(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.try_fold(0, u64::checked_add)
}

/// Returns a path in the form used in JSON files: absolute, because every node has to find it.
///
/// # Errors
/// If it isn't UTF-8, or the current directory can't be found.
pub fn path_text(path: &Path) -> Result<String, Error> {
    let absolute = match is_url(path) {
        true => path.to_owned(),
        false => std::path::absolute(path)
            .map_err(|error| xsort_disk::Error::new(Operation::Inspect, path, error))?,
    };
    absolute
        .into_os_string()
        .into_string()
        .map_err(|_| Error::input(path, "its name isn't UTF-8, which a job's file can't hold"))
}

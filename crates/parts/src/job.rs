//! A job: what is sorted, in which slices, to how many parts.

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
    /// Its length.
    pub bytes: u64,
    /// As [`input_tag`](crate::input_tag()) has it.
    pub tag: String,
}

/// A range of an input, in a slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceInput {
    /// An absolute path or a URL.
    pub path: String,
    /// Where the range begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether it is all of the input.
    pub whole: bool,
    /// What identifies the input's content.
    pub tag: String,
}

impl SliceInput {
    /// The name of the range as an input: whatever is said about it says which bytes are meant.
    #[must_use]
    pub fn name(&self) -> PathBuf {
        let SliceInput { path, offset, bytes, whole, .. } = self;
        match whole {
            true => path.into(),
            false => format!("{path} (bytes {offset} to {})", offset + bytes).into(),
        }
    }
}

/// What one map task sorts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Its number, from 0.
    pub index: usize,
    /// Ranges of inputs, in their order; none of them empty.
    pub inputs: Vec<SliceInput>,
    /// Bytes of all ranges.
    pub bytes: u64,
}

/// A sort in slices and parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    version: u32,
    /// A digest of all the rest.
    pub id: String,
    /// The words of the command that it stands for, without files and means: `sort`, `--format`,
    /// `gensort`.
    pub command: Vec<String>,
    /// The locale by whose rules text compares, if it does.
    pub locale: Option<String>,
    /// What each part begins with: the header of the first table.
    pub header: Option<Hex>,
    /// At least one.
    pub slices: Vec<Slice>,
    /// How many parts the output has; at least one.
    pub parts: usize,
    /// Bytes of all slices.
    pub bytes: u64,
}

impl Job {
    /// A job with these slices.
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

    /// The paths of all inputs, each as often as it has ranges.
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

/// The sum, if there is such a number.
fn sum(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.try_fold(0, u64::checked_add)
}

/// A path as files of JSON have it: absolute, as every node has to find it.
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

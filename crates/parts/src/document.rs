//! The files that pass between steps: JSON, written completely or not at all, and checked when
//! read.

use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, Operation, is_url};
use xsort_extsort::lines::{FileOutput, LinesInput};
use xxhash_rust::xxh3::xxh3_128;

/// The version of all documents.
pub(crate) const VERSION: u32 = 1;

/// The content of one kind of file.
pub trait Document: Serialize + DeserializeOwned {
    /// The kind, for errors: "a job".
    const KIND: &'static str;

    /// Returns the version that was read.
    fn version(&self) -> u32;

    /// Checks that the document doesn't contradict itself.
    ///
    /// # Errors
    /// The end of the sentence "this is no job: ..".
    fn check(&self) -> Result<(), String>;
}

/// Reads a document from a file or URL.
///
/// # Errors
/// If there is none, if it can't be read, or if it is no valid document of this kind.
pub fn read_document<D: Document>(disk: &Arc<dyn Disk>, path: &Path) -> Result<D, Error> {
    let bytes = read_whole(disk, path)?;
    parse_document(&bytes).map_err(|reason| Error::input(path, reason))
}

/// Reads all bytes of a file or URL.
pub(crate) fn read_whole(disk: &Arc<dyn Disk>, path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = match is_url(path) {
        true => LinesInput::on(disk, path)?.into_bytes().read_to_end(&mut bytes),
        false => match File::open(path) {
            Ok(mut file) => file.read_to_end(&mut bytes),
            Err(error) => return Err(xsort_disk::Error::new(Operation::Open, path, error).into()),
        },
    };
    read.map_err(|error| xsort_disk::Error::of_read(path, error))?;
    Ok(bytes)
}

/// Returns these files; for a local directory, all documents in it, sorted by name.
///
/// # Errors
/// If a directory can't be read.
pub fn document_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let fail = |error| xsort_disk::Error::of_read(path, error);
        let mut found = Vec::new();
        for entry in fs::read_dir(path).map_err(fail)? {
            let file = entry.map_err(fail)?.path();
            if file.extension().is_some_and(|extension| extension == "json") {
                found.push(file);
            }
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

/// Parses a document. The error says why it is invalid.
pub(crate) fn parse_document<D: Document>(bytes: &[u8]) -> Result<D, String> {
    let no = |why: String| format!("it is not {} that xsort part has written: {why}", D::KIND);
    let document: D = serde_json::from_slice(bytes).map_err(|error| no(error.to_string()))?;
    match document.version() {
        VERSION => document.check().map_err(no)?,
        other => return Err(no(format!("version {other}, and this program knows {VERSION}"))),
    }
    Ok(document)
}

/// Writes a document, which appears completely or not at all. With `sync` it is then durable.
///
/// # Errors
/// If it can't be written.
pub fn write_document<D: Document>(
    disk: &Arc<dyn Disk>,
    path: &Path,
    document: &D,
    sync: bool,
) -> Result<(), Error> {
    document.check().unwrap_or_else(|wrong| panic!("{} is made right: {wrong}", D::KIND));
    let mut text = serde_json::to_vec(document).expect("all of it has a form in JSON");
    text.push(b'\n');
    let mut output = FileOutput::create(&**disk, path, text.len() as u64)?;
    let written = output.write_all(&text);
    written.map_err(|error| xsort_extsort::Error::Output(error).of_output(path))?;
    Ok(output.publish(sync)?)
}

/// Returns a digest of values, computed from their JSON.
pub(crate) fn digest(values: &impl Serialize) -> String {
    let text = serde_json::to_vec(values).expect("all of it has a form in JSON");
    format!("{:032x}", xxh3_128(&text))
}

//! What is at a URL: an object, a prefix of objects as a directory of files, or nothing.
//!
//! What a list says may be a moment old, as the store has it: who opens an object asks for it anew.

use crate::ahead::Ahead;
use crate::client::ListedPage;
use crate::failure::Reason;
use crate::location::Location;
use crate::retry::Caller;
use crate::stop::looking;
use std::ops::ControlFlow;
use xsort_disk::{Error, Found, ListedFile, Operation};

/// What is at a URL. A bucket, and what ends in a slash, is a prefix, whatever is below it.
pub(crate) fn find(caller: &Caller, location: &Location, ahead: &Ahead) -> Result<Found, Error> {
    let is_prefix = location.key.is_empty() || location.key.ends_with('/');
    if location.scheme.is_store() && is_prefix {
        return Ok(Found::Directory);
    }
    if let Some(info) = ahead.info(location) {
        return Ok(Found::File { bytes: info.bytes });
    }
    match caller.head(location, looking()) {
        Ok(info) => {
            ahead.remember(location, &info);
            Ok(Found::File { bytes: info.bytes })
        }
        Err(gave_up) if gave_up.failure.reason == Reason::NoObject => {
            if !location.scheme.is_store() {
                return Ok(Found::Missing);
            }
            let below = location.with_key(format!("{}/", location.key));
            match page(caller, &below, None)?.objects.is_empty() {
                true => Ok(Found::Missing),
                false => Ok(Found::Directory),
            }
        }
        Err(gave_up) => Err(gave_up.at(Operation::Inspect, location)),
    }
}

/// Passes all objects whose keys begin with that of `prefix` to `found`, without those that stand
/// for directories: they end in a slash, and have no bytes.
pub(crate) fn list(
    caller: &Caller,
    prefix: &Location,
    found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut next = None;
    loop {
        let ListedPage { objects, next: following } = page(caller, prefix, next.as_deref())?;
        let files = objects.into_iter().filter(|one| one.bytes > 0 || !one.key.ends_with('/'));
        for one in files {
            let path = prefix.with_key(one.key).url();
            if found(ListedFile { path, bytes: one.bytes }).is_break() {
                return Ok(());
            }
        }
        if following.is_none() {
            return Ok(());
        }
        next = following;
    }
}

fn page(caller: &Caller, prefix: &Location, page: Option<&str>) -> Result<ListedPage, Error> {
    caller
        .call(looking(), |client| client.list(prefix, page, looking()))
        .map_err(|gave_up| gave_up.at(Operation::Inspect, prefix))
}

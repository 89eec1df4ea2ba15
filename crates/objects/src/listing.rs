//! Determines whether a URL is an object, a prefix of objects (a directory of files), or nothing.
//!
//! A list may be slightly outdated: opening an object requests its information again.

use crate::ahead::Ahead;
use crate::client::{Listed, ListedPage};
use crate::failure::Reason;
use crate::list_check::ListCheck;
use crate::location::Location;
use crate::retry::Caller;
use crate::stop::looking;
use std::ops::ControlFlow;
use xsort_disk::{Error, Found, ListedFile, Operation};

/// Returns the kind of a URL: an object, a prefix, or nothing. A bucket, and a URL that ends in a
/// slash, is always a prefix, even of no objects.
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
            let mut found = Found::Missing;
            walk(caller, &below, &mut |_| {
                found = Found::Directory;
                ControlFlow::Break(())
            })?;
            Ok(found)
        }
        Err(gave_up) => Err(gave_up.at(Operation::Inspect, location)),
    }
}

/// Passes all objects whose keys begin with `prefix` to `found`, except those that represent
/// directories: they end in a slash and are empty.
pub(crate) fn list(
    caller: &Caller,
    prefix: &Location,
    found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
) -> Result<(), Error> {
    walk(caller, prefix, &mut |one| match one.bytes == 0 && one.key.ends_with('/') {
        true => ControlFlow::Continue(()),
        false => found(ListedFile { path: prefix.with_key(one.key).url(), bytes: one.bytes }),
    })
}

/// Passes all objects whose keys begin with `prefix` to `found`, page by page.
///
/// # Errors
/// The store's error, or what is wrong with its list. Some objects may have been passed before.
pub(crate) fn walk(
    caller: &Caller,
    prefix: &Location,
    found: &mut dyn FnMut(Listed) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut check = ListCheck::new(&prefix.key);
    let mut name: Option<String> = None;
    loop {
        let page = caller
            .call(looking(), |client| client.list(prefix, name.as_deref(), looking()))
            .map_err(|gave_up| gave_up.at(Operation::Inspect, prefix))?;
        check.take(&page).map_err(|failure| failure.at(Operation::Inspect, prefix))?;
        let ListedPage { objects, next } = page;
        if objects.into_iter().try_for_each(&mut *found).is_break() || next.is_none() {
            return Ok(());
        }
        name = next;
    }
}

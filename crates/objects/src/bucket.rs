//! Inspects a bucket and clears it of uploads: without a disk, one request after the other.

use crate::client::{Client, Listed, ListedUpload};
use crate::environment::Environment;
use crate::failure::{Failure, Reason};
use crate::listing::walk;
use crate::location::Location;
use crate::retry::Caller;
use crate::settings::RetryPolicy;
use crate::stop::looking;
use crate::stores::Stores;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Error, Operation};

/// The objects at a URL or below it: the object with this key, and those whose keys continue with a
/// slash. An empty key means all objects; a key that ends in a slash, all objects whose keys begin
/// with it.
pub struct Bucket {
    caller: Caller,
    url: Location,
}

impl Bucket {
    /// Opens a bucket. Makes no requests. Later calls repeat requests for a while if a failure is
    /// passing.
    ///
    /// # Errors
    /// If it is no URL of a bucket, or HTTP can't start.
    pub fn open(url: &Path, environment: Environment) -> Result<Bucket, Error> {
        let refuse = |failure: Failure| failure.at(Operation::Inspect, url);
        let location = Location::parse(url).map_err(refuse)?;
        if !location.scheme.is_store() {
            let text = "a web server doesn't list what it has";
            return Err(refuse(Failure::new(Reason::Unusable, text)));
        }
        let policy = RetryPolicy::default();
        let client = Arc::new(Stores::connect(environment, policy.give_up_after)?);
        Ok(Bucket { caller: Caller::new(client, policy, None), url: location })
    }

    /// Returns the URL.
    pub fn url(&self) -> &Location {
        &self.url
    }

    /// Passes all objects to `found`. Keys that begin alike are adjacent.
    ///
    /// # Errors
    /// The store's error, or what is wrong with its list.
    pub fn objects(&self, found: &mut dyn FnMut(Listed) -> ControlFlow<()>) -> Result<(), Error> {
        walk(&self.caller, &self.url, &mut |object| match self.has(&object.key) {
            true => found(object),
            false => ControlFlow::Continue(()),
        })
    }

    /// Returns all uploads under way.
    ///
    /// # Errors
    /// The store's error.
    pub fn uploads(&self) -> Result<Vec<ListedUpload>, Error> {
        let list = |client: &dyn Client| client.list_multipart(&self.url, looking());
        let listed = self.caller.call(looking(), list);
        let mut uploads = listed.map_err(|gave_up| gave_up.at(Operation::Inspect, &self.url))?;
        uploads.retain(|upload| self.has(&upload.key));
        Ok(uploads)
    }

    /// Aborts an upload, so that its parts vanish. An upload that is already over is no error.
    /// After a signal the request isn't repeated.
    ///
    /// # Errors
    /// The store's error.
    pub fn abort(&self, key: &str, upload: &str) -> Result<(), Error> {
        let object = self.url.with_key(key);
        let aborted = self.caller.call(looking(), |client| client.abort(&object, upload));
        aborted.map_err(|gave_up| gave_up.at(Operation::Remove, &object))
    }

    fn has(&self, key: &str) -> bool {
        let rest = key.strip_prefix(&self.url.key);
        let is_whole = self.url.key.is_empty() || self.url.key.ends_with('/');
        rest.is_some_and(|rest| is_whole || rest.is_empty() || rest.starts_with('/'))
    }
}

//! A bucket that is looked through, and cleared of uploads: without a disk, one request after the
//! other.

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

/// What is in a bucket at a URL or below it: the object of this key, and those whose keys go on
/// with a slash. All there is, if the key is empty; what begins with it, if it ends in a slash.
pub struct Bucket {
    caller: Caller,
    url: Location,
}

impl Bucket {
    /// Asks nobody yet. What fails for a passing reason is asked again for a while.
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

    /// Where it is.
    pub fn url(&self) -> &Location {
        &self.url
    }

    /// Passes all objects to `found`. Those whose keys begin alike follow each other.
    ///
    /// # Errors
    /// What the store said, and what is wrong with its list.
    pub fn objects(&self, found: &mut dyn FnMut(Listed) -> ControlFlow<()>) -> Result<(), Error> {
        walk(&self.caller, &self.url, &mut |object| match self.has(&object.key) {
            true => found(object),
            false => ControlFlow::Continue(()),
        })
    }

    /// All uploads under way.
    ///
    /// # Errors
    /// What the store said.
    pub fn uploads(&self) -> Result<Vec<ListedUpload>, Error> {
        let list = |client: &dyn Client| client.list_multipart(&self.url, looking());
        let listed = self.caller.call(looking(), list);
        let mut uploads = listed.map_err(|gave_up| gave_up.at(Operation::Inspect, &self.url))?;
        uploads.retain(|upload| self.has(&upload.key));
        Ok(uploads)
    }

    /// Aborts an upload: its parts vanish. One that is over already is no error. After a signal it
    /// isn't tried again.
    ///
    /// # Errors
    /// What the store said.
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

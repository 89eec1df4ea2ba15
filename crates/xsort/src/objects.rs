//! Objects of stores among the files of a job, if the crate is built with the feature `objects`.

use crate::resources::Resources;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, RateLimit};
use xsort_extsort::Error;
#[cfg(feature = "objects")]
use xsort_objects::{GivenLimits, ObjectLimits, ObjectUse, Requests};

/// A job's use of objects. Without the feature it uses none, and its disk refuses URLs.
pub(crate) struct Objects {
    #[cfg(feature = "objects")]
    limits: Option<ObjectLimits>,
}

#[cfg(feature = "objects")]
impl Objects {
    /// Decides how the job moves its objects, if it has any.
    ///
    /// # Errors
    /// [`Error::Memory`] if they leave no memory. [`Error::Settings`] if an object is to be read
    /// back but none is written.
    pub(crate) fn of_job<P: AsRef<Path>>(
        resources: &Resources,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        threads: usize,
        budget_bytes: u64,
    ) -> Result<Objects, Error> {
        let objects = ObjectUse::of(inputs, output);
        let Resources { no_clobber, verify_output, .. } = *resources;
        let given = GivenLimits { no_clobber, verify_output, ..resources.objects };
        let limits = ObjectLimits::decide(objects, given, threads, budget_bytes);
        let limits = limits.map(|limits| match resources.patience {
            Some(time) => limits.giving_up_after(time),
            None => limits,
        });
        let needed_bytes = limits.as_ref().map_or(0, ObjectLimits::needed_bytes);
        match budget_bytes < needed_bytes {
            true => Err(Error::Memory { budget_bytes, needed_bytes }),
            false => Ok(Objects { limits }),
        }
    }

    /// Returns the bytes of memory that objects take.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.limits.as_ref().map_or(0, |limits| limits.taken_bytes)
    }

    /// Returns this disk, with objects if the job has any.
    pub(crate) fn on(&self, local: Arc<dyn Disk>, rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        match &self.limits {
            Some(limits) => limits.disk(local, rate),
            None => local,
        }
    }

    /// Returns the number of requests of a job with these inputs and this output, each with its
    /// size in bytes. `None` if none of them is an object. `lists` is the number of list requests
    /// that found the inputs.
    pub(crate) fn requests<'p>(
        &self,
        inputs: impl IntoIterator<Item = (&'p Path, u64)>,
        output: (&Path, u64),
        lists: u64,
    ) -> Option<Requests> {
        self.limits.as_ref().map(|limits| limits.requests(inputs, output, lists))
    }
}

#[cfg(not(feature = "objects"))]
impl Objects {
    pub(crate) fn of_job<P: AsRef<Path>>(
        _resources: &Resources,
        _inputs: impl IntoIterator<Item = P>,
        _output: Option<&Path>,
        _threads: usize,
        _budget_bytes: u64,
    ) -> Result<Objects, Error> {
        Ok(Objects {})
    }

    pub(crate) fn taken_bytes(&self) -> u64 {
        0
    }

    pub(crate) fn on(&self, local: Arc<dyn Disk>, _rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        local
    }
}

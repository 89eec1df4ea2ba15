//! Objects of stores among the files of a job, if the crate is built with them.

use crate::resources::Resources;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, RateLimit};
use xsort_extsort::Error;
#[cfg(feature = "objects")]
use xsort_objects::{GivenLimits, ObjectLimits, ObjectUse, Requests};

/// What is wrong with `--verify-output` where no object is written.
#[cfg(feature = "objects")]
pub const VERIFIES_NO_OBJECT: &str = "--verify-output reads an object back, and none is \
     written: leave it out, or write to a URL (s3://, gs:// or az://)";

/// What a job does with objects. Without the feature that is nothing, and its disk refuses URLs.
pub(crate) struct Objects {
    #[cfg(feature = "objects")]
    limits: Option<ObjectLimits>,
}

#[cfg(feature = "objects")]
impl Objects {
    /// # Errors
    /// If they leave no memory, or if one is to be read back and none is written.
    pub(crate) fn of_job<P: AsRef<Path>>(
        resources: &Resources,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        threads: usize,
        budget_bytes: u64,
    ) -> Result<Objects, Error> {
        let objects = ObjectUse::of(inputs, output);
        let given = GivenLimits { no_clobber: resources.no_clobber, ..resources.objects };
        if given.verify_output && !objects.writes {
            return Err(Error::Settings(VERIFIES_NO_OBJECT.into()));
        }
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

    /// Bytes of the memory that they take.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.limits.as_ref().map_or(0, |limits| limits.taken_bytes)
    }

    /// This disk, with objects if the job has some.
    pub(crate) fn on(&self, local: Arc<dyn Disk>, rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        match &self.limits {
            Some(limits) => limits.disk(local, rate),
            None => local,
        }
    }

    /// The requests of a job with these inputs and this output, of so many bytes each, if there are
    /// objects among them; `lists` are those that found the inputs.
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

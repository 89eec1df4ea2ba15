//! Objects of stores among the files of a job, if the crate is built with them.

use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, RateLimit};
#[cfg(feature = "objects")]
use xsort_objects::{GivenLimits, ObjectLimits, ObjectUse};

/// What a job does with objects. Without the feature that is nothing, and its disk refuses URLs.
pub(crate) struct Objects {
    #[cfg(feature = "objects")]
    limits: Option<ObjectLimits>,
}

#[cfg(feature = "objects")]
impl Objects {
    pub(crate) fn of_job<P: AsRef<Path>>(
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        (no_clobber, verify_output): (bool, bool),
        threads: usize,
        budget_bytes: u64,
    ) -> Objects {
        let objects = ObjectUse::of(inputs, output);
        let given = GivenLimits { no_clobber, verify_output, ..GivenLimits::default() };
        Objects { limits: ObjectLimits::decide(objects, given, threads, budget_bytes) }
    }

    /// Bytes of the memory that they take.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.limits.as_ref().map_or(0, |limits| limits.taken_bytes)
    }

    /// Bytes of memory with which the job can begin.
    pub(crate) fn needed_bytes(&self) -> u64 {
        self.limits.as_ref().map_or(0, ObjectLimits::needed_bytes)
    }

    /// This disk, with objects if the job has some.
    pub(crate) fn on(&self, local: Arc<dyn Disk>, rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        match &self.limits {
            Some(limits) => limits.disk(local, rate),
            None => local,
        }
    }
}

#[cfg(not(feature = "objects"))]
impl Objects {
    pub(crate) fn of_job<P: AsRef<Path>>(
        _inputs: impl IntoIterator<Item = P>,
        _output: Option<&Path>,
        _given: (bool, bool),
        _threads: usize,
        _budget_bytes: u64,
    ) -> Objects {
        Objects {}
    }

    pub(crate) fn taken_bytes(&self) -> u64 {
        0
    }

    pub(crate) fn needed_bytes(&self) -> u64 {
        0
    }

    pub(crate) fn on(&self, local: Arc<dyn Disk>, _rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        local
    }
}

//! Objects of stores among the files of a job, if the crate is built with the feature `objects`.

use crate::machine::MachineShare;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{Disk, RateLimit};
use xsort_extsort::Error;
#[cfg(feature = "objects")]
use xsort_objects::{ObjectLimits, ObjectUse, Requests};

/// A job's use of objects. Without the feature it uses none, and its disk refuses URLs.
pub(crate) struct Objects {
    #[cfg(feature = "objects")]
    limits: Option<ObjectLimits>,
}

#[cfg(feature = "objects")]
impl Objects {
    /// Decides how a job with these files moves its objects, if it has any.
    pub(crate) fn named<P: AsRef<Path>>(
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        machine: &MachineShare,
    ) -> Objects {
        Objects::new(ObjectUse::of(inputs, output), machine)
    }

    /// Decides how a job with this use of objects moves them.
    pub(crate) fn new(objects: ObjectUse, machine: &MachineShare) -> Objects {
        if objects == ObjectUse::default() {
            return Objects { limits: None };
        }
        let (asked, budget_bytes) = (&machine.asked, machine.budget().bytes);
        let limits = ObjectLimits::decide(objects, asked.objects, machine.threads(), budget_bytes);
        let limits = limits.map(|limits| {
            let limits = limits.of_output(asked.no_clobber, asked.verify_output);
            match asked.patience {
                Some(time) => limits.giving_up_after(time),
                None => limits,
            }
        });
        Objects { limits }
    }

    /// Checks that objects leave memory for the data.
    ///
    /// # Errors
    /// [`Error::Memory`] if they leave none.
    pub(crate) fn check_memory(&self, machine: &MachineShare) -> Result<(), Error> {
        let Some(limits) = &self.limits else { return Ok(()) };
        let (budget_bytes, needed_bytes) = (machine.budget().bytes, limits.needed_bytes());
        match budget_bytes < needed_bytes {
            true => Err(Error::Memory { budget_bytes, needed_bytes }),
            false => Ok(()),
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
    pub(crate) fn named<P: AsRef<Path>>(
        _inputs: impl IntoIterator<Item = P>,
        _output: Option<&Path>,
        _machine: &MachineShare,
    ) -> Objects {
        Objects {}
    }

    pub(crate) fn check_memory(&self, _machine: &MachineShare) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) fn taken_bytes(&self) -> u64 {
        0
    }

    pub(crate) fn on(&self, local: Arc<dyn Disk>, _rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        local
    }
}

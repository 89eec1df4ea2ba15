//! The arguments that all calls share.

use crate::amounts::{self, Size, Whole};
use crate::errors::Failure;
use xsort::Resources;

/// The limits of a job.
pub(crate) fn resources(
    memory: Option<Size>,
    threads: Option<Whole>,
    bandwidth: Option<Size>,
) -> Result<Resources, Failure> {
    Ok(Resources {
        memory: memory.map(|size| size.memory()).transpose()?,
        threads: amounts::threads(threads)?,
        bandwidth: bandwidth.map(|size| size.rate()).transpose()?,
        ..Resources::default()
    })
}

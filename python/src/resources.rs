//! The arguments that all calls share.

use crate::amounts::{self, Size, Whole};
use crate::errors::Failure;
use std::num::NonZeroU64;
use xsort::Memory;

/// The limits of a job.
pub(crate) struct Resources {
    pub(crate) memory: Option<Memory>,
    pub(crate) threads: Option<usize>,
    pub(crate) bandwidth: Option<NonZeroU64>,
}

impl Resources {
    pub(crate) fn new(
        memory: Option<Size>,
        threads: Option<Whole>,
        bandwidth: Option<Size>,
    ) -> Result<Resources, Failure> {
        Ok(Resources {
            memory: memory.map(|size| size.memory()).transpose()?,
            threads: amounts::threads(threads)?,
            bandwidth: bandwidth.map(|size| size.rate()).transpose()?,
        })
    }
}

/// Sets the limits, the notices, the progress and the flag to stop of a builder of the library. (A
/// macro, because the builders share no trait.)
macro_rules! with_resources {
    ($builder:expr, $resources:expr, $job:expr) => {{
        let mut builder = $builder.cancel($job.cancel()).on_notice($job.on_notice());
        let $crate::resources::Resources { memory, threads, bandwidth } = $resources;
        if let Some(memory) = memory {
            builder = builder.memory(memory);
        }
        if let Some(threads) = threads {
            builder = builder.threads(threads);
        }
        if let Some(rate) = bandwidth {
            builder = builder.bandwidth_limit(rate);
        }
        if let Some(tell) = $job.on_progress() {
            builder = builder.on_progress(tell);
        }
        builder
    }};
}
pub(crate) use with_resources;

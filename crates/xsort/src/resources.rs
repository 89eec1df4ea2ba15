//! What a job may use.

use crate::cancel::Cancel;
use crate::size::Memory;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use xsort_disk::{Gate, IoChoice};
#[cfg(feature = "objects")]
use xsort_objects::GivenLimits;

/// What a job may use. What isn't set has a default that suits most machines;
/// [`job`](Resources::job) decides what that is on this one.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Memory for everything that grows with the data: half of what is available, unless set.
    pub memory: Option<Memory>,
    /// Threads that work: one a processor, unless set.
    pub threads: Option<usize>,
    /// Bytes of cache per thread, for which a sort in memory is divided: what the processor has,
    /// unless set.
    pub cache_bytes: Option<u64>,
    /// Which engine moves bytes between memory and drives.
    pub io: IoChoice,
    /// Bytes a second to and from drives, both together.
    pub bandwidth: Option<NonZeroU64>,
    /// A gate that every transfer passes before it starts.
    pub gate: Option<Arc<Gate>>,
    /// The output must not replace a file or an object.
    pub no_clobber: bool,
    /// Bytes of outputs that are read soon: they stay in the page cache where it has room for two
    /// of them beside the job's memory (docs/experiments/2026-11-24-cluster.md).
    pub read_soon_bytes: Option<u64>,
    /// How objects of stores are moved. Whether one may be replaced is [`no_clobber`].
    ///
    /// [`no_clobber`]: Resources::no_clobber
    #[cfg(feature = "objects")]
    pub objects: GivenLimits,
    /// How long a store or server that doesn't answer is asked again, instead of a store's time.
    pub patience: Option<Duration>,
    /// Stops the job.
    pub cancel: Cancel,
}

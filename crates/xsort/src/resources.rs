//! The resources that a job may use.

use crate::cancel::Cancel;
use crate::size::Memory;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use xsort_disk::{Gate, IoChoice};
#[cfg(feature = "objects")]
use xsort_objects::GivenLimits;

/// The resources that a job may use. Everything has a default that suits most machines;
/// [`job`](Resources::job) determines the values for this machine.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Memory for everything that grows with the data. Unless set, half of the available memory.
    pub memory: Option<Memory>,
    /// Number of worker threads. Unless set, one for each processor.
    pub threads: Option<usize>,
    /// Bytes of cache per thread, to which a sort in memory adapts. Unless set, the processor's.
    pub cache_bytes: Option<u64>,
    /// The engine that moves bytes between memory and drives.
    pub io: IoChoice,
    /// Bandwidth limit in bytes per second, for reads and writes together.
    pub bandwidth: Option<NonZeroU64>,
    /// If set, files go through the page cache, whatever `io` says: for tiny transfers.
    pub is_cached: bool,
    /// A gate that every transfer passes before it starts.
    pub gate: Option<Arc<Gate>>,
    /// If set, the output must not replace a file or an object.
    pub no_clobber: bool,
    /// If set, an output that is an object is read back, and compared with what was sent.
    pub verify_output: bool,
    /// Bytes of outputs that will be read soon. They stay in the page cache if it has room for two
    /// of them besides the job's memory (docs/experiments/2026-11-24-cluster.md).
    pub read_soon_bytes: Option<u64>,
    /// The parts and connections with which objects of stores are moved.
    #[cfg(feature = "objects")]
    pub objects: GivenLimits,
    /// How long requests to a silent store or server are repeated. Unless set, the store's time.
    pub patience: Option<Duration>,
    /// Stops the job.
    pub cancel: Cancel,
}

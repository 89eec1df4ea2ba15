//! What a running job publishes of itself, where, and how others find it, dead or alive.
//!
//! ```text
//!  job:      figures --> Snapshot --> Publisher --(shared memory: directory/PID)--> find --> Found --> whoever watches
//!                                                                                    |
//!                                                                                    `--> leftovers, clear: what a killed job left
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `snapshot` | all that a job tells, as bytes that are checked before they are believed |
//! | `pace` | rates, the curve of a job's life, and when it ends |
//! | `place` | directories in which jobs publish |
//! | `publisher` | the job's side |
//! | `parts` | which files are which job's, by their names |
//! | `found` | the watcher's side: which jobs there are, and whether they live |
//! | `leftovers` | what a killed job left, and may be removed |
//! | `thermometer` | how hot the drive is that holds a path |
//!
//! What it is not: it shows nothing (the program does), and knows nothing of pipelines.
#![forbid(unsafe_code)]

mod found;
mod leftovers;
mod pace;
mod parts;
mod place;
mod publisher;
mod snapshot;
mod thermometer;

pub use found::{Found, Life, Search, find, search};
pub use leftovers::{Cleared, Inventory, Leftovers, clear, leftovers};
pub use pace::{CURVE_POINTS_MAX, Pace, Progress};
pub use place::Place;
pub use publisher::Publisher;
pub use snapshot::{
    Counts, DriveState, FORMAT, Identity, Memory, ParseError, Phase, SNAPSHOT_BYTES_MAX, Snapshot,
    Stage, Wait,
};
pub use thermometer::{Sensor, Thermometer};

//! What a running job publishes about itself, where, and how other programs find it, dead or alive.
//!
//! ```text
//!  the job     figures --> Snapshot --> Publisher
//!                                           |
//!                             shared memory in DIRECTORY/PID.*
//!                                           |
//!  a watcher                         search, find --> FoundJob --> shown or reported
//!                                                        |
//!                                                        `--> leftovers, clear: after a kill
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `snapshot` | everything a job publishes, as bytes that are checked before they are believed |
//! | `rates` | how fast a job is, and was |
//! | `progress` | how far a job is, and when it will be done |
//! | `status_directories` | directories in which jobs publish |
//! | `publisher` | the job's side |
//! | `job_files` | files and their jobs, by name |
//! | `job` | the watcher's side: one job, and whether it lives |
//! | `search` | the watcher's side: all jobs |
//! | `report` | a job's state in a word, and everything known about it, to be serialised |
//! | `leftovers` | files that a killed job left, and their removal |
//! | `hidden_files` | which hidden files with data belong to a killed job |
//! | `thermometer` | the temperature of the drive that holds a path |
//!
//! The crate shows nothing (the program does), and is independent of pipelines.
#![forbid(unsafe_code)]

mod hidden_files;
mod job;
mod job_files;
mod leftovers;
mod progress;
mod publisher;
mod rates;
mod report;
mod search;
mod snapshot;
mod status_directories;
mod thermometer;

pub use job::{FoundJob, Life};
pub use leftovers::{Cleared, Inventory, Leftovers, clear, leftovers};
pub use progress::Progress;
pub use publisher::Publisher;
pub use rates::{CURVE_POINTS_MAX, RateHistory};
pub use report::{JobReport, LeftoversReport};
pub use search::{Search, find, search};
pub use snapshot::{
    Counts, DriveState, FORMAT, Identity, Memory, ParseError, Phase, SNAPSHOT_BYTES_MAX, Snapshot,
    Spilled, Stage, Upload, Wait,
};
pub use status_directories::StatusDirectories;
pub use thermometer::{Sensor, Thermometer};

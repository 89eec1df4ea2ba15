//! A running job: what it shows, and what holds it back.
//!
//! ```text
//!  pipeline --> Console (Observer) --> JobState <-- Reporter (a thread, ten times a second)
//!                                                      |-- bar, or lines of a log
//!                                                      |-- Publication: xsort status
//!                                                      `-- Thermostat: hot drives pause transfers
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `console` | the observer of a pipeline: takes its progress and notices |
//! | `state` | what is known about the job right now |
//! | `watched` | what was seen of the job until its end, and over time |
//! | `reporter` | the thread that draws, publishes and reads thermometers |
//! | `bar` | a progress bar on a terminal |
//! | `progress_text` | progress in words and figures |
//! | `publication` | the state as a snapshot in shared memory |
//! | `stage_rates` | how many threads of each stage worked and waited over the last second |
//! | `command_line` | the command line as others may see it |
//! | `drives` | the directories that the job uses, with the temperatures of their drives |
//! | `session` | a running command: its job and its console, from begin to end |
//! | `sensors` | thermometers of drives, read once a second |
//! | `thermostat` | pauses transfers while a drive is too hot |

mod bar;
pub(crate) mod command_line;
mod console;
mod drives;
mod progress_text;
mod publication;
mod reporter;
mod sensors;
mod session;
mod stage_rates;
mod state;
mod thermostat;
mod watched;

pub(crate) use command_line::arguments;
pub(crate) use console::{Console, ConsoleOptions};
pub(crate) use drives::JobPlaces;
pub(crate) use session::{Session, SessionOptions};
pub(crate) use watched::{MovedSum, PhaseTimes, Sample, StageSum, Watched};

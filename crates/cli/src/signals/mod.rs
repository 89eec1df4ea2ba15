//! Signals: which ones stop a job, and how.
//!
//! SIGINT, SIGTERM and SIGHUP set a flag that the pipelines check between blocks. The pipelines
//! clean up, and the program exits with 128 plus the signal's number. If a second signal comes a
//! tenth of a second or more after the first, the program exits at once and removes only hidden
//! names. An earlier one is ignored: `timeout` and terminals often send the same request twice, to
//! the process and to its group, and that must not prevent the clean-up. A third signal doesn't
//! even wait for the removal of names. A signal that was ignored when the program started (nohup, a
//! background job of a script) stays ignored.
//!
//! Once a command has begun, SIGPIPE kills as everywhere else. Earlier, a closed pipe doesn't
//! change the status of a usage error. Threads that write to sockets block SIGPIPE: a store that
//! breaks a connection doesn't kill the process (`sigpipe` of the crate `disk`). SIGXFSZ
//! (`ulimit -f`) doesn't kill, so that the write which exceeds the limit fails with a message.
//! Called as `sort`, the program dies of it, as GNU sort does.
//!
//! | file | idea |
//! |---|---|
//! | `stop` | the flag that stops a job |
//! | `fatal` | SIGPIPE ends the process after a thread has cleaned up |
//! | `position_request` | SIGUSR1: a job prints how far it is |
//! | `pipes` | whether SIGPIPE kills |
//! | `rewriting` | a file rewritten in place, which the first signal doesn't interrupt |
//! | `abandon` | removes outputs, uploads and status before a signal kills |
//! | `terminating` | which signals end a job, and which of them count as a second request |

mod abandon;
mod fatal;
mod pipes;
mod position_request;
mod rewriting;
mod stop;
mod terminating;

pub(crate) use abandon::{
    before_death, clean_up_when_killed, clean_up_without_memory, die_of, report_uploads_left,
};
pub(crate) use fatal::FatalPipe;
pub(crate) use pipes::{let_closed_pipes_kill, report_closed_pipes_as_errors};
pub(crate) use position_request::PositionRequest;
pub(crate) use rewriting::{Rewriting, report_exceeded_sizes_as_errors};
pub(crate) use stop::Stop;

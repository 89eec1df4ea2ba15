//! How many files may be open. A sort holds many inputs open. The usual soft limit of 1,024 exists
//! for select(2), which nothing here uses.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one. If the system refuses, opening one file too many fails
/// with a message of its own.
pub(crate) fn allow_as_many_as_possible() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

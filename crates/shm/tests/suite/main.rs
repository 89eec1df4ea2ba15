//! The crate from outside: one process, many processes, and processes that are killed.
mod versions;

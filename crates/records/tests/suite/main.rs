//! The tests of the records room, one module a subject.

mod golden;

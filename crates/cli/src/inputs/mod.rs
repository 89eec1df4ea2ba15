//! Which files the inputs on the command line stand for.
//!
//! | file | idea |
//! |---|---|
//! | `expand` | each directory replaced by the files below it |
//! | `tree` | the regular files below one directory |
//! | `objects`, `pattern` | the objects below a URL, or those that match it |
//! | `names_memory` | the part of the memory budget that the names of many files take |
//! | `stdin` | standard input: a file, or a stream |

pub(crate) mod expand;
pub(crate) mod names_memory;
pub(crate) mod objects;
mod pattern;
pub(crate) mod stdin;
pub(crate) mod tree;

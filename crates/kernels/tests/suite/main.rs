//! One suite for all kernels: key rules x patterns x sizes, against the standard library's stable
//! sort.
//!
//! A new kernel costs a function in the file of its kind; keys, patterns and the oracle are shared.

mod columns;
mod data;
mod dispatch;
mod gather;
mod keys;
mod lines;
mod merge;
mod properties;
mod search;
mod sort;
mod splitters;

//! What the data is and what "sorted" means: formats and keys of fixed-size records, their
//! order-preserving encoding, generators, the multiset checksum and the verifier.
//!
//! This room imports none of the others, so that what judges a sort shares no code with it.
#![forbid(unsafe_code)]

mod key;

pub use key::Key;

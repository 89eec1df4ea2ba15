//! Records and their order: formats and keys of fixed-size records, their order-preserving
//! encoding, generators, the multiset checksum and the verifier.
//!
//! This crate imports no other crate of the workspace, so the verifier shares no code with the
//! sort. It does no I/O and starts no threads. Callers lend the memory. A generated block depends
//! only on its specification and its position, so blocks can be generated anywhere, in any order.
//!
//! ```text
//! key        the order as kernels see it           verify       checks a result, part by part
//! plain_key, little_key, fields_key, key_rule      order_check  its own comparison of fields
//! key_field, layout   what the user asks for       summary      valsort's file format
//! format     the formats with a name               checksum     order-free sum of CRC-32s
//! prefix     records that begin with their length  verify_varying   verifies them
//! crc32      of many records at once, for checksum
//! generate   fills blocks: gensort, gensort_ascii, gensort_skew, kv128, block4k; lcg and mix are
//!            the random numbers, pattern replaces the keys
//! content    what a file is, if it holds no records; compression: formats of compressed files
//! ```

mod block4k;
mod checksum;
mod compression;
mod content;
mod crc32;
mod fields_key;
mod format;
mod generate;
mod gensort;
mod gensort_ascii;
mod gensort_skew;
mod key;
mod key_field;
mod key_grammar;
mod key_rule;
mod kv128;
mod layout;
mod lcg;
mod little_key;
mod mix;
mod order_check;
mod pattern;
mod plain_key;
mod prefix;
mod summary;
mod verify;
mod verify_varying;

pub use checksum::{Checksum, ParseChecksumError};
pub use compression::Compression;
pub use content::Content;
pub use fields_key::FieldsKey;
pub use format::{Format, UnknownFormat};
pub use generate::{GenerateError, GenerateSpec, Generator};
pub use key::Key;
pub use key_field::{Endian, KeyField, KeyKind};
pub use key_grammar::KeyFieldError;
pub use key_rule::KeyRule;
pub use layout::{Layout, LayoutError, RECORD_BYTES_MAX};
pub use little_key::LittleKey;
pub use mix::split_mix;
pub use pattern::{Pattern, UnknownPattern};
pub use plain_key::PlainKey;
pub use prefix::{BadPrefix, Prefix, UnknownPrefix};
pub use summary::SummaryError;
pub use verify::VerifySummary;
pub use verify_varying::VaryingSummary;

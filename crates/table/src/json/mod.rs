//! Rows of JSON (NDJSON): one value per row, sorted by the values at paths in it.
//!
//! ```text
//!  row --> find (validated, once) --> values at paths --> json_text, for a typed key
//!                                                     --> push_json_key, for the order of jq
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `path` | `.user.id`: how a value is named |
//! | `cursor`, `skip` | the tokens of a row; skipping a whole value |
//! | `find` | the values at all paths of a sort, in one walk |
//! | `escapes` | strings without their escapes |
//! | `text` | a value as text, for typed keys |
//! | `jq_order`, `nodes` | a value as bytes in the order of jq; the values inside a value |
//!
//! JSON is parsed by RFC 8259, with these choices where it leaves one:
//!
//! - Of members with the same name the last counts, at every level, as in jq.
//! - Half a surrogate pair (`"\ud800"`) is accepted. It is kept as the three bytes that UTF-8 would
//!   have for it, so different strings stay different. jq refuses it or reads U+FFFD, depending on
//!   its version.
//! - Numbers have any number of digits, and none is lost.
//! - Arrays and objects are nested 512 deep at most.

mod cursor;
mod escapes;
mod find;
mod jq_order;
mod nodes;
mod path;
mod skip;
mod text;

pub(crate) use cursor::{InvalidJson, TOO_DEEP};
pub(crate) use find::Paths;
pub(crate) use jq_order::{JqMemory, push_json_key};
pub use path::JsonPath;
pub(crate) use text::{JsonValue, json_text};

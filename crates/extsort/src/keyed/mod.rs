//! Sorts records that may hold any byte, by keys that are built once. It uses the sort of lines,
//! with a framing that makes a line of a key and a record.
//!
//! ```text
//!  inputs --> pieces of whole records --> keyed records ------> sort_lines ------> records
//!           (cut: the reading thread)  (keys: all threads)                  (keys taken away:
//!                                                                            threads that merge)
//! ```
//!
//! The key travels before its record, as bytes that compare as the key does, so a merge never
//! parses. The framing is byte stuffing: a keyed record never contains the byte that ends it. So
//! the records of a block are found from any place in it, and everything that sorts lines sorts
//! them.
//!
//! | file | idea |
//! |---|---|
//! | `encode` | the bytes of a keyed record |
//! | `decode` | fields of a key, read again |
//! | `stuffing` | a record of any bytes without the byte that ends it |
//! | `single` | keyed records whose key is a single text, encoded and decoded |
//! | `order` | the order of keys |
//! | `restore`, `restored_output` | records without their keys, in place and through a writer |
//! | `grouped_output` | one record of each key, when it is written |
//! | `input` | reads an input: its pieces, one after the other |
//! | `input_error` | errors of an input's content, apart from errors of the drive |
//! | `keying` | the trait that cuts an input into records and builds their keys |
//! | `keying_threads` | the threads that build keys |
//! | `record_room` | how long records may be in a budget |
//! | `line_framing`, `restore_lines` | the bytes of a line with its key, and the way back |
//! | `line_keys`, `line_keying` | lines with keys before them: their orders, their keys |
//! | `record_rule` | which lines make a record |
//! | `line_sum` | the lines that are written, hashed |
//! | `sort_lines`, `records_of_lines` | the outline for lines; records of several lines |
//! | `sort`, `report` | the outline; the report |

mod decode;
mod encode;
mod grouped_output;
mod input;
mod input_error;
mod keying;
mod keying_threads;
mod line_framing;
mod line_keying;
mod line_keys;
mod line_sum;
mod order;
mod record_room;
mod record_rule;
mod records_of_lines;
mod report;
mod restore;
mod restore_lines;
mod restored_output;
mod single;
mod sort;
mod sort_lines;
mod stuffing;

pub use decode::{FixedBytes, text_bytes};
pub use encode::{KeyWriter, RECORD_END, end_key, key_and_end, push_plain_record, push_record};
pub use grouped_output::{GroupedOutput, Keep};
pub use input::{InputRest, KeyedInput, ToFirstRecord, from_beginning, to_keyed, to_keyed_again};
pub use input_error::of_input;
pub use keying::{Cut, Keying, Piece};
pub use keying_threads::{KeyingMemory, KeyingThreads};
pub use line_framing::KeyPlace;
pub use line_keys::{LineKeys, LineTies};
pub use order::ByKey;
#[cfg(test)]
pub(crate) use record_room::tests::room;
pub use record_room::{MoreMemory, RecordRoom, copies_bytes, record_bytes_max};
pub use record_rule::{BeginsRecord, RecordRule};
pub use records_of_lines::RecordsOfLines;
pub use report::{Counted, KeyedReport};
pub use restored_output::RestoredOutput;
pub use single::{Decoded, KeyedPieces, decode_keyed, keyed_bytes_max, push_keyed};
pub use sort::{merge_keyed, of_keyed, of_merged, plan_keyed, sort_keyed};
pub use sort_lines::{can_begin_again, refused_with_room_for_keys, sort_lines_by_keys};

//! GNU sort: its command line, the orders of lines that it defines, and the words of its messages.
//!
//! ```text
//! parse       words of a command line -> Command, or GNU's refusal
//!   options   the options' names            key        -k and +POS
//!   count     numbers and sizes             file_list  --files0-from
//!   records   records of several lines      record_key  keys in them
//!   expression   regular expressions
//!   environment   what else the words depend on
//! command     what to do, in plain values
//! order       Command + Locale -> Order: comparisons and normalised keys of lines
//! debug       marks and warnings of --debug
//! disorder    what -c says
//! help        --help, --version
//! ```

mod command;
mod count;
mod debug;
mod disorder;
mod environment;
mod expression;
mod file_list;
mod help;
mod key;
mod options;
mod order;
mod parse;
mod record_key;
mod records;

pub use command::{
    Check, Checkpoint, Codec, Command, Extras, Flags, KeyEnd, KeyField, KeyList, OutputCompression,
    Request,
};
pub use debug::{annotate, warnings};
pub use disorder::disorder;
pub use environment::Environment;
pub use expression::Expression;
pub use file_list::listed_files;
pub use help::{help, help_page, version};
pub use order::{KeyPlace, LineKeys, Order, Scratch, Ties, nearest};
pub use parse::{parse, refuse_combinations};
pub use records::{RecordPart, Records};

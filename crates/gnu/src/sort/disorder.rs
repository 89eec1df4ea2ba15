//! The message of a check about the first line that is out of order.

use super::command::Command;

/// The message of `-c` about a line out of order; its status is 1. `-C` prints none.
///
/// `program` is the name that was called, `file` the input's name (`-` for standard input),
/// `number` the line's number from 1. The line's memory is reused for the message, because there
/// may be none for a copy. Of a record of several lines it has the first one.
pub fn disorder(
    program: &str,
    file: &[u8],
    number: u64,
    line: Vec<u8>,
    command: &Command,
) -> Vec<u8> {
    let place = match command.extras.records {
        Some(_) => format!(": record {number}: disorder: "),
        None => format!(":{number}: disorder: "),
    };
    let before = [program.as_bytes(), b": ", file, place.as_bytes()].concat();
    let mut message = line;
    if command.extras.records.is_some() {
        let end = memchr::memchr(command.terminator(), &message);
        message.truncate(end.unwrap_or(message.len()));
    }
    message.reserve_exact(before.len() + 1);
    message.push(command.terminator());
    message.splice(..0, before);
    message
}

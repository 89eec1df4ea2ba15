//! What a check says of the first line that is out of order.

use crate::command::Command;

/// The message of `-c` (with `-C` nothing is said); its status is 1.
///
/// `program` is the name that was called, `file` the input's (`-` for standard input), `number` the line's from 1 on.
pub fn disorder(program: &str, file: &[u8], number: u64, line: &[u8], command: &Command) -> Vec<u8> {
    let place = format!(":{number}: disorder: ");
    [program.as_bytes(), b": ", file, place.as_bytes(), line, &[command.terminator()]].concat()
}

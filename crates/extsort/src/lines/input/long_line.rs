//! Errors for lines that don't fit the budget: the length of the line, and a sufficient budget.

use super::super::options::LinesOptions;
use super::InputReader;
use crate::Error;
use crate::job::least_budget::least_budget;
use crate::job::units::Bytes;

const MIB: u64 = 1 << 20;
/// Most bytes searched for the end of such a line.
const SEARCH_BYTES_MAX: u64 = 4 << 30;

/// Returns the error for a line that is too long. `begun` bytes of it were read, and `reader` reads
/// the rest. `line_bytes_max` returns the longest line for a budget in bytes.
pub(crate) fn too_long(
    reader: &mut InputReader<'_>,
    begun: u64,
    options: &LinesOptions,
    line_bytes_max: impl Fn(u64) -> usize,
) -> Error {
    let path = reader.path().to_owned();
    let (rest, is_whole) = match rest_of_line(|buffer| reader.read(buffer), options.delimiter) {
        Ok(rest) => rest,
        Err(error) => return error,
    };
    let (bytes, budget_bytes) = (begun + rest, options.budget_bytes);
    let needed_bytes =
        least_budget(budget_bytes, MIB, |budget| line_bytes_max(budget) as u64 >= bytes);
    if is_whole && needed_bytes.is_some_and(|enough| enough <= budget_bytes) {
        // It fits, but too many other inputs have long lines at the same time.
        let reason = format!(
            "a line of {bytes} bytes is too long for a memory budget of {} where other inputs have \
             long lines at the same time: sort the inputs instead of merging them (without -m)",
            Bytes(budget_bytes)
        );
        return Error::Input { path, reason };
    }
    Error::LongLine { path, bytes, is_whole, is_record: false, budget_bytes, needed_bytes }
}

/// Returns the length of the rest of a line in bytes, its delimiter included, and true if its end
/// was found.
pub(crate) fn rest_of_line<E>(
    mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
    delimiter: u8,
) -> Result<(u64, bool), E> {
    let mut buffer = vec![0; MIB as usize];
    let mut rest = 0;
    while rest < SEARCH_BYTES_MAX {
        let bytes = read(&mut buffer)?;
        match memchr::memchr(delimiter, &buffer[..bytes]) {
            Some(end) => return Ok((rest + end as u64 + 1, true)),
            None if bytes == 0 => return Ok((rest, true)),
            None => rest += bytes as u64,
        }
    }
    Ok((rest, false))
}

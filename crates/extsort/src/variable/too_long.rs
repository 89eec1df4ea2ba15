//! A line that the budget has no room for: how long it is, and what budget would do.

use super::input::Input;
use super::options::LinesOptions;
use crate::Error;
use crate::job::units::Bytes;

const MIB: u64 = 1 << 20;
/// How far the end of such a line is looked for.
const LOOK_BYTES: u64 = 4 << 30;

/// The refusal of a line of which `begun` bytes were read, and of which the rest comes from
/// `input`. `line_bytes_max` says how long lines may be with a budget of so many bytes.
pub(super) fn too_long(
    input: &mut Input<'_>,
    begun: u64,
    options: &LinesOptions,
    line_bytes_max: impl Fn(u64) -> usize,
) -> Error {
    let path = input.path();
    let (rest, is_whole) = match rest_of_line(input, options.delimiter) {
        Ok(rest) => rest,
        Err(error) => return error,
    };
    let bytes = begun + rest;
    let least = if is_whole { "" } else { "at least " };
    let way_out = match least_budget(options.budget_bytes, |budget| {
        line_bytes_max(budget) as u64 >= bytes
    }) {
        Some(enough) if enough > options.budget_bytes => format!("-S {}M is enough", enough / MIB),
        // Others have long lines, too, and nobody knows how many.
        Some(_) => "sort the inputs instead of merging them (without -m)".into(),
        None => "no budget is enough".into(),
    };
    let budget = Bytes(options.budget_bytes);
    let reason = format!(
        "a line of {least}{bytes} bytes is too long for a memory budget of {budget}: {way_out}"
    );
    Error::Input { path, reason }
}

/// How many bytes a line goes on, its delimiter included, and whether that is all of it.
fn rest_of_line(input: &mut Input<'_>, delimiter: u8) -> Result<(u64, bool), Error> {
    let mut buffer = vec![0; MIB as usize];
    let mut rest = 0;
    while rest < LOOK_BYTES {
        let bytes = input.read(&mut buffer)?;
        match memchr::memchr(delimiter, &buffer[..bytes]) {
            Some(end) => return Ok((rest + end as u64 + 1, true)),
            None if bytes == 0 => return Ok((rest, true)),
            None => rest += bytes as u64,
        }
    }
    Ok((rest, false))
}

/// The least budget, in whole MiB, that is enough; `None` if none is.
pub(super) fn least_budget(budget_bytes: u64, is_enough: impl Fn(u64) -> bool) -> Option<u64> {
    let mut enough = budget_bytes.next_multiple_of(MIB).max(MIB);
    while !is_enough(enough) {
        enough = enough.checked_mul(2).filter(|&budget| budget <= 1 << 50)?;
    }
    let mut too_little = budget_bytes / MIB * MIB;
    while enough - too_little > MIB {
        let middle = too_little + (enough - too_little) / 2 / MIB * MIB;
        if is_enough(middle) {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    Some(enough)
}

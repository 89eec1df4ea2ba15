//! Divides inputs into slices of about the same size, in order.

use crate::job::{JobInput, Slice, SliceInput};

/// Divides inputs into slices of about `slice_bytes` bytes (at least 1). Small inputs are combined.
/// There is always at least one slice, which may be empty.
///
/// `cut` returns where a slice may begin within an input: the first possible offset from the given
/// one on, which is inside the input; the input's length if there is none.
///
/// # Errors
/// The errors of `cut`.
pub(crate) fn cut_slices<E>(
    inputs: &[JobInput],
    slice_bytes: u64,
    mut cut: impl FnMut(&JobInput, u64) -> Result<u64, E>,
) -> Result<Vec<Slice>, E> {
    let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
    // As many slices as needed, and none much smaller than the others.
    let wanted = bytes.div_ceil(slice_bytes.max(1)).max(1);
    let room = bytes.div_ceil(wanted).max(1);
    let mut slices = vec![Slice::default()];
    for input in inputs {
        let mut offset = 0;
        while offset < input.bytes {
            let mut slice = slices.last_mut().expect("there is one");
            if slice.bytes >= room {
                slices.push(Slice { index: slices.len(), ..Slice::default() });
                slice = slices.last_mut().expect("there is one");
            }
            let left = room - slice.bytes;
            let end = match input.bytes - offset {
                rest if rest <= left => input.bytes,
                _ => cut(input, offset + left)?,
            };
            // A stretch that can't be cut here, and would make the slice far too large, begins a
            // new slice.
            let is_too_much = slice.bytes > 0 && slice.bytes + (end - offset) > 2 * room;
            if is_too_much {
                slices.push(Slice { index: slices.len(), ..Slice::default() });
                continue;
            }
            slice.bytes += end - offset;
            slice.inputs.push(SliceInput {
                path: input.path.clone(),
                offset,
                bytes: end - offset,
                whole: end - offset == input.bytes,
                tag: input.tag.clone(),
            });
            offset = end;
        }
    }
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn slices(inputs: &[u64], slice_bytes: u64, every: u64) -> Vec<Vec<(usize, u64, u64)>> {
        let input = |(index, &bytes): (usize, &u64)| JobInput {
            path: index.to_string(),
            bytes,
            tag: String::new(),
        };
        let inputs: Vec<_> = inputs.iter().enumerate().map(input).collect();
        let at_multiples = |input: &JobInput, at: u64| {
            Ok::<u64, Infallible>(at.next_multiple_of(every).min(input.bytes))
        };
        let slices = cut_slices(&inputs, slice_bytes, at_multiples).unwrap();
        for (index, slice) in slices.iter().enumerate() {
            assert_eq!(slice.index, index);
            assert_eq!(slice.bytes, slice.inputs.iter().map(|input| input.bytes).sum::<u64>());
        }
        let piece = |input: &SliceInput| (input.path.parse().unwrap(), input.offset, input.bytes);
        slices.iter().map(|slice| slice.inputs.iter().map(piece).collect()).collect()
    }

    #[test]
    fn slices_are_of_about_one_size() {
        assert_eq!(slices(&[100], 50, 10), [[(0, 0, 50)], [(0, 50, 50)]]);
        // Not 60, 60 and 10.
        assert_eq!(slices(&[130], 60, 10), [[(0, 0, 50)], [(0, 50, 50)], [(0, 100, 30)]]);
        assert_eq!(slices(&[100], 1000, 10), [[(0, 0, 100)]]);
    }

    #[test]
    fn small_inputs_are_put_together_and_empty_ones_left_out() {
        assert_eq!(
            slices(&[10, 0, 30, 40], 40, 10),
            [vec![(0, 0, 10), (2, 0, 30)], vec![(3, 0, 40)]]
        );
        assert_eq!(slices(&[], 40, 10), [[]]);
        assert_eq!(slices(&[0, 0], 40, 10), [[]]);
    }

    #[test]
    fn what_cannot_be_cut_stays_whole() {
        let whole = u64::MAX / 2;
        assert_eq!(slices(&[100], 30, whole), [[(0, 0, 100)]]);
        assert_eq!(slices(&[5, 100, 5], 40, whole), [[(0, 0, 5)], [(1, 0, 100)], [(2, 0, 5)]]);
    }

    /// Each byte once, in order.
    #[test]
    fn nothing_is_left_out_or_doubled() {
        for slice_bytes in 1..60 {
            for every in [1, 7, 20] {
                let inputs = [33, 0, 1, 140, 59, 60];
                let pieces = slices(&inputs, slice_bytes, every).concat();
                let mut at = 0;
                for (index, bytes) in inputs.into_iter().enumerate() {
                    let mut offset = 0;
                    while offset < bytes {
                        let (path, from, length) = pieces[at];
                        assert_eq!((path, from), (index, offset));
                        assert!(length > 0);
                        offset += length;
                        at += 1;
                    }
                    assert_eq!(offset, bytes);
                }
                assert_eq!(at, pieces.len());
            }
        }
    }
}

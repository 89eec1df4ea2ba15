//! Finds complex numbers that NumPy sorts to another place than a sort by two keys does.
//!
//! NumPy sorts all numbers with a NaN after the others, and begins with those whose imaginary part
//! alone is NaN. A sort by real part and imaginary part puts such a number after the numbers with
//! the same real part.

use crate::errors::Failure;
use xsort::Endian;

/// A complex number in an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComplexField {
    /// Where it begins.
    pub(crate) offset: usize,
    /// Bytes of its real part, and of its imaginary one.
    pub(crate) part_bytes: usize,
    pub(crate) endian: Endian,
}

impl ComplexField {
    /// Whether only the imaginary part is NaN.
    fn is_apart(&self, element: &[u8]) -> bool {
        let part = |number: usize| {
            let begin = self.offset + number * self.part_bytes;
            is_nan(&element[begin..begin + self.part_bytes], self.endian)
        };
        part(1) && !part(0)
    }
}

/// Whether these bytes are a floating-point number that is none.
fn is_nan(bytes: &[u8], endian: Endian) -> bool {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    if endian == Endian::Big {
        number[..bytes.len()].reverse();
    }
    match bytes.len() {
        4 => f32::from_bits(u64::from_le_bytes(number) as u32).is_nan(),
        _ => f64::from_le_bytes(number).is_nan(),
    }
}

/// Refuses elements with numbers that NumPy would sort to another place.
pub(crate) fn check_complex(
    elements: &[u8],
    element_bytes: usize,
    fields: &[ComplexField],
) -> Result<(), Failure> {
    if fields.is_empty() {
        return Ok(());
    }
    let is_apart = |element: &[u8]| fields.iter().any(|field| field.is_apart(element));
    match elements.chunks_exact(element_bytes).position(is_apart) {
        None => Ok(()),
        Some(number) => Err(Failure::of_argument(format!(
            "element {number} has a complex number of which only the imaginary part is NaN, which \
             NumPy sorts behind all numbers without a NaN and sort_array can't: use numpy.sort, or \
             make its real part NaN, too"
        ))),
    }
}

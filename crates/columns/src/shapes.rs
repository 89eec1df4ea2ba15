//! Shapes of geometry, of which a curve takes the centres: well-known binary (as in GeoParquet),
//! structs of bounds (xmin, ymin, xmax, ymax), and structs of a point (x, y).
//!
//! The format of shapes is that of OGC 06-103r4, chapter 8, and PostGIS's variant with flags. The
//! centre of a shape is that of the least rectangle around it.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, FieldRef};
use std::sync::Arc;

/// Most shapes inside of each other.
const DEPTH_MAX: usize = 32;
/// Flags of PostGIS's variant.
const HAS_Z: u32 = 0x8000_0000;
const HAS_M: u32 = 0x4000_0000;
const HAS_REFERENCE: u32 = 0x2000_0000;

/// Returns whether the values of a type may be shapes.
pub(crate) fn may_be_shape(data_type: &DataType) -> bool {
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Struct(_) => corners(data_type).is_some(),
        _ => false,
    }
}

/// The fields of the least and of the largest corner.
fn corners(data_type: &DataType) -> Option<[[usize; 2]; 2]> {
    let DataType::Struct(fields) = data_type else { return None };
    let is_it =
        |field: &FieldRef, name: &str| field.name() == name && field.data_type().is_numeric();
    let field = |name: &str| fields.iter().position(|field| is_it(field, name));
    let both = |a, b| Some([field(a)?, field(b)?]);
    match (both("xmin", "ymin"), both("xmax", "ymax")) {
        (Some(least), Some(largest)) => Some([least, largest]),
        _ => both("x", "y").map(|point| [point, point]),
    }
}

/// Returns the centres of shapes: their x and their y. What has no points has none.
///
/// # Errors
/// If a value is no shape.
pub(crate) fn centres(shapes: &ArrayRef) -> Result<[ArrayRef; 2], ArrowError> {
    if let Some([least, largest]) = corners(shapes.data_type()) {
        let middle = |axis: usize| middles(shapes, least[axis], largest[axis]);
        return Ok([middle(0)?, middle(1)?]);
    }
    let shapes = cast(shapes, &DataType::LargeBinary)?;
    let centre = |shape: Option<&[u8]>| match shape.map(Bounds::of) {
        None => Ok(None),
        Some(Some(bounds)) => Ok(bounds.centre()),
        Some(None) => {
            let begin = shape.unwrap_or_default().iter().take(16);
            let begin: String = begin.map(|byte| format!("{byte:02x}")).collect();
            Err(ArrowError::InvalidArgumentError(format!("{begin}... is no shape in WKB")))
        }
    };
    let centres = shapes.as_binary::<i64>().iter().map(centre);
    let centres = centres.collect::<Result<Vec<Option<[f64; 2]>>, _>>()?;
    let axis = |at: usize| -> ArrayRef {
        Arc::new(centres.iter().map(|centre| centre.map(|xy| xy[at])).collect::<Float64Array>())
    };
    Ok([axis(0), axis(1)])
}

fn middles(shapes: &ArrayRef, least: usize, largest: usize) -> Result<ArrayRef, ArrowError> {
    let shapes = shapes.as_struct();
    let field = |at: usize| cast(shapes.column(at), &DataType::Float64);
    let (least, largest) = (field(least)?, field(largest)?);
    let both =
        least.as_primitive::<Float64Type>().iter().zip(largest.as_primitive::<Float64Type>());
    let is_valid = |row: usize| shapes.is_valid(row);
    let middle = |(row, (a, b)): (usize, (Option<f64>, Option<f64>))| {
        Some(f64::midpoint(a?, b?)).filter(|_| is_valid(row))
    };
    Ok(Arc::new(both.enumerate().map(middle).collect::<Float64Array>()))
}

/// The least rectangle around points.
struct Bounds {
    least: [f64; 2],
    largest: [f64; 2],
}

/// The bytes of a shape that are left, and the order of bytes in numbers.
struct Wkb<'b> {
    rest: &'b [u8],
    is_little: bool,
}

impl Bounds {
    /// The bounds of a shape in WKB; `None` if the bytes are none.
    fn of(bytes: &[u8]) -> Option<Bounds> {
        let none = [f64::INFINITY; 2];
        let mut bounds = Bounds { least: none, largest: none.map(|bound| -bound) };
        Wkb { rest: bytes, is_little: true }.shape(&mut bounds, 0)?;
        Some(bounds)
    }

    fn centre(&self) -> Option<[f64; 2]> {
        let axis = |at: usize| f64::midpoint(self.least[at], self.largest[at]);
        (self.least[0] <= self.largest[0]).then(|| [axis(0), axis(1)])
    }

    fn add(&mut self, point: [f64; 2]) {
        // A point without coordinates has NaNs.
        if point.iter().all(|axis| !axis.is_nan()) {
            for (at, value) in point.into_iter().enumerate() {
                self.least[at] = self.least[at].min(value);
                self.largest[at] = self.largest[at].max(value);
            }
        }
    }
}

impl Wkb<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u32> {
        let bytes = self.take()?;
        Some(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn axis(&mut self) -> Option<f64> {
        let bytes = self.take()?;
        Some(if self.is_little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) })
    }

    fn point(&mut self, axes: u32, bounds: &mut Bounds) -> Option<()> {
        let point = [self.axis()?, self.axis()?];
        for _ in 2..axes {
            self.axis()?;
        }
        bounds.add(point);
        Some(())
    }

    fn points(&mut self, axes: u32, bounds: &mut Bounds) -> Option<()> {
        let count = self.number()?;
        (0..count).try_for_each(|_| self.point(axes, bounds))
    }

    fn shape(&mut self, bounds: &mut Bounds, depth: usize) -> Option<()> {
        let [order] = self.take()?;
        if order > 1 || depth > DEPTH_MAX {
            return None;
        }
        self.is_little = order == 1;
        let kind = self.number()?;
        if kind & HAS_REFERENCE != 0 {
            self.number()?;
        }
        let plain = kind & !(HAS_Z | HAS_M | HAS_REFERENCE);
        let more = match plain / 1000 {
            0 => u32::from(kind & HAS_Z != 0) + u32::from(kind & HAS_M != 0),
            1 | 2 => 1,
            3 => 2,
            _ => return None,
        };
        let axes = 2 + more;
        match plain % 1000 {
            // A point.
            1 => self.point(axes, bounds),
            // Lines and arcs.
            2 | 8 => self.points(axes, bounds),
            // Polygons and triangles: rings.
            3 | 17 => {
                let count = self.number()?;
                (0..count).try_for_each(|_| self.points(axes, bounds))
            }
            // Several shapes.
            4..=7 | 9..=12 | 15 | 16 => {
                let count = self.number()?;
                (0..count).try_for_each(|_| self.shape(bounds, depth + 1))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
        hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }

    fn centre(hex: &str) -> Option<Option<[f64; 2]>> {
        Bounds::of(&bytes(hex)).map(|bounds| bounds.centre())
    }

    #[test]
    fn a_shape_has_the_centre_of_its_bounds() {
        let (one, two, three) = ("000000000000f03f", "0000000000000040", "0000000000000840");
        // POINT(1 2), and the same with the most significant byte first, with Z, and with M.
        let point = Some(Some([1.0, 2.0]));
        assert_eq!(centre(&format!("01 01000000 {one}{two}")), point);
        assert_eq!(centre("00 00000001 3ff0000000000000 4000000000000000"), point);
        assert_eq!(centre(&format!("01 e9030000 {one}{two}{three}")), point);
        assert_eq!(centre(&format!("01 01000060 e6100000 {one}{two}{three}")), point);
        // LINESTRING(1 1, 3 3), and a collection of two points.
        let line = format!("01 02000000 02000000 {one}{one}{three}{three}");
        assert_eq!(centre(&line), Some(Some([2.0, 2.0])));
        let part = |x: &str| format!("01 01000000 {x}{x}");
        let all = format!("01 07000000 02000000 {}{}", part(one), part(three));
        assert_eq!(centre(&all), Some(Some([2.0, 2.0])));
        // POINT EMPTY and POLYGON EMPTY have none.
        let nan = "000000000000f87f";
        assert_eq!(centre(&format!("01 01000000 {nan}{nan}")), Some(None));
        assert_eq!(centre("01 03000000 00000000"), Some(None));
    }

    #[test]
    fn what_is_no_shape_is_found() {
        for hex in ["", "01", "02 01000000", "01 63000000", "01 01000000 0000", "01 e8ffff00"] {
            assert_eq!(centre(hex), None, "{hex}");
        }
        // Collections in collections, and more points than there are bytes.
        assert_eq!(centre(&"01 07000000 01000000".repeat(100)), None);
        assert_eq!(centre("01 02000000 ffffffff 00"), None);
    }
}

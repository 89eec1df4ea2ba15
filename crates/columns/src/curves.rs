//! Places of rows on space-filling curves: ranks of their values, or of the centres of their
//! shapes, among those of a sample.

use crate::shapes::centres;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SortOptions};
use std::sync::Arc;
use xsort_arrow::{BatchDigester, Error, SortColumn};
use xsort_table::{Curve, CurveShape, KeyColumn, Ranks};

/// Most axes of a curve. A shape has two.
const AXES_MAX: usize = 8;
/// Rows whose keys are made at once.
const ROWS: usize = 4096;
/// Bytes of a key in a sample. Longer ones are nearly equal if these are.
const KEY_BYTES_MAX: usize = 256;

/// A curve through columns of a schema.
#[derive(Clone, Debug)]
pub(crate) struct FoundCurve {
    pub(crate) shape: CurveShape,
    pub(crate) is_descending: bool,
    pub(crate) parts: Vec<CurvePart>,
}

/// A column of a curve, by its path. It has shapes, or values with an order.
#[derive(Clone, Debug)]
pub(crate) struct CurvePart {
    pub(crate) path: Vec<usize>,
    pub(crate) has_shapes: bool,
}

impl FoundCurve {
    /// Finds the columns of a curve. `find` returns the path of a column, and checks its type
    /// unless that is one of shapes.
    pub(crate) fn new(
        (curve, is_descending): (&Curve, bool),
        find: impl Fn(&KeyColumn) -> Result<CurvePart, xsort_extsort::Error>,
    ) -> Result<FoundCurve, xsort_extsort::Error> {
        let parts = curve.columns.iter().map(find).collect::<Result<_, _>>()?;
        let found = FoundCurve { shape: curve.shape, is_descending, parts };
        if found.axes() > AXES_MAX {
            let what =
                format!("{} has {AXES_MAX} axes at most: shapes have two", curve.shape.name());
            return Err(xsort_extsort::Error::Settings(what));
        }
        Ok(found)
    }

    /// The number of axes.
    fn axes(&self) -> usize {
        self.parts.iter().map(|part| if part.has_shapes { 2 } else { 1 }).sum()
    }

    /// The type of places on it: unsigned, or bytes that compare as such.
    pub(crate) fn data_type(&self) -> DataType {
        match self.axes() {
            0..=2 => DataType::UInt32,
            3..=4 => DataType::UInt64,
            axes => DataType::FixedSizeBinary(2 * axes as i32),
        }
    }

    /// Most memory that its samples take, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.axes() as u64 * Ranks::MEMORY_BYTES
    }

    /// Returns the same curve through batches that only have these columns, in ascending order.
    pub(crate) fn in_columns(&self, columns: &[usize]) -> FoundCurve {
        let part = |part: &CurvePart| {
            let at = columns.partition_point(|&column| column < part.path[0]);
            CurvePart { path: [&[at], &part.path[1..]].concat(), ..*part }
        };
        FoundCurve { parts: self.parts.iter().map(part).collect(), ..self.clone() }
    }

    /// Returns the values of each axis.
    fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut values = Vec::new();
        for CurvePart { path, has_shapes } in &self.parts {
            let own = SortColumn::values_at(path, batch)?;
            if !has_shapes {
                values.push(own);
                continue;
            }
            let centres = centres(&own).map_err(|error| match error {
                ArrowError::InvalidArgumentError(reason) => {
                    let schema = batch.schema();
                    let name = schema.field(path[0]).name();
                    ArrowError::InvalidArgumentError(format!("column '{name}': {reason}"))
                }
                other => other,
            })?;
            values.extend(centres);
        }
        Ok(values)
    }
}

/// Keys of a sample's rows, for each axis of a curve.
pub(crate) struct CurveSample {
    curve: FoundCurve,
    /// The curve through the sample's batches.
    sampled: FoundCurve,
    keys: Vec<Vec<Vec<u8>>>,
}

impl CurveSample {
    /// Begins a sample whose batches only have these columns.
    pub(crate) fn new(curve: &FoundCurve, columns: &[usize]) -> CurveSample {
        let keys = vec![Vec::new(); curve.axes()];
        CurveSample { curve: curve.clone(), sampled: curve.in_columns(columns), keys }
    }

    /// Adds rows. What has no place is found when all rows are read.
    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        let Ok(values) = self.sampled.values(batch) else { return };
        for (keys, values) in self.keys.iter_mut().zip(values) {
            let Ok(found) = keys_of(values) else { continue };
            let key = |key: &[u8]| key[..key.len().min(KEY_BYTES_MAX)].to_vec();
            keys.extend(found.iter().flatten().map(key));
        }
    }

    /// Takes the ranks of values from the sample.
    pub(crate) fn end(self) -> CurveColumn {
        CurveColumn { curve: self.curve, ranks: self.keys.into_iter().map(Ranks::of).collect() }
    }
}

/// A curve with its ranks.
#[derive(Debug)]
pub(crate) struct CurveColumn {
    curve: FoundCurve,
    ranks: Vec<Ranks>,
}

impl CurveColumn {
    /// Returns the places of a batch's rows.
    ///
    /// # Errors
    /// If a value is no shape.
    pub(crate) fn places(&self, batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
        let rows = batch.num_rows();
        let axes = self.curve.axes();
        let mut ranks = vec![0; rows * axes];
        // Keys of all rows could take more than the batch.
        for begin in (0..rows).step_by(ROWS) {
            let part = batch.slice(begin, ROWS.min(rows - begin));
            for (axis, values) in self.curve.values(&part)?.into_iter().enumerate() {
                let keys = keys_of(values);
                let keys = keys.map_err(|error| ArrowError::from_external_error(error.into()))?;
                for row in 0..part.num_rows() {
                    ranks[(begin + row) * axes + axis] = self.ranks[axis].rank(keys.value(row));
                }
            }
        }
        let places = ranks.chunks_exact_mut(axes.max(1)).map(|ranks| self.curve.shape.place(ranks));
        Ok(match self.curve.data_type() {
            DataType::UInt32 => {
                Arc::new(UInt32Array::from_iter_values(places.map(|place| place as u32)))
            }
            DataType::UInt64 => {
                Arc::new(UInt64Array::from_iter_values(places.map(|place| place as u64)))
            }
            _ => {
                let bytes: Vec<[u8; 16]> = places.map(u128::to_be_bytes).collect();
                let used = bytes.iter().map(|place| &place[16 - 2 * axes..]);
                let size = 2 * axes as i32;
                let places = used.map(Some);
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(places, size)?)
            }
        })
    }
}

/// Returns keys of values, which compare as bytes; nulls are last.
fn keys_of(values: ArrayRef) -> Result<arrow_array::LargeBinaryArray, Error> {
    let field = Field::new("axis", values.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let options = SortOptions { descending: false, nulls_first: false };
    let by = vec![SortColumn::at(&schema, &[0], options)?];
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![values])?;
    BatchDigester::by_columns(schema, by)?.keys(&batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;

    #[test]
    fn a_sample_of_long_texts_is_small() {
        let curve = FoundCurve {
            shape: CurveShape::Hilbert,
            is_descending: false,
            parts: vec![CurvePart { path: vec![3], has_shapes: false }],
        };
        let mut sample = CurveSample::new(&curve, &[3]);
        let texts = ["a", "b"].map(|text| text.repeat(1 << 20));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        sample.add(&RecordBatch::try_from_iter([("text", texts)]).unwrap());
        let bytes: Vec<usize> = sample.keys[0].iter().map(Vec::capacity).collect();
        assert_eq!(bytes, [KEY_BYTES_MAX; 2]);
        assert!(sample.keys[0][0] < sample.keys[0][1]);
    }
}

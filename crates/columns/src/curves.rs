//! Places of rows on space-filling curves: ranks of their values, or of the centres of their
//! shapes, among those of a sample.

use crate::shapes::{centres, may_be_shape};
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SortOptions};
use std::sync::Arc;
use xsort_arrow::{BatchDigester, Error, SortColumn};
use xsort_table::{Curve, CurveShape, KeyColumn, Ranks};

/// Most axes of a curve. A shape has two.
const AXES_MAX: usize = 8;

/// A curve through columns of a schema.
#[derive(Clone, Debug)]
pub(crate) struct FoundCurve {
    pub(crate) shape: CurveShape,
    pub(crate) is_descending: bool,
    pub(crate) parts: Vec<CurvePart>,
}

/// A column of a curve, by its path.
#[derive(Clone, Debug)]
pub(crate) enum CurvePart {
    /// It has values with an order.
    Column(Vec<usize>),
    /// It has shapes.
    Shape(Vec<usize>),
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
        let axes = |part: &CurvePart| if let CurvePart::Shape(_) = part { 2 } else { 1 };
        self.parts.iter().map(axes).sum()
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
        let moved = |path: &Vec<usize>| {
            let at = columns.partition_point(|&column| column < path[0]);
            [&[at], &path[1..]].concat()
        };
        let part = |part: &CurvePart| match part {
            CurvePart::Column(path) => CurvePart::Column(moved(path)),
            CurvePart::Shape(path) => CurvePart::Shape(moved(path)),
        };
        FoundCurve { parts: self.parts.iter().map(part).collect(), ..self.clone() }
    }

    /// Returns the values of each axis.
    fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut values = Vec::new();
        for part in &self.parts {
            match part {
                CurvePart::Column(path) => values.push(SortColumn::values_at(path, batch)?),
                CurvePart::Shape(path) => {
                    let named = |error| match error {
                        ArrowError::InvalidArgumentError(reason) => {
                            let schema = batch.schema();
                            let name = schema.field(path[0]).name();
                            ArrowError::InvalidArgumentError(format!("column '{name}': {reason}"))
                        }
                        other => other,
                    };
                    let shapes = SortColumn::values_at(path, batch)?;
                    values.extend(centres(&shapes).map_err(named)?);
                }
            }
        }
        Ok(values)
    }
}

impl CurvePart {
    /// A column of this type at this path: one of shapes if it may be.
    pub(crate) fn of_type(path: Vec<usize>, data_type: &DataType) -> CurvePart {
        match may_be_shape(data_type) {
            true => CurvePart::Shape(path),
            false => CurvePart::Column(path),
        }
    }

    pub(crate) fn path(&self) -> &[usize] {
        let (CurvePart::Column(path) | CurvePart::Shape(path)) = self;
        path
    }
}

/// A curve with its samples.
#[derive(Debug)]
pub(crate) struct CurveColumn {
    curve: FoundCurve,
    ranks: Vec<Ranks>,
}

impl CurveColumn {
    /// Takes the ranks of values from a sample, through whose batches `sampled` is the curve.
    pub(crate) fn new(
        curve: FoundCurve,
        sampled: &FoundCurve,
        sample: &[RecordBatch],
    ) -> CurveColumn {
        let mut keys = vec![Vec::new(); curve.axes()];
        for batch in sample {
            // What has no place is found when all rows are read.
            let Ok(values) = sampled.values(batch) else { continue };
            for (keys, values) in keys.iter_mut().zip(values) {
                let Ok(found) = keys_of(values) else { continue };
                keys.extend(found.iter().flatten().map(<[u8]>::to_vec));
            }
        }
        CurveColumn { curve, ranks: keys.into_iter().map(Ranks::of).collect() }
    }

    /// Returns the places of a batch's rows.
    ///
    /// # Errors
    /// If a value is no shape.
    pub(crate) fn places(&self, batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
        let rows = batch.num_rows();
        let axes = self.curve.axes();
        let mut ranks = vec![0; rows * axes];
        for (axis, values) in self.curve.values(batch)?.into_iter().enumerate() {
            let keys =
                keys_of(values).map_err(|error| ArrowError::from_external_error(error.into()))?;
            for row in 0..rows {
                ranks[row * axes + axis] = self.ranks[axis].rank(keys.value(row));
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

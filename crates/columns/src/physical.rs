//! The schema with which columns are read and written: the file's, without what the values of a
//! column stand for.
//!
//! A text is sorted as its bytes, and a decimal number of eight bytes as a whole number. Read in
//! this way, values need no conversion and no check, and every byte of them survives, also of types
//! that xsort doesn't know. The output has the annotations of the input. Annotations that change
//! the order stay: unsigned numbers, numbers of 16 bits, and decimal numbers as bytes in a key.

use parquet::basic::{
    ConvertedType, LogicalType, Repetition, TimeUnit, TimestampType, Type as PhysicalType,
};
use parquet::errors::Result;
use parquet::schema::types::{BasicTypeInfo, Type, TypePtr};
use std::ops::Range;
use std::sync::Arc;

/// Returns the schema by which columns are read. `keys` are the leaves of the keys.
pub(crate) fn read_schema(root: &Type, keys: &[Range<usize>]) -> Result<TypePtr> {
    let mut leaves = 0..;
    map_leaves(root, &mut |leaf| {
        let at = leaves.next().unwrap_or(usize::MAX);
        let is_key = keys.iter().any(|key| key.contains(&at));
        if decides_order(leaf, is_key) { Ok(leaf.clone()) } else { without_annotation(leaf) }
    })
}

/// Returns the schema of the output: the input's, with other physical types where those can't be
/// written. `keys` are the leaves of the keys.
pub(crate) fn written_schema(root: &Type, keys: &[Range<usize>]) -> Result<TypePtr> {
    let mut leaves = 0..;
    map_leaves(root, &mut |leaf| {
        let at = leaves.next().unwrap_or(usize::MAX);
        let is_key = keys.iter().any(|key| key.contains(&at));
        match leaf.get_physical_type() {
            PhysicalType::INT96 => nanoseconds(leaf),
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
                if is_key && is_decimal(leaf.get_basic_info()) =>
            {
                fixed_decimal(leaf)
            }
            _ => Ok(leaf.clone()),
        }
    })
}

/// Returns the schema with a first column of whole numbers.
pub(crate) fn with_count(root: &Type, name: &str) -> Result<TypePtr> {
    let count = Type::primitive_type_builder(name, PhysicalType::INT64)
        .with_repetition(Repetition::REQUIRED)
        .build()?;
    let fields = std::iter::once(Arc::new(count)).chain(root.get_fields().iter().cloned());
    Type::group_type_builder(root.name()).with_fields(fields.collect()).build().map(Arc::new)
}

/// Returns the schema with each leaf replaced.
fn map_leaves(of: &Type, leaf: &mut dyn FnMut(&Type) -> Result<Type>) -> Result<TypePtr> {
    if of.is_primitive() {
        return leaf(of).map(Arc::new);
    }
    let info = of.get_basic_info();
    let fields = of.get_fields().iter().map(|field| map_leaves(field, leaf));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let mut group = Type::group_type_builder(of.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields)
        .with_id(info.has_id().then(|| info.id()));
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    group.build().map(Arc::new)
}

/// Returns whether the annotation of a leaf changes how its values compare.
fn decides_order(leaf: &Type, is_key: bool) -> bool {
    let info = leaf.get_basic_info();
    match leaf.get_physical_type() {
        PhysicalType::INT32 | PhysicalType::INT64 => is_unsigned(info),
        PhysicalType::BYTE_ARRAY => is_key && is_decimal(info),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            (is_key && is_decimal(info)) || info.logical_type_ref() == Some(&LogicalType::Float16)
        }
        _ => false,
    }
}

/// Returns whether whole numbers have no sign.
pub(crate) fn is_unsigned(info: &BasicTypeInfo) -> bool {
    match info.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        Some(_) => false,
        None => matches!(
            info.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    }
}

pub(crate) fn is_decimal(info: &BasicTypeInfo) -> bool {
    matches!(info.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || info.converted_type() == ConvertedType::DECIMAL
}

fn without_annotation(leaf: &Type) -> Result<Type> {
    let (info, physical) = (leaf.get_basic_info(), leaf.get_physical_type());
    let length = if let Type::PrimitiveType { type_length, .. } = leaf { *type_length } else { -1 };
    Type::primitive_type_builder(leaf.name(), physical)
        .with_repetition(info.repetition())
        .with_length(length)
        .with_id(info.has_id().then(|| info.id()))
        .build()
}

/// A time of 12 bytes becomes one of nanoseconds, because nothing writes the old type any more.
fn nanoseconds(leaf: &Type) -> Result<Type> {
    let info = leaf.get_basic_info();
    let annotation = TimestampType { is_adjusted_to_u_t_c: false, unit: TimeUnit::NANOS };
    Type::primitive_type_builder(leaf.name(), PhysicalType::INT64)
        .with_repetition(info.repetition())
        .with_logical_type(Some(LogicalType::Timestamp(annotation)))
        .with_id(info.has_id().then(|| info.id()))
        .build()
}

/// A decimal number becomes one of as few bytes as its precision needs.
fn fixed_decimal(leaf: &Type) -> Result<Type> {
    let info = leaf.get_basic_info();
    let (precision, scale) = (leaf.get_precision(), leaf.get_scale());
    let bits = (10_f64.powi(precision) + 1.0).log2() + 1.0;
    Type::primitive_type_builder(leaf.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
        .with_repetition(info.repetition())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_precision(precision)
        .with_scale(scale)
        .with_length((bits / 8.0).ceil() as i32)
        .with_id(info.has_id().then(|| info.id()))
        .build()
}

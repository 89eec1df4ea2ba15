//! Types inside of lists, structs and maps: what they are, and the same nesting with others.

use arrow_schema::{DataType, FieldRef, Fields};
use std::sync::Arc;

/// Returns the types directly inside of a type, in the order of its arrays.
pub(crate) fn inner_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        _ => Vec::new(),
    }
}

/// Returns fields in which `other` has replaced types that contain no others. Where it returns
/// `None`, a type stays.
pub(crate) fn with_leaves(
    fields: &Fields,
    other: &dyn Fn(&DataType) -> Option<DataType>,
) -> Fields {
    fields.iter().map(|field| with_leaf(field, other)).collect()
}

fn with_leaf(field: &FieldRef, other: &dyn Fn(&DataType) -> Option<DataType>) -> FieldRef {
    let own = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(with_leaves(fields, other)),
        DataType::List(item) => DataType::List(with_leaf(item, other)),
        DataType::LargeList(item) => DataType::LargeList(with_leaf(item, other)),
        DataType::FixedSizeList(item, size) => {
            DataType::FixedSizeList(with_leaf(item, other), *size)
        }
        DataType::Map(entries, is_sorted) => DataType::Map(with_leaf(entries, other), *is_sorted),
        leaf => match other(leaf) {
            Some(own) => own,
            None => return Arc::clone(field),
        },
    };
    Arc::new(field.as_ref().clone().with_data_type(own))
}

//! The first difference between the schemas of two inputs, in words.

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::schema::types::{BasicTypeInfo, Type};
use std::path::Path;
use xsort_disk::DisplayPath;

/// Returns how `own` differs from `first`, the schema of the input at `first_path`. A column may
/// have no nulls where that of the first input may have some.
pub(crate) fn difference(own: &Type, first: &Type, first_path: &Path) -> Option<String> {
    let first_path = DisplayPath(first_path).to_string();
    fields(own, first, "", &first_path)
}

fn fields(own: &Type, first: &Type, above: &str, first_path: &str) -> Option<String> {
    for (a, b) in own.get_fields().iter().zip(first.get_fields()) {
        if a.name() != b.name() {
            return Some(format!(
                "its column '{above}{}' is where {first_path} has '{above}{}'",
                a.name(),
                b.name()
            ));
        }
        let found = field(a, b, above, first_path);
        if found.is_some() {
            return found;
        }
    }
    let (count, first_count) = (own.get_fields().len(), first.get_fields().len());
    if count > first_count {
        let name = own.get_fields()[first_count].name();
        return Some(format!("its column '{above}{name}' isn't in {first_path}"));
    }
    let missing = first.get_fields().get(count)?;
    Some(format!("it has no column '{above}{}', as {first_path} has", missing.name()))
}

fn field(own: &Type, first: &Type, above: &str, first_path: &str) -> Option<String> {
    let name = format!("{above}{}", own.name());
    let (own_words, first_words) = (words(own), words(first));
    if own_words != first_words {
        return Some(format!(
            "its column '{name}' is {own_words}, and in {first_path} it is {first_words}"
        ));
    }
    let (a, b) = (repetition(own.get_basic_info()), repetition(first.get_basic_info()));
    // Inside of lists and structs levels tell nulls, so both must agree.
    let is_widened = a == Repetition::REQUIRED && b == Repetition::OPTIONAL && above.is_empty();
    if a != b && !(is_widened && own.is_primitive()) {
        return Some(format!(
            "its column '{name}' is {a}, and in {first_path} it is {b} (OPTIONAL has nulls, \
             REPEATED is a list); put a file with OPTIONAL columns first"
        ));
    }
    if own.is_primitive() { None } else { fields(own, first, &format!("{name}."), first_path) }
}

fn repetition(info: &BasicTypeInfo) -> Repetition {
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

/// The type of a column, without the types below it.
fn words(of: &Type) -> String {
    let info = of.get_basic_info();
    // Old writers have only the old annotation, and new ones both, where there is an old one.
    let annotation = match (info.logical_type_ref(), info.converted_type()) {
        (Some(logical @ (LogicalType::Timestamp(_) | LogicalType::Time(_))), _) => {
            format!(" {logical:?}")
        }
        (Some(logical), ConvertedType::NONE) => format!(" {logical:?}"),
        (None, ConvertedType::NONE) => String::new(),
        (_, converted) => format!(" {converted}"),
    };
    match of {
        Type::PrimitiveType { physical_type, type_length, precision, scale, .. } => {
            let length = if *type_length > 0 { format!("({type_length})") } else { String::new() };
            let digits = match annotation.contains("DECIMAL") {
                true => format!("({precision},{scale})"),
                false => String::new(),
            };
            format!("{physical_type}{length}{annotation}{digits}")
        }
        Type::GroupType { .. } => format!("a group{annotation}"),
    }
}

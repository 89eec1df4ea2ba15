//! Columns of text in other orders than that of their bytes.

use crate::files::{read, write};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;
use xsort_columns::Columns;
use xsort_table::Keep;

/// Writes rows of these texts, in a column and in a field of structs.
fn file(folder: &Path, texts: &[Option<&str>]) -> std::path::PathBuf {
    let path = folder.join("in.parquet");
    let texts: ArrayRef = Arc::new(texts.iter().collect::<StringArray>());
    let field = Arc::new(Field::new("text", DataType::Utf8, true));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("text", Arc::clone(&texts), true),
        ("in", Arc::new(StructArray::from(vec![(field, Arc::clone(&texts))])) as ArrayRef, true),
        ("id", Arc::new(Int64Array::from_iter(0..texts.len() as i64)) as ArrayRef, false),
    ]);
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(3)).build();
    write(&path, &[batch.unwrap()], groups);
    path
}

fn ids(columns: &Columns, folder: &Path) -> Vec<i64> {
    let output = folder.join("out.parquet");
    columns.clone().memory(64 << 20).threads(2).run(&output).unwrap();
    let found = read(&output);
    let at = found.num_columns() - 1;
    found.column(at).as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn texts_are_in_the_order_of_a_type() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let by = |texts: &[Option<&str>], by: &str| {
        ids(&Columns::files([file(folder, texts)]).by(by).unwrap(), folder)
    };
    let names = [Some("file10"), Some("file9"), None, Some(""), Some("File9"), Some("file9")];
    assert_eq!(by(&names, "text"), [3, 4, 0, 1, 5, 2]);
    assert_eq!(by(&names, "text:natural"), [3, 4, 1, 5, 0, 2]);
    assert_eq!(by(&names, "text:natural:desc"), [0, 1, 5, 4, 3, 2]);
    assert_eq!(by(&names, "in.text:natural:nulls-first"), [2, 3, 4, 1, 5, 0]);
    assert_eq!(by(&names, "text:nocase,id:desc"), [3, 0, 5, 4, 1, 2]);
    assert_eq!(by(&names, "text:length,text:nocase"), [3, 1, 4, 5, 0, 2]);
    // An empty text is no number, as in tables of text.
    let numbers = [Some("10"), Some("9.5"), Some(""), Some("-1e400"), None];
    assert_eq!(by(&numbers, "text:num"), [3, 1, 0, 2, 4]);
    assert_eq!(by(&numbers, "text:num:desc"), [0, 1, 3, 2, 4]);
    let days = [Some("02/01/2026"), Some("01/02/2026"), Some("03/01/2025")];
    assert_eq!(by(&days, "text:datetime(%d/%m/%Y)"), [2, 0, 1]);
}

#[test]
fn equal_keys_are_groups_and_orders_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = file(folder, &[Some("b"), Some("A"), Some("B"), Some("a"), Some("c")]);
    let by = Columns::files([&path]).by("text:nocase").unwrap();
    assert_eq!(ids(&by.clone().unique(Keep::Last), folder), [3, 2, 4]);
    assert_eq!(ids(&by.clone().top(2), folder), [1, 3]);
    // The output is in order by the type, and not by its bytes.
    assert_eq!(ids(&by, folder), [1, 3, 0, 2, 4]);
    let output = folder.join("out.parquet");
    assert_eq!(ids(&Columns::files([&output]).by("text:nocase").unwrap().merge(), folder).len(), 5);
    let error = Columns::files([&output]).by("text").unwrap().merge().run(folder.join("no"));
    assert!(error.unwrap_err().to_string().contains("row 4 belongs before"), "by bytes");
}

//! What is refused, and with which words.

use crate::files::{with_keys, write};
use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_columns::Columns;
use xsort_testing::Random;

fn file(folder: &Path, name: &str, others: &[(&str, ArrayRef)]) -> PathBuf {
    let path = folder.join(name);
    let batch = with_keys(&mut Random::new(1), 3, 0, others);
    write(&path, &[batch], WriterProperties::builder().build());
    path
}

fn error(inputs: &[&Path], by: &str, memory: u64) -> String {
    let output = inputs[0].with_file_name("sorted.parquet");
    let columns = Columns::files(inputs.iter().copied()).by(by).unwrap().memory(memory);
    let error = columns.run(&output).unwrap_err().to_string();
    assert!(!output.exists());
    error
}

#[test]
fn the_first_difference_between_schemas_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = || Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef;
    let number = Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef;
    let first = file(folder, "first.parquet", &[("a", text())]);
    for (name, others, words) in [
        ("type", vec![("a", number)], "its column 'a' is INT32, and in"),
        ("name", vec![("b", text())], "its column 'b' is where"),
        ("more", vec![("a", text()), ("b", text())], "its column 'b' isn't in"),
        ("less", vec![], "it has no column 'a'"),
    ] {
        let other = file(folder, name, &others);
        let error = error(&[&first, &other], "key", 64 << 20);
        assert!(error.contains(words) && error.contains(name), "{error}");
    }
}

#[test]
fn keys_that_contradict_the_schema_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef;
    let path = file(folder.path(), "a.parquet", &[("text", text)]);
    for (by, words) in [
        ("no", "no column 'no'"),
        ("#9", "no column '#9'"),
        ("key:str", "of type Int64, not str"),
        ("key:date", "of type Int64, not date"),
        ("key:natural", "of type Int64, not natural"),
        ("text:json", "of type Utf8, not json"),
        ("text:int", "a.parquet: row 1, column 'text': 'a' isn't of the type int"),
        ("key,text:date:desc", "row 1, column 'text': 'a' isn't of the type date"),
    ] {
        let error = error(&[&path], by, 64 << 20);
        assert!(error.contains(words), "{by}: {error}");
    }
    for by in ["key:int", "key:num:desc", "text:str", "text", "#1:int", "text:natural"] {
        let output = folder.path().join("sorted.parquet");
        Columns::files([&path]).by(by).unwrap().memory(64 << 20).run(output).unwrap();
    }
}

#[test]
fn too_little_memory_is_refused_with_enough() {
    let folder = tempfile::tempdir().unwrap();
    let few = file(folder.path(), "few.parquet", &[]);
    // A row group whose pages take most of the memory: what is left sorts the rows, too.
    let wide = folder.path().join("wide.parquet");
    let random = &mut Random::new(2);
    let column: ArrayRef = Arc::new(Int64Array::from_iter((0..8000).map(|_| random.word() as i64)));
    let names: Vec<String> = (0..300).map(|number| format!("column {number}")).collect();
    let others: Vec<_> = names.iter().map(|name| (name.as_str(), column.clone())).collect();
    write(&wide, &[with_keys(random, 8000, 0, &others)], WriterProperties::builder().build());
    for path in [few, wide] {
        let text = error(&[&path], "key", 1 << 20);
        let enough = text.rsplit("-m ").next().unwrap().trim_end_matches(')');
        let bytes = xsort::size::bytes(enough).unwrap();
        let output = folder.path().join("sorted.parquet");
        Columns::files([&path]).by("key").unwrap().memory(bytes).run(&output).unwrap();
        std::fs::remove_file(output).unwrap();
    }
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    for (content, words) in [
        (&b"a,b\n1,2\n3,4\n5,6\n"[..], "doesn't begin with PAR1"),
        (b"PAR1", "too short"),
        (b"PAR1aaaaaaaaaaaaaaaaaa", "it is cut"),
        (b"PAR1aaaaaaaaaaaaaaPARE", "encrypted"),
        (b"PAR1aaaaaa\xff\xff\xff\x7fPAR1", "footer is damaged"),
        (b"PAR1aaaaaa\x04\0\0\0PAR1", "footer is damaged"),
    ] {
        std::fs::write(&path, content).unwrap();
        let error = error(&[&path], "key", 64 << 20);
        assert!(error.contains(words), "{error}");
    }
}

//! Files whose bytes were changed or cut: an error or an output, never a panic.

use crate::files::{random_properties, with_keys, write};
use arrow_array::{ArrayRef, StringArray};
use std::fs;
use std::sync::Arc;
use xsort_columns::Columns;
use xsort_extsort::Error;
use xsort_testing::{Random, for_each_seed, quick_or_long};

/// The bytes of a file with texts.
fn file(random: &mut Random, folder: &std::path::Path) -> Vec<u8> {
    let path = folder.join("whole.parquet");
    let text: StringArray = (0..800).map(|row| Some("x".repeat(row % 40))).collect();
    let others: [(&str, ArrayRef); 1] = [("text", Arc::new(text))];
    let batch = with_keys(random, 800, 0, &others);
    write(&path, &[batch], random_properties(random));
    fs::read(path).unwrap()
}

#[test]
fn changed_bytes_give_errors_and_no_panics() {
    for_each_seed("damage", quick_or_long(6, 100), |seed| {
        let random = &mut Random::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let whole = file(random, folder.path());
        let (path, output) =
            (folder.path().join("damaged.parquet"), folder.path().join("sorted.parquet"));
        for _ in 0..40 {
            let mut bytes = whole.clone();
            // The footer has more to be wrong than the pages.
            let from = if random.one_in(2) { bytes.len() - bytes.len().min(700) } else { 0 };
            for _ in 0..1 + random.below(3) {
                let at = from + random.below(bytes.len() - from);
                bytes[at] ^= 1 << random.below(8);
            }
            if random.one_in(6) {
                bytes.truncate(random.below(bytes.len()));
            }
            fs::write(&path, &bytes).unwrap();
            let columns = Columns::files([&path]).by("#1").unwrap().memory(64 << 20);
            match columns.run(&output) {
                Ok(_) => fs::remove_file(&output).unwrap(),
                Err(Error::Panicked) => return Err("a thread panicked".into()),
                Err(_) if output.exists() => return Err("an error with an output".into()),
                Err(_) => {}
            }
        }
        Ok(())
    });
}

#[test]
fn the_error_names_file_row_group_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let text: StringArray = (0..9000).map(|row| Some(format!("text {row}"))).collect();
    let others: [(&str, ArrayRef); 1] = [("text", Arc::new(text))];
    let batch = with_keys(&mut Random::new(5), 9000, 0, &others);
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()))
        .set_max_row_group_row_count(Some(3000))
        .build();
    write(&path, &[batch], properties);
    let footer = crate::files::footer(&path);
    let (offset, length) = footer.row_group(1).column(2).byte_range();
    let mut bytes = fs::read(&path).unwrap();
    let (from, to) = (offset + length / 4, offset + length * 3 / 4);
    bytes[from as usize..to as usize].iter_mut().for_each(|byte| *byte ^= 0x55);
    fs::write(&path, &bytes).unwrap();
    let columns = Columns::files([&path]).by("key").unwrap().memory(64 << 20);
    let error = columns.run(folder.path().join("sorted.parquet")).unwrap_err().to_string();
    assert!(error.contains("a.parquet: column 'text' of row group 1 is damaged"), "{error}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

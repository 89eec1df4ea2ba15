//! Counts the requests for many small objects.

use crate::transfers::smooth;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::Disk;
use xsort_extsort::lines::{ByBytes, LinesInput, SortedOutput, recognise, sort_lines_to};
use xsort_extsort::{LinesOptions, Unobserved};
use xsort_objects::StoreCall;

const OBJECTS: usize = 40;

fn url(number: usize) -> PathBuf {
    PathBuf::from(format!("s3://b/in/{number}"))
}

/// A HEAD, a read of the beginning, and the data. There was once another request at the end, to
/// look for the object again; the tag already proves that all answers are of one version.
#[test]
fn lines_of_small_objects_take_three_requests_each() {
    let (store, disk) = smooth();
    for number in 0..OBJECTS {
        store.put_object(url(number).to_str().unwrap(), format!("{:03}\n", OBJECTS - number));
    }
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let urls: Vec<PathBuf> = (0..OBJECTS).map(url).collect();
    let inputs = LinesInput::all_on(&disk, &urls).unwrap();
    let inputs = recognise(inputs, false, || (1 << 20, 2)).unwrap().inputs;
    let options =
        LinesOptions { scratch: vec!["/scratch".into()], ..LinesOptions::new(4 << 20, 2) };
    let output = SortedOutput::File { path: Path::new("s3://b/out"), sync: true };
    sort_lines_to(&options, &ByBytes, inputs, output, &*disk, &Unobserved).unwrap();
    let sorted: String = (1..=OBJECTS).map(|number| format!("{number:03}\n")).collect();
    assert_eq!(store.object("s3://b/out").unwrap(), sorted);
    let objects = OBJECTS as u64;
    // The output is inspected before and after.
    assert_eq!(store.requests(StoreCall::Head), objects + 2);
    assert_eq!(store.requests(StoreCall::GetRange), 2 * objects);
}

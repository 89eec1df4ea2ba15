//! Trees to walk.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use xsort_testing::Random;

pub(crate) fn file(path: &Path, bytes: usize) {
    File::create(path).unwrap().write_all(&vec![b'x'; bytes]).unwrap();
}

/// Directories, files, holes, hard links and symbolic links, some of these in a circle or to
/// nowhere.
pub(crate) fn random(root: &Path, seed: u64) {
    let mut random = Random::new(seed);
    let mut directories = vec![root.to_owned()];
    let mut files = Vec::new();
    fs::create_dir(root).unwrap();
    for number in 0..150 {
        let within = directories[random.below(directories.len())].clone();
        let path = within.join(format!("n{number}"));
        match random.below(10) {
            0..3 => {
                fs::create_dir(&path).unwrap();
                directories.push(path);
            }
            3..6 => {
                file(&path, random.below(20_000));
                files.push(path);
            }
            6 => {
                File::create(&path).unwrap().set_len(random.below(1 << 40) as u64).unwrap();
                files.push(path);
            }
            7..9 if !files.is_empty() => {
                fs::hard_link(&files[random.below(files.len())], &path).unwrap();
                files.push(path);
            }
            _ => {
                let target = match random.below(3) {
                    0 => root.join("nowhere"),
                    1 => directories[random.below(directories.len())].clone(),
                    _ => files.last().unwrap_or(&within).clone(),
                };
                symlink(fs::canonicalize(&target).unwrap_or(target), &path).unwrap();
            }
        }
    }
}

//! The directories that a job uses, with the temperatures of their drives.

use super::sensors::Sensors;
use std::path::{Path, PathBuf};
use xsort_disk::public_path;
use xsort_extsort::Reading;
use xsort_status::DriveState;

/// The places where a job works, as `xsort status` shows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobPlaces {
    /// Directories and what they are used for: "input", "scratch", "output".
    pub(crate) directories: Vec<(PathBuf, &'static str)>,
    /// Directories in which a killed job may leave hidden files.
    pub(crate) hidden_file_directories: Vec<PathBuf>,
    /// The limit in bytes per second on reads and writes together; `None` if there is no limit.
    pub(crate) limit_bytes_per_second: Option<u64>,
}

impl JobPlaces {
    /// Makes all paths absolute.
    pub(super) fn make_absolute(&mut self, working: &Path) {
        let directories = self.directories.iter_mut().map(|(path, _)| path);
        for path in directories.chain(&mut self.hidden_file_directories) {
            *path = absolute(working, path);
        }
    }

    /// The directories, each once, with their drives' temperatures where known.
    pub(super) fn drives(
        &self,
        working: &Path,
        reading: &Reading,
        sensors: &mut Sensors,
    ) -> Vec<DriveState> {
        let scratch = reading
            .scratch
            .iter()
            .map(|(path, bytes)| (absolute(working, path), "scratch", *bytes));
        let others = self.directories.iter().map(|(path, role)| (path.clone(), *role, 0));
        let mut directories: Vec<(PathBuf, Vec<&str>, u64)> = Vec::new();
        for (path, role, bytes) in scratch.chain(others) {
            match directories.iter_mut().find(|(known, ..)| *known == path) {
                Some((_, roles, _)) if roles.contains(&role) => {}
                Some((_, roles, _)) => roles.push(role),
                None => directories.push((path, vec![role], bytes)),
            }
        }
        let state = |(path, roles, scratch_bytes): (PathBuf, Vec<&str>, u64)| {
            let (device, celsius) = sensors.read(&path).unzip();
            DriveState {
                path: public_path(&path).display().to_string(),
                role: roles.join(", "),
                scratch_bytes,
                device,
                celsius: celsius.flatten(),
            }
        };
        directories.into_iter().map(state).collect()
    }
}

/// An absolute path, without symbolic links and dots where possible.
fn absolute(working: &Path, path: &Path) -> PathBuf {
    let joined = working.join(path);
    joined.canonicalize().unwrap_or(joined)
}

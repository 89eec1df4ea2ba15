//! How a job's objects are moved, and how much of its memory that takes.

use crate::cost::Requests;
use crate::disk::ObjectDisk;
use crate::settings::{ObjectSettings, READ_BYTES_MAX};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use xsort_disk::{ALIGNMENT, Disk, RateLimit, is_url};

/// Objects take at most `1 / MEMORY_SHARE` of the memory, if that is enough for them.
const MEMORY_SHARE: u64 = 4;
/// With less memory for writing, parts have the smallest size that S3 accepts.
const SMALL_PART_BYTES: u64 = 5 << 20;
const CONNECTIONS_MIN: usize = 2;
/// Ranges of inputs are small enough that the memory could hold at least this many.
const READS_PER_MEMORY: u64 = 128;
const READ_BYTES_MIN: u64 = 1 << 20;
/// Minimum memory for data of a job with objects, in bytes.
const DATA_BYTES_MIN: u64 = 4 << 20;

/// A job's use of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectUse {
    /// True if inputs are objects.
    pub reads: bool,
    /// True if the output is an object.
    pub writes: bool,
}

impl ObjectUse {
    /// Returns the use of objects according to the command's paths.
    pub fn of<P: AsRef<Path>>(
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
    ) -> ObjectUse {
        ObjectUse {
            reads: inputs.into_iter().any(|path| is_url(path.as_ref())),
            writes: output.is_some_and(is_url),
        }
    }
}

/// Settings that the user gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenLimits {
    /// Size of a part in bytes, 5 MiB to 5 GiB.
    pub part_bytes: Option<u64>,
    /// Maximum number of concurrent requests.
    pub connections: Option<u16>,
}

/// How a job's objects are moved.
#[derive(Clone, Debug)]
pub struct ObjectLimits {
    settings: ObjectSettings,
    /// Bytes of memory that this takes.
    pub taken_bytes: u64,
}

impl ObjectLimits {
    /// Decides the limits of a job with `threads` threads and `budget_bytes` bytes of memory.
    /// Returns `None` if it has no objects.
    pub fn decide(
        objects: ObjectUse,
        given: GivenLimits,
        threads: usize,
        budget_bytes: u64,
    ) -> Option<ObjectLimits> {
        if objects == ObjectUse::default() {
            return None;
        }
        let GivenLimits { part_bytes, connections } = given;
        let read_bytes = (budget_bytes / READS_PER_MEMORY).clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        let read_bytes = read_bytes - read_bytes % READ_BYTES_MIN;
        let defaults = ObjectSettings { writers: threads, read_bytes, ..Default::default() };
        let largest = connections.map_or(defaults.connections, usize::from);
        let least = connections.map_or(CONNECTIONS_MIN, usize::from);
        let parts = match part_bytes {
            Some(bytes) => vec![bytes.next_multiple_of(ALIGNMENT as u64)],
            None => vec![defaults.part_bytes, SMALL_PART_BYTES],
        };
        let taken = |settings: &ObjectSettings| match objects.writes {
            true => settings.memory_bytes(),
            false => settings.input_memory_bytes(),
        };
        let candidates = parts.into_iter().flat_map(|part_bytes| {
            let defaults = &defaults;
            let of =
                move |connections| ObjectSettings { part_bytes, connections, ..defaults.clone() };
            (least..=largest).rev().map(of)
        });
        let mut last = None;
        for settings in candidates {
            let taken_bytes = taken(&settings);
            let fits = taken_bytes <= budget_bytes / MEMORY_SHARE;
            last = Some(ObjectLimits { settings, taken_bytes });
            if fits {
                break;
            }
        }
        last
    }

    /// Sets whether the output must not replace an object, and whether it is read back and compared
    /// with the written data.
    #[must_use]
    pub fn of_output(mut self, no_clobber: bool, verify_output: bool) -> ObjectLimits {
        (self.settings.no_clobber, self.settings.verify_output) = (no_clobber, verify_output);
        self
    }

    /// Sets how long the job repeats requests without success, whether or not the store has ever
    /// answered.
    #[must_use]
    pub fn giving_up_after(mut self, time: Duration) -> ObjectLimits {
        let retry = &mut self.settings.retry;
        retry.give_up_after = time;
        retry.give_up_unreached_after = time;
        self
    }

    /// Returns the minimum memory with which a job can begin, in bytes.
    pub fn needed_bytes(&self) -> u64 {
        self.taken_bytes + DATA_BYTES_MIN
    }

    /// Returns the requests of a job with these inputs and this output, each with its size in
    /// bytes. `lists` list requests were made to find the inputs.
    pub fn requests<'p>(
        &self,
        inputs: impl IntoIterator<Item = (&'p Path, u64)>,
        (output, bytes): (&Path, u64),
        lists: u64,
    ) -> Requests {
        let mut all = Requests { gets: 0, puts: lists };
        for (_, bytes) in inputs.into_iter().filter(|(path, _)| is_url(path)) {
            all += Requests::of_input(bytes, self.settings.read_bytes);
        }
        if is_url(output) {
            all += Requests::of_output(bytes, self.settings.part_bytes);
            if self.settings.verify_output {
                all += Requests::of_reading_back(bytes, self.settings.part_bytes);
            }
        }
        all
    }

    /// Returns a disk on which URLs are objects, on top of `local`.
    pub fn disk(&self, local: Arc<dyn Disk>, rate: Option<Arc<RateLimit>>) -> Arc<dyn Disk> {
        Arc::new(ObjectDisk::new(local, self.settings.clone()).with_rate(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_connections_leave_most_of_the_memory_to_the_sort() {
        let nothing = GivenLimits::default();
        let objects = ObjectUse { reads: true, writes: true };
        let decide = |budget_bytes| {
            let limits = ObjectLimits::decide(objects, nothing, 2, budget_bytes).unwrap();
            assert!(limits.taken_bytes <= (budget_bytes / MEMORY_SHARE).max(50 << 20));
            (limits.settings.connections, limits.settings.part_bytes >> 20)
        };
        assert_eq!(decide(1 << 30), (16, 8));
        assert_eq!(decide(400 << 20), (7, 8));
        assert_eq!(decide(256 << 20), (7, 5));
        assert_eq!(decide(64 << 20), (2, 5));
        let given = GivenLimits { part_bytes: Some((6 << 20) + 1), connections: Some(40) };
        let limits = ObjectLimits::decide(objects, given, 2, 1 << 20).unwrap();
        assert_eq!(
            (limits.settings.connections, limits.settings.part_bytes),
            (40, (6 << 20) + 4096)
        );
        let reads = ObjectUse { reads: true, writes: false };
        let limits = ObjectLimits::decide(reads, nothing, 2, 1 << 30).unwrap();
        assert_eq!(limits.taken_bytes, 16 << 20);
        assert!(ObjectLimits::decide(ObjectUse::default(), nothing, 2, 1 << 30).is_none());
    }

    #[test]
    fn urls_are_objects_wherever_they_are_named() {
        let of = |inputs: &[&str], output: Option<&str>| {
            let ObjectUse { reads, writes } = ObjectUse::of(inputs, output.map(Path::new));
            (reads, writes)
        };
        assert_eq!(of(&["a", "s3://b/k"], Some("out")), (true, false));
        assert_eq!(of(&["a"], Some("s3://b/k")), (false, true));
        assert_eq!(of(&["./s3://b/k"], None), (false, false));
    }
}

//! Settings for moving objects, and the memory that this takes.

use std::time::Duration;
use xsort_disk::ALIGNMENT;

/// Maximum number of parts of an object.
pub(crate) const PARTS_MAX: u64 = 10_000;
/// Minimum size of a part for S3, except for the last one.
const S3_PART_BYTES_MIN: u64 = 5 << 20;
/// Parts grow by whole MiBs.
const PART_STEP: u64 = 1 << 20;
/// Maximum size of a part.
const PART_BYTES_MAX: u64 = 5 << 30;
/// Maximum size of a range: large enough that the round trip takes less time than the bytes.
pub(crate) const READ_BYTES_MAX: u64 = 8 << 20;
/// Memory of the HTTP client for each connection: at most 400 KiB of an answer that has not been
/// taken yet (hyper), as much of outgoing data, and TLS.
const CONNECTION_BYTES: u64 = 1 << 20;

/// Settings for moving objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSettings {
    /// Size in bytes of a part of an output, a multiple of the page size; S3 accepts 5 MiB to 5
    /// GiB. An output has at most 10,000 parts.
    pub part_bytes: u64,
    /// Size in bytes of a range of an input that is read completely, a multiple of the page size.
    pub read_bytes: u64,
    /// Maximum number of concurrent requests.
    pub connections: usize,
    /// Number of ranges of an output that are written concurrently, each by ascending offsets: the
    /// sort's threads. If a sort writes more ranges, it may wait for ever.
    pub writers: usize,
    /// If set, an output must not replace an object.
    pub no_clobber: bool,
    /// If set, an output is read back after it was published, and compared with the written data.
    pub verify_output: bool,
    /// How requests are repeated.
    pub retry: RetryPolicy,
}

impl Default for ObjectSettings {
    fn default() -> ObjectSettings {
        ObjectSettings {
            part_bytes: 8 << 20,
            read_bytes: READ_BYTES_MAX,
            connections: 16,
            writers: 1,
            no_clobber: false,
            verify_output: false,
            retry: RetryPolicy::default(),
        }
    }
}

/// How requests are repeated that failed for a passing reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The pause before the second attempt. Each later pause is twice as long, minus a random part
    /// of at most half.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// Time limit for repeating a request. It starts anew when bytes arrive.
    pub give_up_after: Duration,
    /// Time limit while the store has not given any final answer: then most likely a name is wrong,
    /// or waiting for the store is not this job's task.
    pub give_up_unreached_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy {
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(20),
            give_up_after: Duration::from_secs(120),
            give_up_unreached_after: Duration::from_secs(15),
        }
    }
}

impl ObjectSettings {
    /// Returns the settings with parts large enough for an output of `bytes` bytes.
    pub fn for_output(self, bytes: u64) -> ObjectSettings {
        let needed = bytes.div_ceil(PARTS_MAX).next_multiple_of(PART_STEP);
        ObjectSettings { part_bytes: self.part_bytes.max(needed), ..self }
    }

    /// Returns the maximum length of an output, in bytes.
    pub fn output_bytes_max(&self) -> u64 {
        self.part_bytes.saturating_mul(PARTS_MAX)
    }

    /// Returns the maximum memory of an unpublished output, in bytes, in addition to the leases of
    /// requests: the parts that are being filled or sent, and the buffers of connections. Inputs
    /// alone need only the latter.
    pub fn memory_bytes(&self) -> u64 {
        self.part_buffers() as u64 * self.part_bytes + self.input_memory_bytes()
    }

    /// Returns the maximum memory of inputs, in bytes, in addition to the leases of requests.
    pub fn input_memory_bytes(&self) -> u64 {
        self.connections as u64 * CONNECTION_BYTES
    }

    /// Returns the number of parts that can be in memory: enough that no writer waits for ever (see
    /// `upload`), and that each connection can send one while each writer fills another.
    pub(crate) fn part_buffers(&self) -> usize {
        (3 * self.writers + 3).max(self.connections + self.writers + 2)
    }

    /// Checks the settings for S3, like [`check`](Self::check).
    pub(crate) fn check_for_s3(&self) {
        self.check();
        assert!(
            self.part_bytes >= S3_PART_BYTES_MIN,
            "parts of {} bytes: S3 takes 5 MiB and more",
            self.part_bytes
        );
    }

    /// Checks the settings.
    ///
    /// # Panics
    /// If a number is out of its range.
    pub(crate) fn check(&self) {
        assert!(
            (ALIGNMENT as u64..=PART_BYTES_MAX).contains(&self.part_bytes)
                && self.part_bytes.is_multiple_of(ALIGNMENT as u64),
            "parts of {} bytes are none of whole pages, or too large",
            self.part_bytes
        );
        assert!(
            self.read_bytes > 0 && self.read_bytes.is_multiple_of(ALIGNMENT as u64),
            "ranges of {} bytes are none of whole pages",
            self.read_bytes
        );
        assert!(self.connections > 0, "without a connection nothing moves");
        assert!(self.writers > 0, "without a writer there is no output");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_with_the_output_and_memory_with_the_parts() {
        let settings = ObjectSettings { writers: 4, ..ObjectSettings::default() };
        assert_eq!(settings.part_buffers(), 22);
        assert_eq!(settings.memory_bytes(), (22 * 8 + 16) << 20);
        assert_eq!(settings.clone().for_output(78 << 30), settings.clone().for_output(0));
        let large = settings.clone().for_output(5 << 40);
        large.check_for_s3();
        assert!(large.output_bytes_max() >= 5 << 40 && large.part_bytes == 525 << 20);
        let many = ObjectSettings { writers: 16, ..settings };
        assert_eq!(many.part_buffers(), 51);
    }
}

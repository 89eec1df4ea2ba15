//! How objects are moved, and how much memory that takes.

use std::time::Duration;
use xsort_disk::ALIGNMENT;

/// Most parts of an object.
pub(crate) const PARTS_MAX: u64 = 10_000;
/// Least bytes of a part of S3 that isn't the last one.
const S3_PART_BYTES_MIN: u64 = 5 << 20;
/// Parts grow by whole MiBs.
const PART_STEP: u64 = 1 << 20;
/// Most bytes of a part.
const PART_BYTES_MAX: u64 = 5 << 30;
/// Most bytes of a range: its round trip takes less time than its bytes.
pub(crate) const READ_BYTES_MAX: u64 = 8 << 20;
/// What the HTTP client has in memory for each connection: at most 400 KiB of an answer that nobody
/// has taken yet (hyper), as much on its way out, and TLS.
const CONNECTION_BYTES: u64 = 1 << 20;

/// How objects are moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSettings {
    /// Bytes of a part of an output, in whole pages; S3 takes 5 MiB to 5 GiB. An output has 10,000
    /// parts at most.
    pub part_bytes: u64,
    /// Bytes of a range of an input that is read whole, in whole pages.
    pub read_bytes: u64,
    /// Requests at once.
    pub connections: usize,
    /// How many ranges of an output are written side by side, each of them by ascending offsets:
    /// the sort's threads. With more than this a sort may wait for ever.
    pub writers: usize,
    /// An output must not replace an object.
    pub no_clobber: bool,
    /// An output is read back once it is there, and compared with what was written.
    pub verify_output: bool,
    /// How often requests are made again.
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

/// How often requests are made again that failed for a passing reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The pause before the second attempt; each later one is twice as long, less up to a half by
    /// chance.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// How long it is tried. Bytes that arrive begin this time anew.
    pub give_up_after: Duration,
    /// The same while the store has answered nothing yet that counts: then most likely a name is
    /// wrong, or it isn't this job that has to wait.
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
    /// The same with parts so large that an output of so many bytes can be made of them.
    pub fn for_output(self, bytes: u64) -> ObjectSettings {
        let needed = bytes.div_ceil(PARTS_MAX).next_multiple_of(PART_STEP);
        ObjectSettings { part_bytes: self.part_bytes.max(needed), ..self }
    }

    /// The longest output, in bytes.
    pub fn output_bytes_max(&self) -> u64 {
        self.part_bytes.saturating_mul(PARTS_MAX)
    }

    /// What an output under way takes at most, in bytes, beside the leases of requests: the parts
    /// that are being filled or sent, and the buffers of connections. Inputs alone take only the
    /// latter.
    pub fn memory_bytes(&self) -> u64 {
        self.part_buffers() as u64 * self.part_bytes + self.input_memory_bytes()
    }

    /// What inputs take at most, in bytes, beside the leases of requests.
    pub fn input_memory_bytes(&self) -> u64 {
        self.connections as u64 * CONNECTION_BYTES
    }

    /// How many parts can be in memory at once: so many that no writer waits for ever (see
    /// `upload`), and that each connection has one while each writer fills another.
    pub(crate) fn part_buffers(&self) -> usize {
        (3 * self.writers + 3).max(self.connections + self.writers + 2)
    }

    /// As [`check`](Self::check), for S3.
    pub(crate) fn check_for_s3(&self) {
        self.check();
        assert!(
            self.part_bytes >= S3_PART_BYTES_MIN,
            "parts of {} bytes: S3 takes 5 MiB and more",
            self.part_bytes
        );
    }

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

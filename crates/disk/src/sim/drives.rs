//! Time on the simulated disk: when a drive ends a transfer.
//!
//! A drive is a queue with one server. It takes transfers in the order of submission. Each occupies
//! it for its bytes divided by the rate of its direction, and ends a fixed latency later. So a
//! drive that always has something in flight moves exactly its rate, and an idle drive loses that
//! time, as on a real machine. The end is computed when a transfer is submitted, not when a thread
//! of the simulation reaches it: a busy machine delivers a completion late, but slows no drive
//! down.
//!
//! It doesn't model flash or disk heads: distances, sizes and fill level have no effect.

use crate::Direction;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A drive of a [`SimDisk`](crate::SimDisk) that takes real time.
#[derive(Clone, Debug, PartialEq)]
pub struct SimDrive {
    /// Files in this directory and below are on it, unless another drive's directory is closer.
    pub directory: PathBuf,
    /// Rate of reading, in bytes per second.
    pub read_bytes_per_second: f64,
    /// Rate of writing, in bytes per second.
    pub write_bytes_per_second: f64,
    /// If true, reads and writes have separate queues and reach both rates at once; otherwise they
    /// share the drive's time.
    pub is_duplex: bool,
    /// Time from when a transfer stops occupying the drive to its end.
    pub latency: Duration,
    /// How the drive slows down, if it does.
    pub throttle: Option<Throttle>,
}

/// A drive that gets slower, as a real one does when it is hot or its fast cells are full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// Bytes that it moves at full rate, in both directions together.
    pub after_bytes: u64,
    /// Share of its rates (above 0, up to 1) that remains afterwards.
    pub share: f64,
}

impl SimDrive {
    /// Returns a drive that reads or writes `bytes_per_second`, one direction at a time.
    pub fn new(directory: impl Into<PathBuf>, bytes_per_second: f64) -> SimDrive {
        SimDrive {
            directory: directory.into(),
            read_bytes_per_second: bytes_per_second,
            write_bytes_per_second: bytes_per_second,
            is_duplex: false,
            latency: Duration::ZERO,
            throttle: None,
        }
    }

    /// Checks the drive's options.
    ///
    /// # Panics
    /// If a rate or a share is out of its range.
    pub(crate) fn check(&self) {
        let rates = [self.read_bytes_per_second, self.write_bytes_per_second];
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0), "a drive moves bytes");
        let shares = self.throttle.map(|throttle| throttle.share);
        assert!(
            shares.is_none_or(|share| share > 0.0 && share <= 1.0),
            "share is from above 0 to 1"
        );
    }
}

/// The time for which a drive is busy with its transfers so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// When it is done with all transfers, by direction; the first one counts for both if they
    /// share its time.
    free_at: [Option<Instant>; 2],
    moved_bytes: u64,
}

impl Clock {
    /// Returns the time at which a transfer submitted at `now` ends.
    pub(super) fn end(
        &mut self,
        drive: &SimDrive,
        direction: Direction,
        bytes: u64,
        now: Instant,
    ) -> Instant {
        let (way, rate) = match direction {
            Direction::Read => (0, drive.read_bytes_per_second),
            Direction::Write => (1, drive.write_bytes_per_second),
        };
        let throttle = drive.throttle.filter(|throttle| self.moved_bytes >= throttle.after_bytes);
        let rate = rate * throttle.map_or(1.0, |throttle| throttle.share);
        self.moved_bytes += bytes;
        let free_at = &mut self.free_at[if drive.is_duplex { way } else { 0 }];
        let begins_at = free_at.map_or(now, |free_at| free_at.max(now));
        let through_at = begins_at + Duration::from_secs_f64(bytes as f64 / rate);
        *free_at = Some(through_at);
        through_at + drive.latency
    }
}

/// Returns the number of the drive that holds a path: the one with the closest directory above it.
pub(super) fn drive_of(drives: &[SimDrive], path: &Path) -> Option<usize> {
    let above = drives.iter().enumerate().filter(|(_, drive)| path.starts_with(&drive.directory));
    above.max_by_key(|(_, drive)| drive.directory.components().count()).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn transfers_of_a_drive_end_one_after_the_other() {
        let now = Instant::now();
        let mut drive = SimDrive { write_bytes_per_second: 50.0, ..SimDrive::new("/", 100.0) };
        let mut clock = Clock::default();
        assert_eq!(clock.end(&drive, Direction::Read, 100, now), now + SECOND);
        assert_eq!(clock.end(&drive, Direction::Write, 100, now), now + 3 * SECOND);
        // An idle drive's time is lost; a latency delays the end but not the next transfer.
        drive.latency = SECOND;
        assert_eq!(clock.end(&drive, Direction::Read, 100, now + 10 * SECOND), now + 12 * SECOND);
        assert_eq!(clock.end(&drive, Direction::Read, 100, now + 10 * SECOND), now + 13 * SECOND);
    }

    #[test]
    fn directions_of_a_duplex_drive_have_a_queue_each() {
        let now = Instant::now();
        let drive = SimDrive { is_duplex: true, ..SimDrive::new("/", 100.0) };
        let mut clock = Clock::default();
        let ends = [Direction::Read, Direction::Write, Direction::Read]
            .map(|way| clock.end(&drive, way, 100, now));
        assert_eq!(ends, [now + SECOND, now + SECOND, now + 2 * SECOND]);
    }

    #[test]
    fn a_drive_throttles_after_what_it_has_moved() {
        let now = Instant::now();
        let throttle = Some(Throttle { after_bytes: 100, share: 0.25 });
        let drive = SimDrive { throttle, ..SimDrive::new("/", 100.0) };
        let mut clock = Clock::default();
        let ends = [(); 2].map(|()| clock.end(&drive, Direction::Write, 100, now));
        assert_eq!(ends, [now + SECOND, now + 5 * SECOND]);
    }

    #[test]
    fn the_closest_directory_above_a_file_is_its_drive() {
        let drives = ["/", "/a", "/a/b", "/ab"].map(|directory| SimDrive::new(directory, 1.0));
        let of = |path: &str| drive_of(&drives, Path::new(path));
        assert_eq!(
            ["/x", "/a/x", "/a/b", "/a/b/x", "/abc"].map(of),
            [Some(0), Some(1), Some(2), Some(2), Some(0)]
        );
        assert_eq!(drive_of(&drives[1..], Path::new("/x")), None);
    }
}

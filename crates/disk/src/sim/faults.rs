//! What goes wrong on a simulated disk, and when. Every decision is a hash of the seed and the
//! operation. It never depends on the clock or on the order of threads. So the seed is the bug
//! report: the same program with the same bytes meets the same faults.

use super::drives::SimDrive;
use crate::{ALIGNMENT, Operation};
use rustix::io::Errno;
use std::time::Duration;

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileRole {
    /// Opened by `open_input`.
    Input,
    /// Created by `create_output`, or opened by `open_in_place`.
    Output,
    /// Created by `create_scratch`.
    Scratch,
}

/// Where in a file a fault occurs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultSite {
    /// At every operation.
    Everywhere,
    /// At transfers that cover this byte.
    Byte(u64),
    /// At this share (0 to 1) of operations, chosen by the seed.
    Chance(f64),
}

/// Operations that fail permanently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The operation that fails.
    pub operation: Operation,
    /// Only on files with this role; `None` for all.
    pub role: Option<FileRole>,
    /// Where it fails.
    pub site: FaultSite,
    /// The system's error number, such as 5 for EIO.
    pub errno: i32,
}

/// How stored bytes come to differ from written ones. No operation reports it: the caller has to
/// detect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One bit of the written bytes is stored wrong.
    FlipBit,
    /// A write is acknowledged but not stored: the old bytes remain (zeroes in new blocks).
    LoseWrite,
}

/// Writes whose bytes are damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corruption {
    /// The role of the files whose writes are damaged.
    pub role: FileRole,
    /// Where. With `Byte`, the bit flips in that byte.
    pub site: FaultSite,
    /// The kind of damage.
    pub damage: Damage,
}

/// How a [`SimDisk`](crate::SimDisk) behaves. By default nothing goes wrong, but completions are
/// shuffled.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Decides everything that is random.
    pub seed: u64,
    /// Share of transfers (0 to 1) that move only a part of their bytes.
    pub short_transfers: f64,
    /// Share of transfers (0 to 0.9) that are interrupted (EINTR) or temporarily refused (EAGAIN).
    pub interrupts: f64,
    /// Longest delay of a completion.
    pub delay_max: Duration,
    /// Number of threads that deliver completions; 0 means the default, 3.
    pub threads: usize,
    /// Space for all files together, in bytes; more is ENOSPC.
    pub capacity_bytes: Option<u64>,
    /// Permanent failures.
    pub faults: Vec<Fault>,
    /// Writes that are stored wrong.
    pub corruptions: Vec<Corruption>,
    /// The power fails after this many operations (transfers and steps of other calls): then
    /// everything fails with EIO, until [`SimDisk::power_cut`](crate::SimDisk::power_cut) shows
    /// what survived. Operations are counted in the order of execution, so this is the one decision
    /// that depends on threads.
    pub power_goes_after: Option<u64>,
    /// The value of [`Drive::is_memory`](crate::Drive::is_memory).
    pub is_memory: bool,
    /// Drives that take real time. Files outside all of them take only the time of copying.
    pub drives: Vec<SimDrive>,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            seed: 0,
            short_transfers: 0.0,
            interrupts: 0.0,
            delay_max: Duration::ZERO,
            threads: 0,
            capacity_bytes: None,
            faults: Vec::new(),
            corruptions: Vec::new(),
            power_goes_after: None,
            is_memory: false,
            drives: Vec::new(),
        }
    }
}

impl SimOptions {
    /// Returns options with ordinary failures that every caller must handle: short transfers,
    /// interruptions, delays.
    pub fn rough(seed: u64) -> SimOptions {
        SimOptions {
            seed,
            short_transfers: 0.25,
            interrupts: 0.15,
            delay_max: Duration::from_micros(200),
            ..SimOptions::default()
        }
    }

    /// Checks the options.
    ///
    /// # Panics
    /// If a share or a rate is out of its range.
    pub(crate) fn check(&self) {
        assert!(
            (0.0..=1.0).contains(&self.short_transfers),
            "short_transfers is a share from 0 to 1"
        );
        assert!(
            (0.0..=0.9).contains(&self.interrupts),
            "interrupts is a share from 0 to 0.9: more would never end"
        );
        self.drives.iter().for_each(SimDrive::check);
    }

    /// Returns the error of an operation without an offset, if it fails. `step` distinguishes two
    /// operations of one kind in one call.
    pub(crate) fn fault(&self, operation: Operation, role: FileRole, step: u32) -> Option<Errno> {
        self.fault_in(operation, role, 0, 1, step)
    }

    /// Returns the error of a transfer of `bytes` bytes at `offset`, if it fails.
    pub(crate) fn fault_in(
        &self,
        operation: Operation,
        role: FileRole,
        offset: u64,
        bytes: u64,
        attempt: u32,
    ) -> Option<Errno> {
        let meets = |fault: &&Fault| {
            let dice =
                || self.hash(&[0xfa, operation as u64, role as u64, offset, u64::from(attempt)]);
            fault.operation == operation
                && fault.role.is_none_or(|wanted| wanted == role)
                && occurs(fault.site, offset, bytes, dice)
        };
        self.faults.iter().find(meets).map(|fault| Errno::from_raw_os_error(fault.errno))
    }

    /// Returns the temporary error of a transfer, if it has one.
    pub(crate) fn interrupt(
        &self,
        operation: Operation,
        role: FileRole,
        offset: u64,
        attempt: u32,
    ) -> Option<Errno> {
        let dice = self.hash(&[0x1e, operation as u64, role as u64, offset, u64::from(attempt)]);
        (share(dice) < self.interrupts).then_some(if dice & 1 == 0 {
            Errno::INTR
        } else {
            Errno::AGAIN
        })
    }

    /// Returns how many of `bytes` (aligned) a transfer moves: all, or a multiple of a 512-byte
    /// sector that is at least one whole block, so that a direct transfer always makes progress.
    pub(crate) fn moved(
        &self,
        operation: Operation,
        role: FileRole,
        offset: u64,
        bytes: usize,
        attempt: u32,
    ) -> usize {
        let dice = self.hash(&[0x50, operation as u64, role as u64, offset, u64::from(attempt)]);
        if bytes <= ALIGNMENT || share(dice) >= self.short_transfers {
            return bytes;
        }
        let sectors = (bytes - ALIGNMENT) / 512;
        ALIGNMENT + 512 * (splitmix(dice) % sectors as u64) as usize
    }

    pub(crate) fn delay(
        &self,
        operation: Operation,
        role: FileRole,
        offset: u64,
        attempt: u32,
    ) -> Duration {
        if self.delay_max.is_zero() {
            return Duration::ZERO;
        }
        let dice = self.hash(&[0xde, operation as u64, role as u64, offset, u64::from(attempt)]);
        self.delay_max.mul_f64(share(dice))
    }

    /// Returns the damage to a write of `bytes` bytes at `offset`, if any, and the flipped bit's
    /// position in the file (in bits).
    pub(crate) fn damage(&self, role: FileRole, offset: u64, bytes: u64) -> Option<(Damage, u64)> {
        let dice = self.hash(&[0xc0, role as u64, offset]);
        let corruption = self.corruptions.iter().find(|corruption| {
            corruption.role == role && occurs(corruption.site, offset, bytes, || dice)
        })?;
        let bit = match corruption.site {
            FaultSite::Byte(byte) => byte * 8 + dice % 8,
            FaultSite::Everywhere | FaultSite::Chance(_) => {
                offset * 8 + splitmix(dice) % (bytes * 8)
            }
        };
        Some((corruption.damage, bit))
    }

    /// Returns a hash of the seed and `words`.
    pub(crate) fn hash(&self, words: &[u64]) -> u64 {
        words.iter().fold(splitmix(self.seed), |hash, &word| splitmix(hash ^ splitmix(word)))
    }
}

fn occurs(site: FaultSite, offset: u64, bytes: u64, dice: impl FnOnce() -> u64) -> bool {
    match site {
        FaultSite::Everywhere => true,
        FaultSite::Byte(byte) => (offset..offset + bytes).contains(&byte),
        FaultSite::Chance(chance) => share(dice()) < chance,
    }
}

/// Converts a hash to a number from 0 to 1.
fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: the finalizer of
/// SplitMix64.
fn splitmix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

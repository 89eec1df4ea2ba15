//! The program's calls that differ between systems; those of the crates are in their own files.

use std::io;

/// Returns random bytes from the system (getrandom(2)).
#[cfg(all(target_os = "linux", not(portable)))]
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    use rustix::rand::{GetRandomFlags, getrandom};
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}

/// Returns random bytes from the system (urandom(4)).
#[cfg(not(all(target_os = "linux", not(portable))))]
pub(crate) fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    use std::io::Read;
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the set of signals that are ignored; bit 0 is signal 1.
#[cfg(all(target_os = "linux", not(portable)))]
pub(crate) fn ignored_signals(_: &[i32]) -> u64 {
    ignored_mask(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

/// Returns which of some signals are ignored; bit 0 is signal 1.
#[cfg(not(all(target_os = "linux", not(portable))))]
pub(crate) fn ignored_signals(signals: &[i32]) -> u64 {
    let ignored = signals.iter().filter(|&&signal| xsort_disk::is_signal_ignored(signal));
    ignored.fold(0, |mask, signal| mask | 1 << (signal - 1))
}

/// The set of ignored signals in the text of `/proc/self/status`; bit 0 is signal 1.
#[cfg(any(test, all(target_os = "linux", not(portable))))]
fn ignored_mask(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::{SIGHUP, SIGPIPE};

    #[test]
    fn ignored_signals_are_read_from_the_kernels_mask() {
        let mask =
            ignored_mask("Name:\txsort\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!(mask, 1 << (SIGHUP - 1) | 1 << (SIGPIPE - 1));
        assert_eq!(ignored_mask(""), 0);
    }
}

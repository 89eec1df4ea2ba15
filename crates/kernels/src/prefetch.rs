//! Prefetches: hints that some bytes will be used soon. Only this file uses the instruction.
//!
//! A random access costs 80-100 ns if the line is in memory, and a sort does one or two of them a
//! record. Prefetched ten records ahead, they cost a few ns. Prefetching is only a hint: no address
//! can fault, and on processors other than x86-64 and aarch64 it does nothing.
#![allow(unsafe_code)]

/// Number of bytes that one prefetch loads.
pub(crate) const LINE_BYTES: usize = 64;

/// Maximum number of lines prefetched for one record. The hardware's stream prefetcher finds the
/// rest of a longer record, and a core has no more than 16 line fill buffers.
const LINES_MAX: usize = 4;

/// Prefetches the line at `address`, which may be any value.
#[inline(always)]
pub(crate) fn line(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: prefetch reads nothing that a program could see and never faults, whatever the
    // address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above. Rust's stable intrinsics lack this instruction.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

/// Prefetches the line at `address`, which may be any value, for writing.
#[inline(always)]
pub(crate) fn line_to_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: prefetch changes nothing that a program could see and never faults, whatever the
    // address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(address.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "prfm pstl1keep, [{}]",
            in(reg) address,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = address;
}

/// Prefetches the first lines of the record of `record_bytes` bytes at `address`, which may be any
/// value.
#[inline(always)]
pub(crate) fn record(address: *const u8, record_bytes: usize) {
    for_lines(address, record_bytes, line);
}

/// Prefetches the first lines of the record at `address`, which may be any value, for writing.
#[inline(always)]
pub(crate) fn record_to_write(address: *const u8, record_bytes: usize) {
    for_lines(address, record_bytes, line_to_write);
}

#[inline(always)]
fn for_lines(address: *const u8, record_bytes: usize, ask: impl Fn(*const u8)) {
    let bytes = record_bytes.min(LINES_MAX * LINE_BYTES);
    ask(address);
    let mut at = LINE_BYTES;
    while at < bytes {
        ask(address.wrapping_add(at));
        at += LINE_BYTES;
    }
    // A record that starts in the middle of a line may end in one more.
    ask(address.wrapping_add(bytes - 1));
}

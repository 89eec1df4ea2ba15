//! The protocol on real atomics between real threads, with plain memory in between: a test for Miri
//! and a stress test for the processor.
#![allow(unsafe_code, reason = "the promise of the protocol, put to the test")]

use super::{
    All, NONE, Word, buffer_of, is_current, pin, protected, publish, sequence_of, unpin,
    version_word,
};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

const READERS: usize = 3;
const VERSIONS: u64 = if cfg!(miri) { 60 } else { 100_000 };
const WORDS: usize = 16;

/// Bytes that are protected only by the protocol.
struct Buffer(UnsafeCell<[u64; WORDS]>);

// SAFETY: this is what the test shows: the writer writes only to buffers without holders.
unsafe impl Sync for Buffer {}

#[test]
fn no_version_is_torn_between_threads() {
    let (current, ticket) = (AtomicU64::new(version_word(0, 1)), AtomicU32::new(1));
    let slots: [AtomicU64; READERS] = Default::default();
    let buffers: Vec<Buffer> =
        (0..READERS + 2).map(|_| Buffer(UnsafeCell::new([1; WORDS]))).collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for slot in &slots {
            scope.spawn(|| {
                let mut held = NONE;
                while !is_over.load(Ordering::Relaxed) {
                    if !is_current(&current, held) {
                        let word = pin::<_, All>(&current, slot, current.load_relaxed());
                        assert!(sequence_of(word) >= sequence_of(held));
                        held = word;
                    }
                    // SAFETY: the buffer is pinned.
                    let bytes = unsafe { *buffers[buffer_of(held)].0.get() };
                    assert_eq!(bytes, [sequence_of(held); WORDS]);
                }
                unpin(slot);
            });
        }
        let mut word = version_word(0, 1);
        for sequence in 2..=VERSIONS {
            let held: Vec<u64> =
                slots.iter().map(|slot| protected::<_, All>(word, slot)).chain([word]).collect();
            let is_held = |buffer: &usize| {
                held.iter().any(|held| *held != NONE && buffer_of(*held) == *buffer)
            };
            let buffer = (0..buffers.len())
                .find(|buffer| !is_held(buffer))
                .expect("readers + 2 buffers are enough");
            // SAFETY: the buffer has no holders, and no reader can pin it before it is published.
            unsafe { *buffers[buffer].0.get() = [sequence; WORDS] };
            word = version_word(buffer, sequence);
            publish(&current, &ticket, word);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

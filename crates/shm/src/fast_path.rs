//! The fast path of a [`LocalReader`](crate::LocalReader) from one version to the next.
//!
//! A `LocalReader` has one Pin, which it doesn't share. Once it has read from a buffer, everything
//! that [`ReaderState::pin_current`] looks up for the next version in that buffer is known: the
//! slot, the mapping, its length. The fast path stores these side by side and loads them before the
//! exchange in the slot, because no later load starts until the exchange is over. The accesses to
//! shared words, and their order, are the same as in `pin_current`.
#![allow(unsafe_code, reason = "reads bytes that are pinned")]

use crate::attachment::Contents;
use crate::checksum::checksum;
use crate::layout::{HEADER_BYTES, Header};
use crate::pin::Pin;
use crate::protocol::{self, All, NONE, Word, buffer_of, is_stamped};
use crate::reader_state::ReaderState;
use crate::sys::Mapping;
use std::hash::Hasher;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// The pointers needed to read a new version. They point to what a [`ReaderState`] keeps until its
/// `release` or its end.
pub(crate) struct FastPath {
    pin: NonNull<Pin>,
    slot: NonNull<AtomicU64>,
    current: NonNull<AtomicU64>,
    mark: NonNull<AtomicU64>,
    lineage: u64,
    verify: bool,
    /// Buffers read so far, by index.
    buffers: Vec<Option<Buffer>>,
}

/// A mapped buffer.
#[derive(Clone, Copy)]
struct Buffer {
    mapping: NonNull<Mapping>,
    header: NonNull<Header>,
    /// Number of bytes after the header.
    capacity: u64,
}

impl FastPath {
    /// Adds the buffer of a version that the slow path has pinned. Returns `None` if its Pin has no
    /// slot.
    pub(crate) fn extend(known: Option<FastPath>, state: &ReaderState, pin: &Pin) -> Option<Self> {
        let slot = NonNull::from(pin.slot()?.pinned());
        let (current, mark) = state.watched();
        let mut path = known.unwrap_or(FastPath {
            pin: NonNull::from(pin),
            slot,
            current,
            mark,
            lineage: 0,
            verify: state.verifies(),
            buffers: Vec::new(),
        });
        // The child of a fork reattaches and then has other mappings.
        if path.slot != slot || path.current != current {
            path.buffers.clear();
        }
        (path.pin, path.slot, path.current, path.mark) = (NonNull::from(pin), slot, current, mark);
        path.lineage = state.attachment().lineage();
        let mapping = pin.mapping()?;
        // SAFETY: it is the Pin's mapping, so it is one of the state's mappings.
        let mapped = unsafe { mapping.as_ref() };
        let index = buffer_of(pin.word.get());
        if path.buffers.len() <= index {
            path.buffers.resize(index + 1, None);
        }
        path.buffers[index] = Some(Buffer {
            mapping,
            header: NonNull::from(mapped.at::<Header>(0)),
            capacity: (mapped.length() - HEADER_BYTES) as u64,
        });
        Some(path)
    }

    /// Pins the current version. `None` means: take the slow path. The Pin's previous version is
    /// then no longer protected.
    #[inline]
    pub(crate) fn pin_current<H: Hasher + Default>(&self) -> Option<&Pin> {
        // SAFETY: all of them belong to the state, which keeps them until its `release` or its end,
        // and then the owner of this path drops it.
        let (pin, slot, current, mark): (&Pin, &AtomicU64, &AtomicU64, &AtomicU64) = unsafe {
            (self.pin.as_ref(), self.slot.as_ref(), self.current.as_ref(), self.mark.as_ref())
        };
        let seen = current.load_relaxed();
        let Buffer { mapping, header, capacity } = (*self.buffers.get(buffer_of(seen))?)?;
        if seen == NONE || mark.load_relaxed() == 0 {
            return None;
        }
        let word = protocol::pin::<_, All>(current, slot, seen);
        // SAFETY: it is in a mapping that the state keeps. If the mapping was replaced, `extend`
        // has replaced it here, too.
        let header: &Header = unsafe { header.as_ref() };
        if word != seen
            || !is_stamped(&header.version, word)
            || header.lineage.load_relaxed() != self.lineage
        {
            return None;
        }
        // Loaded once, so that the checked value is the one used.
        let length = header.length.load_relaxed();
        if length > capacity {
            return None;
        }
        // SAFETY: as above.
        let bytes = unsafe { mapping.as_ref() }.bytes(HEADER_BYTES, length as usize);
        let contents = Contents { bytes, checksum: header.checksum.load_relaxed() };
        // SAFETY: the bytes are pinned, and mapped for as long as the state has the mapping.
        if self.verify && checksum::<H>(unsafe { bytes.as_ref() }) != contents.checksum {
            return None;
        }
        // The hasher may have forked: in the child, the slot belongs to the parent.
        if mark.load_relaxed() == 0 {
            return None;
        }
        pin.set_version(word, mapping, contents);
        Some(pin)
    }
}

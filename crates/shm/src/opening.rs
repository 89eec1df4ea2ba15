//! How a writer begins: what it finds, and what it makes of it.
//!
//! ```text
//!  state and slot_table that go together, and nobody else can write to   -> they go on
//!  a state without its slot_table, or that others could write to         -> both anew, with the number and a copy of the last version
//!  nothing, or an empty state                                      -> both anew
//! ```
//!
//! Anew means: complete files under other names, then the slot_table is put in place, then the
//! state. Until then the old state stays as it is, so that neither a full disk nor a kill loses a
//! version.
#![allow(unsafe_code, reason = "copies the last version")]

use crate::attachment::{Contents, is_refusal, map_buffer};
use crate::checksum::{checksum, hasher_name};
use crate::error::{Error, Result};
use crate::files::{self, Claim, Names, Owner, Spare};
use crate::layout::{HEADER_BYTES, Header, LAYOUT, STATE_BYTES, STATE_MAGIC, State, roll_bytes};
use crate::protocol::{
    All, NONE, Word, buffer_of, end_fill, last_number, sequence_of, version_word,
};
use crate::slot_table::{MappedSlotTable, length_of};
use crate::sys::{self, Access, Mapping};
use crate::writer::{WriterOptions, buffer_bytes};
use rustix::rand::{GetRandomFlags, getrandom};
use std::hash::Hasher;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

/// What a writer begins with.
pub(crate) struct Opened {
    pub claim: Claim,
    pub state: Mapping,
    pub slot_table: MappedSlotTable,
    /// The next version's number is the next one.
    pub sequence: u64,
}

/// What is there when a writer comes.
enum Found {
    /// A state and the slot_table that belongs to it, to go on with.
    Pair(Mapping, MappedSlotTable),
    /// None, or one that can't be gone on with.
    Lost(Lost),
}

/// What is known of a state that can't be gone on with.
#[derive(Default)]
struct Lost {
    /// The last number.
    sequence: u64,
    /// The last version, if it is whole.
    version: Option<LastVersion>,
}

struct LastVersion {
    sequence: u64,
    /// In `mapping`.
    contents: Contents,
    #[expect(dead_code, reason = "keeps what `contents` points to")]
    mapping: Mapping,
}

/// Becomes the writer.
pub(crate) fn open<H: Hasher + Default>(names: &Names, options: &WriterOptions) -> Result<Opened> {
    // Other people's code, which may fork: before anything is claimed.
    let hasher = hasher_name::<H>();
    let mut claim = Claim::take(names)?;
    let (state, slot_table, takes_over) = match found::<H>(names, &claim, hasher, options)? {
        Found::Pair(state, mut slot_table) => {
            sys::reserve(&claim.state, STATE_BYTES)
                .map_err(Error::io("reserving space for", names.state()))?;
            slot_table.grow(&names.readers(), options.readers_max)?;
            slot_table.allow(&names.readers(), options.readers_mode)?;
            files::allow(&claim.state, &names.state(), options.mode)?;
            (state, slot_table, true)
        }
        // A lineage of their own, so that no number need be left out. Readers of the old state may
        // live, and this writer would not see what they hold: they keep the old files, under no
        // name.
        Found::Lost(lost) => {
            let made = anew(names, &mut claim, &lost, hasher, options);
            let (state, slot_table) = made.inspect_err(|_| claim.retract(names))?;
            (state, slot_table, false)
        }
    };
    let head: &State = state.at(0);
    let (current, floor) = (head.live.current.peek(), head.floor.peek());
    let sequence = if takes_over {
        last_number::<All>(current, floor)
    } else {
        sequence_of(current).max(sequence_of(floor))
    };
    Ok(Opened { claim, state, slot_table, sequence })
}

fn found<H: Hasher + Default>(
    names: &Names,
    claim: &Claim,
    hasher: u64,
    options: &WriterOptions,
) -> Result<Found> {
    let path = names.state();
    let foreign = |what| Error::Foreign { path: path.clone(), what };
    let metadata = claim.state.metadata().map_err(Error::io("inspecting", &path))?;
    let length = length_of(&metadata);
    if length == 0 {
        return Ok(Found::Lost(Lost::default()));
    }
    if length != STATE_BYTES {
        return Err(foreign("its length is not that of a state"));
    }
    // Read, not mapped: who could write to it may cut it at any time.
    let mut bytes = [0; STATE_BYTES];
    claim.state.read_exact_at(&mut bytes, 0).map_err(Error::io("reading", &path))?;
    let word = |at: usize| {
        u64::from_ne_bytes(*bytes[at..].first_chunk().expect("a state has more than its words"))
    };
    match word(offset_of!(State, magic)) {
        0 => return Ok(Found::Lost(Lost::default())),
        STATE_MAGIC if word(offset_of!(State, layout)) == LAYOUT => {}
        _ => return Err(foreign("not a state of this version of the crate")),
    }
    if word(offset_of!(State, hasher)) != hasher {
        return Err(foreign("it was written with another checksum"));
    }
    let lineage = word(offset_of!(State, lineage));
    if files::others_write(&metadata) == 0 {
        match MappedSlotTable::open(
            &names.readers(),
            lineage,
            Owner::Own,
            Some(options.readers_mode),
        ) {
            Ok(slot_table) => {
                let state = Mapping::new(&claim.state, STATE_BYTES, Access::Write)
                    .map_err(Error::io("mapping", &path))?;
                return Ok(Found::Pair(state, slot_table));
            }
            Err(Error::Foreign { .. }) => {}
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let current = word(offset_of!(State, live.current));
    let sequence = sequence_of(current).max(sequence_of(word(offset_of!(State, floor))));
    let version = last_version::<H>(names, lineage, current)?;
    if !claim.is_here() {
        // Its hasher has forked, and this is the child.
        return Err(Error::Forked { path: names.prefix().to_owned() });
    }
    Ok(Found::Lost(Lost { sequence, version }))
}

/// The version that a state names last; `None` if there is none, or it is damaged.
fn last_version<H: Hasher + Default>(
    names: &Names,
    lineage: u64,
    word: u64,
) -> Result<Option<LastVersion>> {
    let sequence = sequence_of(word);
    if word == NONE || sequence == 0 {
        return Ok(None);
    }
    let path = names.buffer(buffer_of(word));
    let (mapping, contents) = match map_buffer(&path, lineage, Owner::Own, word) {
        Err(Error::Corrupt { .. } | Error::Foreign { .. }) => return Ok(None),
        Err(error) if is_refusal(&error) => return Ok(None),
        mapped => mapped?,
    };
    // SAFETY: the bytes are in `mapping`, and only this user, whose only writer this is, may write
    // there.
    let is_whole = checksum::<H>(unsafe { contents.bytes.as_ref() }) == contents.checksum;
    Ok(is_whole.then_some(LastVersion { sequence, contents, mapping }))
}

/// Makes state and slot_table, and puts them in place.
fn anew(
    names: &Names,
    claim: &mut Claim,
    lost: &Lost,
    hasher: u64,
    options: &WriterOptions,
) -> Result<(Mapping, MappedSlotTable)> {
    let path = names.state();
    if lost.sequence == 0 {
        // As long as it is empty: a reader of another user is then told to wait, and not that it
        // may not read.
        files::allow(&claim.state, &path, options.mode)?;
    }
    let mut lineage = [0; 8];
    getrandom(&mut lineage, GetRandomFlags::empty())
        .map_err(|error| Error::io("drawing a random number for", &path)(error.into()))?;
    let lineage = u64::from_ne_bytes(lineage);

    let (file, spare_roll) = Spare::new(names, roll_bytes(options.readers_max), &names.readers())?;
    let slot_table = MappedSlotTable::create(file, &names.readers(), lineage, options.readers_max)?;
    slot_table.allow(&names.readers(), options.readers_mode)?;
    let kept = lost.version.as_ref().map(|last| keep(names, lineage, last, options)).transpose()?;

    let (file, spare_state) = Spare::new(names, STATE_BYTES, &path)?;
    let state =
        Mapping::new(&file, STATE_BYTES, Access::Write).map_err(Error::io("mapping", &path))?;
    let head: &State = state.at(0);
    head.layout.poke(LAYOUT);
    head.lineage.poke(lineage);
    head.floor.poke(lost.sequence);
    head.hasher.poke(hasher);
    head.live.current.poke(kept.as_ref().map_or(NONE, |(word, _)| *word));
    head.magic.put(STATE_MAGIC);
    files::allow(&file, &path, options.mode)?;

    // The state last: as long as it is not there, the old one says what there is.
    spare_roll.place(&names.readers())?;
    claim.replace(names, file, spare_state)?;
    if let Some((_, buffer)) = kept {
        buffer.keep();
    }
    Ok((state, slot_table))
}

/// Copies the last version to a buffer of the new lineage. Returns its word.
fn keep(
    names: &Names,
    lineage: u64,
    last: &LastVersion,
    options: &WriterOptions,
) -> Result<(u64, Spare)> {
    let path = names.prefix();
    let length = last.contents.bytes.len();
    let bytes = buffer_bytes(length, 0).expect("as long as one that is mapped");
    let (file, spare) = Spare::new(names, bytes, path)?;
    let mapping = Mapping::new(&file, bytes, Access::Write).map_err(Error::io("mapping", path))?;
    // SAFETY: `last` keeps the bytes mapped, and nobody writes there, as in `last_version`; the new
    // file is not known to anybody else.
    unsafe {
        mapping.bytes_mut(HEADER_BYTES, length).copy_from_slice(last.contents.bytes.as_ref());
    }
    let word = version_word(spare.index, last.sequence);
    let header: &Header = mapping.at(0);
    header.lineage.poke(lineage);
    header.length.poke(length as u64);
    header.checksum.poke(last.contents.checksum);
    end_fill(&header.version, word);
    files::allow(&file, path, options.mode)?;
    Ok((word, spare))
}

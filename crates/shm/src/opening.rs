//! How a writer opens: which files it finds, and which it creates.
//!
//! ```text
//!  state and slot table that belong together, not exposed         -> continues with them
//!  a state without its slot table, or exposed to others           -> creates both, with number and
//!                                                                    copy of the last version
//!  nothing, or an empty state                                     -> creates both
//! ```
//!
//! New files are completed under other names. Then the slot table gets its name, and then the
//! state. Until then the old state stays unchanged, so that neither a full disk nor a kill loses a
//! version. "Exposed" means that users may write to the file whom the options don't allow to.
#![allow(unsafe_code, reason = "copies the last version")]

use crate::attachment::{Contents, is_refusal, map_buffer};
use crate::buffers::buffer_bytes;
use crate::checksum::{checksum, hasher_name};
use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::files::{self, Names, StagedFile, length_of};
use crate::layout::{
    HEADER_BYTES, Header, LAYOUT, STATE_BYTES, STATE_MAGIC, State, slot_table_bytes,
};
use crate::options::WriterOptions;
use crate::owner::{self, Owner};
use crate::protocol::{
    All, NONE, Word, buffer_of, end_fill, last_number, sequence_of, version_word,
};
use crate::slot_table::MappedSlotTable;
use crate::sys::{self, Mapping, Protection};
use std::hash::Hasher;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

/// The result of opening a writer.
pub(crate) struct Opened {
    pub claim: Claim,
    pub state: Mapping,
    pub slot_table: MappedSlotTable,
    /// The number of the last version.
    pub sequence: u64,
}

/// The files that a writer finds.
enum Existing {
    /// A state with its slot table, which the writer continues to use.
    Usable(Mapping, MappedSlotTable),
    /// No state, or one that must be replaced.
    Unusable(Salvage),
}

/// What a new state inherits from a state that must be replaced.
#[derive(Default)]
struct Salvage {
    /// The number of the last version.
    sequence: u64,
    /// The last version, if it is intact.
    version: Option<LastVersion>,
}

struct LastVersion {
    sequence: u64,
    /// Points into `mapping`.
    contents: Contents,
    #[expect(dead_code, reason = "keeps what `contents` points to")]
    mapping: Mapping,
}

/// Becomes the writer.
pub(crate) fn open<H: Hasher + Default>(names: &Names, options: &WriterOptions) -> Result<Opened> {
    // The hasher is the caller's code, which may fork, so call it before anything is claimed.
    let hasher = hasher_name::<H>();
    let mut claim = Claim::take(names)?;
    let (state, slot_table, takes_over) =
        match inspect_existing::<H>(names, &claim, hasher, options)? {
            Existing::Usable(state, mut slot_table) => {
                sys::reserve(&claim.state, STATE_BYTES)
                    .map_err(Error::io("reserving space for", names.state()))?;
                slot_table.grow(&names.readers(), options.readers_max)?;
                slot_table.allow(&names.readers(), options.readers_mode)?;
                files::allow(&claim.state, &names.state(), options.mode)?;
                (state, slot_table, true)
            }
            // The new files have a new lineage, so that no number need be skipped. Readers of the
            // old state may live, and this writer would not see what they hold: they keep the old
            // files, which no longer have names.
            Existing::Unusable(salvage) => {
                let made = create_files(names, &mut claim, &salvage, hasher, options);
                let (state, slot_table) = made.inspect_err(|_| claim.retract(names))?;
                (state, slot_table, false)
            }
        };
    let head: &State = state.at(0);
    let (current, floor) = (head.live.current.load_relaxed(), head.floor.load_relaxed());
    let sequence = if takes_over {
        last_number::<All>(current, floor)
    } else {
        sequence_of(current).max(sequence_of(floor))
    };
    Ok(Opened { claim, state, slot_table, sequence })
}

fn inspect_existing<H: Hasher + Default>(
    names: &Names,
    claim: &Claim,
    hasher: u64,
    options: &WriterOptions,
) -> Result<Existing> {
    let path = names.state();
    let foreign = |what| Error::Foreign { path: path.clone(), what };
    let metadata = claim.state.metadata().map_err(Error::io("inspecting", &path))?;
    let length = length_of(&metadata);
    if length == 0 {
        return Ok(Existing::Unusable(Salvage::default()));
    }
    if length != STATE_BYTES {
        return Err(foreign("its length is not that of a state"));
    }
    // Read, not mapped: a user who may write to it could shorten it at any time.
    let mut bytes = [0; STATE_BYTES];
    claim.state.read_exact_at(&mut bytes, 0).map_err(Error::io("reading", &path))?;
    let word = |at: usize| {
        u64::from_ne_bytes(*bytes[at..].first_chunk().expect("a state has more than its words"))
    };
    match word(offset_of!(State, magic)) {
        0 => return Ok(Existing::Unusable(Salvage::default())),
        STATE_MAGIC if word(offset_of!(State, layout)) == LAYOUT => {}
        _ => return Err(foreign("not a state of this version of the crate")),
    }
    if word(offset_of!(State, hasher)) != hasher {
        return Err(foreign("it was written with another checksum"));
    }
    let lineage = word(offset_of!(State, lineage));
    if owner::others_write(&metadata) == 0 {
        match MappedSlotTable::open(
            &names.readers(),
            lineage,
            Owner::Own,
            Some(options.readers_mode),
        ) {
            Ok(slot_table) => {
                let state = Mapping::new(&claim.state, STATE_BYTES, Protection::Write)
                    .map_err(Error::io("mapping", &path))?;
                return Ok(Existing::Usable(state, slot_table));
            }
            Err(Error::Foreign { .. }) => {}
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let current = word(offset_of!(State, live.current));
    let sequence = sequence_of(current).max(sequence_of(word(offset_of!(State, floor))));
    let version = last_version::<H>(names, lineage, current)?;
    if !claim.is_original_process() {
        // The hasher has forked, and this is the child.
        return Err(Error::Forked { path: names.prefix().to_owned() });
    }
    Ok(Existing::Unusable(Salvage { sequence, version }))
}

/// Returns the last version of a state. `None` if there is none, or if it is damaged.
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
    // SAFETY: the bytes are in `mapping`. Only this user may write there, and this is the only
    // writer.
    let is_whole = checksum::<H>(unsafe { contents.bytes.as_ref() }) == contents.checksum;
    Ok(is_whole.then_some(LastVersion { sequence, contents, mapping }))
}

/// Creates state and slot table and gives them their names.
fn create_files(
    names: &Names,
    claim: &mut Claim,
    salvage: &Salvage,
    hasher: u64,
    options: &WriterOptions,
) -> Result<(Mapping, MappedSlotTable)> {
    let path = names.state();
    if salvage.sequence == 0 {
        // Allowed while the state is empty, so that another user's reader waits for the writer
        // instead of failing because it may not read.
        files::allow(&claim.state, &path, options.mode)?;
    }
    let lineage = sys::random().map_err(Error::io("drawing a random number for", &path))?;

    let (file, staged_table) =
        StagedFile::new(names, slot_table_bytes(options.readers_max), &names.readers())?;
    let slot_table = MappedSlotTable::create(file, &names.readers(), lineage, options.readers_max)?;
    slot_table.allow(&names.readers(), options.readers_mode)?;
    let copied = salvage
        .version
        .as_ref()
        .map(|last| copy_last_version(names, lineage, last, options))
        .transpose()?;

    let (file, staged_state) = StagedFile::new(names, STATE_BYTES, &path)?;
    let state =
        Mapping::new(&file, STATE_BYTES, Protection::Write).map_err(Error::io("mapping", &path))?;
    let head: &State = state.at(0);
    head.layout.store_relaxed(LAYOUT);
    head.lineage.store_relaxed(lineage);
    head.floor.store_relaxed(salvage.sequence);
    head.hasher.store_relaxed(hasher);
    head.live.current.store_relaxed(copied.as_ref().map_or(NONE, |(word, _)| *word));
    head.magic.store_release(STATE_MAGIC);
    files::allow(&file, &path, options.mode)?;

    // The state last: until then the old one is valid.
    staged_table.rename_to(&names.readers())?;
    claim.replace(names, file, staged_state)?;
    if let Some((_, buffer)) = copied {
        buffer.keep_as_buffer();
    }
    Ok((state, slot_table))
}

/// Copies the last version to a buffer of the new lineage. Returns its version word and the file.
fn copy_last_version(
    names: &Names,
    lineage: u64,
    last: &LastVersion,
    options: &WriterOptions,
) -> Result<(u64, StagedFile)> {
    let path = names.prefix();
    let length = last.contents.bytes.len();
    let bytes = buffer_bytes(length, 0).expect("as long as one that is mapped");
    let (file, staged) = StagedFile::new(names, bytes, path)?;
    let mapping =
        Mapping::new(&file, bytes, Protection::Write).map_err(Error::io("mapping", path))?;
    // SAFETY: `last` keeps the bytes mapped, and no process writes there, as in `last_version`. No
    // other process knows the new file.
    unsafe {
        mapping.bytes_mut(HEADER_BYTES, length).copy_from_slice(last.contents.bytes.as_ref());
    }
    let word = version_word(staged.index, last.sequence);
    let header: &Header = mapping.at(0);
    header.lineage.store_relaxed(lineage);
    header.length.store_relaxed(length as u64);
    header.checksum.store_relaxed(last.contents.checksum);
    end_fill(&header.version, word);
    files::allow(&file, path, options.mode)?;
    Ok((word, staged))
}

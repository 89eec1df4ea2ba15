//! Finding the checkpoint of an interrupted sort, and deciding whether to resume it.

use super::fresh::{FreshCheckpoint, OldFiles};
use super::header::{Header, SortRequest};
use super::names::{CheckpointNames, explain_locked};
use super::options::{Begin, Checkpoint};
use super::saved::SavedCheckpoint;
use crate::store::journal::{Journal, Step};
use crate::{Error, Observer};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xsort_disk::{Disk, DisplayPath};

/// The checkpoint of an output.
pub(crate) enum OpenedCheckpoint<'a> {
    /// An earlier process left a checkpoint, which is to be resumed.
    Saved(Box<SavedCheckpoint<'a>>),
    /// There is nothing to resume: a sort can begin.
    Fresh(Box<FreshCheckpoint<'a>>),
}

/// Looks for the checkpoint of an interrupted sort to the same output. The caller's choice decides
/// whether to resume it. From now on the files belong to this process.
///
/// # Errors
/// If a sort to this output is running, or if the interrupted sort can't be resumed.
pub(crate) fn open_checkpoint<'a>(
    checkpoint: Checkpoint,
    names: CheckpointNames,
    request: &SortRequest<'_>,
    disk: &'a dyn Disk,
    observer: &dyn Observer,
) -> Result<OpenedCheckpoint<'a>, Error> {
    let (journal, is_new) = Journal::open(disk, &names.journal, checkpoint.every)
        .map_err(|error| explain_locked(error, request.output))?;
    let header = Header::read(&journal);
    let is_empty = is_new || matches!(header, Ok(None));
    if is_empty && checkpoint.begin == Begin::Resume {
        observer.notice(&format!(
            "nothing to continue (there is no {}): the sort begins from the start",
            DisplayPath(&names.journal)
        ));
    }
    let fresh = |journal, names, is_empty, old| {
        let fresh = FreshCheckpoint::new(journal, names, disk, is_empty, old);
        OpenedCheckpoint::Fresh(Box::new(fresh))
    };
    if is_empty || checkpoint.begin == Begin::Restart {
        let old = old_files(header, &journal, &names, request.output);
        return Ok(fresh(journal, names, is_empty, old));
    }
    if checkpoint.begin == Begin::New {
        return Err(Error::Settings(format!(
            "{}: a sort to this output was interrupted: \
             go on with it (--resume), or begin anew (--restart)",
            DisplayPath(&names.journal)
        )));
    }
    let header = header?.expect("an empty journal begins a fresh sort");
    if let Some(reason) = header.refusal(request, &names) {
        return Err(Error::Settings(format!(
            "{}: {reason}; begin anew with --restart, or give the arguments of then",
            DisplayPath(&names.journal)
        )));
    }
    let mut inputs = Vec::with_capacity(request.inputs);
    for number in 0..header.inputs {
        match journal.replay(Step::Input(number))? {
            Some(fingerprint) => inputs.push(fingerprint),
            // The fingerprints are written with the header: the earlier sort died while writing it.
            None => {
                let old = old_files(Ok(Some(header)), &journal, &names, request.output);
                return Ok(fresh(journal, names, true, old));
            }
        }
    }
    let Header { plan, inputs_go_early, .. } = header;
    let saved = SavedCheckpoint { journal, names, disk, plan, inputs, inputs_go_early };
    Ok(OpenedCheckpoint::Saved(Box::new(saved)))
}

/// The files that an earlier sort left, as far as its journal can be read; none if the journal has
/// another format. Lists only files that can belong to a sort to this output.
fn old_files(
    header: Result<Option<Header>, Error>,
    journal: &Journal<'_>,
    names: &CheckpointNames,
    output: &Path,
) -> OldFiles {
    let Ok(Some(Header { mut scratch, .. })) = header else { return OldFiles::default() };
    scratch.retain(|path| names.is_scratch(Path::new(OsStr::from_bytes(path))));
    let tag = journal.replay::<String>(Step::Output).ok().flatten();
    OldFiles { scratch, output_tag: tag.filter(|tag| names.may_have_tag(output, tag)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use crate::store::checkpoint::header::FORMAT;
    use crate::store::journal::encoded;
    use std::time::Duration;
    use xsort_disk::{SimDisk, SimOptions};

    /// A header of another format was reported as damage by a failing drive.
    #[test]
    fn a_journal_of_another_format_is_called_that_and_can_be_thrown_away() {
        let disk = SimDisk::new(SimOptions::default());
        let names = CheckpointNames::of("/out/sorted".as_ref(), &["/scratch".into()]);
        let (journal, _) = Journal::open(&disk, &names.journal, Duration::ZERO).unwrap();
        let header = encoded(&(FORMAT - 1, "meaning", "plan", 1u64, 0u64, false));
        journal.begin([(Step::Begin, header)].into()).unwrap();
        drop(journal);
        let request = SortRequest {
            output: "/out/sorted".as_ref(),
            meaning: "meaning",
            budget_bytes: 1,
            inputs: 0,
        };
        let open = |begin| {
            let checkpoint = Checkpoint { begin, every: Duration::ZERO };
            open_checkpoint(checkpoint, names.clone(), &request, &disk, &Unobserved)
        };
        let Err(Error::Settings(text)) = open(Begin::Resume) else { panic!("it was resumed") };
        assert!(text.contains("another version") && text.contains("--restart"), "{text}");
        assert!(matches!(open(Begin::New), Err(Error::Settings(_))));
        assert!(matches!(open(Begin::Restart), Ok(OpenedCheckpoint::Fresh(_))));
    }

    /// Another sort's paths and tag may be in the journal.
    #[test]
    fn beginning_anew_removes_only_what_can_be_of_a_sort_to_this_output() {
        let disk = SimDisk::new(SimOptions::default());
        let output = Path::new("/out/sorted");
        let names = CheckpointNames::of(output, &["/scratch".into()]);
        let of_other = CheckpointNames::of("/out/other".as_ref(), &["/scratch".into()]);
        let own = names.scratch_bytes().remove(0);
        let elsewhere = [&b"/elsewhere"[..], &own[b"/scratch".len()..]].concat();
        let begins_like_own = [&own[..], b"x"].concat();
        let scratch = vec![
            b"/home/precious".to_vec(),
            own.clone(),
            of_other.scratch_bytes().remove(0),
            begins_like_own,
            elsewhere.clone(),
        ];
        let old = |tag: Vec<u8>| {
            let (journal, _) = Journal::open(&disk, &names.journal, Duration::ZERO).unwrap();
            journal.clear().unwrap();
            journal.begin([(Step::Output, tag)].into()).unwrap();
            drop(journal);
            let (journal, _) = Journal::open(&disk, &names.journal, Duration::ZERO).unwrap();
            let header = Header {
                format: FORMAT,
                meaning: String::new(),
                plan: String::new(),
                budget_bytes: 1,
                inputs: 0,
                inputs_go_early: false,
                scratch: scratch.clone(),
            };
            old_files(Ok(Some(header)), &journal, &names, output)
        };
        let OldFiles { scratch: removed, output_tag } = old(encoded(&names.output_tag));
        assert_eq!(removed, [own.clone(), elsewhere.clone()]);
        assert_eq!(output_tag.as_ref(), Some(&names.output_tag));
        for tag in [encoded(&"/../precious"), encoded(&[0xffu8, 0xfe].as_slice())] {
            assert_eq!(old(tag).output_tag, None);
        }
    }
}

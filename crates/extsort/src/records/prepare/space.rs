//! Checking that the drives have space for scratch and the output.

use super::inputs::Inputs;
use crate::job::units::Decimal;
use crate::records::options::{Method, SortOptions};
use crate::records::plan::Plan;
use crate::records::spool::Spool;
use crate::{Error, Observer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use xsort_disk::{Disk, DisplayPath, Drive, is_standard_output, is_url, parent_directory};

/// The drives of a sort, and the space that the sort frees while it runs.
pub(super) struct Space<'a> {
    options: &'a SortOptions,
    disk: &'a dyn Disk,
    scratch_directories: &'a [PathBuf],
    /// The output's drive; `None` for a URL, whose free space is unknown.
    output_drive: Option<Drive>,
    freed: FreedSpace,
    /// True if `--remove-input`, which wasn't given, would free the inputs' space.
    may_remove_inputs: bool,
}

/// Space that is free once the inputs have been read.
#[derive(Default)]
struct FreedSpace {
    /// Bytes on the output's drive, freed by removing inputs.
    inputs_bytes: u64,
    /// The drive and the bytes that reading the spool frees.
    spool: Option<(u64, u64)>,
}

impl FreedSpace {
    /// Free bytes of a drive, including the bytes that the spool frees while it is read.
    fn free_bytes(&self, drive: &Drive) -> u64 {
        let spool = self.spool.filter(|(id, _)| *id == drive.id).map_or(0, |(_, bytes)| bytes);
        drive.free_bytes + spool
    }
}

/// How a plan fits on the drives.
#[derive(Clone, Copy)]
pub(super) struct SpaceUse {
    /// True if the plan fits only if the inputs are removed before the output is written.
    pub(super) needs_input_space: bool,
    /// True if the output's space can be reserved only after the inputs or the spool have freed
    /// theirs.
    pub(super) reserves_late: bool,
}

impl<'a> Space<'a> {
    pub(super) fn measure(
        options: &'a SortOptions,
        scratch_directories: &'a [PathBuf],
        inputs: &Inputs<'_>,
        spool: Option<&Spool>,
        disk: &'a dyn Disk,
    ) -> Result<Space<'a>, Error> {
        let output_drive = match is_url(&options.output) {
            true => None,
            false => Some(disk.drive(&parent_directory(&options.output))?),
        };
        let mut freed = FreedSpace::default();
        // A merge needs its inputs until the output is complete.
        let merges = options.method == Method::MergeInputs;
        let removes_early = options.remove_input && !merges;
        if let (true, Some(drive)) = (removes_early, &output_drive) {
            freed.inputs_bytes = removable_bytes(disk, inputs, drive.id)?;
        }
        if let Some(spool) = spool
            && let Some(directory) = &spool.report.directory
        {
            freed.spool = Some((disk.drive(directory)?.id, spool.returned_bytes()));
        }
        let may_remove_inputs = !options.remove_input && !merges && spool.is_none();
        Ok(Space { options, disk, scratch_directories, output_drive, freed, may_remove_inputs })
    }

    /// Checks the space for output and scratch.
    pub(super) fn check(&self, plan: &Plan) -> Result<SpaceUse, Error> {
        let drives = self.scratch_drives(plan)?;
        let space_use = self.check_output(plan, &drives)?;
        let free_bytes: u64 = drives.values().map(|drive| self.freed.free_bytes(drive)).sum();
        if free_bytes < plan.scratch_bytes {
            return Err(Error::Space {
                directory: self.scratch_directories[0].clone(),
                purpose: format!("scratch ({})", Decimal(plan.scratch_bytes as f64)),
                needed_bytes: plan.scratch_bytes,
                free_bytes,
                way_out: "free some, add a directory on another drive with -T, \
                          or give more memory with -m"
                    .into(),
            });
        }
        Ok(space_use)
    }

    /// Checks the space for the output, and for the scratch on its drive.
    fn check_output(&self, plan: &Plan, drives: &BTreeMap<u64, Drive>) -> Result<SpaceUse, Error> {
        let nothing = SpaceUse { needs_input_space: false, reserves_late: false };
        let Some(output_drive) = &self.output_drive else { return Ok(nothing) };
        if is_standard_output(&self.options.output) {
            return Ok(nothing);
        }
        // This sum assumes that scratch goes to the other drives first. That is the most optimistic
        // split; the sort itself finds the real one.
        let others = drives.values().filter(|drive| drive.id != output_drive.id);
        let elsewhere: u64 = others.map(|drive| self.freed.free_bytes(drive)).sum();
        let scratch_here = match drives.contains_key(&output_drive.id) {
            true => plan.scratch_bytes.saturating_sub(elsewhere),
            false => 0,
        };
        let needed_bytes = plan.bytes + scratch_here;
        let free_here = self.freed.free_bytes(output_drive);
        let free_bytes = free_here + self.freed.inputs_bytes;
        if free_bytes < needed_bytes {
            let mut purpose = format!("the output ({})", Decimal(plan.bytes as f64));
            if scratch_here > 0 {
                purpose += &format!(" and scratch ({})", Decimal(scratch_here as f64));
            }
            return Err(Error::Space {
                directory: parent_directory(&self.options.output),
                purpose,
                needed_bytes,
                free_bytes,
                way_out: if self.may_remove_inputs {
                    "free some, put scratch on another drive with -T, \
                     or let the input's space be used with --remove-input"
                        .into()
                } else {
                    "free some, or put scratch or the output on another drive (-T, -o)".into()
                },
            });
        }
        Ok(SpaceUse {
            needs_input_space: free_here < needed_bytes,
            reserves_late: output_drive.free_bytes < needed_bytes,
        })
    }

    /// Warns about scratch directories in memory.
    pub(super) fn notice_memory(&self, plan: &Plan, observer: &dyn Observer) -> Result<(), Error> {
        let mut drives = self.scratch_drives(plan)?;
        drives.retain(|_, drive| drive.is_memory);
        for directory in self.scratch_directories {
            if let Some(drive) = drives.remove(&self.disk.drive(directory)?.id) {
                observer.notice(&format!(
                    "{}: this scratch directory is memory ({}): what is spilled there counts \
                     against the machine's memory, not against -m; \
                     name a directory on a drive with -T",
                    DisplayPath(directory),
                    drive.kind
                ));
            }
        }
        Ok(())
    }

    /// The drives of the scratch directories, each once; none if the plan needs no scratch.
    fn scratch_drives(&self, plan: &Plan) -> Result<BTreeMap<u64, Drive>, Error> {
        let needed = self.scratch_directories.iter().filter(|_| plan.scratch_bytes > 0);
        let drives = needed.map(|directory| self.disk.drive(directory));
        let drives = drives.map(|drive| drive.map(|drive| (drive.id, drive)));
        Ok(drives.collect::<Result<_, _>>()?)
    }
}

/// Bytes that removing the inputs frees on `drive`. Each file counts once; a file with other hard
/// links doesn't count.
fn removable_bytes(disk: &dyn Disk, inputs: &Inputs<'_>, drive: u64) -> Result<u64, Error> {
    let mut freed = BTreeMap::new();
    for (&file, bytes) in inputs.files.iter().zip(&inputs.bytes) {
        let identity = disk.identity(file)?;
        if identity.drive == drive && identity.links == 1 {
            freed.insert(identity.number, bytes);
        }
    }
    Ok(freed.into_values().sum())
}

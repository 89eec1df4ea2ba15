//! Whether the drives have space for scratch and the output.

use super::inputs::Inputs;
use crate::fixed::options::SortOptions;
use crate::fixed::plan::Plan;
use crate::fixed::spool::Spool;
use crate::job::units::Decimal;
use crate::{Error, Observer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use xsort_disk::{Disk, DisplayPath, Drive, is_standard_output, is_url, parent_directory};

/// The drives of a sort, and what it gives back to them while it runs.
pub(super) struct Space<'a> {
    options: &'a SortOptions,
    disk: &'a dyn Disk,
    scratch_directories: &'a [PathBuf],
    /// `None` of an output at a URL, where nobody knows how much is free.
    output_drive: Option<Drive>,
    freed: FreedSpace,
    /// Whether an option that wasn't given would free the inputs' space.
    may_remove_inputs: bool,
}

/// Space that is free again when the inputs have been read.
#[derive(Default)]
struct FreedSpace {
    /// On the output's drive, by removing inputs.
    inputs_bytes: u64,
    /// By reading the spool: the drive, and how much.
    spool: Option<(u64, u64)>,
}

impl FreedSpace {
    /// Free bytes of a drive, and those that the spool gives back to it while it is read.
    fn free_bytes(&self, drive: &Drive) -> u64 {
        let spool = self.spool.filter(|(id, _)| *id == drive.id).map_or(0, |(_, bytes)| bytes);
        drive.free_bytes + spool
    }
}

/// How a plan fits on the drives.
#[derive(Clone, Copy)]
pub(super) struct SpaceUse {
    /// It fits only if the inputs are removed before the output is written.
    pub(super) needs_input_space: bool,
    /// The output's space can't be reserved before the inputs, or the spool, have given theirs
    /// back.
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
        if let (true, Some(drive)) = (options.remove_input, &output_drive) {
            freed.inputs_bytes = removable_bytes(disk, inputs, drive.id)?;
        }
        if let Some(spool) = spool
            && let Some(directory) = &spool.report.directory
        {
            freed.spool = Some((disk.drive(directory)?.id, spool.returned_bytes()));
        }
        let may_remove_inputs = !options.remove_input && spool.is_none();
        Ok(Space { options, disk, scratch_directories, output_drive, freed, may_remove_inputs })
    }

    /// Checks that there is space for everything.
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

    /// Checks that there is space for the output, and for the scratch that goes to its drive.
    fn check_output(&self, plan: &Plan, drives: &BTreeMap<u64, Drive>) -> Result<SpaceUse, Error> {
        let nothing = SpaceUse { needs_input_space: false, reserves_late: false };
        let Some(output_drive) = &self.output_drive else { return Ok(nothing) };
        if is_standard_output(&self.options.output) {
            return Ok(nothing);
        }
        // In this sum scratch goes to the other drives first. That is the most optimistic split;
        // the sort itself finds the real one.
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

    /// Warns of scratch directories that are memory.
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

/// Space on a drive that removing the inputs frees: each file counts once, and none that has other
/// names.
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

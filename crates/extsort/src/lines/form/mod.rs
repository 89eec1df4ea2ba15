//! Phase one of a sort of lines: lines are read into areas and sorted there, and stay in memory as
//! long as there is room.
//!
//! One thread reads and the others sort. If no thread has to wait for a drive, each thread reads
//! the lines that it sorts. When the last free area is taken and there may be more to read, the
//! oldest chunks are merged to one run on scratch. A run takes about half of the memory, so that it
//! is large and leaves room to read into. It takes no more than the rest of the input needs, if
//! that is known.
//!
//! | file | idea |
//! |---|---|
//! | `former` | the reading thread: areas, chunks, spills |
//! | `fill` | lines read into an area, until a chunk is complete |
//! | `morsels` | threads that read the lines they sort |
//! | `in_order` | chunks that come in order, which go to the output at once |
//! | `group` | adjacent chunks, cut into parts that threads merge to one run |
//! | `spilling` | which chunks become a run, and when |
//! | `summary` | the journal's summary of a run's chunks |
//! | `worker` | chunks sorted, and merged to scratch |

mod fill;
mod former;
mod group;
mod in_order;
mod morsels;
mod spilling;
mod summary;
mod worker;

use super::areas::Areas;
use super::input::{Bypass, InputReader, LinesInput, total_bytes};
use super::job::LinesJob;
use super::merge::{FormedRuns, MergedOutput};
use super::plan::LinesMemory;
use crate::Error;
use crate::job::threads::spawn_up_to;
use crossbeam_channel::unbounded;
use fill::ChunkReader;
use former::{FormTasks, FormWorkers, Formed, Former};
use std::sync::Arc;
use worker::{FormLeft, FormWorker};
use xsort_disk::BlockPool;

/// Forms runs of all lines of `inputs`. With a journal, all runs are on scratch when this returns.
/// With an `output`, lines that come in order are written to it.
///
/// # Errors
///
/// [`Error::NotInOrder`] if a line belongs before a line that is in the output.
pub(super) fn form_runs<'j>(
    job: &'j LinesJob<'_>,
    inputs: Vec<LinesInput>,
    memory: LinesMemory,
    output: Option<MergedOutput<'j>>,
) -> Result<FormedRuns<'j>, Error> {
    let LinesMemory { areas, sort_buffers, write_buffers, bypass } = memory;
    let input_bytes = total_bytes(&inputs);
    if let Some(bytes) = input_bytes {
        let merged_bytes = if output.is_some() { 0 } else { bytes };
        job.observer.expect(&[("form runs", bytes), ("merge", merged_bytes)]);
    }
    let worker = FormWorker::new(job, sort_buffers, write_buffers, output);
    let mut areas = Areas::new(areas);
    if let Some(morsels) = morsels::cut(job, &inputs, input_bytes) {
        job.observer.phase("form runs", input_bytes.unwrap_or(0));
        match morsels::form(job, &worker, &morsels, areas) {
            Ok(formed) => return Ok(to_merge(worker, formed, bypass, false)),
            Err(all) => areas = all,
        }
    }
    job.observer.phase("form runs", input_bytes.unwrap_or(0));
    let input_bypass = bypass
        .as_ref()
        .map(|block_pool| Bypass { disk: job.disk, block_pool: Arc::clone(block_pool) });
    let reader = InputReader::new(inputs, job.options.delimiter, input_bypass);
    let reader = ChunkReader::new(job, reader, input_bytes);
    let (formed, is_replayed) = form_on_threads(job, &worker, reader, areas)?;
    Ok(to_merge(worker, formed, bypass, is_replayed))
}

/// Adds the memory for a merge to the formed runs.
fn to_merge<'j>(
    worker: FormWorker<'_, 'j>,
    formed: Formed,
    bypass: Option<Arc<BlockPool>>,
    is_replayed: bool,
) -> FormedRuns<'j> {
    let Formed { runs, mut free, lines, bytes } = formed;
    let FormLeft { sort_buffers, write_buffers, output } = worker.into_left();
    sort_buffers.into_iter().for_each(|buffer| free.give(buffer));
    let areas = free.into_leases();
    let memory = LinesMemory { areas, sort_buffers: Vec::new(), write_buffers, bypass };
    let written_bytes = output.as_ref().map_or(0, MergedOutput::bytes);
    let expected_bytes = bytes.saturating_sub(written_bytes);
    FormedRuns { runs, memory, lines, bytes, expected_bytes, is_replayed, output }
}

/// Returns the formed runs, and true if an earlier process had read all inputs.
fn form_on_threads<'a, 'j>(
    job: &'j LinesJob<'a>,
    worker: &FormWorker<'a, 'j>,
    reader: ChunkReader<'a, 'j>,
    areas: Areas,
) -> Result<(Formed, bool), Error> {
    let (sorts, sorts_from) = unbounded();
    let (spills, spills_from) = unbounded();
    let (done, outcomes) = unbounded();
    // The former owns the tasks' sender, so the threads end when the scope ends, in any case.
    std::thread::scope(|scope| {
        let tasks = (job.plan.threads > 1).then_some(FormTasks { sorts, spills });
        if tasks.is_some() {
            spawn_up_to(
                scope,
                job.plan.threads,
                |error| job.failure.set(error),
                |thread| {
                    let (sorts, spills, done) =
                        (sorts_from.clone(), spills_from.clone(), done.clone());
                    // While some threads write, the others sort.
                    let (first, second) =
                        if thread % 2 == 0 { (spills, sorts) } else { (sorts, spills) };
                    move || worker.run(&first, &second, &done)
                },
            )?;
        }
        let workers = FormWorkers { worker, tasks, outcomes };
        let formed = form_all(job, Former::new(job, workers, reader, areas));
        if formed.is_err() {
            // Threads that wait for their turn to write wait until the job has failed.
            job.failure.set(Error::Cancelled);
        }
        formed
    })
}

/// Returns the formed runs, and true if an earlier process had read all inputs. Drops the tasks'
/// senders in any case.
fn form_all(job: &LinesJob<'_>, mut former: Former<'_, '_, '_>) -> Result<(Formed, bool), Error> {
    let is_replayed = former.replay()?;
    if !is_replayed {
        former.read_all()?;
    }
    if job.journal.is_recording() {
        former.spill_all()?;
    }
    Ok((former.end(), is_replayed))
}

//! The steps but `merge` and `serve`.

use super::job_words::Words;
use super::means::StepMeans;
use super::outcome::Outcome;
use crate::args::{MapArgs, PlanArgs, Report, Resources, SampleArgs, SplitArgs, ValidateArgs};
use crate::exit::Failure;
use crate::inputs::expand::ExpandedInputs;
use crate::output::ResultPrinter;
use crate::signals::Stop;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xsort_extsort::units::Count;
use xsort_extsort::{Observer, Unobserved};
use xsort_parts::{
    Document, Error, Job, Manifest, Sample, SliceFiles, SliceSizes, Splitters, Steps, Summary,
    check_outputs, document_files, map_slice, plan_job, quantiles, read_document, write_document,
};

/// A job, and what its words mean.
pub(super) fn read_job(
    path: &Path,
    given: (&Resources, &Report),
    stop: &Stop,
) -> Result<(Job, Box<dyn Steps>), Failure> {
    let means = StepMeans::new(given, [path], None, stop)?;
    let job: Job = read_document(&means.disk, path)?;
    let files: Vec<PathBuf> = job.inputs().map(PathBuf::from).collect();
    let steps = Words::parse(&job.command)?.steps(&files, job.locale.as_deref())?;
    Ok((job, steps))
}

fn read_all<D: Document>(means: &StepMeans, paths: &[PathBuf]) -> Result<Vec<D>, Failure> {
    let read = |path: &PathBuf| read_document(&means.disk, path).map_err(Failure::from);
    document_files(paths)?.iter().map(read).collect()
}

pub(super) fn plan(args: &PlanArgs, stop: &Stop) -> Result<(), Failure> {
    let given = (&args.resources, &args.report);
    let means = StepMeans::new(given, &args.inputs, Some(&args.output), stop)?;
    if args.inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage("standard input can't be sorted in parts".into()));
    }
    let words = Words::parse(&args.command)?;
    let inputs = (&*args.inputs, args.empty.allow_empty);
    let ExpandedInputs { files, notices } = words.files(inputs, &means, stop)?;
    let locale = words.locale()?;
    let steps = words.steps(&files, locale.as_deref())?;
    let console = means.console(&args.inputs, (Some(&args.output), &[]), stop);
    notices.iter().for_each(|line| console.notice(line));
    let (slice_bytes, part_bytes) = (args.slice_size, args.part_size);
    let sizes = SliceSizes { slice_bytes, parts: args.parts, part_bytes };
    let words = (words.spelled_out(&args.command, &files), locale);
    let job = plan_job(&*steps, words, &files, sizes, &means.means(&console, &[], true))?;
    write_document(&means.disk, &args.output, &job, true)?;
    drop(console);

    #[derive(Serialize)]
    struct Planned<'a> {
        job: &'a str,
        inputs: usize,
        bytes: u64,
        slices: usize,
        parts: usize,
    }
    let (slices, parts, bytes) = (job.slices.len(), job.parts, job.bytes);
    let line = format!("{bytes} bytes of {} inputs: {slices} slices, {parts} parts", files.len());
    let fields = Planned { job: &job.id, inputs: files.len(), bytes, slices, parts };
    ResultPrinter::new(means.style).print("part plan", &Outcome { fields, line })
}

pub(super) fn sample(args: &SampleArgs, stop: &Stop) -> Result<(), Failure> {
    let given = (&args.resources, &args.report);
    let (job, steps) = read_job(&args.job, given, stop)?;
    let means = StepMeans::new(given, job.inputs(), Some(&args.output), stop)?;
    let step = means.means(&Unobserved, &[], true);
    let sample = |&slice: &usize| {
        if slice >= job.slices.len() {
            let last = job.slices.len() - 1;
            let reason = format!("--slice {slice}: there is no such slice, the last one is {last}");
            return Err(Failure::Usage(reason));
        }
        if stop.is_set() {
            return Err(xsort_extsort::Error::Cancelled.into());
        }
        Ok(steps.sample(&job, slice, args.keys.max(1), &step)?)
    };
    let samples = args.slice.0.iter().map(sample).collect::<Result<Vec<_>, Failure>>()?;
    let keys = samples.iter().map(|sample| sample.keys.len()).sum();
    write_document(&means.disk, &args.output, &Sample::new(&job, samples), true)?;

    #[derive(Serialize)]
    struct Sampled<'a> {
        job: &'a str,
        slices: &'a [usize],
        keys: usize,
    }
    let line = format!("{keys} keys of {} slices", args.slice.0.len());
    let fields = Sampled { job: &job.id, slices: &args.slice.0, keys };
    ResultPrinter::new(means.style).print("part sample", &Outcome { fields, line })
}

pub(super) fn split(args: &SplitArgs, stop: &Stop) -> Result<(), Failure> {
    let given = (&args.resources, &args.report);
    let (job, steps) = read_job(&args.job, given, stop)?;
    let means = StepMeans::new(given, &args.samples, Some(&args.output), stop)?;
    let samples: Vec<Sample> = read_all(&means, &args.samples)?;
    let splitters = quantiles(&job, &samples, |a, b| steps.compare(a, b))?;
    write_document(&means.disk, &args.output, &splitters, true)?;

    #[derive(Serialize)]
    struct Split<'a> {
        job: &'a str,
        id: &'a str,
        splitters: usize,
    }
    let count = splitters.splitters.len();
    let fields = Split { job: &job.id, id: &splitters.id, splitters: count };
    let line = format!("{count} splitters for {} parts", job.parts);
    ResultPrinter::new(means.style).print("part split", &Outcome { fields, line })
}

pub(super) fn map(args: &MapArgs, stop: &Stop) -> Result<(), Failure> {
    let given = (&args.resources, &args.report);
    let (job, steps) = read_job(&args.job, given, stop)?;
    let slice = job.slices.get(args.slice).cloned().unwrap_or_default();
    let inputs: Vec<PathBuf> = slice.inputs.iter().map(|input| (&input.path).into()).collect();
    let read = inputs.iter().chain([&args.splitters]);
    let means = StepMeans::of_slice(given, read, slice.bytes, stop)?;
    let splitters: Splitters = read_document(&means.disk, &args.splitters)?;
    let files = SliceFiles::of(&args.to, args.slice);
    let console = means.console(&inputs, (Some(&files.data), &args.scratch), stop);
    let begin = Instant::now();
    let step = means.means(&console, &args.scratch, args.sync);
    let mapped = map_slice(&*steps, (&job, &splitters), args.slice, &args.to, &step)
        .map_err(|error| means.add_to(error))?;
    means.disk.notices().iter().for_each(|line| console.notice(line));
    drop(console);

    #[derive(Serialize)]
    struct Mapped<'a> {
        job: &'a str,
        slice: usize,
        records: u64,
        bytes: u64,
        checksum: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        bad_rows: Option<u64>,
        seconds: f64,
        was_done: bool,
        data: String,
        manifest: String,
    }
    let (checksum, seconds) = (mapped.manifest.checksum(), begin.elapsed().as_secs_f64());
    let Manifest { slice, records, bytes, bad_rows, .. } = mapped.manifest;
    let line = match mapped.is_old {
        true => format!("slice {slice} is there already: {records} records"),
        false => format!("slice {slice}: {records} records, {bytes} bytes in {seconds:.2} s"),
    };
    let line = line + &with_bad(bad_rows);
    let fields = Mapped {
        job: &job.id,
        slice,
        records,
        bytes,
        checksum: checksum.to_string(),
        bad_rows,
        seconds,
        was_done: mapped.is_old,
        data: files.data.to_string_lossy().into_owned(),
        manifest: files.manifest.to_string_lossy().into_owned(),
    };
    ResultPrinter::new(means.style).print("part map", &Outcome { fields, line })
}

pub(super) fn validate(args: &ValidateArgs, stop: &Stop) -> Result<(), Failure> {
    let given = (&args.resources, &args.report);
    let (job, steps) = read_job(&args.job, given, stop)?;
    let documents =
        StepMeans::new(given, args.manifests.iter().chain(&args.summaries), None, stop)?;
    let manifests: Vec<Manifest> = read_all(&documents, &args.manifests)?;
    let summaries: Vec<Summary> = read_all(&documents, &args.summaries)?;
    let outputs = summaries.iter().map(|summary| &*summary.output);
    let read: Vec<PathBuf> = outputs.chain(job.inputs()).map(PathBuf::from).collect();
    let means = StepMeans::new(given, &read, None, stop)?;
    let console = means.console(&read, (None, &[]), stop);
    let (compare, count) =
        (|a: &[u8], b: &[u8]| steps.compare(a, b), |slice| steps.count(&job, slice));
    let judged = xsort_parts::validate(&job, &manifests, &summaries, compare, count);
    let judged = judged.and_then(|found| {
        if args.outputs {
            check_outputs(&*means.disk, &summaries)?;
        }
        if args.read {
            steps.verify(&job, &summaries, found.checksum, &means.means(&console, &[], true))?;
        }
        Ok(found)
    });
    drop(console);

    #[derive(Serialize)]
    struct Verdict<'a> {
        job: &'a str,
        ok: bool,
        records: Option<u64>,
        bytes: Option<u64>,
        checksum: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        bad_rows: Option<u64>,
        fault: Option<String>,
    }
    let bad_rows: Option<u64> = manifests.iter().map(|manifest| manifest.bad_rows).sum();
    let bad_rows = bad_rows.filter(|_| !manifests.is_empty());
    let (found, fault) = match judged {
        Ok(found) => (Some(found), None),
        Err(Error::Invalid(fault)) => (None, Some(fault)),
        Err(error) => return Err(error.into()),
    };
    let line = match (&found, &fault) {
        (Some(found), _) => format!(
            "{} records in {} parts, checksum {}: all of them, in order{}",
            found.checksum.records(),
            job.parts,
            found.checksum,
            with_bad(bad_rows)
        ),
        (None, fault) => format!("INVALID: {}", fault.as_deref().unwrap_or_default()),
    };
    let fields = Verdict {
        job: &job.id,
        ok: found.is_some(),
        records: found.map(|found| found.checksum.records()),
        bytes: found.map(|found| found.bytes),
        checksum: found.map(|found| found.checksum.to_string()),
        bad_rows,
        fault,
    };
    ResultPrinter::new(means.style).print("part validate", &Outcome { fields, line })?;
    if found.is_some() { Ok(()) } else { Err(Failure::Disorder) }
}

/// What is said of rows with a value that isn't of its column's type.
fn with_bad(rows: Option<u64>) -> String {
    match rows {
        Some(bad @ 1..) => format!("; {} with a value of another type", Count(bad, "row")),
        _ => String::new(),
    }
}

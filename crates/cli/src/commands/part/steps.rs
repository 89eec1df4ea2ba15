//! All steps except `merge` and `serve`.

use super::job_words::Words;
use super::outcome::Outcome;
use crate::args::{MapArgs, PlanArgs, SampleArgs, SplitArgs, ValidateArgs};
use crate::exit::Failure;
use crate::job::{Session, SessionOptions};
use crate::output::ResultPrinter;
use crate::settings::ReportStyle;
use crate::signals::Stop;
use serde::Serialize;
use std::path::PathBuf;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::Disk;
use xsort_extsort::Unobserved;
use xsort_extsort::units::Count;
use xsort_parts::{
    Document, Error, Job, Manifest, Means, Sample, SliceFiles, SliceSizes, Splitters, Steps,
    Summary, check_outputs, document_files, map_slice, plan_job, quantiles, read_document,
    write_document,
};

/// Reads a job. Returns it with the steps that its words describe.
pub(super) fn read_job(
    path: &PathBuf,
    options: SessionOptions<'_>,
) -> Result<(Job, Box<dyn Steps>), Failure> {
    let disk = SessionOptions { read: [from_ref(path), &[]], ..options }.job(None)?.disk;
    let job: Job = read_document(&disk, path)?;
    let files: Vec<PathBuf> = job.inputs().map(PathBuf::from).collect();
    let steps = Words::parse(&job.command)?.steps(&files, job.locale.as_deref())?;
    Ok((job, steps))
}

fn read_all<D: Document>(disk: &Arc<dyn Disk>, paths: &[PathBuf]) -> Result<Vec<D>, Failure> {
    let read = |path: &PathBuf| read_document(disk, path).map_err(Failure::from);
    document_files(paths)?.iter().map(read).collect()
}

pub(super) fn plan(args: &PlanArgs, stop: &Stop) -> Result<(), Failure> {
    let options = SessionOptions::new("part", &args.resources, &args.report, stop);
    if args.inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage("standard input can't be sorted in parts".into()));
    }
    let words = Words::parse(&args.command)?;
    let (read, output) = ([&*args.inputs, &[]], Some(&*args.output));
    let mut session = Session::begin(SessionOptions { read, output, ..options })?;
    let files = words.files(&args.inputs, args.empty.allow_empty, &mut session)?;
    let locale = words.locale()?;
    let steps = words.steps(&files, locale.as_deref())?;
    let (slice_bytes, part_bytes) = (args.slice_size, args.part_size);
    let sizes = SliceSizes { slice_bytes, parts: args.parts, part_bytes };
    let words = (words.spelled_out(&args.command, &files), locale);
    let means = Means::new(&session.job, &session.console);
    let job = plan_job(&*steps, words, &files, sizes, &means)?;
    write_document(&means.job.disk, &args.output, &job, true)?;
    let mut printer = session.end_step();

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
    printer.print("part plan", &Outcome { fields, line })
}

pub(super) fn sample(args: &SampleArgs, stop: &Stop) -> Result<(), Failure> {
    let options = SessionOptions::new("part", &args.resources, &args.report, stop);
    let (job, steps) = read_job(&args.job, options)?;
    let read: Vec<PathBuf> = job.inputs().map(PathBuf::from).collect();
    let (read, output) = ([&*read, &[]], Some(&*args.output));
    let step = SessionOptions { read, output, ..options }.job(None)?;
    let means = Means::new(&step, &Unobserved);
    let sample = |&slice: &usize| {
        if slice >= job.slices.len() {
            let last = job.slices.len() - 1;
            let reason = format!("--slice {slice}: there is no such slice, the last one is {last}");
            return Err(Failure::Usage(reason));
        }
        if stop.is_set() {
            return Err(xsort_extsort::Error::Cancelled.into());
        }
        Ok(steps.sample(&job, slice, args.keys.max(1), &means)?)
    };
    let samples = args.slice.0.iter().map(sample).collect::<Result<Vec<_>, Failure>>()?;
    let keys = samples.iter().map(|sample| sample.keys.len()).sum();
    write_document(&means.job.disk, &args.output, &Sample::new(&job, samples), true)?;

    #[derive(Serialize)]
    struct Sampled<'a> {
        job: &'a str,
        slices: &'a [usize],
        keys: usize,
    }
    let line = format!("{keys} keys of {} slices", args.slice.0.len());
    let fields = Sampled { job: &job.id, slices: &args.slice.0, keys };
    ResultPrinter::new(ReportStyle::decide(&args.report))
        .print("part sample", &Outcome { fields, line })
}

pub(super) fn split(args: &SplitArgs, stop: &Stop) -> Result<(), Failure> {
    let options = SessionOptions::new("part", &args.resources, &args.report, stop);
    let (job, steps) = read_job(&args.job, options)?;
    let (read, output) = ([&*args.samples, &[]], Some(&*args.output));
    let disk = SessionOptions { read, output, ..options }.job(None)?.disk;
    let samples: Vec<Sample> = read_all(&disk, &args.samples)?;
    let splitters = quantiles(&job, &samples, |a, b| steps.compare(a, b))?;
    write_document(&disk, &args.output, &splitters, true)?;

    #[derive(Serialize)]
    struct Split<'a> {
        job: &'a str,
        id: &'a str,
        splitters: usize,
    }
    let count = splitters.splitters.len();
    let fields = Split { job: &job.id, id: &splitters.id, splitters: count };
    let line = format!("{count} splitters for {} parts", job.parts);
    ResultPrinter::new(ReportStyle::decide(&args.report))
        .print("part split", &Outcome { fields, line })
}

pub(super) fn map(args: &MapArgs, stop: &Stop) -> Result<(), Failure> {
    let options = SessionOptions::new("part", &args.resources, &args.report, stop);
    let (job, steps) = read_job(&args.job, options)?;
    let slice = job.slices.get(args.slice).cloned().unwrap_or_default();
    let inputs: Vec<PathBuf> = slice.inputs.iter().map(|input| (&input.path).into()).collect();
    let files = SliceFiles::of(&args.to, args.slice);
    let session = Session::begin(SessionOptions {
        read: [&inputs, from_ref(&args.splitters)],
        scratch: &args.scratch,
        output: Some(&files.data),
        read_soon_bytes: Some(slice.bytes),
        ..options
    })?;
    let splitters: Splitters = read_document(&session.job.disk, &args.splitters)?;
    let begin = Instant::now();
    let (scratch, sync) = (args.scratch.clone(), args.sync);
    let means = Means { scratch, sync, ..Means::new(&session.job, &session.console) };
    let mapped = map_slice(&*steps, (&job, &splitters), args.slice, &args.to, &means)
        .map_err(|error| error.total_from_budget(&session.job))?;
    let mut printer = session.end_step();

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
    printer.print("part map", &Outcome { fields, line })
}

pub(super) fn validate(args: &ValidateArgs, stop: &Stop) -> Result<(), Failure> {
    let options = SessionOptions::new("part", &args.resources, &args.report, stop);
    let (job, steps) = read_job(&args.job, options)?;
    let documents =
        SessionOptions { read: [&args.manifests, &args.summaries], ..options }.job(None)?.disk;
    let manifests: Vec<Manifest> = read_all(&documents, &args.manifests)?;
    let summaries: Vec<Summary> = read_all(&documents, &args.summaries)?;
    let outputs = summaries.iter().map(|summary| &*summary.output);
    let read: Vec<PathBuf> = outputs.chain(job.inputs()).map(PathBuf::from).collect();
    let session = Session::begin(SessionOptions { read: [&read, &[]], ..options })?;
    let means = Means::new(&session.job, &session.console);
    let (compare, count) =
        (|a: &[u8], b: &[u8]| steps.compare(a, b), |slice| steps.count(&job, slice));
    let judged = xsort_parts::validate(&job, &manifests, &summaries, compare, count);
    let judged = judged.and_then(|found| {
        if args.outputs {
            check_outputs(&*means.job.disk, &summaries)?;
        }
        if args.read {
            steps.verify(&job, &summaries, found.checksum, &means)?;
        }
        Ok(found)
    });
    let mut printer = session.end_step();

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
    printer.print("part validate", &Outcome { fields, line })?;
    if found.is_some() { Ok(()) } else { Err(Failure::Disorder) }
}

/// What is said of rows with a value that isn't of its column's type.
fn with_bad(rows: Option<u64>) -> String {
    match rows {
        Some(bad @ 1..) => format!("; {} with a value of another type", Count(bad, "row")),
        _ => String::new(),
    }
}

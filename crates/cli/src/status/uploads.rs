//! Uploads under way in a store: who began them, and which are removed.
//!
//! A store lists an upload's key, ID and time, and no mark of its writer. So an upload is known to
//! be xsort's only if a job of this machine published its ID: it is kept if that job runs, and
//! removed if the job was killed and can't be resumed. An upload of an interrupted sort with a
//! checkpoint is known by the sort's journal. Any other upload may belong to a program that still
//! sends parts. It is kept, unless the user names an age and it is older.

use crate::args::StatusArgs;
use crate::decimal::span;
use crate::exit::Failure;
use crate::output::{self, all_but_last, write_stderr, write_stdout};
use crate::signals::Stop;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xsort_disk::{DiskOptions, DisplayPath, OsDisk};
use xsort_extsort::interrupted_sort;
use xsort_objects::{Bucket, ListedUpload};
use xsort_status::{FoundJob, Life};

/// An upload, and what was done with it.
#[derive(Debug, Serialize)]
struct Upload {
    url: String,
    upload: String,
    /// The time at which the upload began, in seconds since 1970, if the store returns it.
    began_unix_seconds: Option<i64>,
    /// "running", "dead", "resumable", or "unknown".
    writer: &'static str,
    /// The journal of the interrupted sort that began the upload, if it was found.
    journal: Option<PathBuf>,
    /// The name of the job that began the upload.
    job: Option<String>,
    removed: bool,
    #[serde(skip)]
    key: String,
}

#[derive(Serialize)]
struct JsonUploads {
    command: &'static str,
    version: u32,
    dry_run: bool,
    uploads: Vec<Upload>,
    failed: Vec<String>,
}

/// Lists the uploads at a URL and below it. With `--clear`, removes those that are left over.
pub(super) fn run(
    url: &Path,
    args: &StatusArgs,
    jobs: &[FoundJob],
    stop: &Stop,
) -> Result<(), Failure> {
    let bucket = Bucket::open(url, Arc::new(|name| std::env::var(name).ok()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let listed = bucket.uploads()?;
    let mut uploads: Vec<Upload> =
        listed.into_iter().map(|listed| recognised(listed, &bucket, jobs, &args.scratch)).collect();
    let mut failures = Vec::new();
    if args.clear {
        for upload in &mut uploads {
            if !stop.is_set() && upload.is_left_over(args.older_than, now) {
                match bucket.abort(&upload.key, &upload.upload) {
                    Ok(()) => upload.removed = true,
                    Err(error) => failures.push(Failure::from(error)),
                }
            }
        }
        failures.extend(check_gone(&bucket, &mut uploads, stop)?);
    }
    print(&bucket, uploads, args, now, &failures)?;
    if stop.is_set() {
        let so_far = ": what is removed is listed, the rest is as it was";
        failures.push(Failure::Stopped { so_far });
    }
    all_but_last(failures)
}

/// Aborts the uploads of a dead job.
///
/// # Errors
/// The first failure. The job's status still names the remaining uploads.
pub(super) fn abort_all(uploads: &[xsort_status::Upload]) -> Result<(), Failure> {
    for upload in uploads {
        let bucket =
            Bucket::open(Path::new(&upload.url), Arc::new(|name| std::env::var(name).ok()))?;
        bucket.abort(&bucket.url().key, &upload.upload)?;
    }
    Ok(())
}

/// Finds out who began an upload.
fn recognised(
    listed: ListedUpload,
    bucket: &Bucket,
    jobs: &[FoundJob],
    scratch: &[PathBuf],
) -> Upload {
    let ListedUpload { key, upload, begun } = listed;
    let url = bucket.url().with_key(&*key).to_string();
    let published = |job: &FoundJob| {
        let uploads = job.snapshot().map_or(&[][..], |snapshot| &snapshot.uploads);
        uploads.iter().find(|one| one.url == url && one.upload == upload).cloned()
    };
    // A resumed sort has published the same upload as the interrupted one.
    let found = jobs.iter().filter_map(|job| Some((job, published(job)?)));
    let found = found.max_by_key(|(job, _)| job.life() == Life::Running);
    let writer = match &found {
        Some((job, upload)) => match job.life() {
            Life::Dead if upload.is_resumable => "resumable",
            Life::Dead => "dead",
            Life::Running => "running",
            // Meanwhile the job has ended normally.
            Life::Over => "unknown",
        },
        None => "unknown",
    };
    let journal = match writer {
        "unknown" | "resumable" => journal(&url, &upload, scratch),
        _ => None,
    };
    let writer = if journal.is_some() { "resumable" } else { writer };
    let job = found.map(|(job, _)| job.name().to_owned());
    Upload { url, upload, began_unix_seconds: begun, writer, journal, job, removed: false, key }
}

/// The journal of the interrupted sort that would continue this upload.
fn journal(url: &str, upload: &str, scratch: &[PathBuf]) -> Option<PathBuf> {
    let disk = OsDisk::lazy(DiskOptions::default());
    let places = match scratch {
        [] => vec![&[][..]],
        directories => directories.chunks(1).collect(),
    };
    let sorts = places.into_iter().filter_map(|at| interrupted_sort(&disk, Path::new(url), at));
    let found = sorts.into_iter().find(|sort| sort.output_tag.ends_with(upload));
    found.map(|sort| sort.journal)
}

/// Failures for uploads that were removed and are listed again: another program has sent a part
/// meanwhile.
fn check_gone(
    bucket: &Bucket,
    uploads: &mut [Upload],
    stop: &Stop,
) -> Result<Vec<Failure>, Failure> {
    if stop.is_set() || uploads.iter().all(|upload| !upload.removed) {
        return Ok(Vec::new());
    }
    let listed = bucket.uploads()?;
    let removed = uploads.iter_mut().filter(|upload| upload.removed);
    let back = removed.filter(|upload| listed.iter().any(|one| one.upload == upload.upload));
    Ok(back
        .map(|upload| {
            upload.removed = false;
            let url = &upload.url;
            Failure::Usage(format!(
                "removing the upload to {url}: it is still there: somebody sends parts to it; run \
                 again when that is over"
            ))
        })
        .collect())
}

impl Upload {
    /// True if no job needs the upload, or if it is older than the user's limit.
    fn is_left_over(&self, older_than: Option<Duration>, now: Duration) -> bool {
        match self.writer {
            "dead" => true,
            "unknown" | "resumable" => older_than.is_some_and(|least| {
                let is_older = |age| age > least.as_secs() as i64;
                least.is_zero() || self.age_seconds(now).is_some_and(is_older)
            }),
            _ => false,
        }
    }

    fn age_seconds(&self, now: Duration) -> Option<i64> {
        self.began_unix_seconds.map(|began| now.as_secs() as i64 - began)
    }

    fn line(&self, now: Duration, is_clearing: bool) -> String {
        let mut line = self.url.clone();
        if let Some(age) = self.age_seconds(now) {
            let _ = write!(line, ": begun {} ago", span(age.max(0) as f64));
        }
        line += &match (&self.job, &self.journal, self.writer) {
            (Some(job), _, "dead") => format!(", by job {job}, which was killed"),
            (Some(job), _, "running") => format!(", by job {job}, which runs"),
            (_, Some(journal), "resumable") => format!(
                ", by a sort that was interrupted: --resume goes on with it, --restart removes it \
                 (its journal is {})",
                DisplayPath(journal)
            ),
            (Some(job), None, "resumable") => format!(
                ", by job {job}, which was killed: --resume goes on with it, --restart removes it"
            ),
            _ => ", by whom is not known here".to_owned(),
        };
        match (is_clearing, self.removed) {
            (true, true) => line += ": removed",
            (true, false) => line += ": kept",
            (false, _) => {}
        }
        line
    }
}

fn print(
    bucket: &Bucket,
    uploads: Vec<Upload>,
    args: &StatusArgs,
    now: Duration,
    failures: &[Failure],
) -> Result<(), Failure> {
    let is_kept = |upload: &Upload| upload.writer != "running" && !upload.removed;
    let hints_age = args.clear && args.older_than.is_none() && uploads.iter().any(is_kept);
    let text = if args.json {
        let all = JsonUploads {
            command: "status",
            version: output::JSON_VERSION,
            dry_run: false,
            uploads,
            failed: failures.iter().map(ToString::to_string).collect(),
        };
        output::json(&all)? + "\n"
    } else if uploads.is_empty() {
        format!("no upload is under way at {}\n", bucket.url())
    } else {
        uploads.iter().map(|upload| upload.line(now, args.clear) + "\n").collect()
    };
    write_stdout(text.as_bytes())?;
    if hints_age {
        write_stderr("note: --older-than 2d also removes those that are kept and began before");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_or_old_enough_is_left_over() {
        let now = Duration::from_secs(1_000_000);
        let of = |writer, began_unix_seconds| Upload {
            url: String::new(),
            upload: String::new(),
            began_unix_seconds,
            writer,
            journal: None,
            job: None,
            removed: false,
            key: String::new(),
        };
        let hour = Some(Duration::from_secs(3600));
        for (writer, began, older_than, expected) in [
            ("dead", Some(999_999), None, true),
            ("dead", None, None, true),
            ("running", Some(0), hour, false),
            ("unknown", Some(0), None, false),
            ("unknown", None, hour, false),
            ("unknown", Some(996_400), hour, false),
            ("unknown", Some(996_399), hour, true),
            ("resumable", Some(0), None, false),
            ("resumable", Some(0), hour, true),
            // The age 0 includes uploads that began in this second, by a clock ahead of ours, or at
            // an unknown time.
            ("unknown", Some(1_000_000), Some(Duration::ZERO), true),
            ("resumable", Some(1_000_001), Some(Duration::ZERO), true),
            ("unknown", None, Some(Duration::ZERO), true),
            ("running", Some(0), Some(Duration::ZERO), false),
            // By a clock ahead of ours.
            ("unknown", Some(1_000_001), Some(Duration::from_secs(1)), false),
        ] {
            let upload = of(writer, began);
            assert_eq!(upload.is_left_over(older_than, now), expected, "{upload:?}");
        }
    }
}

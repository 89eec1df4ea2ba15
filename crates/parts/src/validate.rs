//! Whether the parts of a job are its sorted input, by the manifests of its slices and the
//! summaries of its parts.

use crate::error::{Error, ranges};
use crate::hex::Hex;
use crate::input_tag::input_tag;
use crate::job::Job;
use crate::manifest::Manifest;
use crate::summary::Summary;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;
use xsort_disk::Disk;
use xsort_records::Checksum;

/// What a job's parts have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validated {
    /// Count and sum of all records.
    pub checksum: Checksum,
    /// Bytes of all outputs.
    pub bytes: u64,
}

fn invalid<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Invalid(what.into()))
}

/// Each of `0..count` once among `numbers`.
fn check_numbers(
    what: &str,
    numbers: impl Iterator<Item = usize>,
    count: usize,
) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for number in numbers {
        if number >= count {
            return invalid(format!("there is no {what} {number}: the job has {count}"));
        }
        if !seen.insert(number) {
            return invalid(format!("{what} {number} is there twice"));
        }
    }
    let missing: Vec<usize> = (0..count).filter(|number| !seen.contains(number)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => invalid(format!("{what}s are missing: {}", ranges(&missing))),
    }
}

/// Checks that every slice and every part is there once, that each part has what the slices have of
/// it, that neighbouring parts are in order by `compare`, and that the slices have as many records
/// as `expected` says of their bytes.
///
/// # Errors
/// [`Error::Invalid`] with the first fault.
pub fn validate(
    job: &Job,
    manifests: &[Manifest],
    summaries: &[Summary],
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
    expected: impl Fn(usize) -> Option<u64>,
) -> Result<Validated, Error> {
    for Manifest { job: of, slice, .. } in manifests {
        if *of != job.id {
            return invalid(format!("the manifest of slice {slice} belongs to the job {of}"));
        }
    }
    for Summary { job: of, part, .. } in summaries {
        if *of != job.id {
            return invalid(format!("the summary of part {part} belongs to the job {of}"));
        }
    }
    check_numbers("slice", manifests.iter().map(|of| of.slice), job.slices.len())?;
    check_numbers("part", summaries.iter().map(|of| of.part), job.parts)?;
    let splitters: BTreeSet<&str> = manifests.iter().map(|of| &*of.splitters).collect();
    let splitters: BTreeSet<&str> =
        splitters.into_iter().chain(summaries.iter().map(|of| &*of.splitters)).collect();
    if splitters.len() > 1 {
        return invalid("slices and parts were cut at different splitters");
    }
    for manifest in manifests {
        let slice = manifest.slice;
        if manifest.parts.len() != job.parts && manifest.parts.len() != 1 {
            return invalid(format!("the manifest of slice {slice} has other parts than the job"));
        }
        let records = expected(slice);
        if records.is_some_and(|records| records != manifest.records) {
            let (has, wanted) = (manifest.records, records.unwrap_or(0));
            return invalid(format!("slice {slice} has {has} records, and its inputs {wanted}"));
        }
    }
    if manifests.iter().all(|manifest| manifest.parts.len() == job.parts) {
        check_parts(manifests, summaries)?;
    }
    let validated = check_order(summaries, compare)?;
    check_all(manifests, validated)
}

/// Sees that the outputs of all parts are there, as they were written, by their lengths and tags.
///
/// # Errors
/// [`Error::Invalid`] with the first one that isn't.
pub fn check_outputs(disk: &dyn Disk, summaries: &[Summary]) -> Result<(), Error> {
    for Summary { part, output, tag, bytes, .. } in summaries {
        let (found, found_bytes) = match input_tag(disk, Path::new(output)) {
            Ok(found) => found,
            Err(error) => return invalid(format!("part {part}: {error}")),
        };
        if found_bytes != *bytes {
            return invalid(format!(
                "part {part}: {output} has {found_bytes} bytes, and {bytes} were written"
            ));
        }
        if found != *tag {
            return invalid(format!(
                "part {part}: {output} is not what was written (it was {tag} and is {found})"
            ));
        }
    }
    Ok(())
}

/// Compares what was read again, the `outputs` or the `inputs`, with what the summaries have.
///
/// # Errors
/// [`Error::Invalid`] if it isn't the same.
pub(crate) fn check_read(what: &str, found: Checksum, validated: Checksum) -> Result<(), Error> {
    match found == validated {
        true => Ok(()),
        false => invalid(format!(
            "the {what} have {} records with checksum {found}, and the summaries {} with \
             {validated}",
            found.records(),
            validated.records()
        )),
    }
}

/// Compares what was read again of one part with its summary.
///
/// # Errors
/// [`Error::Invalid`] if it isn't the same.
pub(crate) fn check_part(summary: &Summary, found: Checksum) -> Result<(), Error> {
    match found == summary.checksum() {
        true => Ok(()),
        false => invalid(format!(
            "the output of part {} has {} records with checksum {found}, and its summary {} with \
             {}",
            summary.part,
            found.records(),
            summary.records,
            summary.checksum()
        )),
    }
}

/// All parts have what all slices have. Where manifests say no more than that, because slices times
/// parts would be too much to keep in one place, each merge has compared its own part.
fn check_all(manifests: &[Manifest], parts: Validated) -> Result<Validated, Error> {
    let mut sent = Checksum::default();
    manifests.iter().for_each(|slice| sent.merge(slice.checksum()));
    match sent == parts.checksum {
        true => Ok(parts),
        false => invalid(format!(
            "the parts have {} records with checksum {}, and the slices {} with {sent}",
            parts.checksum.records(),
            parts.checksum,
            sent.records()
        )),
    }
}

/// Each part has what the slices have of it.
fn check_parts(manifests: &[Manifest], summaries: &[Summary]) -> Result<(), Error> {
    for summary in summaries {
        let mut sent = Checksum::default();
        manifests.iter().for_each(|slice| sent.merge(slice.parts[summary.part].checksum()));
        if sent != summary.checksum() {
            return invalid(format!(
                "part {} has {} records with checksum {}, and the slices have {} for it with \
                 {sent}",
                summary.part,
                summary.records,
                summary.checksum(),
                sent.records()
            ));
        }
    }
    Ok(())
}

/// Neighbouring parts that have records are in order.
fn check_order(
    summaries: &[Summary],
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Result<Validated, Error> {
    let parts = Summary::in_order(summaries);
    let mut all = Validated { checksum: Checksum::default(), bytes: 0 };
    let mut before: Option<(usize, &Hex)> = None;
    for Summary { part, first, last, bytes, .. } in &parts {
        if let (Some(first), Some(last)) = (first, last) {
            if compare(&first.0, &last.0).is_gt() {
                return invalid(format!("the last key of part {part} comes before its first"));
            }
            if let Some((other, end)) = before
                && compare(&end.0, &first.0).is_gt()
            {
                return invalid(format!("part {part} begins before part {other} ends"));
            }
            before = Some((*part, last));
        }
        all.bytes += bytes;
    }
    parts.iter().for_each(|summary| all.checksum.merge(summary.checksum()));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Slice;
    use crate::manifest::PartRange;
    use crate::splitters::{Splitters, quantiles};
    use crate::summary::Merged;

    fn job() -> Job {
        let slice = |index| Slice { index, ..Slice::default() };
        Job::new(Vec::new(), (None, None), (0..2).map(slice).collect(), 2)
    }

    fn splitters(job: &Job) -> Splitters {
        let samples = (0..2).map(|slice| crate::SliceSample { slice, bytes: 0, keys: Vec::new() });
        quantiles(job, &[crate::Sample::new(job, samples.collect())], Ord::cmp).unwrap()
    }

    fn manifest(job: &Job, slice: usize) -> Manifest {
        let range = |part: u64| PartRange { offset: part, bytes: 1, records: 1, sum: 10 };
        Manifest::new(job, &splitters(job), slice, vec![range(0), range(1)])
    }

    fn summary(job: &Job, part: usize, first: u8, last: u8) -> Summary {
        let checksum = Checksum::from_parts(2, 20);
        let keys = Some((Hex(vec![first]), Hex(vec![last])));
        let merged = Merged { checksum, bytes: 2, keys };
        Summary::new((job, splitters(job).id), part, merged, (String::new(), String::new()))
    }

    fn judge(manifests: &[Manifest], summaries: &[Summary]) -> Result<Validated, String> {
        let found = validate(&job(), manifests, summaries, Ord::cmp, |_| Some(2));
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_whole_and_in_order_is_valid() {
        let job = job();
        let manifests = [manifest(&job, 1), manifest(&job, 0)];
        let summaries = [summary(&job, 1, 5, 9), summary(&job, 0, 2, 5)];
        let all = judge(&manifests, &summaries).unwrap();
        assert_eq!((all.checksum, all.bytes), (Checksum::from_parts(4, 40), 4));
    }

    #[test]
    fn manifests_of_totals_are_compared_with_all_parts() {
        let job = job();
        let range = PartRange { offset: 0, bytes: 2, records: 2, sum: 20 };
        let total = |slice| Manifest::new(&job, &splitters(&job), slice, vec![range.clone()]);
        let totals = [total(0), total(1)];
        let [a, b] = [summary(&job, 0, 2, 5), summary(&job, 1, 5, 9)];
        assert_eq!(judge(&totals, &[a.clone(), b.clone()]).unwrap().bytes, 4);
        let changed = Summary { sum: 21, ..b };
        let fault = judge(&totals, &[a, changed]).unwrap_err();
        assert!(fault.contains("the parts have 4 records with checksum 29"), "{fault}");
    }

    #[test]
    fn every_fault_is_found() {
        let job = job();
        let good = [manifest(&job, 0), manifest(&job, 1)];
        let [a, b] = [summary(&job, 0, 2, 5), summary(&job, 1, 5, 9)];
        let fault = |manifests: &[Manifest], summaries: &[Summary], expected: &str| {
            let text = judge(manifests, summaries).unwrap_err();
            assert!(text.contains(expected), "{text}");
        };
        fault(&good[1..], &[a.clone(), b.clone()], "slices are missing: 0");
        fault(&good, std::slice::from_ref(&b), "parts are missing: 0");
        fault(&good, &[a.clone(), a.clone(), b.clone()], "part 0 is there twice");
        fault(&[&good[..], &good[..1]].concat(), &[a.clone(), b.clone()], "slice 0 is there twice");
        let foreign = Summary { job: "x".into(), ..b.clone() };
        fault(&good, &[a.clone(), foreign], "part 1 belongs to the job x");
        let recut = Summary { splitters: "x".into(), ..b.clone() };
        fault(&good, &[a.clone(), recut], "different splitters");
        let fewer = Summary { records: 1, ..b.clone() };
        fault(&good, &[a.clone(), fewer], "part 1 has 1 records");
        let changed = Summary { sum: 21, ..b.clone() };
        fault(&good, &[a.clone(), changed], "checksum");
        let early = Summary { first: Some(Hex(vec![4])), ..b.clone() };
        fault(&good, &[a.clone(), early], "part 1 begins before part 0 ends");
        let turned = Summary { last: Some(Hex(vec![4])), ..b };
        fault(&good, &[a.clone(), turned], "the last key of part 1");
        let mut short = good.clone();
        short[1].records = 1;
        fault(&short, &[a, summary(&job, 1, 5, 9)], "slice 1 has 1 records, and its inputs 2");
    }
}

//! Reads inputs and outputs again, with the verifier.

use super::Records;
use crate::error::Error;
use crate::job::Job;
use crate::means::Means;
use crate::summary::Summary;
use crate::validate::{check_part, check_read};
use std::path::PathBuf;
use xsort_extsort::{VerifyOptions, VerifyReport, verify};
use xsort_records::{Checksum, VerifySummary};

impl Records {
    pub(super) fn verify_outputs(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let mut whole = VerifySummary::new(&self.layout);
        for summary in Summary::in_order(summaries) {
            let Summary { part, output, .. } = summary;
            let report = self.read(vec![output.into()], true, means)?;
            let found = report.part.expect("the order was asked for");
            whole.append(&found);
            if !whole.is_sorted() {
                let at = whole.first_unordered().unwrap_or(0);
                let what = format!("record {at} of the output, in part {part}, is out of order");
                return Err(Error::Invalid(what));
            }
            check_part(summary, found.checksum())?;
        }
        check_read("outputs", whole.checksum(), validated)?;
        let mut found = Checksum::default();
        let inputs = job.slices.iter().flat_map(|slice| &slice.inputs);
        // A file in two slices is read once; a file that was given twice is read twice.
        for input in inputs.filter(|input| input.offset == 0) {
            found.merge(self.read(vec![(&input.path).into()], false, means)?.checksum);
        }
        check_read("inputs", found, validated)
    }

    fn read(
        &self,
        inputs: Vec<PathBuf>,
        order: bool,
        means: &Means<'_>,
    ) -> Result<VerifyReport, Error> {
        let options = VerifyOptions {
            inputs,
            layout: self.layout.clone(),
            format_is_assumed: false,
            budget_bytes: means.job.budget_bytes(),
            threads: means.job.threads(),
            order,
        };
        Ok(verify(&options, &*means.job.disk, means.observer)?)
    }
}

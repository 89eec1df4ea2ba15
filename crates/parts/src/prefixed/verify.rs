//! Reads outputs and inputs again, with the verifier, which builds no keyed records. So the other
//! steps' sums are compared with it only by count, and inputs and outputs are compared with each
//! other.

use super::Prefixed;
use crate::error::Error;
use crate::job::Job;
use crate::means::Means;
use crate::summary::Summary;
use crate::validate::check_read;
use std::path::Path;
use xsort_extsort::prefixed::input_on;
use xsort_extsort::{PrefixedVerifyOptions, verify_prefixed};
use xsort_records::{Checksum, VaryingSummary};

impl Prefixed {
    pub(super) fn verify_outputs(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let outputs = Summary::in_order(summaries).into_iter().map(|part| &*part.output);
        let written = self.read(outputs, means)?;
        if let Some(at) = written.first_unordered() {
            return Err(Error::Invalid(format!("record {at} of the output is out of order")));
        }
        if written.records() != validated.records() {
            let (read, expected) = (written.records(), validated.records());
            let what = format!("the outputs have {read} records, and {expected} were merged");
            return Err(Error::Invalid(what));
        }
        check_read("inputs", self.read(job.inputs(), means)?.checksum(), written.checksum())
    }

    fn read<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
        means: &Means<'_>,
    ) -> Result<VaryingSummary, Error> {
        let open = |path| -> Result<_, Error> {
            let input = input_on(&means.job.disk, Path::new(path))?;
            Ok((input.path.clone(), input.into_bytes()))
        };
        let inputs = paths.map(open).collect::<Result<Vec<_>, _>>()?;
        let options = PrefixedVerifyOptions {
            prefix: self.options.prefix,
            fields: self.options.fields.clone(),
            budget_bytes: means.job.budget_bytes(),
        };
        Ok(verify_prefixed(&options, inputs, means.observer)?.summary)
    }
}

//! Generates benchmark data.

use crate::setup::{Setup, output_setters, resource_setters};
use std::path::Path;
use xsort_extsort::{Error, GenerateOptions, GenerateReport, generate};
use xsort_records::{Format, GenerateSpec, Generator, Pattern};

/// Generates records of the Sort Benchmark and other formats.
///
/// ```no_run
/// use xsort::Generate;
///
/// Generate::records(1_000_000).seed(7).run("data")?;
/// # Ok::<(), xsort::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generate {
    spec: GenerateSpec,
    setup: Setup,
}

impl Generate {
    /// Generates `records` records of the Sort Benchmark's binary format, with uniform keys.
    pub fn records(records: u64) -> Generate {
        let spec = GenerateSpec {
            format: Format::Gensort,
            skewed: false,
            pattern: Pattern::Uniform,
            start: 0,
            seed: 0,
            total: records,
        };
        Generate { spec, setup: Setup::default() }
    }

    resource_setters!();
    output_setters!();

    /// Sets the format of the records.
    #[must_use]
    pub fn format(mut self, format: Format) -> Generate {
        self.spec.format = format;
        self
    }

    /// Sets the distribution of the keys.
    #[must_use]
    pub fn pattern(mut self, pattern: Pattern) -> Generate {
        self.spec.pattern = pattern;
        self
    }

    /// Sets the seed. Different seeds give different records; seed 0 gives gensort's records.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Generate {
        self.spec.seed = seed;
        self
    }

    /// Writes the file, which appears complete or not at all.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Settings`] if the format can't have the pattern.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<GenerateReport, Error> {
        let generator =
            Generator::new(self.spec).map_err(|error| Error::Settings(error.to_string()))?;
        let output = output.as_ref();
        let (job, observer) = self.setup.begin([output; 0], Some(output))?;
        let options = GenerateOptions {
            generator,
            output: output.to_owned(),
            budget_bytes: job.data_bytes().min(BUDGET_BYTES_MAX),
            threads: job.threads(),
            sync: true,
        };
        generate(&options, &*job.disk, &observer).map_err(|error| job.total_from_data(error))
    }
}

/// Maximum memory in bytes: more would not be faster.
const BUDGET_BYTES_MAX: u64 = 256 << 20;

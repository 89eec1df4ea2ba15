//! Generates benchmark data.

use crate::job::Job;
use crate::setup::{Setup, output_setters};
use std::path::Path;
use xsort_extsort::{Error, GenerateOptions, GenerateReport, Observer, generate};
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
    sync: bool,
    setup: Setup,
}

impl Generate {
    /// Generates `records` records of the Sort Benchmark's binary format, with uniform keys.
    pub fn records(records: u64) -> Generate {
        Generate::with_spec(GenerateSpec {
            format: Format::Gensort,
            skewed: false,
            pattern: Pattern::Uniform,
            start: 0,
            seed: 0,
            total: records,
        })
    }

    /// Generates the records of this specification.
    pub fn with_spec(spec: GenerateSpec) -> Generate {
        Generate { spec, sync: true, setup: Setup::default() }
    }

    crate::resource_setters!();
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

    /// Doesn't sync the output: the kernel decides when it becomes durable.
    #[must_use]
    pub fn no_sync(mut self) -> Generate {
        self.sync = false;
        self
    }

    /// Returns the generator of the records.
    ///
    /// # Errors
    /// [`Error::Settings`] if the format can't have the pattern.
    pub fn generator(&self) -> Result<Generator, Error> {
        Generator::new(self.spec).map_err(|error| Error::Settings(error.to_string()))
    }

    /// Writes the file, which appears complete or not at all.
    ///
    /// # Errors
    /// Any [`Error`], including those of [`generator`](Generate::generator).
    pub fn run(&self, output: impl AsRef<Path>) -> Result<GenerateReport, Error> {
        let generator = self.generator()?;
        let output = output.as_ref();
        let (job, observer) = self.setup.begin([output; 0], Some(output))?;
        let budget_bytes = job.data_bytes().min(BUDGET_BYTES_MAX);
        self.generate(generator, budget_bytes, &job, &observer, output)
    }

    /// Writes the file within a job that the caller has begun and observes, with all of its memory.
    ///
    /// # Errors
    /// The errors of [`run`](Generate::run).
    pub fn run_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        output: &Path,
    ) -> Result<GenerateReport, Error> {
        self.generate(self.generator()?, job.data_bytes(), job, observer, output)
    }

    fn generate(
        &self,
        generator: Generator,
        budget_bytes: u64,
        job: &Job,
        observer: &dyn Observer,
        output: &Path,
    ) -> Result<GenerateReport, Error> {
        let (output, threads, sync) = (output.to_owned(), job.threads(), self.sync);
        let options = GenerateOptions { generator, output, budget_bytes, threads, sync };
        generate(&options, &*job.disk, observer).map_err(|error| job.total_from_data(error))
    }
}

/// Maximum memory in bytes: more would not be faster.
const BUDGET_BYTES_MAX: u64 = 256 << 20;

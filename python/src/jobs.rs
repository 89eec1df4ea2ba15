//! `xsort.jobs`.

use crate::errors::Failure;
use pyo3::prelude::*;
use xsort_status::{Inventory, JobReport, StatusDirectories, find};

/// The jobs of this user that run now, and what killed ones left: what `xsort status --json` says
/// of each, as dictionaries. Living ones come first, the oldest before all others.
#[pyfunction]
pub(crate) fn jobs(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let text = py.detach(|| {
        let jobs = find(&StatusDirectories::from_environment(|name| std::env::var_os(name)));
        let mut inventory = Inventory::default();
        let leftovers: Vec<_> = jobs.iter().map(|job| inventory.leftovers(job)).collect();
        let reports = jobs.iter().zip(&leftovers);
        let reports = reports.map(|(job, leftovers)| JobReport::new(job, leftovers));
        serde_json::to_string(&reports.collect::<Vec<_>>())
    });
    let text = text.map_err(Failure::of_argument)?;
    py.import("json")?.call_method1("loads", (text,))
}

//! Batches with all columns that rows are sorted by.

use crate::derived::{Derived, DerivedColumn, Deriving};
use crate::keys::FoundKey;
use crate::sample::sampled_curves;
use crate::sort_plan::SortPlan;
use crate::source::Source;
use std::sync::Arc;
use xsort_extsort::Error;
use xsort_table::collator;

/// Starts the reading of all inputs. Curves need a sample, which is read first.
pub(crate) fn keyed_source(plan: &SortPlan) -> Result<Box<dyn Source>, Error> {
    let (curves, reading) = match plan.keys.curves().next() {
        Some(_) => sampled_curves(plan)?,
        None => (Vec::new(), plan.start_reading()?),
    };
    let mut curves = curves.into_iter();
    let column = |key: &FoundKey| match key {
        FoundKey::Column(_) => None,
        FoundKey::Text(text) => {
            let collator = collator(&plan.options.keys);
            Some(collator.map(|collator| DerivedColumn::Text(text.clone(), collator)))
        }
        FoundKey::Curve(_) => curves.next().map(|curve| Ok(DerivedColumn::Curve(curve))),
    };
    let columns: Vec<DerivedColumn> = match plan.options.shuffle {
        Some(seed) => vec![DerivedColumn::Random(seed)],
        None => plan.keys.keys.iter().filter_map(column).collect::<Result<_, Error>>()?,
    };
    if columns.is_empty() {
        return Ok(reading);
    }
    let derived = Derived { schema: Arc::clone(&plan.sorted_schema), columns };
    let means = (plan.threads, plan.memory.read.queue_bytes);
    Ok(Box::new(Deriving::start(reading, derived, plan.paths(), means)?))
}

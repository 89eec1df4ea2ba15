//! Batches with all columns that rows are sorted by.

use crate::curves::CurveColumn;
use crate::derived::{Derived, DerivedColumn, Deriving};
use crate::keys::FoundKey;
use crate::sample::Sample;
use crate::sort_plan::SortPlan;
use crate::source::Source;
use std::sync::Arc;
use xsort_extsort::Error;
use xsort_table::collator;

/// Starts the reading of all inputs. Curves need a sample, which is read first.
pub(crate) fn keyed_source(plan: &SortPlan) -> Result<Box<dyn Source>, Error> {
    let has_curves = plan.keys.curves().next().is_some();
    let (sample, reading) = match has_curves {
        true => Sample::take(plan)?,
        false => (Sample::default(), plan.start_reading()?),
    };
    let column = |key: &FoundKey| match key {
        FoundKey::Column(_) => None,
        FoundKey::Text(text) => {
            let collator = collator(&plan.options.keys);
            Some(collator.map(|collator| DerivedColumn::Text(text.clone(), collator)))
        }
        FoundKey::Curve(curve) => {
            let sampled = curve.in_columns(&sample.columns);
            let curve = CurveColumn::new(curve.clone(), &sampled, &sample.batches);
            Some(Ok(DerivedColumn::Curve(curve)))
        }
    };
    let columns: Vec<DerivedColumn> = match plan.options.shuffle {
        Some(seed) => vec![DerivedColumn::Random(seed)],
        None => plan.keys.keys.iter().filter_map(column).collect::<Result<_, Error>>()?,
    };
    if columns.is_empty() {
        return Ok(reading);
    }
    let derived = Derived { schema: Arc::clone(&plan.sorted_schema), columns };
    Ok(Box::new(Deriving::start(reading, derived, plan.paths(), plan.threads)?))
}

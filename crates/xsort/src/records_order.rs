//! Records of several lines in GNU sort's order, which is that of parts of their lines.

use crate::keyed_order::GnuKeys;
use std::num::NonZeroU64;
use std::sync::Arc;
use xsort_extsort::keyed::{RecordRule, RecordsOfLines};
use xsort_gnu::sort::{LineKeys, Order, Records};

/// The records of lines that `order` sorts; `None` if it sorts lines. With `is_unique`, only the
/// first of equal records is kept.
pub fn records_in_order(order: &Order, is_unique: bool) -> Option<RecordsOfLines<GnuKeys>> {
    let records = order.records()?;
    let rule = match records {
        // There is no line in no lines.
        &Records::Lines(lines) => NonZeroU64::new(lines).map_or(RecordRule::Line, |lines| {
            if lines.get() == 1 { RecordRule::Line } else { RecordRule::Lines(lines) }
        }),
        Records::BeginText(_) | Records::BeginMatch(_) => {
            let records = records.clone();
            RecordRule::Begins(Arc::new(move |line| records.begin_with(line)))
        }
        Records::EndBlank => RecordRule::EndsBlank,
    };
    let keys = Arc::new(GnuKeys(LineKeys::always(order, is_unique)));
    Some(RecordsOfLines { keys, rule, skipped_bytes: 0, top: None })
}

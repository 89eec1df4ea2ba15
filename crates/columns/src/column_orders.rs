//! The order of statistics of floats, as a footer states it.
//!
//! The format's order by type leaves open where NaNs are. The newer total order (IEEE 754) doesn't,
//! and the writer of the crate `parquet` states it for all floats. Readers that don't know it, such
//! as Arrow C++ 26, ignore such statistics, and read every row group. Without NaNs both orders are
//! the same, up to the sign of zero, which readers of the older one expect to be unknown. So
//! columns without NaNs get the order by type.
//!
//! ```text
//!  ... | 19 | count of leaves | 1C 00 00 | 2C 00 00 | ... | 00 | length, 4 bytes | "PAR1"
//!        column_orders          by type    total order      end of the footer
//! ```
//!
//! The list is the last field of the footer, so that it is found from its end.

use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;
use std::io::{self, Write};

/// Bytes after the list: the end of the footer, its length and the magic.
const AFTER_BYTES: usize = 9;
/// Bytes of each order.
const ORDER_BYTES: usize = 3;
const BY_TYPE: [u8; ORDER_BYTES] = [0x1c, 0, 0];
const TOTAL: [u8; ORDER_BYTES] = [0x2c, 0, 0];

/// A writer that can hold the last bytes back.
pub(crate) struct HeldBack<W> {
    to: W,
    /// `None` as long as nothing is held.
    held: Option<Vec<u8>>,
    bytes: usize,
}

impl<W: Write> HeldBack<W> {
    pub(crate) fn new(to: W) -> HeldBack<W> {
        HeldBack { to, held: None, bytes: 0 }
    }

    /// From now on holds back the end of a footer of `leaves` columns.
    pub(crate) fn hold(&mut self, leaves: usize) {
        self.bytes = AFTER_BYTES + ORDER_BYTES * leaves;
        self.held = Some(Vec::new());
    }

    /// Writes what was held back, in which columns without NaNs have the order by type.
    ///
    /// # Errors
    /// If it can't be written.
    pub(crate) fn release(&mut self, footer: &ParquetMetaData) -> io::Result<()> {
        if let Some(mut held) = self.held.take() {
            state_orders(&mut held, footer);
            self.to.write_all(&held)?;
        }
        self.to.flush()
    }
}

impl<W: Write> Write for HeldBack<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(held) = &mut self.held else { return self.to.write(bytes) };
        held.extend_from_slice(bytes);
        let ready = held.len().saturating_sub(self.bytes);
        self.to.write_all(&held[..ready])?;
        held.drain(..ready);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// States the order by type for columns without NaNs, if `held` ends as a footer does.
fn state_orders(held: &mut [u8], footer: &ParquetMetaData) {
    let leaves = footer.file_metadata().schema_descr().num_columns();
    let Some(end) = held.len().checked_sub(AFTER_BYTES) else { return };
    let Some(begin) = end.checked_sub(leaves * ORDER_BYTES) else { return };
    let (orders, _) = held[begin..end].as_chunks_mut::<ORDER_BYTES>();
    if !orders.iter().all(|order| matches!(order, [0x1c | 0x2c | 0x3c, 0, 0])) {
        return;
    }
    for (leaf, order) in orders.iter_mut().enumerate() {
        if *order == TOTAL && !may_have_nans(footer, leaf) {
            *order = BY_TYPE;
        }
    }
}

/// Returns whether a column may have NaNs by its statistics. Those that count none were written in
/// the order by type.
fn may_have_nans(footer: &ParquetMetaData, leaf: usize) -> bool {
    footer.row_groups().iter().filter_map(|group| group.column(leaf).statistics()).any(|found| {
        let is_bound = match found {
            Statistics::Float(found) => {
                [found.min_opt(), found.max_opt()].into_iter().flatten().any(|bound| bound.is_nan())
            }
            Statistics::Double(found) => {
                [found.min_opt(), found.max_opt()].into_iter().flatten().any(|bound| bound.is_nan())
            }
            _ => false,
        };
        is_bound || found.nan_count_opt().is_some_and(|count| count > 0)
    })
}

//! The outputs under way of the whole process, so that a process that ends at once, in whatever
//! thread, can give them up without knowing its disks.

use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Something under way that leaves traces in a store.
pub(super) trait Abandon: Send + Sync {
    /// Removes the traces, as far as that can be done within seconds.
    fn abandon(self: Arc<Self>);
}

static UNDER_WAY: Mutex<Vec<Weak<dyn Abandon>>> = Mutex::new(Vec::new());

/// Puts it on the list.
pub(super) fn register(under_way: Weak<dyn Abandon>) {
    let mut list = UNDER_WAY.lock();
    list.retain(|other| other.strong_count() > 0);
    list.push(under_way);
}

/// For a process that ends at once, from any of its threads: gives up all outputs that are not in
/// place, as [`xsort_disk::abandon_outputs`] does for files. Takes seconds for each at most, if the
/// store doesn't answer. Of several threads that call it, none returns before all is done.
pub fn abandon_uploads() {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock();
    let list = std::mem::take(&mut *UNDER_WAY.lock());
    for under_way in list {
        if let Some(under_way) = under_way.upgrade() {
            under_way.abandon();
        }
    }
}

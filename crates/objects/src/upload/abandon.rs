//! The outputs under way of the whole process: so that a process that ends at once, in whatever
//! thread, can give them up without knowing its disks; and that others know what it leaves if it is
//! killed.

use crate::location::Location;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Something under way that leaves traces in a store.
pub(super) trait Abandon: Send + Sync {
    /// Removes the traces, as far as that can be done within seconds.
    fn abandon(self: Arc<Self>);

    /// The traces that there are now.
    fn traces(&self) -> Option<UploadUnderWay>;
}

/// An upload of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadUnderWay {
    /// The object that it is to become.
    pub object: Location,
    /// The number that the store gave it.
    pub upload: String,
    /// Whether a resumed sort goes on with it.
    pub is_resumable: bool,
}

/// What a kill of the process would leave in stores right now, and somebody would have to remove:
/// not what is sent to Azure, which nobody can remove and which vanishes by itself.
pub fn uploads_under_way() -> Vec<UploadUnderWay> {
    let list: Vec<_> = UNDER_WAY.lock().iter().filter_map(Weak::upgrade).collect();
    list.iter().filter_map(|under_way| under_way.traces()).collect()
}

/// Uploads that the store could not be asked to drop, each named once: somebody has to remove them.
pub fn uploads_left() -> Vec<UploadUnderWay> {
    std::mem::take(&mut *LEFT.lock())
}

/// Notes that an upload stays in its store.
pub(super) fn leave(upload: UploadUnderWay) {
    LEFT.lock().push(upload);
}

static LEFT: Mutex<Vec<UploadUnderWay>> = Mutex::new(Vec::new());

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

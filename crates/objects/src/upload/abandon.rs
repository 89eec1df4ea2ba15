//! The unpublished outputs of the whole process. A process that ends at once, in any thread, can
//! abandon them without knowing its disks, and other programs can find out what it leaves if it is
//! killed.

use crate::location::Location;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// An unpublished output that leaves traces in a store.
pub(super) trait Abandon: Send + Sync {
    /// Removes the traces, if that is possible within seconds.
    fn abandon(self: Arc<Self>);

    /// Returns the current traces.
    fn traces(&self) -> Option<UploadUnderWay>;
}

/// An upload of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadUnderWay {
    /// The object that the upload will become.
    pub object: Location,
    /// The store's identifier of the upload.
    pub upload: String,
    /// Whether a resumed sort continues it.
    pub is_resumable: bool,
}

/// Returns the uploads that would remain in stores if the process were killed now, and would have
/// to be removed. Excludes Azure's, which can't be removed and vanish by themselves.
pub fn uploads_under_way() -> Vec<UploadUnderWay> {
    let list: Vec<_> = UNDER_WAY.lock().iter().filter_map(Weak::upgrade).collect();
    list.iter().filter_map(|under_way| under_way.traces()).collect()
}

/// Returns the uploads that the store could not be asked to drop. Each is returned once, and has to
/// be removed later.
pub fn uploads_left() -> Vec<UploadUnderWay> {
    std::mem::take(&mut *LEFT.lock())
}

/// Records that an upload remains in its store.
pub(super) fn leave(upload: UploadUnderWay) {
    LEFT.lock().push(upload);
}

static LEFT: Mutex<Vec<UploadUnderWay>> = Mutex::new(Vec::new());

static UNDER_WAY: Mutex<Vec<Weak<dyn Abandon>>> = Mutex::new(Vec::new());

/// Adds an output to the list.
pub(super) fn register(under_way: Weak<dyn Abandon>) {
    let mut list = UNDER_WAY.lock();
    list.retain(|other| other.strong_count() > 0);
    list.push(under_way);
}

/// Abandons all unpublished outputs, as [`xsort_disk::abandon_outputs`] does for files. For a
/// process that ends at once, from any of its threads. Takes at most seconds for each if the store
/// doesn't answer. If several threads call it, none returns before everything is done.
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

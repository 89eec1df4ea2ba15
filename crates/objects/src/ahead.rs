//! Object information that is requested before the objects are opened. A job with many objects
//! requests it for all of them at once, as far as there are connections, and doesn't wait for one
//! answer after the other.
//!
//! An answer may be outdated when the object is opened. Reads request the version that the answer
//! named, so they fail if the object has been replaced.

use crate::client::ObjectInfo;
use crate::location::Location;
use crate::retry::Caller;
use crate::stop::{Stop, looking};
use crate::workers::Queue;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of objects for which information is kept: about 2 MB.
const OBJECTS_MAX: usize = 10_000;
/// How long to wait for an answer before checking whether it is still wanted.
const WAIT_TIME: Duration = Duration::from_millis(100);

/// Answers that have arrived or are on their way.
#[derive(Default)]
pub(crate) struct Ahead {
    /// `None` while an answer is on its way.
    answers: Mutex<HashMap<Location, Option<ObjectInfo>>>,
    arrived: Condvar,
    /// Set when no more objects will be opened.
    pub(crate) stop: Stop,
}

impl Ahead {
    /// Requests the information of objects that will be opened.
    pub(crate) fn ask(
        self: &Arc<Ahead>,
        locations: impl IntoIterator<Item = Location>,
        caller: &Arc<Caller>,
        queue: &Queue,
    ) {
        for location in locations {
            let mut answers = self.answers.lock();
            if answers.len() >= OBJECTS_MAX {
                return;
            }
            if answers.contains_key(&location) {
                continue;
            }
            answers.insert(location.clone(), None);
            let (ahead, caller) = (Arc::clone(self), Arc::clone(caller));
            queue.push(move || {
                // Asked once. Opening the object asks again, as often as needed, and gets the
                // error.
                let asked = match ahead.stop.is_set() {
                    true => None,
                    false => caller.tries().attempt(|it| it.head(&location, &ahead.stop)).ok(),
                };
                let mut answers = ahead.answers.lock();
                match asked {
                    Some(info) => answers.insert(location, Some(info)),
                    None => answers.remove(&location),
                };
                ahead.arrived.notify_all();
            });
        }
    }

    /// Keeps an answer.
    pub(crate) fn remember(&self, location: &Location, info: &ObjectInfo) {
        let mut answers = self.answers.lock();
        if answers.len() < OBJECTS_MAX {
            answers.insert(location.clone(), Some(info.clone()));
        }
    }

    /// Returns an object's information. Waits for an answer that is on its way.
    pub(crate) fn info(&self, location: &Location) -> Option<ObjectInfo> {
        let mut answers = self.answers.lock();
        loop {
            match answers.get(location)? {
                Some(info) => return Some(info.clone()),
                None if looking().is_set() => return None,
                None => _ = self.arrived.wait_for(&mut answers, WAIT_TIME),
            }
        }
    }

    /// Forgets an object that is written or removed.
    pub(crate) fn forget(&self, location: &Location) {
        self.answers.lock().remove(location);
    }
}

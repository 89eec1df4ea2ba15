//! What is known of objects before they are opened. A job of many objects asks for all of them at
//! once, as far as there are connections, and doesn't wait for one answer after the other.
//!
//! What an answer says may be old when the object is opened. Reads ask for the version that it
//! named, so they fail if the object is another one by then.

use crate::client::ObjectInfo;
use crate::location::Location;
use crate::retry::Caller;
use crate::stop::{Stop, looking};
use crate::workers::Queue;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Of so many objects at most something is known: some 2 MB.
const OBJECTS_MAX: usize = 10_000;
/// How long is waited for an answer before it is asked whether that is still wanted.
const WAIT_TIME: Duration = Duration::from_millis(100);

/// Answers that are here or on their way.
#[derive(Default)]
pub(crate) struct Ahead {
    /// `None`: on its way.
    answers: Mutex<HashMap<Location, Option<ObjectInfo>>>,
    arrived: Condvar,
    /// Nobody opens anything any more.
    pub(crate) stop: Stop,
}

impl Ahead {
    /// Asks for objects that will be opened.
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
                // Asked once: who opens it asks again, as often as it takes, and has the error.
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

    /// What is known of an object; waits for an answer that is on its way.
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

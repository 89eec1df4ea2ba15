//! The phases of a sort: the duration and traffic of each.

use crate::Observer;
use crate::job::traffic::{Moved, Traffic};
use serde::Serialize;
use std::time::Instant;

/// A finished phase.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Name of the phase: prepare, copy, index, sort, form runs, reduce, merge, sample, scatter,
    /// split, gather, publish.
    pub name: &'static str,
    /// Seconds on the wall clock.
    pub seconds: f64,
    /// Bytes read from inputs and scratch.
    pub read_bytes: u64,
    /// Bytes written to scratch and output.
    pub written_bytes: u64,
}

/// Measures the phases of one sort.
pub(crate) struct Phases<'a> {
    observer: &'a dyn Observer,
    traffic: &'a Traffic,
    current: &'static str,
    begun_at: Instant,
    moved_before: Moved,
    done: Vec<Phase>,
}

impl<'a> Phases<'a> {
    /// Begins with the phase `name`, without notifying the observer.
    pub(crate) fn new(
        name: &'static str,
        observer: &'a dyn Observer,
        traffic: &'a Traffic,
    ) -> Self {
        let (begun_at, moved_before) = (Instant::now(), traffic.moved());
        Phases { observer, traffic, current: name, begun_at, moved_before, done: Vec::new() }
    }

    /// Ends the current phase and begins the next, which will process `bytes` bytes.
    pub(crate) fn begin(&mut self, name: &'static str, bytes: u64) {
        self.end();
        self.current = name;
        self.observer.phase(name, bytes);
    }

    fn end(&mut self) {
        let moved = self.traffic.moved();
        self.done.push(Phase {
            name: self.current,
            seconds: self.begun_at.elapsed().as_secs_f64(),
            read_bytes: moved.read_bytes - self.moved_before.read_bytes,
            written_bytes: moved.written_bytes - self.moved_before.written_bytes,
        });
        (self.begun_at, self.moved_before) = (Instant::now(), moved);
    }

    /// Ends the last phase, and returns all phases.
    pub(crate) fn finish(mut self) -> Vec<Phase> {
        self.end();
        self.done
    }
}

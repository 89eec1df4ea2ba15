//! The pipelines against naive oracles, on real files and on the simulated disk.

mod drives;
mod gauges;
mod generate;
mod lines;
mod plan;
mod probe;
mod simulation;
mod soak;
mod sort;
mod verify;

//! The pipelines against naive oracles, on real files and on the simulated disk.

mod generate;
mod plan;
mod probe;
mod simulation;
mod sort;
mod verify;

//! The pipelines, compared with naive oracles, on real files and on the simulated disk.

mod adversity;
mod drives;
mod gauges;
mod generate;
mod in_memory;
mod in_order;
mod in_place;
mod incremental;
mod keyed_lines;
mod lines;
mod lines_simulation;
mod little_memory;
mod morsels;
mod panics;
mod plan;
mod prefixed;
mod probe;
mod resume;
mod resume_gap;
mod simulation;
mod soak;
mod sort;
mod sorter;
mod tampering;
mod urls;
mod verify;

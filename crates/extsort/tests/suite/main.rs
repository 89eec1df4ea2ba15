//! The pipelines against naive oracles, on real files and on the simulated disk.

mod sort;

//! Batches of all types beside a sort of indices by arrow-ord.

mod order;
mod types;

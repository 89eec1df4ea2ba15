//! Batches of all types beside a sort of indices by arrow-ord.

mod arrays;
mod order;
mod types;

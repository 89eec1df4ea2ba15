//! The walk beside a plain one that is easily seen to be right, over trees of many shapes.

mod model;
mod trees;
mod walks;

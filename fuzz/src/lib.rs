//! What the fuzz targets share: command lines that are mostly accepted, texts of any size from few
//! bytes, models to compare with.
//!
//! A target (`targets/`) is one promise of xsort, kept whatever the input; `run` runs them.
//!
//! ```text
//! orders     structured options -> words of a command line
//! print      Command -> words that mean it
//! texts      few bytes -> inputs that fill the memory of a sort
//! model      lines sorted by comparison, with their keys
//! memory     what is allocated now, and at most
//! ```

pub mod memory;
pub mod model;
pub mod orders;
pub mod print;
pub mod texts;

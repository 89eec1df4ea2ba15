//! `--debug`: lines with marks under what was compared, and warnings of what may not have been
//! meant.
//!
//! ```text
//! a>10          the line, tabs as `>`
//!   __          key 1
//! ____          last resort
//! ```

mod marks;
mod warnings;

pub use marks::annotate;
pub use warnings::warnings;

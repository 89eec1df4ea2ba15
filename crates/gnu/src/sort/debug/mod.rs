//! `--debug`: marks under the parts of lines that are compared, and warnings of options that may be
//! mistakes.
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

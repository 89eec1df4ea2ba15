//! The environment that settings and credentials come from.

use std::sync::Arc;

/// What a variable of the environment is.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

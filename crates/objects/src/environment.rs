//! The environment from which settings and credentials are read.

use std::sync::Arc;

/// Returns the value of an environment variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Returns a variable of the process's environment without a line end, which a value read from a
/// file may have. A value with other control characters counts as not set: no request can contain
/// it.
pub(crate) fn of_process(name: &str) -> Option<String> {
    std::env::var(name).ok().and_then(sendable)
}

fn sendable(value: String) -> Option<String> {
    let value = value.trim_end_matches(['\r', '\n']);
    (!value.contains(char::is_control)).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_no_request_can_hold_is_none() {
        let of = |value: &str| sendable(value.to_owned());
        assert_eq!(of("key\n").as_deref(), Some("key"));
        assert_eq!(of("key\r\n").as_deref(), Some("key"));
        assert_eq!(of("a key").as_deref(), Some("a key"));
        assert_eq!(of("k\ney"), None);
    }
}

//! The locale that the environment names. A job keeps it, so that all its steps use the same one.

use crate::exit::Failure;
use std::env;

/// The categories of a locale that affect a sort of text.
const CATEGORIES: [&str; 4] = ["LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME"];

/// The name of the environment's locale.
///
/// # Errors
/// If the categories have different locales.
pub(super) fn locale_name() -> Result<String, Failure> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let of = |category| {
        let named = variable("LC_ALL").or_else(|| variable(category)).or_else(|| variable("LANG"));
        named.unwrap_or_else(|| "C".to_owned())
    };
    let [first, others @ ..] = CATEGORIES.map(of);
    match others.iter().all(|other| *other == first) {
        true => Ok(first),
        false => Err(Failure::Usage(format!(
            "the environment names several locales ({first} for LC_COLLATE, others for {}): name \
             one by LC_ALL, which a job can keep",
            CATEGORIES[1..].join(", ")
        ))),
    }
}

//! The language that orders text of the type `locale`.

use crate::key::{KeyKind, Keys};
use std::env;
use xsort_extsort::Error;
use xsort_gnu::{Collator, Locale};

/// The variables that name the language. The first that is set and not empty counts.
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_COLLATE", "LANG"];

/// Returns the order of text of the type `locale` for these keys: that of the language that the
/// environment names (`LC_ALL`, `LC_COLLATE`, `LANG`), as for GNU sort. The order of bytes if no
/// key is of this type.
///
/// # Errors
///
/// [`Error::Settings`] if the C library doesn't have the locale.
pub fn collator(keys: &Keys) -> Result<Collator, Error> {
    if !keys.0.iter().any(|key| key.kind == KeyKind::Locale) {
        return Ok(Collator::default());
    }
    let way_out = "or sort by bytes (the type str)";
    let locale = Locale::from_environment().ok_or_else(|| {
        let asked = VARIABLES.iter().find_map(|name| {
            let value = env::var(name).ok().filter(|value| !value.is_empty())?;
            Some(format!(" ({name}={value})"))
        });
        Error::Settings(format!(
            "the type locale: a locale that the environment names isn't installed{}: set LC_ALL to \
             one that 'locale -a' lists, {way_out}",
            asked.unwrap_or_default()
        ))
    })?;
    match locale.missing_language() {
        Some(name) => Err(Error::Settings(format!(
            "the type locale: this static build has no locales, and can't sort as {name} does: use \
             one that is linked to glibc, {way_out}"
        ))),
        None => Ok(Collator::new(&locale)),
    }
}

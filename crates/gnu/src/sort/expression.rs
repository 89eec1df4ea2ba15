//! Regular expressions: in a key of records, and for the lines with which records begin.

use std::fmt;
use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};

use crate::getopt::{Quoting, Refusal, joined};

/// Most bytes of a compiled expression.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Most bytes that a thread caches while it searches. They aren't counted in the budget.
const CACHE_BYTES_MAX: usize = 512 << 10;

/// A regular expression of bytes, compiled once. `^` and `$` are the ends of each line.
#[derive(Clone)]
pub struct Expression(Regex);

impl Expression {
    /// Compiles a pattern.
    pub(super) fn new(pattern: &[u8], quoting: Quoting<'_>) -> Result<Expression, Refusal> {
        let refusal = |reason: &str| {
            let quoted = quoting.quote(pattern);
            Refusal::new(joined(&[
                b"invalid regular expression ",
                &quoted,
                b": ",
                reason.as_bytes(),
            ]))
        };
        let text = std::str::from_utf8(pattern)
            .map_err(|_| refusal("it isn't UTF-8: write other bytes as \\xFF"))?;
        RegexBuilder::new(text)
            .unicode(false)
            .multi_line(true)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(CACHE_BYTES_MAX)
            .build()
            .map(Expression)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => refusal("it is too large"),
                // The last line has the reason; those before it show the place.
                other => {
                    let text = other.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    refusal(last.trim().trim_start_matches("error: "))
                }
            })
    }

    /// The pattern.
    pub fn pattern(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }

    /// The first group of the first match, or the whole match if the pattern has no group. Empty
    /// if there is none.
    pub(super) fn find(&self, text: &[u8]) -> Range<usize> {
        let found = match self.0.captures_len() {
            ..=1 => self.0.find(text),
            _ => self.0.captures(text).and_then(|groups| groups.get(1)),
        };
        found.map_or(0..0, |found| found.range())
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        self.pattern() == other.pattern()
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.pattern())
    }
}

//! Checks a list of objects from page to page: no object appears twice, none is missing as far as
//! can be detected, and the list ends.
//!
//! Only a list tells which objects a store has. If a page is lost or repeated, no later count would
//! notice it.

use crate::client::ListedPage;
use crate::failure::{Failure, Reason};
use std::collections::HashSet;

/// Maximum number of consecutive pages without objects. Azure sends such pages.
const EMPTY_PAGES_MAX: usize = 10_000;

/// The state of checking a list.
pub(crate) struct ListCheck<'l> {
    prefix: &'l str,
    /// The last key.
    last: Option<String>,
    /// The orders that all keys so far agree with.
    orders: Vec<Order>,
    /// The names of next pages since the last page with an object.
    names: HashSet<String>,
}

impl ListCheck<'_> {
    /// Creates the check of a list of the keys that begin with `prefix`.
    pub(crate) fn new(prefix: &str) -> ListCheck<'_> {
        let orders = vec![Order::Bytes, Order::Directories, Order::Utf16];
        ListCheck { prefix, last: None, orders, names: HashSet::new() }
    }

    /// Checks the next page.
    ///
    /// # Errors
    /// [`Reason::Untrusted`] if a key appears twice, is out of order or doesn't begin with the
    /// prefix, or if the list doesn't advance.
    pub(crate) fn take(&mut self, page: &ListedPage) -> Result<(), Failure> {
        for object in &page.objects {
            self.take_key(&object.key)?;
        }
        if !page.objects.is_empty() {
            self.names.clear();
        }
        let Some(next) = &page.next else { return Ok(()) };
        if !self.names.insert(next.clone()) {
            return Err(untrusted(format!("its page {next} names itself as a page to come")));
        }
        if self.names.len() > EMPTY_PAGES_MAX {
            let text = format!("{EMPTY_PAGES_MAX} of its pages have no object, and more follow");
            return Err(untrusted(text));
        }
        Ok(())
    }

    fn take_key(&mut self, key: &str) -> Result<(), Failure> {
        if !key.starts_with(self.prefix) {
            let text = format!("it has {key}, which doesn't begin with {}", self.prefix);
            return Err(untrusted(text));
        }
        if let Some(last) = &self.last {
            self.orders.retain(|order| order.rises(last, key));
            if self.orders.is_empty() {
                let text = match last == key {
                    true => format!("it has {key} twice"),
                    false => format!("its keys don't rise: {key} follows {last}"),
                };
                return Err(untrusted(text));
            }
        }
        self.last = Some(key.to_owned());
        Ok(())
    }
}

/// An order that a list's keys may have. In each of them no key appears twice, and all keys that
/// begin alike are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// By bytes: S3's and Google's order.
    Bytes,
    /// By the names between slashes: the order of stores that have directories.
    Directories,
    /// By 16-bit units: the order of stores that represent keys as Java does.
    Utf16,
}

impl Order {
    /// Returns whether `next` may follow `one`.
    fn rises(self, one: &str, next: &str) -> bool {
        let lowest_slash = |byte: u8| (byte != b'/').then_some(byte);
        match self {
            Order::Bytes => one < next,
            Order::Directories => one.bytes().map(lowest_slash).lt(next.bytes().map(lowest_slash)),
            Order::Utf16 => one.encode_utf16().lt(next.encode_utf16()),
        }
    }
}

/// Returns the failure for a list that can't be trusted.
pub(crate) fn untrusted(text: impl Into<String>) -> Failure {
    Failure::new(Reason::Untrusted, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Listed;

    fn page(keys: &[&str], next: Option<&str>) -> ListedPage {
        let listed = |key: &&str| Listed { key: (*key).to_owned(), bytes: 1, modified: None };
        ListedPage { objects: keys.iter().map(listed).collect(), next: next.map(str::to_owned) }
    }

    /// Returns what is wrong with these pages, each with the name of the next page.
    fn wrong(pages: &[(&[&str], &str)]) -> Option<String> {
        let mut check = ListCheck::new("p/");
        let taken = pages.iter().try_for_each(|(keys, name)| {
            let next = Some(*name).filter(|name| !name.is_empty());
            check.take(&page(keys, next))
        });
        taken.err().map(|failure| failure.detail)
    }

    #[test]
    fn keys_rise_in_one_order_of_those_that_stores_have() {
        assert_eq!(wrong(&[]), None);
        assert_eq!(wrong(&[(&["p/", "p/a", "p/a-b"], "1"), (&["p/a/x", "p/b"], "")]), None);
        // A walk through directories.
        assert_eq!(wrong(&[(&["p/a/x", "p/a-b"], "1"), (&["p/b"], "")]), None);
        // U+10000 is a pair of units below U+FF00.
        assert_eq!(wrong(&[(&["p/\u{10000}", "p/\u{ff00}"], "")]), None);
        let both = wrong(&[(&["p/a/x", "p/a-b", "p/\u{10000}", "p/\u{ff00}"], "")]);
        assert_eq!(both.as_deref(), Some("its keys don't rise: p/\u{ff00} follows p/\u{10000}"));
    }

    #[test]
    fn what_comes_again_or_is_elsewhere_is_no_list() {
        let twice = wrong(&[(&["p/a", "p/b"], "1"), (&["p/b", "p/c"], "")]);
        assert_eq!(twice.as_deref(), Some("it has p/b twice"));
        let again = wrong(&[(&["p/a", "p/b"], "1"), (&["p/a", "p/b"], "1")]);
        assert_eq!(again.as_deref(), Some("its keys don't rise: p/a follows p/b"));
        let outside = wrong(&[(&["p/a", "q"], "")]);
        assert_eq!(outside.as_deref(), Some("it has q, which doesn't begin with p/"));
    }

    #[test]
    fn pages_without_objects_lead_on_and_not_in_a_circle() {
        assert_eq!(wrong(&[(&[], "1"), (&[], "2"), (&["p/a"], "1"), (&["p/b"], "")]), None);
        let circle = wrong(&[(&["p/a"], "1"), (&[], "2"), (&[], "1")]);
        assert_eq!(circle.as_deref(), Some("its page 1 names itself as a page to come"));
        let mut check = ListCheck::new("");
        let mut numbers = 0..=EMPTY_PAGES_MAX;
        let endless =
            numbers.try_for_each(|number| check.take(&page(&[], Some(&number.to_string()))));
        assert_eq!(endless.unwrap_err().reason, Reason::Untrusted);
    }
}

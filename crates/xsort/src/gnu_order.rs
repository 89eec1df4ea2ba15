//! GNU sort's order of lines, in the engine's interface.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use xsort_extsort::Error;
use xsort_extsort::lines::{ByBytes, ByBytesReversed, LineKernels, LineOrder, Words};
use xsort_gnu::sort::{Command, Order, Scratch};
use xsort_table::read_names;

/// Returns the fastest kernels for `order`.
pub fn kernels_for(order: &Order) -> Box<dyn LineKernels + '_> {
    if order.is_bytes() {
        Box::new(ByBytes)
    } else if order.is_bytes_reversed() {
        Box::new(ByBytesReversed)
    } else if order.is_decided_by_one_word() {
        Box::new(GnuOrder::<[u64; 1]>::new(order))
    } else {
        Box::new(GnuOrder::<[u64; 2]>::new(order))
    }
}

/// An order of GNU sort, with `W` key words beside each line. For orders of the lines' bytes, the
/// engine's own kernels are faster.
pub struct GnuOrder<'a, W> {
    order: &'a Order,
    words: PhantomData<W>,
}

impl<'a, W> GnuOrder<'a, W> {
    /// Creates an order with `W` key words beside each line: one if a single word decides,
    /// otherwise two.
    pub fn new(order: &'a Order) -> Self {
        GnuOrder { order, words: PhantomData }
    }
}

impl<W: Words> LineOrder for GnuOrder<'_, W> {
    type Words = W;

    type Scratch = Scratch;

    fn word(&self, line: &[u8], skip: usize, scratch: &mut Scratch) -> u64 {
        self.order.word(line, skip, scratch)
    }

    fn two_words_of(
        &self,
        tail: &[u8],
        bytes: usize,
        skip: usize,
        scratch: &mut Scratch,
    ) -> [u64; 2] {
        self.order.two_words(&tail[..bytes], skip, scratch)
    }

    fn has_dear_keys(&self) -> bool {
        self.order.has_dear_keys()
    }

    fn push_key(&self, line: &[u8], scratch: &mut Scratch, key: &mut Vec<u8>) {
        self.order.encode(line, scratch, key);
    }

    fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> Ordering {
        self.order.compare(a, b, scratch)
    }

    fn same(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> bool {
        self.order.same(a, b, scratch)
    }

    fn is_exact(&self) -> bool {
        self.order.is_exact()
    }

    fn has_words_at_hand(&self) -> bool {
        false
    }

    fn arranged_from(&self) -> Option<usize> {
        self.order.arranged_from()
    }
}

/// Reads the lists of keys by `--order`.
///
/// # Errors
/// [`Error::Settings`] if a list can't be read.
pub fn read_lists(command: &mut Command) -> Result<(), Error> {
    let keys = command.keys.iter_mut().chain(&mut command.extras.sorted_by);
    for list in keys.filter_map(|key| key.list.as_mut()) {
        let path = Path::new(&list.file);
        let names = read_names(path)
            .map_err(|reason| Error::Settings(format!("--order {}: {reason}", path.display())))?;
        list.names = Some(Arc::new(names));
    }
    Ok(())
}

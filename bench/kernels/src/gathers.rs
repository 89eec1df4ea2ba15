//! Copying records to their places in the order, by one thread or two.

use crate::contest::Contest;
use crate::input::{Input, KEY, OUT_OF_CACHE, RECORD_BYTES};
use rayon::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use xsort_kernels::Caches;
use xsort_records::{Format, Pattern};

/// A way to copy the records that the order names to the output, one after the other.
struct Gatherer {
    name: &'static str,
    gather: fn(&Input, &[u64], &mut [u8]),
}

const GATHERERS: &[Gatherer] = &[
    Gatherer {
        name: "xsort",
        gather: |input, order, out| xsort_kernels::gather(&input.records, RECORD_BYTES, order, out),
    },
    Gatherer {
        name: "loop of copies",
        gather: |input, order, out| {
            for (to, &index) in out.as_chunks_mut().0.iter_mut().zip(order) {
                *to = *input.record(index);
            }
        },
    },
];

/// All contests, one after the other; `tiny` ones for a test.
pub(crate) fn contests(tiny: bool, visit: &mut dyn FnMut(Contest<'_>)) {
    let count = if tiny { 1_000 } else { OUT_OF_CACHE };
    let input = Input::new(Format::Gensort, Pattern::Uniform, count);
    let (mut order, mut spare) = (vec![0; count], vec![0; count]);
    xsort_kernels::sort(
        KEY,
        &input.records,
        RECORD_BYTES,
        &mut order,
        &mut spare,
        Caches::default(),
    );
    let expected: Vec<u8> = order.iter().flat_map(|&index| *input.record(index)).collect();
    for threads in [1, 2] {
        visit(contest(threads, &input, &order, &expected));
    }
}

fn contest<'a>(
    threads: usize,
    input: &'a Input,
    order: &'a [u64],
    expected: &'a [u8],
) -> Contest<'a> {
    let count = order.len();
    let out = Rc::new(RefCell::new(vec![0; expected.len()]));
    let check = || {
        let out = Rc::clone(&out);
        move || {
            let out = &mut *out.borrow_mut();
            assert!(*out == expected, "not the records in order");
            out.fill(0);
        }
    };
    let mut contest = Contest::new(format!("gather 1.3M records, threads: {threads}"), count);
    for Gatherer { name, gather } in GATHERERS {
        let out = Rc::clone(&out);
        let work = move || {
            let mut out = out.borrow_mut();
            let part = count.div_ceil(threads);
            std::thread::scope(|scope| {
                for (order, out) in order.chunks(part).zip(out.chunks_mut(part * RECORD_BYTES)) {
                    scope.spawn(move || gather(input, order, out));
                }
            });
        };
        contest.add(*name, work, check());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let by_rayon = Rc::clone(&out);
    let work = move || {
        let mut out = by_rayon.borrow_mut();
        let places = out.as_chunks_mut::<RECORD_BYTES>().0;
        pool.install(|| {
            places.par_iter_mut().zip(order).for_each(|(to, &index)| *to = *input.record(index));
        });
    };
    contest.add("rayon loop of copies", work, check());
    contest
}

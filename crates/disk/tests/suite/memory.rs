//! Leases and block pools, without a disk. Also run under Miri (`cargo +nightly miri test -p
//! xsort-disk --test suite memory::`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xsort_disk::{ALIGNMENT, BlockPool, Lease, Prefault};

const PAGE: usize = ALIGNMENT;

fn panics(what: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(what)).is_err()
}

#[test]
fn a_mapping_is_zeroed_aligned_and_rounded_up() {
    for bytes in [0, 1, PAGE, PAGE + 1, 3 * PAGE - 1] {
        let lease = Lease::map(bytes).unwrap();
        assert_eq!(lease.len(), bytes.max(1).next_multiple_of(PAGE));
        assert!(lease.as_ptr().addr().is_multiple_of(PAGE));
        assert!(lease.iter().all(|&byte| byte == 0));
    }
}

#[test]
#[cfg_attr(miri, ignore = "the heap stands in for mappings there")]
fn a_large_mapping_begins_at_a_huge_page() {
    for bytes in [2 << 20, (2 << 20) + PAGE, 64 << 20] {
        assert!(Lease::map(bytes).unwrap().as_ptr().addr().is_multiple_of(2 << 20));
    }
}

#[test]
fn backing_memory_changes_no_byte_and_ends_where_it_ends() {
    let mut lease =
        Lease::map_huge_if_fast(if cfg!(miri) { 4 * PAGE } else { (40 << 20) + 3 * PAGE }).unwrap();
    let mut front = lease.split_off_front(PAGE);
    front.fill(1);
    lease[PAGE..2 * PAGE].fill(2);
    for _ in 0..2 {
        lease.populate(0..lease.len());
        front.populate(0..PAGE);
    }
    assert!(front.iter().all(|&byte| byte == 1));
    assert!(
        lease
            .chunks(PAGE)
            .enumerate()
            .all(|(at, page)| page == [if at == 1 { 2 } else { 0 }; PAGE])
    );
    assert!(panics(|| lease.populate(0..lease.len() + 1)));
}

/// While its owner writes, and after the owner has dropped it.
#[test]
fn other_threads_can_touch_memory_first_and_change_no_byte() {
    let bytes = if cfg!(miri) { 8 * PAGE } else { 40 << 20 };
    for mut lease in [Lease::map(bytes).unwrap(), Lease::map_huge_if_fast(bytes).unwrap()] {
        let prefaults: Vec<_> = lease.prefault(0..bytes).collect();
        let late: Vec<_> = lease.prefault(bytes / 2..bytes).collect();
        assert!(panics(|| lease.prefault(0..bytes + 1).for_each(Prefault::populate)));
        thread::scope(|scope| {
            for prefault in prefaults {
                scope.spawn(|| prefault.populate());
            }
            for (at, page) in lease.chunks_mut(PAGE).enumerate() {
                page.fill(at as u8);
            }
            scope.spawn(|| lease.populate(0..bytes));
        });
        assert!(lease.chunks(PAGE).enumerate().all(|(at, page)| page == [at as u8; PAGE]));
        drop(lease);
        late.into_iter().for_each(Prefault::populate);
    }
}

/// The pieces cover the range wherever it begins. A mapping's last bytes are not in a huge page.
#[test]
#[cfg_attr(miri, ignore = "the heap stands in for mappings there")]
#[cfg_attr(portable, ignore = "no system but Linux is asked for pages")]
fn memory_that_other_threads_have_touched_is_there() {
    const HUGE: usize = 2 << 20;
    let mut back = Lease::map_huge_if_fast(30 * HUGE + PAGE).unwrap();
    let front = back.split_off_front(5 * HUGE + PAGE);
    thread::scope(|scope| {
        for prefault in back.prefault(0..back.len()) {
            scope.spawn(|| prefault.populate());
        }
    });
    let (there, missing) = back.split_at(back.len() - PAGE);
    assert!(are_there(there).iter().all(|&is_there| is_there));
    assert_eq!(are_there(&front), [vec![false; 5 * HUGE / PAGE], vec![true]].concat());
    assert_eq!(are_there(missing), [false], "it comes with its first touch");
}

/// Returns which pages the system has provided.
fn are_there(bytes: &[u8]) -> Vec<bool> {
    use std::os::unix::fs::FileExt;
    let mut entries = vec![0; bytes.len() / PAGE * size_of::<u64>()];
    let offset = bytes.as_ptr().addr() / PAGE * size_of::<u64>();
    let pagemap = std::fs::File::open("/proc/self/pagemap").unwrap();
    pagemap.read_exact_at(&mut entries, offset as u64).unwrap();
    let entries = entries.chunks_exact(size_of::<u64>());
    entries.map(|entry| u64::from_ne_bytes(entry.try_into().unwrap()) >> 63 == 1).collect()
}

/// New pages are whole: a page that the lease shares with a neighbour stays.
#[test]
#[cfg_attr(miri, ignore = "the heap stands in for mappings there")]
#[cfg_attr(portable, ignore = "no system but Linux is asked for pages")]
fn renewed_memory_is_the_holders_own() {
    const HUGE: usize = 2 << 20;
    let mut front = Lease::map_huge_if_fast(40 << 20).unwrap();
    let mut middle = front.split_off_front(HUGE + PAGE);
    std::mem::swap(&mut front, &mut middle);
    let mut back = middle.split_off_front(3 * HUGE);
    std::mem::swap(&mut middle, &mut back);
    front.fill(1);
    middle.fill(2);
    back.fill(3);
    for _ in 0..2 {
        middle.renew();
        assert!(front.iter().all(|&byte| byte == 1));
        assert!(back.iter().all(|&byte| byte == 3));
        assert!(middle[..HUGE - PAGE].iter().all(|&byte| byte == 2));
        assert!(middle[3 * HUGE - PAGE..].iter().all(|&byte| byte == 2));
        let renewed = &middle[HUGE - PAGE..3 * HUGE - PAGE];
        assert!(renewed.iter().all(|&byte| byte == 0), "pages that it has to itself are new");
    }
    middle.fill(4);
    middle.renew();
    assert!(middle.iter().all(|&byte| byte == 4), "nothing is renewed twice");
}

#[test]
#[cfg_attr(miri, ignore = "asks the system")]
fn what_cannot_be_mapped_is_an_error() {
    for bytes in [usize::MAX, usize::MAX / 2, 1 << 50] {
        let error = Lease::map(bytes).unwrap_err();
        assert!(error.to_string().starts_with("mapping memory: "), "{error}");
    }
}

#[test]
fn pieces_are_owned_apart_and_joined_again() {
    let mut rest = Lease::map(4 * PAGE).unwrap();
    let mut first = rest.split_off_front(PAGE);
    let mut second = rest.split_off_front(2 * PAGE);
    assert_eq!((first.len(), second.len(), rest.len()), (PAGE, 2 * PAGE, PAGE));
    first.fill(1);
    second.fill(2);
    rest.fill(3);
    assert!(
        first.is_followed_by(&second)
            && second.is_followed_by(&rest)
            && !first.is_followed_by(&rest)
    );
    first.join(second);
    first.join(rest);
    assert_eq!(first.len(), 4 * PAGE);
    for (page, expected) in first.chunks(PAGE).zip([1, 2, 2, 3]) {
        assert!(page.iter().all(|&byte| byte == expected));
    }
}

#[test]
fn pieces_outlive_what_they_were_cut_from() {
    let mut rest = Lease::map(2 * PAGE).unwrap();
    let mut piece = rest.split_off_front(PAGE);
    drop(rest);
    piece.fill(7);
    let elsewhere = thread::spawn(move || piece.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    assert_eq!(elsewhere.join().unwrap(), 7 * PAGE as u64);
}

#[test]
fn an_empty_piece_is_harmless() {
    let mut all = Lease::map(PAGE).unwrap();
    let none = all.split_off_front(0);
    assert!(none.is_empty() && none.is_followed_by(&all));
    let mut front = all.split_off_front(PAGE);
    assert!(all.is_empty());
    front.join(all);
    assert_eq!(front.len(), PAGE);
}

#[test]
fn only_neighbours_of_one_mapping_are_joined() {
    let mut one = Lease::map(2 * PAGE).unwrap();
    let mut other = Lease::map(2 * PAGE).unwrap();
    let (one_front, other_front) = (one.split_off_front(PAGE), other.split_off_front(PAGE));
    assert!(panics(|| other.join(one_front)), "another mapping");
    let mut last = one;
    assert!(panics(|| last.join(other_front)), "another mapping");
    let mut all = Lease::map(2 * PAGE).unwrap();
    let front = all.split_off_front(PAGE);
    assert!(panics(|| all.join(front)), "the wrong order");
    let mut small = Lease::map(PAGE).unwrap();
    assert!(panics(|| drop(small.split_off_front(2 * PAGE))), "too large");
    assert!(panics(|| drop(small.split_off_front(100))), "not aligned");
}

#[test]
fn a_block_pool_cuts_what_it_is_given_and_drops_the_rest() {
    let leases =
        [Lease::map(5 * PAGE).unwrap(), Lease::map(PAGE).unwrap(), Lease::map(2 * PAGE).unwrap()];
    let block_pool = BlockPool::new(leases, 2 * PAGE);
    assert_eq!(
        (block_pool.block_bytes(), block_pool.capacity(), block_pool.available()),
        (2 * PAGE, 3, 3)
    );
    let taken: Vec<Lease> = std::iter::from_fn(|| block_pool.try_take()).collect();
    assert_eq!(taken.len(), 3);
    assert!(taken.iter().all(|lease| lease.len() == 2 * PAGE));
    drop(taken);
    assert_eq!(block_pool.available(), 3);
    assert!(panics(|| drop(BlockPool::new([], 100))), "not aligned");
}

#[test]
fn the_block_given_back_last_is_the_first_to_be_taken() {
    let block_pool = BlockPool::map(3, PAGE).unwrap();
    let (first, second) = (block_pool.take().unwrap(), block_pool.take().unwrap());
    let address = first.as_ptr();
    drop(second);
    drop(first);
    assert_eq!(block_pool.take().unwrap().as_ptr(), address);
}

#[test]
fn a_lease_outlives_its_pool_and_cannot_leave_it() {
    let block_pool = BlockPool::map(2, 2 * PAGE).unwrap();
    let (mut one, other) = (block_pool.take().unwrap(), block_pool.take().unwrap());
    assert!(panics(|| drop(one.split_off_front(PAGE))));
    assert!(panics(|| one.join(other)));
    assert_eq!(block_pool.available(), 1, "the other returned in the panic");
    drop(block_pool);
    one.fill(1);
}

#[test]
fn a_dissolved_block_pool_gives_back_what_went_in() {
    let block_pool =
        BlockPool::new([Lease::map(4 * PAGE).unwrap(), Lease::map(2 * PAGE).unwrap()], PAGE);
    let held = [block_pool.take().unwrap(), block_pool.take().unwrap(), block_pool.take().unwrap()];
    let early = Arc::clone(&block_pool);
    assert!(panics(|| drop(early.dissolve())), "some are still out");
    drop(held);
    let late = Arc::clone(&block_pool);
    let mut lengths: Vec<usize> = block_pool.dissolve().iter().map(|lease| lease.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [2 * PAGE, 4 * PAGE]);
    assert!(late.take().is_none(), "a dissolved block_pool is closed");
    assert!(BlockPool::new([], PAGE).dissolve().is_empty());
}

#[test]
fn take_waits_and_counts_its_waiting() {
    let block_pool = BlockPool::map(1, PAGE).unwrap();
    let held = block_pool.take().unwrap();
    assert_eq!(block_pool.waited(), Duration::ZERO);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| block_pool.take().is_some());
        thread::sleep(Duration::from_millis(300));
        drop(held);
        assert!(waiter.join().unwrap());
    });
    assert!(block_pool.waited() >= Duration::from_millis(5), "{:?}", block_pool.waited());
}

#[test]
fn close_wakes_all_who_wait() {
    let block_pool = BlockPool::map(1, PAGE).unwrap();
    let held = block_pool.take().unwrap();
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..3).map(|_| scope.spawn(|| block_pool.take().is_none())).collect();
        thread::sleep(Duration::from_millis(10));
        block_pool.close();
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap()));
    });
    drop(held);
    assert_eq!(block_pool.available(), 1, "leases come home to a closed block_pool");
    assert!(block_pool.take().is_none() && block_pool.try_take().is_none());
}

/// Each holder marks its blocks. Another holder's mark would mean that two hold a block at once.
#[test]
fn no_block_is_ever_held_twice() {
    let (threads, rounds) = if cfg!(miri) { (3, 20) } else { (8, 3000) };
    let block_pool = BlockPool::map(3, PAGE).unwrap();
    thread::scope(|scope| {
        for number in 0..threads {
            let block_pool = &block_pool;
            scope.spawn(move || {
                for round in 0..rounds {
                    let mut lease = block_pool.take().unwrap();
                    lease[..64].fill(number);
                    if round % 16 == 0 {
                        thread::yield_now();
                    }
                    assert!(lease[..64].iter().all(|&byte| byte == number));
                    // Half of the blocks are returned from another thread.
                    if round % 2 == 0 && !cfg!(miri) && round % 64 == 0 {
                        thread::spawn(move || drop(lease)).join().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(block_pool.available(), 3);
    assert_eq!(block_pool.dissolve().len(), 1);
}

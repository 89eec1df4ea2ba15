//! Checks the protocol with loom, under every interleaving and every stale value that the memory
//! model allows. It also tests the test: leaving out any step or weakening any ordering makes a
//! scenario fail.
//!
//! The scenarios (`scenarios.rs`) run the functions of `protocol`, with their orderings, on the
//! words of `words.rs`. A buffer is a cell whose every access loom checks. So a writer that
//! accesses what a reader may still read is caught at once, not by a torn value.
//!
//! `cargo test` explores up to two preemptions; `make loom` removes the limit
//! (`LOOM_MAX_PREEMPTIONS`).
#![allow(unsafe_code, reason = "accesses cells that the model checker watches")]

mod scenarios;
mod words;

use super::*;
use scenarios::*;
use words::weakenings;

#[test]
fn a_held_version_is_never_written() {
    one_reader::<All>(None);
}

#[test]
fn a_reader_that_let_go_pins_again() {
    reader_that_unpins(None);
}

#[test]
fn two_readers_hold_two_versions() {
    two_readers(None);
}

#[test]
fn a_reader_that_comes_is_seen_in_time() {
    first_of_its_group(None);
}

#[test]
fn a_reader_that_comes_to_others_is_seen_in_time() {
    second_of_its_group(None);
}

#[test]
fn a_reader_of_a_group_that_is_being_forgotten_is_seen_in_time() {
    reader_of_a_cleared_group::<All>(None);
}

#[test]
fn a_dead_readers_slot_has_a_new_owner() {
    reader_that_dies(None);
}

#[test]
fn a_sleeper_is_woken() {
    one_sleeper(None);
}

#[test]
fn a_sleeper_is_woken_by_the_next_writer() {
    one_sleeper_at_a_takeover(true);
}

#[test]
fn an_unchanged_copy_is_of_one_version() {
    one_copy(None);
}

#[test]
fn a_header_is_seen_whole() {
    one_header(None);
}

#[test]
fn a_version_that_was_not_published_is_not_taken_for_one() {
    one_takeover::<All>();
}

#[test]
#[should_panic]
fn without_looking_again_a_pin_comes_too_late() {
    one_reader::<WithoutRecheck>(None);
}

#[test]
#[should_panic]
fn without_help_an_announced_reader_pins_too_late() {
    one_reader::<WithoutHelping>(None);
}

#[test]
#[should_panic]
fn without_looking_again_a_group_is_forgotten_for_good() {
    reader_of_a_cleared_group::<WithoutGroupRecheck>(None);
}

#[test]
#[should_panic(expected = "nobody wakes the reader")]
fn without_a_ticket_from_the_next_writer_a_sleeper_is_forgotten() {
    one_sleeper_at_a_takeover(false);
}

#[test]
#[should_panic(expected = "a version that was never published")]
fn without_a_number_left_out_a_dead_writers_version_is_read() {
    one_takeover::<WithoutSkippedNumber>();
}

/// A scenario that detects a weaker ordering.
type Scenario = fn(Weakened);

/// Every access that orders anything, with a scenario that fails if the access is weaker.
const DETECTED_BY: &[(Access, Scenario)] = &[
    (PIN, one_reader::<All>),
    (PIN_RECHECK, one_reader::<All>),
    (ANNOUNCE_SWAP, one_reader::<All>),
    (ANNOUNCE_LOAD, one_reader::<All>),
    (CONFIRM_HELPED, one_reader::<All>),
    (UNPIN, reader_that_unpins),
    (JOIN_GROUP, first_of_its_group),
    (LEAVE, second_of_its_group),
    (GROUPS_LOAD, first_of_its_group),
    (TAKEN_LOAD, second_of_its_group),
    (CLEAR_GROUP, reader_of_a_cleared_group::<All>),
    (TAKEN_RELOAD, reader_of_a_cleared_group::<All>),
    (SLOT_LOAD, one_reader::<All>),
    (HELP, one_reader::<All>),
    (HELP, reader_that_unpins),
    (HELP_FAILED, one_reader::<All>),
    (PUBLISH, one_reader::<All>),
    (COPY_LOAD, one_copy),
    (STAMP_CLEAR, one_copy),
    (STAMP_LOAD, one_copy),
    (FILL_FENCE, one_copy),
    (COPY_FENCE, one_copy),
    (TICKET_STORE, one_sleeper),
    (TICKET_LOAD, one_sleeper),
    (WAITERS_SET, one_sleeper),
    (WAIT_RECHECK, one_sleeper),
    (WAITERS_LOAD, one_sleeper),
    (RELEASE_STORE, one_header),
    (ACQUIRE_LOAD, one_header),
];

/// No access can be weaker than in production, because each weakening is detected. Prints the
/// outcomes as a table.
#[test]
#[allow(clippy::print_stdout, reason = "the table, with `-- --nocapture`")]
fn every_ordering_is_needed() {
    let mut missed = Vec::new();
    for access in ACCESSES {
        for weakening in weakenings(access.ordering) {
            let scenarios = DETECTED_BY.iter().filter(|(listed, _)| listed == access);
            let is_found = scenarios.map(|(_, scenario)| *scenario).any(|scenario| {
                let weakened = Some((*access, *weakening));
                std::thread::spawn(move || scenario(weakened)).join().is_err()
            });
            println!(
                "{:<14} without {weakening:?}: {}",
                access.name,
                if is_found { "found" } else { "MISSED" }
            );
            if !is_found {
                missed.push((access.name, weakening));
            }
        }
    }
    assert!(missed.is_empty(), "no scenario detects the weakening of {missed:?}");
}

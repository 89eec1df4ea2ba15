//! Bins in the output's own file, which lie where the output will be and are overwritten by it.

use crate::sort::{self, oracle};
use std::collections::HashSet;
use std::path::Path;
use xsort_disk::{
    Corruption, Damage, Disk, DiskOptions, FaultSite, FileRole, Operation, OsDisk, SimDisk,
    SimOptions,
};
use xsort_extsort::records::{Method, Shape, first_sampled};
use xsort_extsort::{Error, Plan, SortOptions, SortReport, Unobserved, dry_run, sort};
use xsort_records::Layout;
use xsort_testing::{Random, for_each_seed, quick_or_long};

const RECORD_BYTES: usize = 100;
const RECORDS: usize = 400_000;
/// Number of places that a sample reads, and the records read at each.
const PLACES: u64 = 1_024;
const EACH: u64 = 3;
/// Areas of 2 to 3 MiB, so that a few of some twenty loads are in memory at once.
const BUDGET_BYTES: u64 = 14 << 20;

fn options(threads: usize) -> SortOptions {
    let layout = Layout::new(RECORD_BYTES, vec!["0:10".parse().unwrap()]).unwrap();
    let merge = sort::options(&layout, Path::new("/"), BUDGET_BYTES, threads);
    SortOptions { method: Method::Scatter, sync: true, ..merge }
}

/// Creates records whose keys are numbers from 0 to 1, as a function of the record's number. The
/// number follows the key.
fn records(key: impl Fn(usize) -> f64) -> Vec<u8> {
    let mut bytes = vec![0; RECORDS * RECORD_BYTES];
    for (number, record) in bytes.chunks_mut(RECORD_BYTES).enumerate() {
        let rank = (key(number).clamp(0.0, 1.0) * (1u64 << 48) as f64) as u64;
        record[..8].copy_from_slice(&(rank << 15).to_be_bytes());
        record[10..18].copy_from_slice(&number.to_be_bytes());
    }
    bytes
}

fn uniform(random: &mut Random) -> Vec<u8> {
    let ranks: Vec<f64> = (0..RECORDS).map(|_| chance(random)).collect();
    records(|number| ranks[number])
}

fn chance(random: &mut Random) -> f64 {
    random.between(0, 1 << 32) as f64 / (1u64 << 32) as f64
}

/// Creates records where the sampled ones have greater keys than the others: three neighbours at
/// each of 1,024 places, which follow from the seed.
fn misleading(random: &mut Random) -> Vec<u8> {
    let records = RECORDS as u64;
    let stretch = |place: u64| place * records / PLACES..(place + 1) * records / PLACES;
    let seed = options(1).sample_seed;
    let sampled: HashSet<u64> = (0..PLACES)
        .map(|place| first_sampled(seed, place, stretch(place), EACH))
        .flat_map(|first| first..first + EACH)
        .collect();
    greater_where(random, |number| sampled.contains(&(number as u64)))
}

/// Creates records where the selected ones have greater keys than the others.
fn greater_where(random: &mut Random, is_sampled: impl Fn(usize) -> bool) -> Vec<u8> {
    let ranks: Vec<f64> = (0..RECORDS).map(|_| chance(random)).collect();
    // Half of the other records have keys below 0.4.
    let moved = |rank: f64| if rank < 0.5 { rank * 0.8 } else { 0.4 + (rank - 0.5) * 1.2 };
    records(|number| if is_sampled(number) { ranks[number] } else { moved(ranks[number]) })
}

fn is_in_place(plan: &Plan) -> bool {
    matches!(&plan.shape, Shape::Scatter(shape) if shape.in_place)
}

/// Sorts on the simulated disk, and checks the output.
fn check(options: &SortOptions, disk: SimOptions, bytes: &[u8]) -> SortReport {
    let disk = SimDisk::new(disk);
    disk.put("/in", bytes);
    disk.put("/out", "old");
    let report = sort(options, &disk, &Unobserved).unwrap();
    assert!(is_in_place(&report.plan), "{}", report.plan);
    assert!(disk.get("/out").unwrap() == oracle(&options.layout, bytes), "another output");
    assert_eq!((disk.open_files(), disk.scratch_bytes()), (0, 0));
    report
}

/// Returns the bytes of pieces that were moved because an earlier bin needed their place.
fn moved_bytes(report: &SortReport) -> u64 {
    report.moved.written_bytes - report.plan.bytes.next_multiple_of(4096) - report.scratch_bytes
}

#[test]
fn many_bins_go_where_the_output_will_be() {
    let mut moving = 0;
    let tried = for_each_seed("in place", 2, |seed| {
        let random = &mut Random::new(seed);
        let bytes = uniform(random);
        for threads in [1, 2, 3].into_iter().skip(quick_or_long(1, 0)) {
            let report = check(&options(threads), SimOptions::rough(seed), &bytes);
            assert!(report.bins.len() > 10, "few loads would be read before they are overwritten");
            moving += u64::from(moved_bytes(&report) > 0);
        }
        Ok(())
    });
    // Of thousands of fair samples, a few put a piece in the way.
    assert!(moving <= tried * 3 / 100 || tried == 1, "{moving} of {tried} seeds");
}

#[test]
fn what_a_misleading_sample_puts_in_the_way_is_moved() {
    for_each_seed("misleading", 2, |seed| {
        let random = &mut Random::new(seed);
        let bytes = misleading(random);
        let report = check(&options(2), SimOptions::rough(seed), &bytes);
        assert!(moved_bytes(&report) > report.plan.bytes / 100, "{} moved", moved_bytes(&report));
        Ok(())
    });
}

/// The sample's places once had equal distances. An input with the same period needed more space
/// than the plan had promised.
#[test]
fn a_period_of_the_input_misleads_no_sample() {
    let mut moving = 0;
    let tried = for_each_seed("period", 2, |seed| {
        let random = &mut Random::new(seed);
        let bytes = greater_where(random, |number| number * 1024 % RECORDS < 4 * 1024);
        let options = SortOptions { sample_seed: random.word(), ..options(2) };
        let report = check(&options, SimOptions::rough(seed), &bytes);
        assert!(moved_bytes(&report) < report.plan.bytes / 100, "{} moved", moved_bytes(&report));
        moving += u64::from(moved_bytes(&report) > 0);
        Ok(())
    });
    assert!(moving <= tried * 3 / 100 || tried < 100, "{moving} of {tried} seeds");
}

/// Any order of the input works: sorted and reversed inputs fill one bin after the other.
#[test]
fn orders_and_equal_keys_are_sorted_in_place() {
    let last = (RECORDS - 1) as f64;
    let keys: [&dyn Fn(usize) -> f64; 4] = [
        &|number| number as f64 / last,
        &|number| 1.0 - number as f64 / last,
        &|_| 0.5,
        // Two heavy keys, one of them in the first half of the input only.
        &|number| {
            if number % 3 == 0 {
                0.3
            } else if number < RECORDS / 2 {
                0.7
            } else {
                0.9
            }
        },
    ];
    for (seed, key) in keys.iter().enumerate() {
        check(&options(2), SimOptions::rough(seed as u64), &records(key));
    }
}

#[test]
fn real_files_too() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    let disk = OsDisk::new(DiskOptions::default()).unwrap();
    if !disk.drive(directory.path()).unwrap().overwrites {
        eprintln!("skipped: the build directory is on a file system that doesn't write over");
        return;
    }
    for bytes in [uniform(&mut Random::new(1)), misleading(&mut Random::new(2))] {
        std::fs::write(&input, &bytes).unwrap();
        let options =
            SortOptions { inputs: vec![input.clone()], output: output.clone(), ..options(2) };
        let report = sort(&options, &disk, &Unobserved).unwrap();
        assert!(is_in_place(&report.plan));
        assert!(std::fs::read(&output).unwrap() == oracle(&options.layout, &bytes));
    }
}

/// Little more than the space of the output is enough; runs would need twice as much.
#[test]
fn a_sort_needs_little_more_space_than_its_output() {
    let bytes = uniform(&mut Random::new(3));
    let plan = check(&options(2), SimOptions::default(), &bytes).plan;
    assert!(plan.scratch_bytes < plan.bytes / 4, "{plan}");
    let capacity_bytes = Some(2 * plan.bytes + plan.scratch_bytes + 4096 * 4);
    let sized = SimOptions { capacity_bytes, ..SimOptions::default() };
    check(&options(2), sized.clone(), &bytes);

    let disk = SimDisk::new(sized);
    disk.put("/in", &bytes);
    let merge = SortOptions { method: Method::Merge, ..options(2) };
    let refused = sort(&merge, &disk, &Unobserved).unwrap_err();
    assert!(matches!(refused, Error::Space { .. }), "{refused}");
}

/// With little memory bins have small pieces, and runs are faster, unless they lack space.
#[test]
fn what_has_no_space_for_runs_is_sorted_in_place() {
    let bytes = uniform(&mut Random::new(7));
    let options = SortOptions { method: Method::Auto, budget_bytes: 11 << 19, ..options(2) };
    let plan_with = |free_bytes: u64| {
        let capacity_bytes = Some(bytes.len() as u64 + free_bytes);
        let disk = SimDisk::new(SimOptions { capacity_bytes, ..SimOptions::default() });
        disk.put("/in", &bytes);
        dry_run(&options, &disk, &Unobserved).map(|dry| dry.plan)
    };
    let roomy = plan_with(3 * bytes.len() as u64).unwrap();
    assert!(matches!(roomy.shape, Shape::Merge(_)), "{roomy}");

    let free_bytes = bytes.len() as u64 * 3 / 2;
    let capacity_bytes = Some(bytes.len() as u64 + free_bytes);
    let plan = check(&options, SimOptions { capacity_bytes, ..SimOptions::default() }, &bytes).plan;
    assert!(plan.scratch_bytes < plan.bytes / 2, "{plan}");

    // The error names the space of the method that needs less, and this space is enough.
    let Error::Space { needed_bytes, .. } = plan_with(1 << 20).unwrap_err() else { panic!() };
    assert!(needed_bytes <= free_bytes, "{needed_bytes} bytes");
    assert!(is_in_place(&plan_with(needed_bytes + 4096).unwrap()));
    assert!(plan_with(needed_bytes - 4096).is_err());
}

/// The drive may still fill up while the sort runs, with another program's data.
#[test]
fn a_drive_that_fills_up_leaves_the_old_output() {
    let bytes = misleading(&mut Random::new(4));
    let fault = xsort_disk::Fault {
        operation: Operation::Write,
        role: Some(FileRole::Output),
        site: FaultSite::Byte(3 << 20),
        errno: 28,
    };
    let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
    disk.put("/in", &bytes);
    disk.put("/out", "old");
    let error = sort(&options(2), &disk, &Unobserved).unwrap_err();
    assert!(error.to_string().contains("/out"), "{error}");
    assert_eq!(disk.get("/out").unwrap(), b"old");
    assert_eq!(disk.paths().len(), 2, "nothing is left");
}

/// Bins after the end of the output are in the file, but never part of the output. The test damages
/// two places with blocks that aren't both empty.
#[test]
fn bins_that_come_back_otherwise_are_noticed() {
    let bytes = uniform(&mut Random::new(5));
    for damage in [Damage::FlipBit, Damage::LoseWrite] {
        let site = |page: u64| FaultSite::Byte(bytes.len() as u64 + 4096 * page);
        let corruption = |page| Corruption { role: FileRole::Output, site: site(page), damage };
        let corruptions = (0..64).map(corruption).collect();
        let disk = SimDisk::new(SimOptions { corruptions, ..SimOptions::default() });
        disk.put("/in", &bytes);
        disk.put("/out", "old");
        let error = sort(&options(2), &disk, &Unobserved).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{damage:?}: {error}");
        assert_eq!(disk.get("/out").unwrap(), b"old");
    }
}

/// With directories for scratch or a checkpoint, bins are on scratch.
#[test]
fn scratch_is_elsewhere_where_it_must_be() {
    let bytes = uniform(&mut Random::new(6));
    let disk = SimDisk::new(SimOptions::default());
    disk.put("/in", &bytes);
    let plan = |options: &SortOptions| dry_run(options, &disk, &Unobserved).unwrap().plan;
    assert!(is_in_place(&plan(&options(2))));
    let one = SortOptions { scratch: vec!["/tmp".into()], ..options(2) };
    assert!(is_in_place(&plan(&one)), "one directory on the output's drive");
    let two = SortOptions { scratch: vec!["/tmp".into(), "/more".into()], ..options(2) };
    assert!(!is_in_place(&plan(&two)));
    let merge = SortOptions { method: Method::Merge, ..options(2) };
    assert!(!is_in_place(&plan(&merge)));
    let stream = SortOptions { output: "/dev/fd/1".into(), ..options(2) };
    assert!(!is_in_place(&plan(&stream)));
}

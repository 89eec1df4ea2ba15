//! The planner: for all parameters the memory of both phases adds up to the budget, and a refusal
//! names the memory that is enough.

use proptest::prelude::*;
use xsort_extsort::records::{Facts, MergeShape, Method, Plan, ScatterShape, Shape, plan};
use xsort_extsort::{Codec, Error, Measure};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn facts(
    bytes: u64,
    record_bytes: u64,
    key_bytes: u64,
    budget_bytes: u64,
    threads: usize,
) -> Facts {
    Facts {
        input_bytes: vec![bytes / record_bytes * record_bytes],
        record_bytes,
        key_bytes,
        budget_bytes,
        threads,
        method: Method::Merge,
        codec: None,
        may_keep: true,
        in_place: false,
    }
}

fn merge(plan: &Plan) -> &MergeShape {
    let Shape::Merge(shape) = &plan.shape else { panic!("{plan}") };
    shape
}

/// Checks the invariants of every plan.
fn check(plan: &Plan) {
    let beside_bytes = plan.index_bytes + plan.compression_bytes;
    assert!(plan.pool_bytes + beside_bytes <= plan.budget_bytes, "{plan}");
    assert!(plan.compression_bytes == 0 || plan.spilled_chunks > 0, "{plan}");
    assert!(plan.block_bytes >= plan.record_bytes && plan.output_block_bytes >= 4096, "{plan}");
    assert!(plan.chunk_bytes.is_multiple_of(plan.record_bytes), "{plan}");
    assert!(plan.spill_block_bytes >= plan.block_bytes, "{plan}");
    assert!(plan.areas >= 1 || plan.chunks == 0, "{plan}");
    assert!(plan.spilled_chunks == 0 || plan.scratch_bytes > 0, "{plan}");
    // A checkpoint keeps the plan, and the resumed sort must follow the same one.
    let kept = serde_json::to_string(plan).unwrap();
    assert_eq!(&serde_json::from_str::<Plan>(&kept).unwrap(), plan);
    match &plan.shape {
        Shape::Merge(_) => check_merge(plan),
        Shape::MergeInputs(shape) => check_merge_of_inputs(plan, shape),
        Shape::Scatter(shape) => check_scatter(plan, shape),
    }
}

fn check_scatter(plan: &Plan, shape: &ScatterShape) {
    let spares = plan.threads as u64 * plan.sort_buffer_bytes;
    let spill = plan.spill_blocks as u64 * plan.spill_block_bytes;
    let output =
        plan.output_blocks as u64 * plan.output_block_bytes + plan.seam_pages as u64 * 4096;
    let scatter = plan.areas as u64 * plan.area_bytes + spares + spill;
    let loaded = (plan.resident_chunks() + shape.gather_areas) as u64 * plan.area_bytes;
    let gather = loaded + spares + spill.max(output);
    assert!(
        scatter.max(gather) <= plan.pool_bytes,
        "scattering takes {scatter}, gathering {gather}: {plan}"
    );
    assert!(shape.gather_areas >= 2 || plan.chunks == 0, "{plan}");
    assert!(shape.levels == 1 || plan.resident_chunks() == 0, "{plan}");
}

fn check_merge(plan: &Plan) {
    let spill_blocks = if plan.spilled_chunks > 0 { plan.spill_blocks as u64 } else { 0 };
    let form = plan.areas as u64 * plan.area_bytes
        + plan.threads as u64 * plan.sort_buffer_bytes
        + spill_blocks * plan.spill_block_bytes;
    assert!(form <= plan.pool_bytes, "forming runs takes {form}: {plan}");

    let shape = merge(plan);
    let merged_at_once = plan.chunks.min(shape.fan_in_max);
    let from_scratch = plan.spilled_chunks.min(merged_at_once) as u64;
    let merge = plan.resident_chunks() as u64 * plan.area_bytes
        + plan.output_blocks as u64 * plan.output_block_bytes.max(plan.block_bytes)
        + plan.seam_pages as u64 * 4096
        // One block for each run, and a segment of one block for each thread, in the queue, and
        // under construction.
        + (from_scratch + if from_scratch > 0 { plan.threads as u64 + 2 } else { 0 })
            * plan.block_bytes;
    assert!(merge <= plan.pool_bytes, "merging takes {merge}: {plan}");
    if from_scratch > 0 && plan.resident_chunks() > 0 {
        // All blocks must fit, wherever the runs that stay lie; at worst there is a hole of one
        // area beside each.
        let (holes, area) = ((plan.areas - plan.resident_chunks()) as u64, plan.area_bytes);
        let rest = plan.pool_bytes - plan.areas as u64 * area;
        let count = |bytes: u64| holes * (area / bytes) + rest / bytes;
        let (block, large) = (plan.block_bytes, plan.output_block_bytes.max(plan.block_bytes));
        let output_blocks = plan.output_blocks as u64;
        let pages = (plan.seam_pages as u64 * 4096).div_ceil(block);
        assert!(count(large) >= output_blocks, "{plan}");
        let read_blocks = count(block) - output_blocks * (large / block) - pages;
        assert!(
            read_blocks >= shape.read_blocks as u64,
            "{read_blocks} blocks for reading: {plan}"
        );
        assert!(
            read_blocks >= from_scratch + plan.threads as u64 + 2,
            "{read_blocks} blocks: {plan}"
        );
    }
    assert!(plan.chunks <= shape.fan_in_max || shape.merge_passes > 1, "{plan}");
    assert!(plan.chunks <= shape.fan_in_max || plan.resident_chunks() == 0, "{plan}");
}

fn check_merge_of_inputs(plan: &Plan, shape: &MergeShape) {
    let output = plan.output_blocks as u64 * plan.output_block_bytes.max(plan.block_bytes)
        + plan.seam_pages as u64 * 4096;
    let read = shape.read_blocks as u64 * plan.block_bytes;
    assert!(output + read <= plan.pool_bytes, "merging takes {output} and {read}: {plan}");
    // A block for each input and one more, and the segments that are held, cut and read.
    let held = (plan.threads + 3) * shape.segment_blocks;
    assert!(shape.read_blocks > shape.fan_in_max + held, "{plan}");
    assert!(plan.chunks == 0 && plan.scratch_bytes == 0, "{plan}");
}

#[test]
fn merges_of_inputs_have_the_largest_blocks_of_which_there_are_enough() {
    let of = |inputs: usize, record_bytes, mib| {
        let facts = Facts {
            input_bytes: vec![40_000_000 / record_bytes * record_bytes; inputs],
            method: Method::MergeInputs,
            ..facts(0, record_bytes, 10.min(record_bytes), mib * MIB, 4)
        };
        let plan = plan(&facts).unwrap();
        check(&plan);
        (plan.threads, plan.block_bytes / KIB)
    };
    assert_eq!(of(2, 100, 1024), (4, 1024));
    assert_eq!(of(200, 100, 1024), (4, 1024));
    assert_eq!(of(200, 100, 64), (4, 128));
    assert_eq!(of(1_000, 100, 128), (4, 64));
    assert_eq!(of(2, 4096, 1), (4, 32));
    assert_eq!(of(1, 1, 1), (4, 32));
}

#[test]
fn more_blocks_for_the_output_are_not_smaller_ones() {
    let of = |budget| plan(&facts(8_000_000_000, 100, 10, budget, 2)).unwrap();
    for (budget, kib, blocks) in [(64 * MIB, 512, 10), (128 * MIB, 1024, 13), (GIB, 1024, 34)] {
        let plan = of(budget);
        assert_eq!((plan.output_block_bytes, plan.output_blocks), (kib * KIB, blocks), "{plan}");
    }
}

#[test]
fn little_memory_has_few_large_areas() {
    let of = |mib, threads| plan(&facts(8_000_000_000, 100, 10, mib * MIB, threads)).unwrap();
    for (mib, threads, areas, kib) in
        [(16, 2, 2, 256), (64, 2, 2, 128), (192, 2, 2, 1024), (256, 2, 5, 1024), (48, 1, 2, 64)]
    {
        let plan = of(mib, threads);
        assert_eq!((plan.areas, plan.block_bytes), (areas, kib * KIB), "{plan}");
    }
    // Write buffers for spilled data take more than a tenth of the memory.
    let plan = of(64, 2);
    assert!(plan.spill_blocks as u64 * plan.spill_block_bytes > plan.pool_bytes / 10, "{plan}");
    // Below 64 KiB, blocks are too costly to reduce the number of runs.
    let plan = of(48, 2);
    assert!(plan.threads == 1 || plan.areas >= plan.threads + 2, "{plan}");
}

#[test]
fn a_merge_reads_no_further_ahead_than_it_writes_behind() {
    let plan = plan(&facts(8_000_000_000, 100, 10, 256 * MIB, 2)).unwrap();
    let MergeShape { read_blocks, segment_blocks, .. } = *merge(&plan);
    let in_use = plan.spilled_chunks + (plan.threads + 2) * segment_blocks;
    let (ahead, behind) = (read_blocks - in_use, plan.output_blocks - plan.threads);
    assert!(plan.block_bytes == plan.output_block_bytes && behind > 20, "{plan}");
    assert!(ahead.abs_diff(behind) <= 1, "{ahead} ahead, {behind} behind: {plan}");
}

proptest! {
    #[test]
    fn the_memory_of_both_phases_adds_up(
        bytes in 0u64..64 * GIB,
        record_bytes in prop_oneof![1u64..300, Just(100), Just(4096), 1u64..70_000],
        key_share in 1u64..=100,
        budget_log in 13u32..36,
        budget_rest in 0u64..1000,
        threads in 1usize..70,
        method in prop_oneof![Just(Method::Merge), Just(Method::Scatter)],
        inputs in prop_oneof![3 => Just(1u64), 1 => 1u64..200],
        codec in prop_oneof![Just(None), Just(Some(Codec::Lz4)), Just(Some(Codec::Zstd))],
    ) {
        let budget_bytes = (1u64 << budget_log) + (1u64 << budget_log) / 1000 * budget_rest;
        let key_bytes = (record_bytes * key_share / 100).clamp(1, 4096);
        // The number of runs grows with bytes / budget. Keep it small enough for a test.
        let bytes = bytes.min(budget_bytes.saturating_mul(2_000 / inputs));
        // Uneven inputs, many of them tiny or empty.
        let records = bytes / record_bytes;
        let size = |input: u64| {
            let share = records * (2 * input + 1) / (inputs * inputs).max(1);
            share / (1 + input % 7) * record_bytes
        };
        let input_bytes: Vec<u64> = (0..inputs).map(size).collect();
        let facts = |budget_bytes| {
            let one = facts(bytes, record_bytes, key_bytes, budget_bytes, threads);
            Facts { method, codec, input_bytes: input_bytes.clone(), ..one }
        };
        match plan(&facts(budget_bytes)) {
            Ok(plan) => check(&plan),
            Err(Error::Memory { needed_bytes, .. }) => {
                prop_assert!(needed_bytes > budget_bytes);
                check(&plan(&facts(needed_bytes)).unwrap());
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_fits_is_not_spilled() {
    let plan = plan(&facts(2_000_000_000, 100, 10, 12 * GIB, 2)).unwrap();
    assert_eq!((plan.spilled_chunks, plan.scratch_bytes, merge(&plan).merge_passes), (0, 0, 1));
    assert_eq!(plan.read_bytes, 2_000_000_000);
    assert!(merge(&plan).is_arranged && plan.chunks >= 64, "{plan}");
}

#[test]
fn a_little_more_than_fits_spills_a_little() {
    let plan = plan(&facts(2_120_000_000, 100, 10, 2 * GIB, 2)).unwrap();
    assert!(plan.spilled_chunks > 0 && plan.scratch_bytes < 600_000_000, "{plan}");
}

/// Without `--compress`, compression's memory holds more records.
#[test]
fn memory_for_compression_hardly_spills_more() {
    for bytes in [400_000_000, 1_000_000_000, 4_000_000_000, 8_000_000_000] {
        for budget_bytes in [64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB, GIB, 4 * GIB] {
            let plain = facts(bytes, 100, 10, budget_bytes, 2);
            let auto = Facts { codec: Some(Codec::Auto(Measure::Clocks)), ..plain.clone() };
            let (plain, auto) = (plan(&plain).unwrap(), plan(&auto).unwrap());
            assert!(auto.compression_bytes > 0 || auto.spilled_chunks == 0, "{auto}");
            let moved = |plan: &Plan| (plan.read_bytes + plan.write_bytes) as f64;
            assert!(moved(&auto) < 1.015 * moved(&plain), "{auto} {plain}");
        }
    }
}

#[test]
fn eight_gigabytes_in_one_merge_down_to_64_mebibytes() {
    for budget_bytes in [GIB, 256 * MIB, 64 * MIB] {
        let plan = plan(&facts(8_000_000_000, 100, 10, budget_bytes, 2)).unwrap();
        assert_eq!(merge(&plan).merge_passes, 1, "{plan}");
        assert!(plan.spill_block_bytes >= 256 * KIB, "a drive takes small writes slowly: {plan}");
    }
}

#[test]
fn a_terabyte_on_64_threads_in_one_merge() {
    let plan = plan(&facts(1_000_000_000_000, 100, 10, 16 * GIB, 64)).unwrap();
    assert_eq!((merge(&plan).merge_passes, plan.threads, plan.block_bytes), (1, 64, MIB));
}

#[test]
fn many_small_files_do_not_make_many_small_runs() {
    let facts = Facts { input_bytes: vec![100 * 1000; 4_000], ..facts(0, 100, 10, 64 * MIB, 2) };
    let plan = plan(&facts).unwrap();
    assert!(plan.chunks < 300, "{plan}");
    check(&plan);
}

#[test]
fn tiny_budgets_take_more_passes_until_they_are_refused() {
    let facts = |budget_bytes| facts(100_000_000, 100, 10, budget_bytes, 8);
    assert!(merge(&plan(&facts(MIB)).unwrap()).merge_passes > 1);
    assert!(matches!(plan(&facts(64 * KIB)), Err(Error::Memory { .. })));
}

fn scatter(bytes: u64, budget_bytes: u64, threads: usize) -> (Plan, ScatterShape) {
    let facts = Facts { method: Method::Scatter, ..facts(bytes, 100, 10, budget_bytes, threads) };
    let plan = plan(&facts).unwrap();
    check(&plan);
    let Shape::Scatter(shape) = plan.shape.clone() else { panic!("{plan}") };
    (plan, shape)
}

#[test]
fn scattering_leaves_in_memory_what_fits() {
    let (plan, shape) = scatter(2_000_000_000, 12 * GIB, 2);
    assert_eq!((plan.spilled_chunks, plan.scratch_bytes, shape.levels), (0, 0, 1), "{plan}");
    let (plan, shape) = scatter(8_000_000_000, GIB, 2);
    assert!(plan.resident_chunks() > 0 && shape.levels == 1, "{plan}");
    assert!(plan.scratch_bytes < 7_700_000_000, "{plan}");
}

#[test]
fn more_bins_than_pieces_can_be_for_mean_another_level() {
    let (plan, shape) = scatter(8_000_000_000, 64 * MIB, 2);
    assert_eq!(shape.levels, 2, "{plan}");
    let (plan, shape) = scatter(1_000_000_000_000, 64 * GIB, 32);
    assert_eq!((shape.levels, plan.threads), (1, 32), "{plan}");
}

#[test]
fn auto_merges_but_thousands_of_runs_on_many_threads() {
    let is_merge = |bytes, budget_bytes, threads| {
        let facts = Facts { method: Method::Auto, ..facts(bytes, 100, 10, budget_bytes, threads) };
        let plan = plan(&facts).unwrap();
        check(&plan);
        matches!(plan.shape, Shape::Merge(_))
    };
    assert!(is_merge(8_000_000_000, GIB, 2) && is_merge(8_000_000_000, 64 * MIB, 2));
    assert!(is_merge(8_000_000_000, 12 * GIB, 32), "nothing is spilled");
    assert!(is_merge(1_000_000_000_000, 64 * GIB, 32), "some hundreds of runs");
    assert!(!is_merge(1_000_000_000_000, 16 * GIB, 32), "thousands of them");
    assert!(is_merge(1_000_000_000_000, GIB, 32), "bins would take two levels");
}

#[test]
fn auto_puts_bins_in_place_where_chunks_are_spilled_and_pieces_are_large() {
    let is_in_place = |bytes, budget_bytes, threads, codec| {
        let in_place = true;
        let one = facts(bytes, 100, 10, budget_bytes, threads);
        let facts = Facts { method: Method::Auto, in_place, codec, ..one };
        let plan = plan(&facts).unwrap();
        check(&plan);
        let Shape::Scatter(shape) = &plan.shape else { return false };
        assert!(shape.in_place && plan.scratch_bytes < bytes / 8, "{plan}");
        // With little memory there are few areas, so pieces are large.
        let fewer = shape.gather_areas == threads.max(2);
        assert_eq!(fewer, budget_bytes < 192 * MIB, "{plan}");
        true
    };
    for budget_bytes in [96 * MIB, 256 * MIB, GIB, 4 * GIB, 7 * GIB] {
        assert!(is_in_place(8_000_000_000, budget_bytes, 2, None));
    }
    assert!(is_in_place(1_000_000_000_000, 64 * GIB, 32, None));
    assert!(!is_in_place(8_000_000_000, 64 * MIB, 2, None), "pieces would be small");
    assert!(!is_in_place(8_000_000_000, 12 * GIB, 2, None), "nothing is spilled");
    assert!(!is_in_place(8_000_000_000, GIB, 2, Some(Codec::Lz4)), "bins aren't compressed");
}

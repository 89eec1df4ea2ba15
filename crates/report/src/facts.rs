//! The figures of one run as tables.

use crate::run::{Moved, Run};
use crate::units::{bytes, count, memory as binary, number, percent, rate, seconds};
use maud::{Markup, html};

/// Rows of the largest files and directories.
const LARGEST_ROWS: usize = 30;

/// A table with a name and values in each row, without the rows that have none.
fn rows(rows: Vec<(&str, Option<String>)>) -> Option<Markup> {
    let rows: Vec<_> = rows.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    (!rows.is_empty()).then(|| {
        html! { table.wrap { tbody {
            @for (name, text) in rows { tr { th scope="row" { (name) } td { (text) } } }
        } } }
    })
}

/// The main figures.
pub(crate) fn tiles(run: &Run) -> Markup {
    let speed = run.bytes.zip(run.seconds).filter(|(_, seconds)| *seconds > 0.0);
    let tiles = [
        ("time", run.seconds.map(seconds)),
        ("speed", speed.map(|(bytes, seconds)| rate(bytes as f64 / seconds))),
        ("size", run.bytes.map(|size| bytes(size as f64))),
        ("items", run.items().map(|(items, name)| count(items, name))),
        ("processor time", run.cpu_seconds().map(seconds)),
        ("threads", run.thread_count().map(number)),
        ("memory planned", run.memory_bytes.map(binary)),
        ("peak memory", Some(run.run.peak_memory_bytes).filter(|peak| *peak > 0).map(binary)),
        ("space", run.total.map(|total| bytes(total.allocated_bytes as f64))),
        ("content", run.total.map(|total| bytes(total.apparent_bytes as f64))),
        ("files and directories", run.total.map(|total| number(total.inodes))),
    ];
    html! { div.tiles { @for (name, text) in tiles {
        @if let Some(text) = text { div { b { (text) } span { (name) } } }
    } } }
}

/// What was read and what was written or found.
pub(crate) fn balance(run: &Run) -> Option<Markup> {
    let (items, name) = run.items()?;
    let is_sorting = matches!(&*run.command, "sort" | "lines" | "table");
    let late = run.late_lines.or(run.late_rows);
    let compared = |comparison: &crate::run::Comparison| {
        let verdict = if comparison.ok { "the same as" } else { "not those of" };
        let records = comparison.records.map_or(String::new(), |all| count(all, "record") + ", ");
        format!("{verdict} {}: {records}checksum {}", comparison.source, comparison.checksum)
    };
    let order = run.unordered_records.map(|unordered| match unordered {
        0 => "all records are in order".to_owned(),
        _ => format!(
            "{} out of order, the first is record {}",
            count(unordered, "record"),
            run.first_unordered_record.map_or("unknown".into(), number)
        ),
    });
    let size = run.bytes.map_or(String::new(), |size| format!(", {} bytes", number(size)));
    let (inside, written) = match is_sorting {
        true => ("read", run.written_bytes.or(run.bytes)),
        false if run.command == "gen" => ("written", None),
        false => ("read", None),
    };
    let table = rows(vec![
        (inside, Some(format!("{}{size}", count(items, name)))),
        ("to the output", written.map(|size| format!("{} bytes", number(size)))),
        ("too late, written elsewhere", late.map(|late| count(late, name))),
        ("with a value of another type", run.bad_rows.map(number)),
        ("row groups copied as they were", run.copied_row_groups.map(number)),
        ("checksum", run.checksum.clone()),
        ("order", order),
        ("duplicate keys", run.duplicate_keys.map(number)),
        ("expected", run.expected.as_ref().map(compared)),
        ("compared", run.against.as_ref().map(compared)),
    ])?;
    let is_bad = run.ok == Some(false);
    Some(html! {
        @if is_bad { p.bad { "Not in order, or not the expected records." } }
        (table)
        @if is_sorting && run.checksum.is_some() {
            p.note { "What was read and what was written or dropped have this checksum: both were \
                      compared before the output was put in place." }
        }
    })
}

/// The phases, with the rates of each.
pub(crate) fn phases(run: &Run) -> Option<Markup> {
    let phases = run.all_phases();
    let all: f64 = phases.iter().map(|phase| phase.seconds).sum();
    let has_traffic = phases.iter().any(|phase| phase.read_bytes + phase.written_bytes > 0);
    let cell = |of: u64| if of > 0 { bytes(of as f64) } else { String::new() };
    (!phases.is_empty()).then(|| {
        html! { div.scroll { table {
            thead { tr {
                th { "phase" } th.n { "time" } th.n { "share" }
                @if has_traffic { th.n { "read" } th.n { "written" } } @else { th.n { "bytes" } }
                th.n { "rate" }
            } }
            tbody { @for phase in &phases { tr {
                @let moved = phase.read_bytes + phase.written_bytes + phase.bytes;
                th scope="row" { (phase.name) }
                td.n { (seconds(phase.seconds)) }
                td.n { (percent(phase.seconds / all.max(1e-9))) }
                @if has_traffic {
                    td.n { (cell(phase.read_bytes)) } td.n { (cell(phase.written_bytes)) }
                } @else { td.n { (cell(phase.bytes)) } }
                td.n { @if moved > 0 && phase.seconds > 0.0 {
                    (rate(moved as f64 / phase.seconds))
                } }
            } } }
        } } }
    })
}

/// What the threads of each stage did, and what they waited for.
pub(crate) fn stages(run: &Run) -> Option<Markup> {
    let stages = &run.run.stages;
    let of_all = run.thread_count().unwrap_or(1) as f64 * run.seconds.unwrap_or(0.0).max(1e-9);
    let row = |name: &str, what: String, time: f64| {
        html! { tr {
            th scope="row" { (name) } td { (what) }
            td.n { (seconds(time)) } td.n { (percent(time / of_all)) }
        } }
    };
    (!stages.is_empty()).then(|| {
        html! {
            div.scroll { table {
                thead { tr {
                    th { "stage" } th { "what" } th.n { "time of threads" }
                    th.n { "share" }
                } }
                tbody { @for stage in stages {
                    @if stage.busy_seconds > 0.0 {
                        (row(&stage.name, "works".into(), stage.busy_seconds))
                    }
                    @for wait in stage.waits.iter().filter(|wait| wait.seconds > 0.0) {
                        (row(&stage.name, format!("waits for {}", wait.on), wait.seconds))
                    }
                } }
            } }
        }
    })
}

/// The plan of a sort of records beside what happened.
pub(crate) fn plan(run: &Run) -> Option<Markup> {
    let plan = run.plan.as_ref()?;
    let moved = run.moved().unwrap_or_default();
    let scratch: u64 = run.scratch.iter().map(|scratch| scratch.bytes).sum();
    let rows = [
        ("read", bytes(plan.read_bytes as f64), bytes(moved.read_bytes as f64)),
        ("written", bytes(plan.write_bytes as f64), bytes(moved.written_bytes as f64)),
        ("scratch in use at most", bytes(plan.scratch_bytes as f64), bytes(scratch as f64)),
        (
            "memory",
            binary(plan.pool_bytes + plan.index_bytes + plan.compression_bytes),
            binary(run.run.peak_memory_bytes),
        ),
    ];
    let floor = run.floor_seconds.zip(run.seconds);
    Some(html! {
        p { "Method " (plan.method) ", " (count(plan.chunks, "chunk")) ", "
            (number(plan.spilled_chunks)) " of them to scratch." }
        div.scroll { table {
            thead { tr { th { "" } th.n { "planned" } th.n { "happened" } } }
            tbody {
                @for (name, planned, happened) in rows {
                    tr { th scope="row" { (name) } td.n { (planned) } td.n { (happened) } }
                }
                @if let Some((floor, all)) = floor {
                    tr { th scope="row" { "least time, as the drive was measured" }
                        td.n { (seconds(floor)) } td.n { (seconds(all)) } }
                }
            }
        } }
        p.note { "The peak of memory is that of the whole process, with the program itself." }
    })
}

/// Memory by the names of the ledger.
pub(crate) fn memory(run: &Run) -> Option<Markup> {
    let shares = run.shares();
    let all: u64 = shares.iter().map(|(_, bytes)| *bytes).sum();
    let budget = run.plan.as_ref().map_or(0, |plan| plan.budget_bytes).max(all).max(1);
    (!shares.is_empty()).then(|| {
        html! { div.scroll { table {
            thead { tr { th { "what for" } th.n { "memory" } th.n { "share" } } }
            tbody {
                @for (name, of) in &shares { tr {
                    th scope="row" { (name) } td.n { (binary(*of)) }
                    td.n { (percent(*of as f64 / budget as f64)) }
                } }
                tr { th scope="row" { "in all" } td.n { (binary(all)) }
                    td.n { (percent(all as f64 / budget as f64)) } }
                @if budget > all { tr {
                    th scope="row" { "the limit" } td.n { (binary(budget)) } td.n { "100%" }
                } }
            }
        } } }
    })
}

/// What went to scratch, and how it was compressed.
pub(crate) fn scratch(run: &Run) -> Option<Markup> {
    let directories: Vec<String> = run
        .scratch
        .iter()
        .filter(|scratch| scratch.bytes > 0)
        .map(|scratch| format!("{}: {}", scratch.directory, bytes(scratch.bytes as f64)))
        .collect();
    if run.scratch_bytes == 0 && directories.is_empty() {
        return None;
    }
    let ratio = run.spilled_bytes as f64 / run.scratch_bytes.max(1) as f64;
    let compressed = run.lz4_bytes + run.zstd_bytes;
    let size = |size: u64| (size > 0).then(|| bytes(size as f64));
    rows(vec![
        ("data that was spilled", size(run.spilled_bytes)),
        ("bytes on scratch for it", size(run.scratch_bytes)),
        ("compressed to", (compressed > 0).then(|| percent(1.0 / ratio.max(1e-9)))),
        ("by LZ4", size(run.lz4_bytes)),
        ("by Zstandard", size(run.zstd_bytes)),
        ("directories", (!directories.is_empty()).then(|| directories.join(", "))),
    ])
}

/// The command to repeat the run, the program and the machine.
pub(crate) fn repeat(run: &Run) -> Option<Markup> {
    let facts = &run.run;
    let machine = &facts.machine;
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let processor = (machine.processors > 0).then(|| {
        let name = known(&machine.processor).map_or(String::new(), |name| format!(", {name}"));
        format!("{}{name}", count(machine.processors, "processor"))
    });
    let Moved { busy_seconds, .. } = run.moved().unwrap_or_default();
    let table = rows(vec![
        ("directory", known(&facts.directory)),
        ("xsort", known(&facts.program_version)),
        ("host", known(&machine.host)),
        ("system", known(&machine.system)),
        ("processors", processor),
        ("memory", (machine.memory_bytes > 0).then(|| binary(machine.memory_bytes))),
        ("reads and writes by", run.io.clone()),
        ("preparation", run.prepare_seconds.map(seconds)),
        ("a transfer under way", (busy_seconds > 0.0).then(|| seconds(busy_seconds))),
        ("limit of transfers", facts.limit_bytes_per_second.map(|limit| rate(limit as f64))),
        ("paused for hot drives", facts.paused_seconds.map(seconds)),
    ]);
    let command: Vec<String> = facts.arguments.iter().map(|word| shell_word(word)).collect();
    (table.is_some() || !command.is_empty()).then(|| {
        html! {
            @if !command.is_empty() { pre { code { (command.join(" ")) } } }
            @if let Some(table) = table { (table) }
        }
    })
}

/// A word as a shell takes it.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+./:,@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The largest files and directories.
pub(crate) fn largest_table(run: &Run) -> Markup {
    let all = run.total.map_or(0, |total| total.allocated_bytes).max(1) as f64;
    let rest = run.entries.count.saturating_sub(LARGEST_ROWS as u64);
    html! {
        div.scroll { table {
            thead { tr { th { "path" } th.n { "space" } th.n { "share" } th.n { "inodes" } } }
            tbody { @for entry in run.entries.entries.iter().take(LARGEST_ROWS) { tr {
                th scope="row" { (entry.path) @if entry.is_directory { "/" } }
                td.n { (bytes(entry.allocated_bytes as f64)) }
                td.n { (percent(entry.allocated_bytes as f64 / all)) }
                td.n { (number(entry.inodes)) }
            } } }
        } }
        @if rest > 0 { p.note { "And " (number(rest)) " smaller ones." } }
    }
}

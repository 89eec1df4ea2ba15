//! Two runs beside each other.

use crate::bound::TimeShares;
use crate::run::Run;
use crate::units::{bytes, memory, number, percent, rate, seconds, times};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Differences of less than this are called none: runs differ as much by chance.
const SAME: f64 = 0.03;

/// Rows of files and directories that changed most.
const CHANGED_ROWS: usize = 50;

/// A figure of both runs, with the text for each.
struct Figure<'a> {
    name: &'a str,
    values: [Option<f64>; 2],
    show: &'a dyn Fn(f64) -> String,
}

/// A sentence about the difference, and a table of it.
pub(crate) fn comparison(a: &Run, b: &Run) -> Markup {
    let both = |value: &dyn Fn(&Run) -> Option<f64>| [value(a), value(b)];
    let count = |value: f64| number(value as u64);
    let binary = |value: f64| memory(value as u64);
    let speed = |run: &Run| Some(run.bytes? as f64 / run.seconds.filter(|all| *all > 0.0)?);
    let some = |value: u64| (value > 0).then_some(value as f64);
    let shares = |run: &Run| TimeShares::of(run);
    let figure = |name, values, show| Figure { name, values, show };
    let figures = [
        figure("time", both(&|run| run.seconds), &seconds),
        figure("speed", both(&speed), &rate),
        figure("size", both(&|run| run.bytes.map(|size| size as f64)), &bytes),
        figure("items", both(&|run| run.items().map(|(items, _)| items as f64)), &count),
        figure("processor time", both(&Run::cpu_seconds), &seconds),
        figure("threads", both(&|run| run.thread_count().map(|all| all as f64)), &count),
        figure("used of the threads' time", both(&|run| shares(run)?.processor), &percent),
        figure("waited of it for transfers", both(&|run| shares(run)?.waiting), &percent),
        figure("a transfer under way", both(&|run| shares(run)?.transfers), &percent),
        figure("memory planned", both(&|run| run.memory_bytes.and_then(some)), &binary),
        figure("peak memory", both(&|run| some(run.run.peak_memory_bytes)), &binary),
        figure("on scratch", both(&|run| some(run.scratch_bytes)), &bytes),
        figure("read", both(&|run| some(run.moved()?.read_bytes)), &bytes),
        figure("written", both(&|run| some(run.moved()?.written_bytes)), &bytes),
        figure("space", both(&|run| Some(run.total?.allocated_bytes as f64)), &bytes),
        figure("files and directories", both(&|run| Some(run.total?.inodes as f64)), &count),
    ];
    html! {
        p.verdict { (sentence(a, b)) }
        div.scroll { table {
            thead { tr { th { "" } th.n { "A" } th.n { "B" } th.n { "B / A" } } }
            tbody {
                @for Figure { name, values, show } in &figures {
                    @if values.iter().any(Option::is_some) { tr {
                        th scope="row" { (name) }
                        @for value in values { td.n { (value.map_or("-".into(), show)) } }
                        td.n { @if let [Some(a), Some(b)] = values && *a > 0.0 {
                            (format!("{:.2}", b / a))
                        } }
                    } }
                }
                (phase_rows(a, b))
            }
        } }
        (changed_paths(a, b))
        (differences(a, b))
    }
}

fn sentence(a: &Run, b: &Run) -> String {
    if let (Some(old), Some(new)) = (a.total, b.total) {
        let (old, new) = (old.allocated_bytes as f64, new.allocated_bytes as f64);
        return match new - old {
            0.0 => format!("Both take {}.", bytes(old)),
            more if more > 0.0 => format!("B takes {} more space than A.", bytes(more)),
            less => format!("B takes {} less space than A.", bytes(-less)),
        };
    }
    let (Some(old), Some(new)) = (a.seconds, b.seconds) else {
        return "One of the reports doesn't say how long the run took.".into();
    };
    if a.command != b.command {
        return format!(
            "A took {}, B {}; they are of different commands.",
            seconds(old),
            seconds(new)
        );
    }
    let is_same_work = a.bytes == b.bytes && a.items() == b.items();
    let (old, new, what) = match (is_same_work, a.bytes.zip(b.bytes)) {
        (false, Some((of_a, of_b))) if of_a > 0 && of_b > 0 => {
            (old / of_a as f64, new / of_b as f64, " for each byte; their sizes differ")
        }
        _ => (old, new, ""),
    };
    match new / old.max(1e-9) {
        ratio if (1.0 - SAME..=1.0 + SAME).contains(&ratio) => {
            format!("Both took the same time{what} (within {}).", percent(SAME))
        }
        ratio if ratio > 1.0 => format!("B took {} as long as A{what}.", times(ratio)),
        ratio => format!("A took {} as long as B{what}.", times(1.0 / ratio)),
    }
}

/// The times of phases that both runs have.
fn phase_rows(a: &Run, b: &Run) -> Markup {
    let (of_a, of_b) = (a.all_phases(), b.all_phases());
    html! { @for phase in &of_a {
        @if let Some(other) = of_b.iter().find(|other| other.name == phase.name) { tr {
            th scope="row" { "phase: " (phase.name) }
            td.n { (seconds(phase.seconds)) } td.n { (seconds(other.seconds)) }
            td.n { @if phase.seconds > 0.0 { (format!("{:.2}", other.seconds / phase.seconds)) } }
        } }
    } }
}

/// The files and directories whose space changed most. One that is missing from a list counts as
/// nothing if the list has all entries, and both commands list the same; otherwise nothing is known
/// of it.
fn changed_paths(a: &Run, b: &Run) -> Markup {
    let mut sizes: BTreeMap<&str, [Option<u64>; 2]> = BTreeMap::new();
    for (side, list) in [a, b].into_iter().enumerate() {
        for entry in &list.entries.entries {
            sizes.entry(&entry.path).or_default()[side] = Some(entry.allocated_bytes);
        }
    }
    let are_alike = a.run.arguments == b.run.arguments && !a.run.arguments.is_empty();
    let missing = [a, b].map(|run| {
        let is_all = run.entries.count == run.entries.entries.len() as u64;
        (is_all && are_alike).then_some(0)
    });
    let known = sizes.into_iter().filter_map(|(path, [old, new])| {
        let (old, new) = (old.or(missing[0])?, new.or(missing[1])?);
        (old != new).then_some((path, old, new))
    });
    let mut changed: Vec<(&str, u64, u64)> = known.collect();
    changed.sort_by_key(|(_, old, new)| std::cmp::Reverse(old.abs_diff(*new)));
    html! { @if !changed.is_empty() {
        h2 { "What grew and shrank" }
        div.scroll { table {
            thead { tr { th { "path" } th.n { "A" } th.n { "B" } th.n { "change" } } }
            tbody { @for (path, old, new) in changed.into_iter().take(CHANGED_ROWS) { tr {
                @let sign = if new > old { "+" } else { "-" };
                th scope="row" { (path) }
                td.n { (bytes(old as f64)) } td.n { (bytes(new as f64)) }
                td.n { (sign) (bytes(old.abs_diff(new) as f64)) }
            } } }
        } }
    } }
}

/// What of the runs' surroundings differs.
fn differences(a: &Run, b: &Run) -> Markup {
    let texts = |run: &Run| {
        let machine = &run.run.machine;
        [
            ("command", run.run.arguments.join(" ")),
            ("directory", run.run.directory.clone()),
            ("checksum", run.checksum.clone().unwrap_or_default()),
            ("xsort", run.run.program_version.clone()),
            ("host", machine.host.clone()),
            ("system", machine.system.clone()),
            ("processor", format!("{} x {}", machine.processors, machine.processor)),
        ]
    };
    let pairs = texts(a).into_iter().zip(texts(b));
    let differing: Vec<_> = pairs.filter(|((_, old), (_, new))| old != new).collect();
    html! { @if !differing.is_empty() {
        h2 { "What differs" }
        div.scroll { table.wrap {
            thead { tr { th { "" } th { "A" } th { "B" } } }
            tbody { @for ((name, old), (_, new)) in &differing {
                tr { th scope="row" { (name) } td { (old) } td { (new) } }
            } }
        } }
    } }
}

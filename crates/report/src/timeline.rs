//! Spans as a picture: a lane for each thread, cut into columns of equal time. A column has the
//! colour of what took most of it, so a picture has the same size for a second and for a week.

use crate::run::{Lane, Run};
use crate::units::{percent, seconds};
use maud::{Markup, html};
use std::fmt::Write;

/// Columns of time.
const COLUMNS: usize = 720;
/// Lanes shown.
const LANES_MAX: usize = 34;
/// The height of a lane with its gap, in units of a column.
const LANE_HEIGHT: usize = 16;
/// The width of the lanes' names.
const NAMES_WIDTH: usize = 88;

/// The kinds of spans: name, what it is called, and the class of its colour.
const KINDS: [(&str, &str, &str); 12] = [
    ("read", "read", "k-read"),
    ("make", "make records", "k-sort"),
    ("sort", "sort", "k-sort"),
    ("scatter", "scatter", "k-scatter"),
    ("spill", "spill", "k-spill"),
    ("compress", "compress", "k-compress"),
    ("cut", "find cuts", "k-scatter"),
    ("output", "merge and write", "k-output"),
    ("wait for read", "wait for reads", "k-wait-read"),
    ("wait for write", "wait for writes", "k-wait-write"),
    ("wait for memory", "wait for memory", "k-wait-memory"),
    ("transfer", "transfers under way", "k-transfer"),
];

/// The lanes of all spans on one scale of time that ends at `end_seconds`.
pub(crate) fn timeline(run: &Run, end_seconds: f64) -> Markup {
    let lanes = &run.run.lanes;
    let shown: Vec<&Lane> = lanes.iter().take(LANES_MAX).collect();
    let end_micros = (end_seconds * 1e6).max(1.0);
    let height = (shown.len() + 1) * LANE_HEIGHT;
    let width = NAMES_WIDTH + COLUMNS;
    let kinds = KINDS.iter().enumerate().filter(|(kind, _)| {
        shown.iter().flat_map(|lane| &lane.spans).any(|span| kind_of(&span.3) == Some(*kind))
    });
    let kinds: Vec<_> = kinds.map(|(_, kind)| kind).collect();
    html! {
        div.legend {
            @for (_, label, class) in &kinds { span { i class=(*class) {} " " (*label) } }
            span { i.k-none {} " nothing that is counted" }
        }
        div.scroll {
            svg.lanes viewBox={ "0 0 " (width) " " (height + 18) } role="img"
                aria-label="What each thread did over time; the table below has the sums" {
                (phases(run, end_seconds))
                @for (number, lane) in shown.iter().enumerate() {
                    (lane_picture(lane, (number + 1) * LANE_HEIGHT, end_micros))
                }
                (time_axis(NAMES_WIDTH, COLUMNS, height, end_seconds))
            }
        }
        @if lanes.len() > LANES_MAX {
            p.note { (lanes.len() - LANES_MAX) " further lanes are left out; --trace has them." }
        }
        details { summary { "Sums of each lane" } (sums(&shown, end_micros)) }
    }
}

fn kind_of(name: &str) -> Option<usize> {
    KINDS.iter().position(|(kind, ..)| *kind == name)
}

/// The phases, as a lane of boxes with their names.
fn phases(run: &Run, end_seconds: f64) -> Markup {
    let column = |seconds: f64| (seconds / end_seconds).clamp(0.0, 1.0) * COLUMNS as f64;
    html! {
        text.right x=(NAMES_WIDTH - 6) y="11" { "phases" }
        @for phase in &run.run.phases {
            @let begin = column(phase.begin_seconds);
            @let width = column(phase.begin_seconds + phase.seconds) - begin;
            rect.phase x=(format!("{:.1}", NAMES_WIDTH as f64 + begin)) y="1"
                width=(format!("{width:.1}")) height=(LANE_HEIGHT - 3) {
                title { (phase.name) ": " (seconds(phase.seconds)) }
            }
            // A character takes about six units.
            @if width > 6.0 * phase.name.len() as f64 {
                text x=(format!("{:.1}", NAMES_WIDTH as f64 + begin + 4.0)) y="11" { (phase.name) }
            }
        }
    }
}

/// Labels of time below a picture.
pub(crate) fn time_axis(left: usize, width: usize, top: usize, end_seconds: f64) -> Markup {
    html! {
        @for part in 0..5_usize {
            @let class = match part { 0 => "left", 4 => "right", _ => "centre" };
            text class=(class) x=(left + width * part / 4) y=(top + 13) {
                (match part { 0 => "0".into(), _ => seconds(end_seconds * part as f64 / 4.0) })
            }
        }
    }
}

fn lane_picture(lane: &Lane, top: usize, end_micros: f64) -> Markup {
    // Each path, and the column where its last stretch ends: moves are short if they are relative.
    let mut paths: [(String, usize); KINDS.len()] = Default::default();
    for (column, length, kind) in stretches(lane, end_micros) {
        let (path, end) = &mut paths[kind];
        let _ = match path.is_empty() {
            true => write!(path, "M{} {}h{length}", NAMES_WIDTH + column, top + 7),
            false => write!(path, "m{} 0h{length}", column - *end),
        };
        *end = column + length;
    }
    html! {
        text.right x=(NAMES_WIDTH - 6) y=(top + 11) { (lane.name) }
        @for ((path, _), (_, label, class)) in paths.iter().zip(KINDS) {
            @if !path.is_empty() {
                path class=(class) d=(path) { title { (lane.name) ": " (label) } }
            }
        }
    }
}

/// Neighbouring columns of the same kind: the first column, their number and the kind.
fn stretches(lane: &Lane, end_micros: f64) -> Vec<(usize, usize, usize)> {
    let mut busy = vec![[0_f32; KINDS.len()]; COLUMNS];
    for span in &lane.spans {
        let Some(kind) = kind_of(&span.3) else { continue };
        let (begin, length) = (span.0 as f64, (span.1 as f64).max(1.0));
        let density = span.2 as f64 / length;
        let column_of = |micros: f64| micros / end_micros * COLUMNS as f64;
        let (first, last) = (column_of(begin), column_of(begin + length));
        let inside = (first as usize).min(COLUMNS)..(last.ceil() as usize).min(COLUMNS);
        for column in inside {
            let (from, to) = (first.max(column as f64), last.min(column as f64 + 1.0));
            busy[column][kind] += ((to - from) * density) as f32;
        }
    }
    let mut stretches: Vec<(usize, usize, usize)> = Vec::new();
    for (column, kinds) in busy.iter().enumerate() {
        let rest = 1.0 - kinds.iter().sum::<f32>();
        let most = kinds.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((kind, _)) = most.filter(|(_, share)| **share > rest.max(0.0)) else { continue };
        match stretches.last_mut() {
            Some((first, length, last)) if *first + *length == column && *last == kind => {
                *length += 1;
            }
            _ => stretches.push((column, 1, kind)),
        }
    }
    stretches
}

fn sums(lanes: &[&Lane], end_micros: f64) -> Markup {
    let sum = |lane: &Lane, kind: &str| {
        lane.spans.iter().filter(|span| span.3 == kind).map(|span| span.2 as f64).sum::<f64>()
    };
    html! {
        p.note { "A span that stands for several short ones counts only what took most of it." }
        div.scroll { table {
            thead { tr { th { "lane" } th { "what" } th.n { "time" } th.n { "share" } } }
            tbody {
                @for lane in lanes {
                    @for (kind, label, _) in KINDS {
                        @let micros = sum(lane, kind);
                        @if micros > 0.0 {
                            tr {
                                td { (lane.name) }
                                td { (label) }
                                td.n { (seconds(micros / 1e6)) }
                                td.n { (percent(micros / end_micros)) }
                            }
                        }
                    }
                }
            }
        } }
    }
}

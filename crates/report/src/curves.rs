//! Samples as curves: rates over time with the drive's measured limit as a line, memory against its
//! budget, scratch, and temperature.

use crate::run::{Run, Sample};
use crate::timeline::time_axis;
use crate::units::{bytes, memory, rate};
use maud::{Markup, html};
use std::fmt::Write;

const WIDTH: usize = 720;
const HEIGHT: usize = 120;
const LEFT: usize = 88;
/// Points of a curve.
const POINTS_MAX: usize = 360;

/// A curve: its name, the class of its colour, and its values at times.
struct Curve<'a> {
    name: &'a str,
    class: &'a str,
    points: Vec<(f64, f64)>,
}

/// A horizontal line with its name.
struct Level {
    name: String,
    value: f64,
}

/// All curves of a run on one scale of time that ends at `end_seconds`.
pub(crate) fn curves(run: &Run, end_seconds: f64) -> Markup {
    let samples = &run.run.samples;
    let of = |name, class, value: &dyn Fn(&Sample) -> f64| Curve {
        name,
        class,
        points: samples.iter().map(|sample| (sample.seconds, value(sample))).collect(),
    };
    let rate_of = |name, class, value: &dyn Fn(&Sample) -> u64| {
        let pairs = samples.windows(2).filter(|pair| pair[1].seconds > pair[0].seconds);
        let slope = |pair: &[Sample]| {
            let bytes = value(&pair[1]).saturating_sub(value(&pair[0])) as f64;
            (pair[1].seconds, bytes / (pair[1].seconds - pair[0].seconds))
        };
        Curve { name, class, points: pairs.map(slope).collect() }
    };
    let rates = match run.moved() {
        Some(_) => vec![
            rate_of("read", "c-read", &|sample| sample.read_bytes),
            rate_of("written", "c-output", &|sample| sample.written_bytes),
        ],
        None => vec![rate_of("done", "c-sort", &|sample| sample.done_bytes)],
    };
    let mixed = |name: &str, value: f64| Level { name: name.into(), value };
    let drive = run.drive.iter().flat_map(|drive| {
        [
            mixed("the drive reads", drive.read_bytes_per_second),
            mixed("the drive writes", drive.write_bytes_per_second),
        ]
    });
    let limit = run.run.limit_bytes_per_second.map(|limit| mixed("limit", limit as f64));
    let budget = run.memory_bytes.map(|bytes| mixed("planned", bytes as f64));
    let resident = [of("resident", "c-read", &|sample| sample.resident_bytes as f64)];
    let scratch = [of("scratch", "c-spill", &|sample| sample.scratch_bytes as f64)];
    let heat = of("°C", "c-output", &|sample| sample.celsius.unwrap_or(0.0));
    let show_memory = |value: f64| memory(value as u64);
    let show_heat = |value: f64| format!("{value:.0} °C");
    html! {
        (picture("Rates", &rates, &drive.chain(limit).collect::<Vec<_>>(), &rate, end_seconds))
        (picture("Memory", &resident, &budget.into_iter().collect::<Vec<_>>(), &show_memory,
            end_seconds))
        @if samples.iter().any(|sample| sample.scratch_bytes > 0) {
            (picture("Scratch in use", &scratch, &[], &bytes, end_seconds))
        }
        @if samples.iter().any(|sample| sample.celsius.is_some()) {
            (picture("Temperature of the hottest drive", &[heat], &[], &show_heat, end_seconds))
        }
    }
}

fn picture(
    title: &str,
    curves: &[Curve<'_>],
    levels: &[Level],
    show: &dyn Fn(f64) -> String,
    end_seconds: f64,
) -> Markup {
    let highest = curves.iter().flat_map(|curve| &curve.points).map(|(_, value)| *value);
    let highest = highest.chain(levels.iter().map(|level| level.value)).fold(0.0, f64::max);
    let scale = if highest > 0.0 { (HEIGHT as f64 - 8.0) / highest } else { 0.0 };
    let y = |value: f64| HEIGHT as f64 - value * scale;
    html! {
        figure {
            figcaption { (title) ": "
                @for curve in curves { span.key { i class=(curve.class) {} " " (curve.name) } }
                @for level in levels {
                    span.key { i.c-level {} " " (level.name) " (" (show(level.value)) ")" }
                }
            }
            div.scroll { svg.curves viewBox={ "0 0 " (LEFT + WIDTH) " " (HEIGHT + 18) } role="img"
                aria-label={ (title) " over time, at most " (show(highest)) } {
                line.grid x1=(LEFT) x2=(LEFT + WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                line.grid x1=(LEFT) x2=(LEFT + WIDTH) y1="8" y2="8" {}
                text.right x=(LEFT - 6) y="12" { (show(highest)) }
                text.right x=(LEFT - 6) y=(HEIGHT) { "0" }
                @for level in levels {
                    line.level x1=(LEFT) x2=(LEFT + WIDTH) y1=(format!("{:.1}", y(level.value)))
                        y2=(format!("{:.1}", y(level.value))) {}
                }
                @for curve in curves {
                    path class=(curve.class) d=(path(curve, end_seconds, &y)) {}
                }
                (time_axis(LEFT, WIDTH, HEIGHT, end_seconds))
            } }
        }
    }
}

/// The curve as steps, each as high as the mean of its samples.
fn path(curve: &Curve<'_>, end_seconds: f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let in_one = curve.points.len().div_ceil(POINTS_MAX).max(1);
    for points in curve.points.chunks(in_one) {
        let count = points.len() as f64;
        let (seconds, value) =
            points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let x = LEFT as f64 + (seconds / count / end_seconds).min(1.0) * WIDTH as f64;
        let command = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{command}{x:.1} {:.1}", y(value / count));
    }
    path
}

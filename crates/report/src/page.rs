//! The page: its frame, and the order of its parts for one run and for two.

use crate::bound::verdict;
use crate::compare::comparison;
use crate::curves::curves;
use crate::facts::{balance, largest_table, memory, phases, plan, repeat, scratch, stages, tiles};
use crate::run::Run;
use crate::timeline::timeline;
use crate::treemap::treemap;
use crate::units::{count, moment};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style sheet.
pub(crate) const STYLE: &str = include_str!("page.css");

/// What the page may load or run: this style sheet alone, which a test compares with its SHA-256.
pub(crate) const POLICY: &str = "default-src 'none'; \
    style-src 'sha256-CAyC/pRto65kz/iFk4aSXCwGeHJ5YgTKnwirBoztC60='; \
    base-uri 'none'; form-action 'none'";

/// The page about a run, or about two beside each other.
pub fn page(run: &Run, other: Option<&Run>) -> String {
    let title = match other {
        None => format!("xsort {}", run.command),
        Some(other) if other.command == run.command => format!("xsort {}: two runs", run.command),
        Some(other) => format!("xsort {} and {}", run.command, other.command),
    };
    let content = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main {
                h1 { (title) }
                @match other {
                    None => { (top(run)) (details(run)) }
                    Some(other) => {
                        (comparison(run, other))
                        @for (name, run) in [("A", run), ("B", other)] {
                            section { h2 { "Run " (name) } (top(run)) (details(run)) }
                        }
                    }
                }
            } }
        }
    };
    content.into_string()
}

/// What bounded the run, what to change, and the main figures.
fn top(run: &Run) -> Markup {
    let verdict = verdict(run);
    html! {
        p.verdict { (verdict.sentence) }
        @if !verdict.changes.is_empty() {
            p { "What could be changed:" }
            ul { @for change in &verdict.changes { li { (change) } } }
        }
        (tiles(run))
        @if let Some(ended) = run.run.ended_unix_seconds {
            p.soft { "Ended " (moment(ended)) }
        }
    }
}

/// Everything else, in the order in which one asks for it.
fn details(run: &Run) -> Markup {
    let ends = run.run.lanes.iter().flat_map(|lane| &lane.spans);
    let end = ends.map(|span| (span.0 + span.1) as f64 / 1e6).fold(0.0, f64::max);
    let sampled = run.run.samples.last().map_or(0.0, |sample| sample.seconds);
    let end_seconds = end.max(sampled).max(1e-6);
    html! {
        (section("Largest files and directories", run.total.map(|_| html! {
            (treemap(&run.entries)) (largest_table(run))
        })))
        (section("Balance", balance(run)))
        (section("Timeline", (!run.run.lanes.is_empty()).then(|| timeline(run, end_seconds))))
        (section("Over time", (run.run.samples.len() > 1).then(|| curves(run, end_seconds))))
        (section("Phases", phases(run)))
        (section("Stages", stages(run)))
        (section("Plan and reality", plan(run)))
        (section("Memory", memory(run)))
        (section("Scratch and compression", scratch(run)))
        @if !run.errors.is_empty() {
            h2 { (count(run.errors.len() as u64, "error")) }
            ul { @for error in run.errors.iter().take(100) {
                li { (error.path) ": " (error.operation) ": " (error.reason) }
            } }
        }
        (section("Run and machine", repeat(run)))
    }
}

fn section(title: &str, content: Option<Markup>) -> Markup {
    html! { @if let Some(content) = content { h2 { (title) } (content) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_policy_allows_this_style_sheet_alone() {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        assert!(POLICY.contains(&format!("style-src 'sha256-{hash}'")), "sha256-{hash}");
    }
}

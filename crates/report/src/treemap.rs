//! A tree of files as nested rectangles, each as large as its space (Shneiderman's treemap, in the
//! squarified layout of Bruls, Huizing and van Wijk, 2000).

use crate::largest::{Entry, Largest};
use crate::units::bytes;
use maud::{Markup, html};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 560.0;
/// The height of a directory's name.
const NAME_HEIGHT: f64 = 15.0;
/// Rectangles with a shorter side than this have no name.
const NAMED_MIN: f64 = 36.0;
/// Colours, by depth.
const COLOURS: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

struct Node<'a> {
    entry: &'a Entry,
    children: Vec<Node<'a>>,
}

/// The largest files and directories as a map.
pub(crate) fn treemap(largest: &Largest) -> Markup {
    let roots = tree(&largest.entries);
    let mut tiles = Vec::new();
    let area = Area { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    place(&roots, area, &mut tiles);
    html! {
        div.scroll { svg.map viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img"
            aria-label="The largest files and directories; the table below has their sizes" {
            @for (entry, area) in tiles { (tile(entry, area)) }
        } }
    }
}

/// The entries as a tree. An entry whose parent isn't there is a root.
fn tree(entries: &[Entry]) -> Vec<Node<'_>> {
    let mut by_path: Vec<&Entry> = entries.iter().collect();
    // Parents come directly before what is below them: '/' sorts before all other bytes.
    let key = |entry: &&Entry| entry.path.trim_end_matches('/').replace('/', "\0");
    by_path.sort_by_cached_key(key);
    by_path.dedup_by(|a, b| a.path == b.path);
    let (mut open, mut roots) = (Vec::new(), Vec::new());
    for entry in by_path {
        while open.last().is_some_and(|last: &Node<'_>| !is_below(entry, last.entry)) {
            close(&mut open, &mut roots);
        }
        open.push(Node { entry, children: Vec::new() });
    }
    while !open.is_empty() {
        close(&mut open, &mut roots);
    }
    roots
}

/// Closes the innermost open node, which has all of its children.
fn close<'a>(open: &mut Vec<Node<'a>>, roots: &mut Vec<Node<'a>>) {
    let Some(node) = open.pop() else { return };
    open.last_mut().map_or(roots, |parent| &mut parent.children).push(node);
}

fn is_below(entry: &Entry, parent: &Entry) -> bool {
    let rest = entry.path.strip_prefix(parent.path.trim_end_matches('/'));
    entry.depth.0 > parent.depth.0 && rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Places nodes in an area, the largest first, and their children in them.
fn place<'a>(nodes: &[Node<'a>], area: Area, tiles: &mut Vec<(&'a Entry, Area)>) {
    let mut nodes: Vec<&Node<'a>> =
        nodes.iter().filter(|node| node.entry.allocated_bytes > 0).collect();
    nodes.sort_by_key(|node| std::cmp::Reverse(node.entry.allocated_bytes));
    let total: f64 = nodes.iter().map(|node| node.entry.allocated_bytes as f64).sum();
    place_scaled(&nodes, area, area.width * area.height / total.max(1.0), tiles);
}

/// Places nodes in an area, with `scale` units of area for a byte.
fn place_scaled<'a>(
    nodes: &[&Node<'a>],
    mut area: Area,
    scale: f64,
    tiles: &mut Vec<(&'a Entry, Area)>,
) {
    let mut rest = nodes;
    while !rest.is_empty() {
        let side = area.width.min(area.height);
        let size = |node: &Node<'_>| node.entry.allocated_bytes as f64 * scale;
        // The worst ratio of sides in a row of the first nodes.
        let worst = |count: usize| {
            let sum: f64 = rest[..count].iter().map(|node| size(node)).sum();
            let (most, least) = (size(rest[0]), size(rest[count - 1]));
            (side * side * most / (sum * sum)).max(sum * sum / (side * side * least))
        };
        let mut count = 1;
        while count < rest.len() && worst(count + 1) <= worst(count) {
            count += 1;
        }
        let sum: f64 = rest[..count].iter().map(|node| size(node)).sum();
        let thickness = sum / side.max(1e-9);
        let is_wide = area.width >= area.height;
        let mut along = 0.0;
        for node in &rest[..count] {
            let length = size(node) / thickness.max(1e-9);
            let (x, y) = (area.x, area.y);
            let tile = match is_wide {
                true => Area { x, y: y + along, width: thickness, height: length },
                false => Area { x: x + along, y, width: length, height: thickness },
            };
            along += length;
            place_node(node, tile, tiles);
        }
        match is_wide {
            true => (area.x, area.width) = (area.x + thickness, area.width - thickness),
            false => (area.y, area.height) = (area.y + thickness, area.height - thickness),
        }
        rest = &rest[count..];
    }
}

/// Places a node and what is in it. The children are as large as their shares of the node.
fn place_node<'a>(node: &Node<'a>, area: Area, tiles: &mut Vec<(&'a Entry, Area)>) {
    tiles.push((node.entry, area));
    let inside = Area {
        x: area.x + 2.0,
        y: area.y + NAME_HEIGHT,
        width: area.width - 4.0,
        height: area.height - NAME_HEIGHT - 2.0,
    };
    if node.children.is_empty() || inside.width < 4.0 || inside.height < 4.0 {
        return;
    }
    let mut children: Vec<&Node<'a>> =
        node.children.iter().filter(|child| child.entry.allocated_bytes > 0).collect();
    children.sort_by_key(|child| std::cmp::Reverse(child.entry.allocated_bytes));
    let below: f64 = children.iter().map(|child| child.entry.allocated_bytes as f64).sum();
    let whole = (node.entry.allocated_bytes as f64).max(below);
    place_scaled(&children, inside, inside.width * inside.height / whole.max(1.0), tiles);
}

fn tile(entry: &Entry, area: Area) -> Markup {
    let Area { x, y, width, height } = area;
    let name = entry.path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(&entry.path);
    // A character takes about 6.5 units.
    let fitting = (width / 6.5) as usize;
    let text: String = name.chars().take(fitting.saturating_sub(1)).collect();
    let fixed = |value: f64| format!("{value:.1}");
    html! {
        g {
            title { (entry.path) ": " (bytes(entry.allocated_bytes as f64)) }
            rect class={ "d" (entry.depth.0 % COLOURS) } x=(fixed(x)) y=(fixed(y))
                width=(fixed(width.max(0.0))) height=(fixed(height.max(0.0))) {}
            @if width >= NAMED_MIN && height >= NAME_HEIGHT {
                text x=(fixed(x + 3.0)) y=(fixed(y + 11.0)) { (text) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;

    fn entry(path: &str, depth: usize, allocated_bytes: u64) -> Entry {
        let depth = Reverse(depth);
        Entry { path: path.into(), depth, allocated_bytes, ..Entry::default() }
    }

    #[test]
    fn tiles_have_their_shares_and_lie_in_their_directories() {
        let entries = [
            entry(".", 0, 1000),
            entry("./a", 1, 600),
            entry("./a/x", 2, 500),
            entry("./a b", 1, 300),
            entry("./b", 1, 100),
            entry("./empty", 1, 0),
        ];
        let roots = tree(&entries);
        assert_eq!(roots.len(), 1);
        let names = |nodes: &[Node<'_>]| {
            nodes.iter().map(|node| node.entry.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&roots[0].children), ["./a", "./a b", "./b", "./empty"]);
        assert_eq!(names(&roots[0].children[0].children), ["./a/x"]);
        let mut tiles = Vec::new();
        place(&roots, Area { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT }, &mut tiles);
        let area = |path: &str| tiles.iter().find(|(entry, _)| entry.path == path).unwrap().1;
        let size = |path: &str| area(path).width * area(path).height;
        assert!((size("./a") / size("./a b") - 2.0).abs() < 1e-6, "{tiles:?}");
        for (inner, outer) in [("./a", "."), ("./b", "."), ("./a/x", "./a")] {
            let (inner, outer) = (area(inner), area(outer));
            assert!(inner.x >= outer.x && inner.y >= outer.y, "{inner:?} {outer:?}");
            assert!(inner.x + inner.width <= outer.x + outer.width + 1e-6);
            assert!(inner.y + inner.height <= outer.y + outer.height + 1e-6);
        }
        assert_eq!(tiles.len(), 5);
    }
}

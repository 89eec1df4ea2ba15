//! The values at all paths of a sort, found in one walk through a row, which it validates.
//!
//! The paths are a tree of steps. A walk descends this tree and skips everything else:
//!
//! ```text
//!  .user.id, .user.tags[0], .time         user --+-- id       path 0
//!                                           |    +-- tags --- [0]    path 1
//!                                         time    path 2
//! ```

use super::cursor::{Cursor, DEPTH_MAX, InvalidJson};
use super::escapes::is_escape_of;
use super::path::{JsonPath, Step};
use std::ops::Range;

/// The paths of a sort.
#[derive(Debug)]
pub(crate) struct Paths {
    root: Node,
    count: usize,
}

/// A node of the tree: the steps that continue from it.
#[derive(Debug, Default)]
struct Node {
    members: Vec<(String, Node)>,
    elements: Vec<(usize, Node)>,
    /// Indices of the paths that end here.
    ending: Vec<usize>,
    /// Indices of the paths that end here or below.
    below: Vec<usize>,
}

impl Paths {
    /// Builds the tree of the paths. Several paths may be equal.
    pub(crate) fn new<'p>(paths: impl IntoIterator<Item = &'p JsonPath>) -> Paths {
        let mut all = Paths { root: Node::default(), count: 0 };
        for path in paths {
            let mut node = &mut all.root;
            for step in path.steps() {
                node = match step {
                    Step::Member(name) => child(&mut node.members, name),
                    Step::Element(index) => child(&mut node.elements, index),
                };
                node.below.push(all.count);
            }
            node.ending.push(all.count);
            all.count += 1;
        }
        all
    }

    /// Finds the byte ranges of the values at the paths; `None` where there is no value. Fails if
    /// the row isn't a single value, with white space around it.
    pub(crate) fn find(
        &self,
        row: &[u8],
        found: &mut Vec<Option<Range<usize>>>,
    ) -> Result<(), InvalidJson> {
        found.clear();
        found.resize(self.count, None);
        if !row.is_ascii()
            && let Err(error) = std::str::from_utf8(row)
        {
            return Err(InvalidJson { offset: error.valid_up_to(), what: "this isn't UTF-8" });
        }
        let mut cursor = Cursor::new(row);
        cursor.at = Walk { row, found }.value(&self.root, 0, 0)?;
        cursor.space();
        match cursor.at == row.len() {
            true => Ok(()),
            false => Err(cursor.invalid("a row is one value: nothing may be behind it")),
        }
    }
}

/// The child at a step, which is created if it is missing.
fn child<'n, S: PartialEq + Clone>(children: &'n mut Vec<(S, Node)>, step: &S) -> &'n mut Node {
    let index = children.iter().position(|(known, _)| known == step).unwrap_or_else(|| {
        children.push((step.clone(), Node::default()));
        children.len() - 1
    });
    &mut children[index].1
}

impl Node {
    /// The child at a key.
    #[inline(always)]
    fn member(&self, key: &[u8], has_escapes: bool) -> Option<&Node> {
        let is_key = |name: &str| match has_escapes {
            true => is_escape_of(key, name.as_bytes()),
            false => key == name.as_bytes(),
        };
        self.members.iter().find(|(name, _)| is_key(name)).map(|(_, node)| node)
    }
}

struct Walk<'r, 'f> {
    row: &'r [u8],
    found: &'f mut [Option<Range<usize>>],
}

impl Walk<'_, '_> {
    /// Skips white space and the value at `at`, and records its range and those of the values in
    /// it. Returns its end. The recursion is as deep as a path has steps, at most [`DEPTH_MAX`].
    fn value(&mut self, node: &Node, at: usize, depth: usize) -> Result<usize, InvalidJson> {
        let mut cursor = Cursor { row: self.row, at };
        let first = cursor.space();
        let begin = cursor.at;
        match first {
            b'{' if !node.members.is_empty() => cursor.at = self.object(node, begin, depth)?,
            b'[' if !node.elements.is_empty() => cursor.at = self.array(node, begin, depth)?,
            _ => cursor.skip(depth)?,
        }
        for &path in &node.ending {
            self.found[path] = Some(begin..cursor.at);
        }
        Ok(cursor.at)
    }

    fn object(&mut self, node: &Node, begin: usize, depth: usize) -> Result<usize, InvalidJson> {
        assert!(depth < DEPTH_MAX, "a path has at most {DEPTH_MAX} steps");
        let mut cursor = Cursor { row: self.row, at: begin + 1 };
        if cursor.space() == b'}' {
            return Ok(cursor.at + 1);
        }
        loop {
            let (key, has_escapes) = cursor.key()?;
            match node.member(key, has_escapes) {
                Some(child) => {
                    // Values of an earlier member of this name don't count.
                    for &path in &child.below {
                        self.found[path] = None;
                    }
                    cursor.at = self.value(child, cursor.at, depth + 1)?;
                }
                None => cursor.skip(depth + 1)?,
            }
            match cursor.space() {
                b',' => cursor.at += 1,
                b'}' => return Ok(cursor.at + 1),
                _ => return Err(cursor.invalid("',' or '}' was expected")),
            }
        }
    }

    fn array(&mut self, node: &Node, begin: usize, depth: usize) -> Result<usize, InvalidJson> {
        assert!(depth < DEPTH_MAX, "a path has at most {DEPTH_MAX} steps");
        let mut cursor = Cursor { row: self.row, at: begin + 1 };
        if cursor.space() == b']' {
            return Ok(cursor.at + 1);
        }
        let mut index = 0;
        loop {
            match node.elements.iter().find(|(wanted, _)| *wanted == index) {
                Some((_, child)) => cursor.at = self.value(child, cursor.at, depth + 1)?,
                None => cursor.skip(depth + 1)?,
            }
            match cursor.space() {
                b',' => cursor.at += 1,
                b']' => return Ok(cursor.at + 1),
                _ => return Err(cursor.invalid("',' or ']' was expected")),
            }
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::Value;

    const PATHS: [&str; 10] =
        [".", ".a", ".a", ".b", ".a.b", ".a.a.b", ".a[0]", ".[1]", ".b[1].a", r#"."é""#];

    /// The pieces of random rows.
    const PIECES: [&[u8]; 45] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"a\":",
        b"\"b\":",
        b"\"a\"",
        b"\"b\"",
        b"\"\\u0061\":",
        b"\"\\u00e9\":",
        b"\"",
        b"\\",
        b"\"\\n\\\"\"",
        b"\"\\ud83d\\ude00\"",
        b"\"\\q\"",
        b"\"\\u12x4\"",
        b"\"a\tb\"",
        b"\"0123456789\"",
        "\"é\":".as_bytes(),
        "\"😀\"".as_bytes(),
        b"\"\xff\"",
        b"\"\xc3\"",
        b"0",
        b"-",
        b"1",
        b"23",
        b".",
        b"5e",
        b"-1.50e+3",
        b"+",
        b" ",
        b"\r\n\t",
        b"null",
        b"true",
        b"false",
        b"nul",
        b"\x0b",
    ];

    fn paths() -> (Vec<JsonPath>, Paths) {
        let list = PATHS.map(|path| JsonPath::parse_prefix(path).unwrap().0).to_vec();
        let paths = Paths::new(&list);
        (list, paths)
    }

    fn at_path<'v>(value: &'v Value, path: &JsonPath) -> Option<&'v Value> {
        path.steps().iter().try_fold(value, |value, step| match step {
            Step::Member(name) => value.get(name),
            Step::Element(index) => value.get(index),
        })
    }

    /// Compares with another parser.
    fn check(row: &[u8]) {
        let (list, paths) = paths();
        let mut found = vec![Some(7..9)];
        let result = paths.find(row, &mut found);
        let value = match serde_json::from_slice::<Value>(row) {
            Ok(value) => value,
            Err(error) => {
                // It refuses halves of surrogate pairs, and numbers beyond its range.
                let is_known = ["hex escape", "number out of range"]
                    .iter()
                    .any(|known| error.to_string().contains(known));
                assert!(is_known || result.is_err(), "{:?}", String::from_utf8_lossy(row));
                return;
            }
        };
        assert_eq!(result, Ok(()), "{:?}", String::from_utf8_lossy(row));
        for (path, range) in list.iter().zip(found) {
            let found = range.map(|range| serde_json::from_slice(&row[range]).unwrap());
            let row = String::from_utf8_lossy(row);
            assert_eq!(found.as_ref(), at_path(&value, path), "{path} of {row}");
        }
    }

    fn value() -> impl Strategy<Value = Vec<u8>> {
        let scalars = PIECES.iter().filter(|piece| serde_json::from_slice::<Value>(piece).is_ok());
        let scalars: Vec<Vec<u8>> = scalars.map(|piece| piece.to_vec()).collect();
        prop::sample::select(scalars).prop_recursive(5, 40, 4, |inner| {
            let keys = [&b"\"a\":"[..], b" \"b\" : ", b"\"\\u0061\":", "\"é\":".as_bytes()];
            let member = (prop::sample::select(keys.to_vec()), inner.clone())
                .prop_map(|(key, value)| [key, &value].concat());
            let around = |open: &'static [u8], close: &'static [u8]| {
                move |items: Vec<Vec<u8>>| [open, &items.join(&b","[..]), close].concat()
            };
            prop_oneof![
                vec(inner, 0..4).prop_map(around(b"[", b" ]")),
                vec(member, 0..5).prop_map(around(b"{ ", b"}\n")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn rows_are_as_another_parser_sees_them(
            pieces in vec(prop::sample::select(PIECES.to_vec()), 0..12)
        ) {
            check(&pieces.concat());
        }

        #[test]
        fn so_are_values_and_what_is_almost_one(
            row in value(),
            at: prop::sample::Index,
            piece in prop::sample::select(PIECES.to_vec()),
        ) {
            check(&row);
            let at = at.index(row.len());
            check(&row[..at]);
            check(&[&row[..at], &row[at + 1..]].concat());
            check(&[&row[..at], piece, &row[at..]].concat());
            check(&[&row[..at], piece, &row[at + 1..]].concat());
        }
    }

    fn texts(row: &str) -> Vec<Option<&str>> {
        let mut found = Vec::new();
        paths().1.find(row.as_bytes(), &mut found).unwrap();
        found.into_iter().map(|range| range.map(|range| &row[range])).collect()
    }

    #[test]
    fn the_last_of_several_members_counts() {
        let found = texts(r#" {"a":{"b":1,"a":{"b":2}},"b":3,"\u0061":{"a":[]},"b":[4,{"a":5}]} "#);
        let a = Some(r#"{"a":[]}"#);
        assert_eq!(found[1..6], [a, a, Some(r#"[4,{"a":5}]"#), None, None]);
        assert_eq!(found[8], Some("5"));
        assert_eq!(texts(r#"{"a":{"b":1},"a":0}"#)[4], None);
        assert_eq!(texts(r#"{"a":0,"a":{"b":1}}"#)[4], Some("1"));
    }

    /// Where the other parser differs.
    #[test]
    fn long_numbers_and_halves_of_pairs_are_accepted() {
        let found = texts(r#"{"a":1e400,"b":"\ud800","\udead":0}"#);
        assert_eq!((found[1], found[3]), (Some("1e400"), Some(r#""\ud800""#)));
    }

    #[test]
    fn depth_has_a_limit() {
        let (_, paths) = paths();
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}"), (r#"{"x":["#, "]}"), ("[[", "]]")] {
            let levels = DEPTH_MAX / open.matches(['[', '{']).count();
            for more in [0, 1, 100_000] {
                let row = [open.repeat(levels + more), "0".into(), close.repeat(levels + more)];
                let result = paths.find(row.concat().as_bytes(), &mut Vec::new());
                assert_eq!(result.is_err(), more > 0, "{open} {more}");
                if let Err(error) = result {
                    assert_eq!(error.offset, open.len() * levels);
                }
            }
        }
    }

    #[test]
    fn the_deepest_path_is_followed() {
        let path = ".a".repeat(DEPTH_MAX);
        let (path, _) = JsonPath::parse_prefix(&path).unwrap();
        let row = [r#"{"a":"#.repeat(DEPTH_MAX), "0".into(), "}".repeat(DEPTH_MAX)].concat();
        let mut found = Vec::new();
        Paths::new([&path]).find(row.as_bytes(), &mut found).unwrap();
        let at = 5 * DEPTH_MAX;
        assert_eq!(found, [Some(at..at + 1)]);
    }

    #[test]
    fn the_first_wrong_byte_is_named() {
        for (row, offset) in [
            (&b""[..], 0),
            (b" ", 1),
            (b"{} {}", 3),
            (b"[1 2]", 3),
            (b"[1,]", 3),
            (b"{\"a\" 1}", 5),
            (b"{\"a\":[1}", 7),
            (b"{,}", 1),
            (b"{\"x\":1,}", 7),
            (b"{\"x\":{\"y\":1]}", 11),
            (b"{\"a\":\"\xc3\xa9\xc3\"}", 8),
        ] {
            let error = paths().1.find(row, &mut Vec::new()).unwrap_err();
            assert_eq!(error.offset, offset, "{:?} {error:?}", String::from_utf8_lossy(row));
        }
    }
}

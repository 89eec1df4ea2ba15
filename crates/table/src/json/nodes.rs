//! The values inside a value: a list of all of them, in which whole arrays and objects can be
//! skipped in one step.
//!
//! ```text
//!            {"a":[1,2],"b":3}
//!
//!  index     0                1    2      3  4  5    6
//!  bytes     {"a":[1,2],...}  "a"  [1,2]  1  2  "b"  3
//!  next      7                2    5      4  5  6    7
//! ```

/// The range of a value or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    /// The index of the first node after it that isn't inside it.
    pub(crate) next: usize,
}

/// Lists the nodes of a valid value. `open` is memory for the nodes that aren't closed.
pub(crate) fn list_nodes(value: &[u8], nodes: &mut Vec<Node>, open: &mut Vec<usize>) {
    nodes.clear();
    open.clear();
    let mut at = 0;
    while at < value.len() {
        let begin = at;
        match value[at] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => {
                at += 1;
                continue;
            }
            b'}' | b']' => {
                at += 1;
                let count = nodes.len();
                if let Some(index) = open.pop() {
                    nodes[index].end = at;
                    nodes[index].next = count;
                }
                continue;
            }
            b'{' | b'[' => {
                open.push(nodes.len());
                at += 1;
            }
            b'"' => at = string_end(value, at),
            _ => {
                let is_end = |byte: &u8| {
                    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'}' | b']')
                };
                at += value[at..].iter().position(is_end).unwrap_or(value.len() - at);
            }
        }
        nodes.push(Node { begin, end: at, next: nodes.len() + 1 });
    }
}

/// The end of a string whose opening quote is at `open`.
fn string_end(value: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', value.get(at..).unwrap_or_default()) {
        at += found + 1;
        if value[at - 1] == b'"' {
            return at;
        }
        at += 1;
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_listed_with_their_ends() {
        let value = br#" { "a" : [ 1, "]\"" , [ ] ] , "b\\":true}"#;
        let (mut nodes, mut open) = (Vec::new(), Vec::new());
        list_nodes(value, &mut nodes, &mut open);
        let texts: Vec<(&str, usize)> = nodes
            .iter()
            .map(|node| (std::str::from_utf8(&value[node.begin..node.end]).unwrap(), node.next))
            .collect();
        let whole = std::str::from_utf8(&value[1..]).unwrap();
        let expected = [
            (whole, 8),
            (r#""a""#, 2),
            (r#"[ 1, "]\"" , [ ] ]"#, 6),
            ("1", 4),
            (r#""]\"""#, 5),
            ("[ ]", 6),
            (r#""b\\""#, 7),
            ("true", 8),
        ];
        assert_eq!(texts, expected);
    }
}

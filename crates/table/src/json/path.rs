//! Paths, which name a value in a row with the notation of jq.
//!
//! ```text
//!  .  .user.id  .tags[0]  .[0].a  ."odd name"  .["odd name"]
//! ```
//!
//! A path names one value. Notations that turn jq's paths into programs (`.[]`, `..`, `?`, `|`) are
//! refused.

use super::cursor::{Cursor, DEPTH_MAX};
use super::escapes::push_unescaped;
use std::fmt::{self, Display, Formatter};

/// A path to a value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    /// The steps, from the row's value inwards, at most [`DEPTH_MAX`].
    steps: Vec<Step>,
}

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The member of an object with this name.
    Member(String),
    /// The element of an array with this index, from 0.
    Element(usize),
}

impl JsonPath {
    /// Parses the path at the beginning of a text. Also returns the rest: empty, or a text that
    /// begins with `:`, `,` or white space.
    pub fn parse_prefix(text: &str) -> Result<(JsonPath, &str), String> {
        let Some(behind_dot) = text.strip_prefix('.') else {
            return Err(format!("'{text}': {BEGINNING}"));
        };
        let mut steps = Vec::new();
        let mut rest = text;
        if behind_dot.is_empty() || behind_dot.starts_with(is_end) {
            rest = behind_dot;
        }
        while !rest.is_empty() && !rest.starts_with(is_end) {
            let (step, behind) = step(rest)?;
            steps.push(step);
            rest = behind;
        }
        if steps.len() > DEPTH_MAX {
            return Err(format!("a path has at most {DEPTH_MAX} steps"));
        }
        Ok((JsonPath { steps }, rest))
    }

    /// The steps, from the row's value inwards.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

const BEGINNING: &str = "a path begins with a dot (.user.id, .tags[0], .\"odd name\", or . alone)";
const NO_PROGRAM: &str = "can't be in a path, which names one value and is no program of jq: put a \
                          name that has other characters than letters, digits, _, -, $ and @ in \
                          quotes (.\"odd name\")";

/// True if a path ends before this character.
fn is_end(letter: char) -> bool {
    matches!(letter, ':' | ',') || letter.is_whitespace()
}

/// Parses the step at the beginning of a text. Also returns the rest.
fn step(text: &str) -> Result<(Step, &str), String> {
    if text.starts_with('[') {
        return element(text);
    }
    let Some(name) = text.strip_prefix('.') else {
        return Err(format!("'{text}' {NO_PROGRAM}"));
    };
    match name.chars().next() {
        Some('[') => element(name),
        Some('"') => string(name).map(|(name, rest)| (Step::Member(name), rest)),
        _ => plain_name(name),
    }
}

/// Parses the unquoted name at the beginning of a text. Also returns the rest.
fn plain_name(text: &str) -> Result<(Step, &str), String> {
    let is_other = |letter: char| !letter.is_alphanumeric() && !"_-$@".contains(letter);
    let (name, rest) = text.split_at(text.find(is_other).unwrap_or(text.len()));
    match (name.chars().next(), rest.chars().next()) {
        (None, Some(other)) if !is_end(other) && other != '.' => {
            Err(format!("'{text}' {NO_PROGRAM}"))
        }
        (None, _) => Err(format!("a name is missing behind the dot of '.{text}'")),
        (Some('0'..='9' | '-'), _) => Err(format!(
            "'.{name}': an index is written [0], and a name that begins so in quotes (.\"{name}\")"
        )),
        _ => Ok((Step::Member(name.into()), rest)),
    }
}

/// Parses the index or name in brackets at the beginning of a text. Also returns the rest.
fn element(text: &str) -> Result<(Step, &str), String> {
    let inner = text[1..].trim_start();
    let (step, rest) = if inner.starts_with('"') {
        let (name, rest) = string(inner)?;
        (Step::Member(name), rest)
    } else {
        let end = inner.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(inner.len());
        let (digits, rest) = inner.split_at(end);
        if inner.starts_with('-') {
            return Err(format!("'{text}': a path can't count from the end; [0] is the first"));
        }
        if digits.is_empty() {
            return Err(format!("'{text}': one index or one name in quotes is wanted in brackets"));
        }
        let index = digits.parse().map_err(|_| format!("'{digits}' is too large for an index"))?;
        (Step::Element(index), rest)
    };
    match rest.trim_start().strip_prefix(']') {
        Some(rest) => Ok((step, rest)),
        None => Err(format!("']' is missing behind one index or one name in '{text}'")),
    }
}

/// Parses the JSON string at the beginning of a text. Also returns the rest.
fn string(text: &str) -> Result<(String, &str), String> {
    let mut cursor = Cursor::new(text.as_bytes());
    cursor.string().map_err(|invalid| match invalid.offset == text.len() {
        true => format!("the quote before '{}' isn't closed", &text[1..]),
        false => format!("{} in {text}", invalid.what),
    })?;
    let (quoted, rest) = text.split_at(cursor.at);
    let mut name = Vec::new();
    push_unescaped(&mut name, &quoted.as_bytes()[1..quoted.len() - 1]);
    let name = String::from_utf8(name).map_err(|_| format!("{quoted} has half a character"))?;
    Ok((name, rest))
}

impl Display for JsonPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !matches!(self.steps.first(), Some(Step::Member(_))) {
            f.write_str(".")?;
        }
        for step in &self.steps {
            match step {
                Step::Element(index) => write!(f, "[{index}]")?,
                Step::Member(name) if is_identifier(name) => write!(f, ".{name}")?,
                Step::Member(name) => {
                    f.write_str(".\"")?;
                    for letter in name.chars() {
                        match letter {
                            '"' | '\\' => write!(f, "\\{letter}")?,
                            _ if letter.is_control() => write!(f, "\\u{:04x}", letter as u32)?,
                            _ => write!(f, "{letter}")?,
                        }
                    }
                    f.write_str("\"")?;
                }
            }
        }
        Ok(())
    }
}

/// True if jq accepts a name without quotes.
fn is_identifier(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(is_letter)
        && name.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn member(name: &str) -> Step {
        Step::Member(name.into())
    }

    #[test]
    fn paths_are_understood() {
        use Step::Element;
        let cases: [(&str, &[Step], &str); 13] = [
            (".", &[], "."),
            (".user.id", &[member("user"), member("id")], ".user.id"),
            (".a[0].b", &[member("a"), Element(0), member("b")], ".a[0].b"),
            (".a.[10][2]", &[member("a"), Element(10), Element(2)], ".a[10][2]"),
            (".[0]", &[Element(0)], ".[0]"),
            (".[ 0 ].[1]", &[Element(0), Element(1)], ".[0][1]"),
            (r#"."odd: name,".x"#, &[member("odd: name,"), member("x")], r#"."odd: name,".x"#),
            (r#".["x"]["y z"]"#, &[member("x"), member("y z")], r#".x."y z""#),
            (r#".a[ "b]" ]"#, &[member("a"), member("b]")], r#".a."b]""#),
            (r#"."""#, &[member("")], r#"."""#),
            (r#"."\"\\\u0041\n""#, &[member("\"\\A\n")], r#"."\"\\A\u000a""#),
            (".@timestamp.$x.a-b", &[member("@timestamp"), member("$x"), member("a-b")], {
                r#"."@timestamp"."$x"."a-b""#
            }),
            (".été", &[member("été")], r#"."été""#),
        ];
        for (text, steps, canonical) in cases {
            for behind in ["", ":int:desc,.time", ",.b", " ", "\t.x"] {
                let text = format!("{text}{behind}");
                let (path, rest) = JsonPath::parse_prefix(&text).expect(&text);
                assert_eq!((path.steps(), rest), (steps, behind), "{text}");
                assert_eq!(path.to_string(), canonical);
            }
        }
    }

    #[test]
    fn others_are_refused() {
        for (bad, why) in [
            ("", "begins with a dot"),
            (":int", "begins with a dot"),
            ("a", "begins with a dot"),
            ("[0]", "begins with a dot"),
            ("\"a\"", "begins with a dot"),
            ("..", "name is missing"),
            (".a.", "name is missing"),
            (".a.:int", "name is missing"),
            (".a..b", "name is missing"),
            (".a|length", "'|length' can't be"),
            (".a?", "'?' can't"),
            (".a\"b\"", "'\"b\"' can't"),
            (".a[0]b", "'b'"),
            (".(", "'('"),
            (".0", "[0]"),
            (".-1", "[0]"),
            (".[]", "one index"),
            (".[-1]", "from the end"),
            (".[1:2]", "']' is missing"),
            (".[\"a\",\"b\"]", "']' is missing"),
            (".[0", "']' is missing"),
            (".[99999999999999999999]", "too large"),
            (".\"a", "closed"),
            (".\"\\(1)\"", "no such escape"),
            (".\"\\ud800\"", "half"),
        ] {
            let error = JsonPath::parse_prefix(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
        let error = JsonPath::parse_prefix(&".a".repeat(DEPTH_MAX + 1)).unwrap_err();
        assert!(error.contains("at most"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_displayed_is_the_same_path(
            steps in vec(
                prop_oneof![
                    any::<String>().prop_map(Step::Member),
                    "[a-z0-9_-]{0,3}".prop_map(Step::Member),
                    (0usize..100).prop_map(Step::Element),
                ],
                0..5,
            )
        ) {
            let path = JsonPath { steps };
            let text = path.to_string();
            prop_assert_eq!(JsonPath::parse_prefix(&text), Ok((path, "")));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in r#"[.a0"\\\[\]:, u😀-]{0,9}"#) {
            if let Ok((path, rest)) = JsonPath::parse_prefix(&text) {
                prop_assert!(rest.is_empty() || rest.starts_with(is_end));
                let text = path.to_string();
                prop_assert_eq!(JsonPath::parse_prefix(&text), Ok((path, "")));
            }
        }
    }
}

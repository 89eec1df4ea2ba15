//! What a person may have meant who named a column, or a type, that isn't there.

use crate::key::NOT_LISTED;

/// Returns a hint for a column that the header `names` doesn't have, after a semicolon.
pub(crate) fn meant_column(name: &str, names: &[Vec<u8>]) -> String {
    let is_column = |wanted: &str| names.iter().any(|name| name == wanted.as_bytes());
    let hint = other_direction(name, is_column)
        .or_else(|| by_number(name, names))
        .or_else(|| other_case(name, names))
        .or_else(|| other_delimiter(names));
    hint.map(|hint| format!("; hint: {hint}")).unwrap_or_default()
}

/// `date desc` and `-date`, as other languages write the direction.
fn other_direction(name: &str, is_column: impl Fn(&str) -> bool) -> Option<String> {
    let (column, is_descending) = match name.rsplit_once(' ') {
        Some((column, word)) if word.eq_ignore_ascii_case("desc") => (column, true),
        Some((column, word)) if word.eq_ignore_ascii_case("asc") => (column, false),
        _ => (name.strip_prefix('-')?, true),
    };
    let column = column.trim();
    is_column(column).then(|| match is_descending {
        true => format!("'{column}:desc' puts the largest value first"),
        false => format!("'{column}' alone puts the smallest value first"),
    })
}

fn by_number(name: &str, names: &[Vec<u8>]) -> Option<String> {
    let column = names.get(name.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("'#{name}' is the column '{}'", column.escape_ascii()))
}

fn other_case(name: &str, names: &[Vec<u8>]) -> Option<String> {
    let is_like =
        |other: &&Vec<u8>| other.trim_ascii().eq_ignore_ascii_case(name.trim().as_bytes());
    let column = names.iter().find(is_like)?;
    Some(format!("there is '{}'", column.escape_ascii()))
}

/// A header of one column, which has a byte that often separates columns.
fn other_delimiter(names: &[Vec<u8>]) -> Option<String> {
    let [only] = names else { return None };
    let (byte, shown) = [(b';', "';'"), (b'\t', r"'\t'"), (b'|', "'|'"), (b',', "','")]
        .into_iter()
        .find(|(byte, _)| only.contains(byte))?;
    Some(format!("if '{}' separates columns, give --delimiter {shown}", byte.escape_ascii()))
}

/// Returns a hint for a value that isn't of its type, after a semicolon.
pub(crate) fn meant_type(value: &[u8], kind: &str) -> String {
    match kind {
        NOT_LISTED => {
            "; hint: ':others-last' behind order(...) puts such names after all others; if the \
             header lacks its ##contig or @SQ lines, give a list, order(FILE), or sort by the type \
             chrom"
        }
        "date" | "datetime" => return meant_time(value),
        _ => "",
    }
    .into()
}

fn meant_time(value: &[u8]) -> String {
    let formats = std::str::from_utf8(value).map(formats_of).unwrap_or_default();
    match formats.as_slice() {
        [] => String::new(),
        formats => {
            let types: Vec<String> =
                formats.iter().map(|format| format!("'datetime({format})'")).collect();
            format!("; hint: the type {} reads it", types.join(" or "))
        }
    }
}

/// Formats of strftime in which a text is a day of three numbers.
fn formats_of(text: &str) -> Vec<String> {
    let Some(separator) = text.chars().find(|char| matches!(char, '/' | '.' | '-')) else {
        return Vec::new();
    };
    let numbers: Option<Vec<(usize, u32)>> =
        text.trim().split(separator).map(|part| Some((part.len(), part.parse().ok()?))).collect();
    let orders: &[[&str; 3]] = match numbers.as_deref() {
        Some([(4, _), (1 | 2, 1..=12), (1 | 2, 1..=31)]) => &[["%Y", "%m", "%d"]],
        Some([(1 | 2, 13..=31), (1 | 2, 1..=12), (4, _)]) => &[["%d", "%m", "%Y"]],
        Some([(1 | 2, 1..=12), (1 | 2, 13..=31), (4, _)]) => &[["%m", "%d", "%Y"]],
        Some([(1 | 2, 1..=12), (1 | 2, 1..=12), (4, _)]) => {
            &[["%d", "%m", "%Y"], ["%m", "%d", "%Y"]]
        }
        _ => return Vec::new(),
    };
    orders.iter().map(|order| order.join(&separator.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<Vec<u8>> {
        text.split(',').map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn directions_numbers_and_delimiters_are_recognised() {
        for (name, header, expected) in [
            ("date desc", "id,date", "'date:desc' puts the largest value first"),
            ("-date", "id,date", "'date:desc' puts the largest value first"),
            ("date ASC", "id,date", "'date' alone puts the smallest value first"),
            ("2", "id,date", "'#2' is the column 'date'"),
            ("DATE", "id,Date", "there is 'Date'"),
            ("b", "a;b", "if ';' separates columns, give --delimiter ';'"),
            ("b", "a\tb", r"if '\t' separates columns, give --delimiter '\t'"),
        ] {
            assert_eq!(meant_column(name, &names(header)), format!("; hint: {expected}"));
        }
        for (name, header) in [("-x", "id"), ("3", "a,b"), ("x desc", "a"), ("b", "a")] {
            assert_eq!(meant_column(name, &names(header)), "");
        }
    }

    #[test]
    fn days_are_read_in_the_orders_that_they_can_have() {
        for (value, formats) in [
            ("22/11/2026", vec!["%d/%m/%Y"]),
            ("11/22/2026", vec!["%m/%d/%Y"]),
            ("02/01/2026", vec!["%d/%m/%Y", "%m/%d/%Y"]),
            ("22.11.2026", vec!["%d.%m.%Y"]),
            ("2026/11/22", vec!["%Y/%m/%d"]),
            ("2026-11", vec![]),
            ("40/40/2026", vec![]),
            ("tomorrow", vec![]),
        ] {
            assert_eq!(formats_of(value), formats, "{value}");
        }
        assert_eq!(meant_type(b"22.11.2026", "int"), "");
        assert_eq!(
            meant_type(b"22.11.2026", "date"),
            "; hint: the type 'datetime(%d.%m.%Y)' reads it"
        );
    }
}

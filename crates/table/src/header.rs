//! The header row, which names the columns.

use crate::advice::meant_column;
use crate::bad_row::{BadRow, HEADER_BYTES_MAX, shown};
use crate::json::JsonPath;
use crate::key::{Column, KeyColumn, KeyKind, Keys};
use crate::rows::Rows;
use crate::split::Dialect;
use std::io;
use xsort_extsort::Error;
use xsort_extsort::units::Count;

/// The header of a table.
#[derive(Default)]
pub(crate) struct Header {
    /// Its bytes in the file.
    pub(crate) bytes: Vec<u8>,
    /// The names of the columns.
    pub(crate) names: Vec<Vec<u8>>,
    /// The comments before it.
    pub(crate) comments: Vec<u8>,
    /// Number of these comments.
    pub(crate) comment_count: u64,
}

/// Takes the header of an input. An input without rows has an empty one.
pub(crate) fn take(
    rows: &mut Rows<'_>,
    dialect: &Dialect,
    row_bytes_max: usize,
) -> io::Result<Header> {
    let (mut header, mut fields) = (Header::default(), Vec::new());
    let bytes_max = row_bytes_max.min(HEADER_BYTES_MAX);
    while let Some(row) = rows.next(dialect, bytes_max, usize::MAX, &mut fields)? {
        if !dialect.is_comment(row) {
            let names = fields.iter().map(|field| dialect.value(&row[field.clone()]).into_owned());
            header.names = names.collect();
            header.bytes = row.to_vec();
            break;
        }
        header.comments.extend_from_slice(row);
        header.comment_count += 1;
    }
    Ok(header)
}

/// Takes the header of another input, which must have the same columns. An empty file has no
/// header.
pub(crate) fn take_same(
    rows: &mut Rows<'_>,
    dialect: &Dialect,
    row_bytes_max: usize,
    expected: &[Vec<u8>],
) -> io::Result<Header> {
    let header = take(rows, dialect, row_bytes_max)?;
    let names = &header.names;
    let differs = |&at: &usize| !header.bytes.is_empty() && names.get(at) != expected.get(at);
    let found = (0..names.len().max(expected.len())).find(differs);
    let Some(at) = found else { return Ok(header) };
    let name = |names: &[Vec<u8>]| match names.get(at) {
        Some(name) => format!("'{}'", shown(name)),
        None => "nothing".into(),
    };
    Err(BadRow::Header { number: at + 1, found: name(names), expected: name(expected) }.into())
}

/// Returns the key columns: index, rules, and name in errors.
pub(crate) fn resolve(
    keys: &Keys,
    header: Option<&Header>,
) -> Result<Vec<(usize, KeyColumn, String)>, Error> {
    let resolve = |key: &KeyColumn| {
        let (index, shown) = match &key.column {
            &Column::Number(number) => (index_of_number(number, header)?, format!("#{number}")),
            Column::Name(name) => (index_of(name, header)?, format!("'{name}'")),
            Column::Path(path) => {
                return Err(Error::Settings(format!(
                    "{path}: paths are for ndjson; a column whose name begins with a dot goes in \
                     double quotes"
                )));
            }
            Column::Curve(_) => unreachable!("the columns of a curve are no curves"),
        };
        Ok((index, key.clone(), shown))
    };
    let columns = keys.columns().map(resolve).collect::<Result<_, _>>()?;
    match keys.columns().any(|key| key.kind == KeyKind::Json) {
        true => Err(Error::Settings("the type json is for ndjson, by path (.user.id)".into())),
        false => Ok(columns),
    }
}

/// Returns the key paths and their rules.
pub(crate) fn paths(keys: &Keys) -> Result<Vec<(JsonPath, KeyColumn)>, Error> {
    let path = |key: &KeyColumn| match &key.column {
        Column::Path(path) => Ok((path.clone(), key.clone())),
        Column::Name(name) => Err(Error::Settings(format!(
            "'{name}': in ndjson values are named by paths, as in jq: .{name}"
        ))),
        Column::Number(number) => Err(Error::Settings(format!(
            "#{number}: in ndjson values are named by paths, as in jq: .[{}] if rows are arrays",
            number - 1
        ))),
        Column::Curve(_) => unreachable!("the columns of a curve are no curves"),
    };
    keys.columns().map(path).collect()
}

/// The index of a column given by number. A header must have that column.
fn index_of_number(number: usize, header: Option<&Header>) -> Result<usize, Error> {
    match header {
        Some(Header { names, .. }) if number > names.len() => {
            let columns = Count(names.len() as u64, "column");
            Err(Error::Settings(format!(
                "there is no column #{number}; the header has {columns}: {}",
                shown(all_names(names).as_bytes())
            )))
        }
        _ => Ok(number - 1),
    }
}

/// The number of a key column that exceeds a row's `fields` fields, if there is one.
pub(crate) fn missing_number(keys: &Keys, fields: usize) -> Option<usize> {
    let numbers = keys.columns().filter_map(|key| match key.column {
        Column::Number(number) => Some(number),
        Column::Name(_) | Column::Path(_) | Column::Curve(_) => None,
    });
    numbers.into_iter().find(|&number| number > fields)
}

fn all_names(names: &[Vec<u8>]) -> String {
    names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
}

fn index_of(name: &str, header: Option<&Header>) -> Result<usize, Error> {
    let Some(Header { names, .. }) = header else {
        return Err(Error::Settings(format!(
            "column '{name}': without a header (--no-header) columns have numbers only: #1 is the \
             first"
        )));
    };
    let mut found = (0..names.len()).filter(|&at| names[at] == name.as_bytes());
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(a), Some(b)) => Err(Error::Settings(format!(
            "there are several columns '{name}': name one by its number (#{}, #{})",
            a + 1,
            b + 1
        ))),
        (None, _) => Err(Error::Settings(format!(
            "there is no column '{name}'; the header has: {}{}",
            shown(all_names(names).as_bytes()),
            meant_column(name, names)
        ))),
    }
}

//! Sort keys: columns, each with a type and a direction.
//!
//! ```text
//!  date:date:desc, amount:num, "odd, name", #3:int:nulls-first, .user.id:int, hilbert(x:num,y:num)
//!  size:order(=S,M,L), chrom:order(genome.fai):others-last, pos:int:required
//! ```

use crate::curve::CurveShape;
use crate::json::JsonPath;
use crate::listed::{ListedNames, NameList};
use crate::time_format::TimeFormat;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use thiserror::Error;

/// Most columns of a curve.
const CURVE_COLUMNS_MAX: usize = 8;

/// The columns to sort by. Later ones decide among rows whose earlier ones are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys(pub Vec<KeyColumn>);

/// A column to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// The column.
    pub column: Column,
    /// The type of its values.
    pub kind: KeyKind,
    /// True if the type was written, false if it is the default.
    pub is_typed: bool,
    /// True if the largest come first.
    pub is_descending: bool,
    /// The place of rows without a value, if given.
    pub nulls: Option<Place>,
    /// True if a row without a value is an error.
    pub is_required: bool,
}

/// Which of several rows with equal keys is kept: the one with the largest value in a column, or
/// with the smallest. A row without a value is kept only if no row has one.
///
/// ```text
///  max:updated:datetime     min:price:num     max:#3:int
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestRow(pub KeyColumn);

impl FromStr for BestRow {
    type Err = BadKeys;

    fn from_str(text: &str) -> Result<BestRow, BadKeys> {
        let wanted = || BadKeys("max:COLUMN[:TYPE] or min:COLUMN[:TYPE] is wanted".into());
        let (is_max, column) = match text.split_once(':') {
            Some(("max", column)) => (true, column),
            Some(("min", column)) => (false, column),
            _ => return Err(wanted()),
        };
        let keys: Keys = column.parse()?;
        match <[KeyColumn; 1]>::try_from(keys.0) {
            Ok([key]) if !key.is_descending && key.nulls.is_none() => {
                // Texts, too, have no value where they are empty.
                let nulls = Some(Place::Last);
                Ok(BestRow(KeyColumn { is_descending: is_max, nulls, ..key }))
            }
            _ => Err(wanted()),
        }
    }
}

/// What a value isn't that a list should have.
pub(crate) const NOT_LISTED: &str = "name in the list";

/// The name of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Its name in the header.
    Name(String),
    /// Its number, from 1.
    Number(usize),
    /// A value in a row of JSON.
    Path(JsonPath),
    /// The place on a curve through several columns.
    Curve(Curve),
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Column::Name(name) => write!(f, "column '{name}'"),
            Column::Number(number) => write!(f, "column #{number}"),
            Column::Path(path) => write!(f, "the value at {path}"),
            Column::Curve(curve) => curve.fmt(f),
        }
    }
}

/// A curve through the values of several columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// Its shape.
    pub shape: CurveShape,
    /// The columns, one to eight, without directions.
    pub columns: Vec<KeyColumn>,
}

/// The type of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Bytes.
    Text,
    /// Text without regard to case.
    NoCase,
    /// Text in the order of a language: that of `strcoll`, and bytewise for texts that it calls
    /// equal. See [`collator`](crate::collator).
    Locale,
    /// Text in which runs of digits compare as numbers.
    Natural,
    /// Chromosomes and other sequences of a genome: by number, then X, Y, M or MT, then all others
    /// as [`Natural`](KeyKind::Natural).
    Chromosome,
    /// Names in the order of a list.
    Listed(ListedNames),
    /// Versions: numbers with dots, and pre-release parts.
    Version,
    /// Whole numbers of any length.
    Integer,
    /// Decimal numbers of any length, compared exactly.
    Number,
    /// Binary floating-point numbers in the total order of IEEE 754.
    Float,
    /// Truth values, false first.
    Bool,
    /// Calendar dates (2026-11-22).
    Date,
    /// Points in time (2026-11-22T17:00:00.5+01:00; UTC without an offset), or in the given format.
    DateTime(Option<TimeFormat>),
    /// Whole numbers, by whether one of these bits is set; those without come first.
    Bits(u64),
    /// Compared by the number of bytes.
    Length,
    /// IP addresses, version 4 before version 6.
    Ip,
    /// JSON values of any kind, in the order in which jq sorts them.
    Json,
}

/// One end of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before all others.
    First,
    /// After all others.
    Last,
}

/// The reason why a text isn't [`Keys`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct BadKeys(String);

impl Keys {
    /// The columns whose values are looked at: all keys, and in place of a curve its columns.
    pub fn columns(&self) -> impl Iterator<Item = &KeyColumn> {
        self.0.iter().flat_map(|key| match &key.column {
            Column::Curve(curve) => &curve.columns[..],
            _ => std::slice::from_ref(key),
        })
    }

    /// True if a list of names is in the lines above the rows.
    #[must_use]
    pub fn have_list_in_header(&self) -> bool {
        self.columns().any(|key| match &key.kind {
            KeyKind::Listed(listed) => listed.list == NameList::Header,
            _ => false,
        })
    }

    /// Returns the first curve, if there is one.
    pub fn curve(&self) -> Option<&Curve> {
        self.0.iter().find_map(|key| match &key.column {
            Column::Curve(curve) => Some(curve),
            _ => None,
        })
    }
}

impl FromStr for Keys {
    type Err = BadKeys;

    fn from_str(text: &str) -> Result<Keys, BadKeys> {
        let mut rest = text;
        let mut keys = Vec::new();
        loop {
            let (column, behind) = column(rest.trim_start())?;
            let kind = match column {
                Column::Path(_) => KeyKind::Json,
                Column::Name(_) | Column::Number(_) | Column::Curve(_) => KeyKind::Text,
            };
            let mut key = KeyColumn::new(column, kind);
            rest = behind.trim_start();
            while let Some(behind) = rest.strip_prefix(':') {
                let bytes = word_bytes(behind);
                let (word, behind) = behind.split_at(bytes);
                key.apply(word.trim())?;
                rest = behind;
            }
            keys.push(key);
            match rest.strip_prefix(',') {
                Some(behind) => rest = behind,
                None if rest.is_empty() => return Ok(Keys(keys)),
                None => return Err(BadKeys(format!("'{rest}' where ':' or ',' was expected"))),
            }
        }
    }
}

impl Curve {
    /// Parses a curve at the beginning of a text. Also returns the rest. `None` if the text begins
    /// with none.
    fn parse_prefix(text: &str) -> Option<Result<(Curve, &str), BadKeys>> {
        CurveShape::ALL.into_iter().find_map(|shape| {
            let inside = text.strip_prefix(shape.name())?.strip_prefix('(')?;
            Some(Curve::parse(shape, inside))
        })
    }

    fn parse(shape: CurveShape, text: &str) -> Result<(Curve, &str), BadKeys> {
        let name = shape.name();
        let end = closing(text).ok_or_else(|| BadKeys(format!("'{name}(' isn't closed by ')'")))?;
        let columns = Keys::from_str(&text[..end])?.0;
        let is_directed = |key: &KeyColumn| key.is_descending || key.nulls.is_some();
        let has_curve = |key: &KeyColumn| matches!(key.column, Column::Curve(_));
        if columns.len() > CURVE_COLUMNS_MAX {
            return Err(BadKeys(format!("{name} takes {CURVE_COLUMNS_MAX} columns at most")));
        }
        if columns.iter().any(is_directed) {
            let what = format!(
                "the columns of {name} have no directions of their own: {name}(...):desc is \
                 backwards"
            );
            return Err(BadKeys(what));
        }
        if columns.iter().any(has_curve) {
            return Err(BadKeys(format!("{name} takes columns, not curves")));
        }
        Ok((Curve { shape, columns }, &text[end + 1..]))
    }

    /// Says why a curve orders rows in a sort only.
    #[must_use]
    pub fn only_for_sorts(&self) -> String {
        format!(
            "{0}(...) is for sorts: a place on a curve depends on a sample of the inputs, and rows \
             in one place differ. To merge, check, or find equal rows, name the columns \
             themselves",
            self.shape.name()
        )
    }
}

impl Display for Curve {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.shape.name())?;
        for (at, key) in self.columns.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, key.column)?;
        }
        f.write_str(")")
    }
}

/// The place of the parenthesis that closes what was opened before a text.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted) = (0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'(' if !is_quoted => depth += 1,
            b')' if !is_quoted && depth == 0 => return Some(at),
            b')' if !is_quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Parses the column at the beginning of a text. Also returns the rest.
fn column(text: &str) -> Result<(Column, &str), BadKeys> {
    if text.starts_with('.') {
        let (path, rest) = JsonPath::parse_prefix(text).map_err(BadKeys)?;
        return Ok((Column::Path(path), rest));
    }
    if let Some(curve) = Curve::parse_prefix(text) {
        return curve.map(|(curve, rest)| (Column::Curve(curve), rest));
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let (mut name, mut rest) = (String::new(), quoted);
        loop {
            let Some((part, behind)) = rest.split_once('"') else {
                return Err(BadKeys(format!("the quote before '{quoted}' isn't closed")));
            };
            name.push_str(part);
            match behind.strip_prefix('"') {
                Some(behind) => {
                    name.push('"');
                    rest = behind;
                }
                None => return Ok((Column::Name(name), behind)),
            }
        }
    }
    let (name, rest) = text.split_at(text.find([':', ',']).unwrap_or(text.len()));
    let name = name.trim_end();
    if let Some(number) = name.strip_prefix('#') {
        let number = number.parse().ok().filter(|&number| number > 0);
        let number =
            number.ok_or_else(|| BadKeys(format!("'{name}' is no column: #1 is the first")))?;
        return Ok((Column::Number(number), rest));
    }
    if name.is_empty() {
        return Err(BadKeys("a column's name is missing (\"\" is an empty one)".into()));
    }
    Ok((Column::Name(name.into()), rest))
}

/// Length of a word after a colon, with its parentheses, in bytes.
fn word_bytes(text: &str) -> usize {
    let end = text.find([':', ',', '(']).unwrap_or(text.len());
    match text[end..].starts_with('(') {
        true => {
            let closes = text[end..].match_indices(')').map(|(close, _)| end + close + 1);
            // A format may contain parentheses.
            let is_end =
                |&end: &usize| text[end..].is_empty() || text[end..].starts_with([':', ',']);
            let mut ends = closes.filter(is_end);
            ends.next().unwrap_or(text.len())
        }
        false => end,
    }
}

const WORDS: &str = "a type (str, nocase, locale, natural, chrom, order(FILE), version, int, num, \
                     float, bool, bits(N), date, datetime, datetime(FORMAT), length, ip, json), \
                     desc, asc, nulls-first, nulls-last, others-last or required";

impl KeyColumn {
    /// An ascending key, of a type that wasn't written.
    pub(crate) fn new(column: Column, kind: KeyKind) -> KeyColumn {
        KeyColumn {
            column,
            kind,
            is_typed: false,
            is_descending: false,
            nulls: None,
            is_required: false,
        }
    }

    fn apply(&mut self, word: &str) -> Result<(), BadKeys> {
        if let (Column::Curve(curve), false) = (&self.column, matches!(word, "asc" | "desc")) {
            let name = curve.shape.name();
            return Err(BadKeys(format!(
                "'{word}' after {name}(...): a curve has no type, and rows without a value come \
                 last in it"
            )));
        }
        let (name, given) = match word.strip_suffix(')').and_then(|word| word.split_once('(')) {
            Some((name, given)) => (name, Some(given)),
            None => (word, None),
        };
        self.kind = match (name, given) {
            ("datetime", Some(format)) => KeyKind::DateTime(Some(format.parse().map_err(BadKeys)?)),
            ("order", Some(list)) => KeyKind::Listed(list.parse().map_err(BadKeys)?),
            ("bits", Some(bits)) => match bits.parse() {
                Ok(bits @ 1..) => KeyKind::Bits(bits),
                _ => return Err(BadKeys(format!("'{word}': a whole number from 1 is wanted"))),
            },
            (_, Some(_)) => return self.apply_place(word),
            ("str", _) => KeyKind::Text,
            ("nocase", _) => KeyKind::NoCase,
            ("locale", _) => KeyKind::Locale,
            ("natural", _) => KeyKind::Natural,
            ("chrom", _) => KeyKind::Chromosome,
            ("version", _) => KeyKind::Version,
            ("int", _) => KeyKind::Integer,
            ("num", _) => KeyKind::Number,
            ("float", _) => KeyKind::Float,
            ("bool", _) => KeyKind::Bool,
            ("date", _) => KeyKind::Date,
            ("datetime", _) => KeyKind::DateTime(None),
            ("length", _) => KeyKind::Length,
            ("ip", _) => KeyKind::Ip,
            ("json", _) => KeyKind::Json,
            _ => return self.apply_place(word),
        };
        self.is_typed = true;
        Ok(())
    }

    fn apply_place(&mut self, word: &str) -> Result<(), BadKeys> {
        match word {
            "asc" => self.is_descending = false,
            "desc" => self.is_descending = true,
            "nulls-first" => self.nulls = Some(Place::First),
            "nulls-last" => self.nulls = Some(Place::Last),
            "required" => self.is_required = true,
            "others-last" => match &mut self.kind {
                KeyKind::Listed(listed) => listed.are_others_last = true,
                _ => return Err(BadKeys(format!("'{word}' comes after order(...)"))),
            },
            _ => return Err(BadKeys(format!("'{word}' is none of: {WORDS}"))),
        }
        Ok(())
    }
}

impl KeyKind {
    /// The type's name, as errors show it.
    pub fn name(&self) -> &'static str {
        match self {
            KeyKind::Text => "str",
            KeyKind::NoCase => "nocase",
            KeyKind::Locale => "locale",
            KeyKind::Natural => "natural",
            KeyKind::Chromosome => "chrom",
            KeyKind::Listed(_) => NOT_LISTED,
            KeyKind::Bits(_) => "whole number",
            KeyKind::Version => "version",
            KeyKind::Integer => "int",
            KeyKind::Number => "num",
            KeyKind::Float => "float",
            KeyKind::Bool => "bool",
            KeyKind::Date => "date",
            KeyKind::DateTime(_) => "datetime",
            KeyKind::Length => "length",
            KeyKind::Ip => "ip",
            KeyKind::Json => "json",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(column: Column, kind: KeyKind) -> KeyColumn {
        KeyColumn { is_typed: true, ..KeyColumn::new(column, kind) }
    }

    #[test]
    fn keys_are_understood() {
        let name = |name: &str| Column::Name(name.into());
        let keys: Keys =
            "date:date:desc, amount:num,\"odd, \"\"name\",#3:int:nulls-first".parse().unwrap();
        let expected = [
            KeyColumn { is_descending: true, ..key(name("date"), KeyKind::Date) },
            key(name("amount"), KeyKind::Number),
            KeyColumn { is_typed: false, ..key(name("odd, \"name"), KeyKind::Text) },
            KeyColumn { nulls: Some(Place::First), ..key(Column::Number(3), KeyKind::Integer) },
        ];
        assert_eq!(keys.0, expected);
        let keys: Keys = "t:datetime(%d/%m/%Y, %H:%M):desc,b".parse().unwrap();
        let format = |text: &str| KeyKind::DateTime(Some(text.parse().unwrap()));
        assert_eq!(keys.0[0].kind, format("%d/%m/%Y, %H:%M"));
        let b = KeyColumn { is_typed: false, ..key(name("b"), KeyKind::Text) };
        assert!(keys.0[0].is_descending && keys.0[1] == b);
        let keys: Keys = "a:datetime(%d (%m)):desc,b:datetime(%H)".parse().unwrap();
        assert_eq!((&keys.0[0].kind, &keys.0[1].kind), (&format("%d (%m)"), &format("%H")));
        let keys: Keys = ".user.\"a:b\":int:desc, .time,.".parse().unwrap();
        let shown = |key: &KeyColumn| match &key.column {
            Column::Path(path) => format!("{path} {}", key.kind.name()),
            other => format!("{other:?}"),
        };
        let shown: Vec<String> = keys.0.iter().map(shown).collect();
        assert_eq!(shown, [".user.\"a:b\" int", ".time json", ". json"]);
    }

    #[test]
    fn others_are_refused() {
        for (bad, why) in [
            ("", "missing"),
            ("a,", "missing"),
            ("a:integer", "none of"),
            ("#0", "no column"),
            ("#x:int", "no column"),
            ("\"a", "closed"),
            ("\"a\"b", "expected"),
            (".a[]", "in brackets"),
            ("a:datetime(%Q)", "time zone"),
            ("a:datetime(%Y", "none of"),
        ] {
            let error = bad.parse::<Keys>().unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn curves_are_understood() {
        let keys: Keys = "day, hilbert(x:num, \"a)b\",t:datetime(%d (%m))):desc,z".parse().unwrap();
        let Column::Curve(curve) = &keys.0[1].column else { panic!("{keys:?}") };
        assert_eq!(curve.to_string(), "hilbert(column 'x', column 'a)b', column 't')");
        assert!(keys.0[1].is_descending && keys.0.len() == 3);
        for (bad, why) in [
            ("hilbert(x", "isn't closed"),
            ("hilbert()", "missing"),
            ("zorder(a,b:desc)", "no directions"),
            ("zorder(a,hilbert(b,c))", "not curves"),
            ("zorder(a,b,c,d,e,f,g,h,i)", "8 columns at most"),
            ("hilbert(a,b):int", "no type"),
            ("hilbert(a,b):nulls-last", "no type"),
        ] {
            let error = bad.parse::<Keys>().unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}

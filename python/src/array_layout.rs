//! The layout of an array's elements as records: from the dtype of NumPy's arrays, and from the
//! buffer format of others.

use crate::arguments::{layout, texts};
use crate::complex_field::ComplexField;
use crate::errors::Failure;
use crate::exported::Exported;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use xsort::{Endian, KeyField, KeyKind, Layout};

/// What an array's elements are sorted by.
pub(crate) struct ArrayLayout {
    pub(crate) layout: Layout,
    pub(crate) complex: Vec<ComplexField>,
}

/// The layout of an array's elements, by `keys`; by all of an element without.
pub(crate) fn array_layout(
    array: &Bound<'_, PyAny>,
    is_numpy: bool,
    (format, item_bytes): (&str, usize),
    (record, key): (Option<usize>, Option<&Bound<'_, PyAny>>),
) -> PyResult<ArrayLayout> {
    if record.is_some() {
        let layout = layout(None, record, key)?.expect("a record has a layout");
        return Ok(ArrayLayout { layout, complex: Vec::new() });
    }
    let keys = key.map_or_else(|| Ok(vec![String::new()]), texts)?;
    let mut fields = Fields::default();
    for key in &keys {
        if is_numpy {
            push_key(&array.getattr("dtype")?, key, &mut fields)?;
        } else {
            let (name, descending) = direction(key);
            if !name.is_empty() {
                return Err(no_field(name));
            }
            fields.keys.push(KeyField { descending, ..of_format(format, item_bytes)? });
        }
    }
    let Fields { keys, complex } = fields;
    let layout = Layout::new(item_bytes, keys).map_err(Failure::of_argument)?;
    Ok(ArrayLayout { layout, complex })
}

/// Fields to sort by.
#[derive(Default)]
struct Fields {
    keys: Vec<KeyField>,
    /// Those that are two numbers of the keys.
    complex: Vec<ComplexField>,
}

/// Splits a key into its name and its direction, which is true for descending.
fn direction(key: &str) -> (&str, bool) {
    match (key.strip_suffix(":desc"), key.strip_suffix(":asc")) {
        (Some(name), _) => (name, true),
        (_, Some(name)) => (name, false),
        _ => (key, false),
    }
}

fn no_field(name: &str) -> PyErr {
    let text = format!(
        "the array has no field '{name}': a key is NAME[:desc] of a structured array, :desc for \
         elements that are values, or OFFSET:LENGTH[:TYPE][:desc] with record"
    );
    Failure::of_argument(text).into()
}

/// Appends the fields of a key, which names one of a dtype: "name", "outer.inner", or all of it
/// without a name.
fn push_key(dtype: &Bound<'_, PyAny>, key: &str, fields: &mut Fields) -> PyResult<()> {
    for (name, descending) in [(key, false), direction(key)] {
        if let Some((dtype, offset)) = find(dtype, name, 0)? {
            return push(&dtype, offset, descending, fields);
        }
    }
    Err(no_field(direction(key).0))
}

/// A dtype within another one, and its offset in bytes.
type Place<'py> = (Bound<'py, PyAny>, usize);

fn find<'py>(dtype: &Bound<'py, PyAny>, name: &str, at: usize) -> PyResult<Option<Place<'py>>> {
    if name.is_empty() {
        return Ok(Some((dtype.clone(), at)));
    }
    let Some(own) = dtype.getattr("fields")?.extract::<Option<Bound<'_, PyAny>>>()? else {
        return Ok(None);
    };
    let field = |name: &str| -> PyResult<Option<Place<'py>>> {
        if !own.contains(name)? {
            return Ok(None);
        }
        let (inner, offset) = dtype_and_offset(&own.get_item(name)?)?;
        Ok(Some((inner, at + offset)))
    };
    if let Some(found) = field(name)? {
        return Ok(Some(found));
    }
    for (dot, _) in name.match_indices('.') {
        if let Some((inner, offset)) = field(&name[..dot])? {
            return find(&inner, &name[dot + 1..], offset);
        }
    }
    Ok(None)
}

/// The dtype and the offset of a field, from a dtype's tuple: dtype, offset, and perhaps a title.
fn dtype_and_offset<'py>(field: &Bound<'py, PyAny>) -> PyResult<Place<'py>> {
    let field = field.cast::<PyTuple>()?;
    Ok((field.get_item(0)?, field.get_item(1)?.extract()?))
}

/// Appends all fields of a dtype, in its order.
fn push(
    dtype: &Bound<'_, PyAny>,
    offset: usize,
    descending: bool,
    fields: &mut Fields,
) -> PyResult<()> {
    if let Some((base, _)) = dtype.getattr("subdtype")?.extract::<Option<Elements<'_>>>()? {
        let item: usize = base.getattr("itemsize")?.extract()?;
        let all: usize = dtype.getattr("itemsize")?.extract()?;
        let mut places = (0..all).step_by(item.max(1));
        return places.try_for_each(|place| push(&base, offset + place, descending, fields));
    }
    if let Some(names) = dtype.getattr("names")?.extract::<Option<Vec<Bound<'_, PyString>>>>()? {
        let own = dtype.getattr("fields")?;
        for name in names {
            let (inner, place) = dtype_and_offset(&own.get_item(name)?)?;
            push(&inner, offset + place, descending, fields)?;
        }
        return Ok(());
    }
    let (kind, order): (char, char) =
        (dtype.getattr("kind")?.extract()?, dtype.getattr("byteorder")?.extract()?);
    let bytes: usize = dtype.getattr("itemsize")?.extract()?;
    let parts = parts(kind, endian(order), bytes).ok_or_else(|| unordered(&dtype.to_string()))?;
    let (parts, kind, length) = parts;
    let part = |number| KeyField { offset: offset + number * length, length, kind, descending };
    fields.keys.extend((0..parts).map(part));
    if let (2, KeyKind::Number(endian)) = (parts, kind) {
        fields.complex.push(ComplexField { offset, part_bytes: length, endian });
    }
    Ok(())
}

/// A dtype, and the shape of arrays of it.
type Elements<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// How many numbers or strings an element has, their kind and their length, from NumPy's kind
/// character.
fn parts(kind: char, endian: Endian, bytes: usize) -> Option<(usize, KeyKind, usize)> {
    match (kind, bytes) {
        (_, 0) => Some((0, KeyKind::Bytes, 0)),
        ('b' | 'u', 1..=8) => Some((1, KeyKind::Unsigned(endian), bytes)),
        ('i', 1..=8) => Some((1, KeyKind::Signed(endian), bytes)),
        ('f', 2 | 4 | 8) => Some((1, KeyKind::Number(endian), bytes)),
        ('c', 8 | 16) => Some((2, KeyKind::Number(endian), bytes / 2)),
        ('m' | 'M', 8) => Some((1, KeyKind::Time(endian), bytes)),
        ('S' | 'V', _) => Some((1, KeyKind::Bytes, bytes)),
        // Four bytes per character.
        ('U', _) => Some((bytes / 4, KeyKind::Unsigned(endian), 4)),
        _ => None,
    }
}

fn unordered(kind: &str) -> PyErr {
    let text = format!(
        "elements of type {kind} can't be sorted where they are: make them numbers of at most 8 \
         bytes, times or strings of one length"
    );
    Failure::of_argument(text).into()
}

/// The byte order that a character of NumPy or of the struct module stands for.
fn endian(letter: char) -> Endian {
    match letter {
        '>' | '!' => Endian::Big,
        '<' => Endian::Little,
        _ if cfg!(target_endian = "big") => Endian::Big,
        _ => Endian::Little,
    }
}

/// The kind of a buffer's values, from a format of the struct module: one character, perhaps after
/// a byte order.
fn of_format(format: &str, bytes: usize) -> PyResult<KeyField> {
    let order = format.chars().next().filter(|letter| "@=<>!".contains(*letter));
    let letters = order.map_or(format, |_| &format[1..]);
    let kind = match letters {
        "c" | "?" | "B" | "H" | "I" | "L" | "Q" | "N" => 'u',
        "b" | "h" | "i" | "l" | "q" | "n" => 'i',
        "e" | "f" | "d" => 'f',
        _ if letters.strip_suffix('s').is_some_and(|count| count.parse() == Ok(bytes)) => 'S',
        _ => '?',
    };
    let known = parts(kind, endian(order.unwrap_or('@')), bytes);
    let (_, kind, length) = known.ok_or_else(|| unordered(format))?;
    Ok(KeyField { offset: 0, length, kind, descending: false })
}

/// An object, and the bytes that it lends.
type Lent<'a, 'py> = (&'a Bound<'py, PyAny>, &'a Exported);

/// Refuses an output whose elements don't fit what is written there: elements of the array, or with
/// `argsort` whole numbers. Bytes without a type accept any elements, and any bytes may be records.
pub(crate) fn check_output(
    (array, from): Lent<'_, '_>,
    (out, to): Lent<'_, '_>,
    is_whole: bool,
    argsort: bool,
) -> PyResult<()> {
    let (ours, theirs) = (ElementType::of(array, from)?, ElementType::of(out, to)?);
    if argsort {
        if theirs.is_number_of_element() && to.buffer().dimensions() == 1 {
            return Ok(());
        }
        let text = format!(
            "argsort needs an output of one dimension with whole numbers of 8 bytes in this \
             machine's byte order, as numpy.empty(n, 'int64'), and this one has {} dimensions and \
             elements of type {}",
            to.buffer().dimensions(),
            theirs.name
        );
        return Err(Failure::of_argument(text).into());
    }
    if theirs.is_same(&ours)? || theirs.is_byte() || (!is_whole && ours.is_byte()) {
        return Ok(());
    }
    let (ours, theirs) = (ours.name, theirs.name);
    let text = format!("the output has elements of type {theirs}, and the array {ours}");
    Err(Failure::of_argument(text).into())
}

/// The type of the elements of an array or an output.
struct ElementType<'py> {
    name: String,
    /// NumPy's dtype, if it is an array of NumPy.
    dtype: Option<Bound<'py, PyAny>>,
    /// The values of an element, as [`parts`] returns them; `None` for structures and unknown
    /// types.
    value: Option<(usize, KeyKind, usize)>,
}

impl<'py> ElementType<'py> {
    fn of(object: &Bound<'py, PyAny>, lent: &Exported) -> PyResult<ElementType<'py>> {
        if !is_numpy(object)? {
            let (format, bytes) = (lent.buffer().format(), lent.buffer().item_size());
            let name = format.to_string_lossy().into_owned();
            let field = of_format(&name, bytes).ok();
            let value = field.map(|field| (1, field.kind, field.length));
            return Ok(ElementType { name, dtype: None, value });
        }
        let dtype = object.getattr("dtype")?;
        let (kind, order): (char, char) =
            (dtype.getattr("kind")?.extract()?, dtype.getattr("byteorder")?.extract()?);
        let is_value = dtype.getattr("names")?.is_none();
        let bytes = dtype.getattr("itemsize")?.extract()?;
        let value = parts(kind, endian(order), bytes).filter(|_| is_value);
        Ok(ElementType { name: dtype.to_string(), dtype: Some(dtype), value })
    }

    fn is_same(&self, other: &ElementType<'_>) -> PyResult<bool> {
        match (&self.dtype, &other.dtype) {
            (Some(own), Some(others)) => own.eq(others),
            _ => Ok(self.value.is_some() && self.value == other.value),
        }
    }

    /// True if an element is one byte, as in buffers without a type.
    fn is_byte(&self) -> bool {
        use KeyKind::{Bytes, Signed, Unsigned};
        matches!(self.value, Some((1, Unsigned(_) | Signed(_) | Bytes, 1)))
    }

    /// True if an element can hold the number of an element.
    fn is_number_of_element(&self) -> bool {
        let native = endian('=');
        let kinds = [KeyKind::Unsigned(native), KeyKind::Signed(native)];
        self.value.is_some_and(|(count, kind, bytes)| {
            count == 1 && bytes == size_of::<u64>() && kinds.contains(&kind)
        })
    }
}

/// True if the object is an array of NumPy. If NumPy wasn't imported, it can't be one.
pub(crate) fn is_numpy(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = array.py().import("sys")?.getattr("modules")?;
    let numpy = modules.cast::<PyDict>()?.get_item("numpy")?;
    numpy.map_or(Ok(false), |numpy| array.is_instance(&numpy.getattr("ndarray")?))
}

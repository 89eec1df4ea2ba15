//! The types of a key. Keys are bytes that compare only with keys of the same types: a whole number
//! next to a floating-point one, or a tuple with one field more, would silently sort wrongly.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    Text,
    Bytes,
    Whole,
    Float,
}

/// A field of a key: its type, and whether it is descending.
pub(crate) type Field = (FieldType, bool);

/// The types of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyTypes {
    /// Bytes that are compared directly.
    Raw,
    /// One field that isn't in a tuple.
    One(Field),
    Tuple(Vec<Field>),
}

impl KeyTypes {
    /// The types as Python code would write them.
    fn name(&self) -> String {
        let field = |&(field, falls): &Field| {
            let name = match field {
                FieldType::Text => "str",
                FieldType::Bytes => "bytes",
                FieldType::Whole => "int",
                FieldType::Float => "float",
            };
            if falls { format!("desc({name})") } else { name.to_owned() }
        };
        match self {
            KeyTypes::Raw => "bytes".into(),
            KeyTypes::One(own) => field(own),
            KeyTypes::Tuple(own) => match &own[..] {
                [only] => format!("({},)", field(only)),
                own => format!("({})", own.iter().map(field).collect::<Vec<_>>().join(", ")),
            },
        }
    }
}

/// The types of all keys so far; `None` before the first key.
#[derive(Debug, Default)]
pub(crate) struct SharedTypes(Option<KeyTypes>);

impl SharedTypes {
    /// Refuses a key whose types differ from those of the first key, and stores the types of the
    /// first.
    ///
    /// Raises TypeError.
    pub(crate) fn check(&mut self, types: &KeyTypes) -> PyResult<()> {
        match &self.0 {
            Some(own) if own == types => Ok(()),
            None => {
                self.0 = Some(types.clone());
                Ok(())
            }
            Some(own) => Err(PyTypeError::new_err(format!(
                "this key is {}, and the first one was {}: keys compare only if all have the same \
                 types, so convert one of them (an int to a float, say)",
                types.name(),
                own.name()
            ))),
        }
    }
}

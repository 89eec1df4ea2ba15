//! Which types a key has. Keys are bytes that compare only among keys of the same types: a whole
//! number beside a floating-point one, or a tuple with a field more, would sort wrongly in silence.

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

/// A field of a key: its type, and whether it falls.
pub(crate) type Field = (FieldType, bool);

/// The types of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyTypes {
    /// Bytes that are compared as they are.
    Raw,
    /// One field that isn't in a tuple.
    One(Field),
    Tuple(Vec<Field>),
}

impl KeyTypes {
    /// How Python's code has made it.
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

/// The types of the keys so far: none before the first one.
#[derive(Debug, Default)]
pub(crate) struct SharedTypes(Option<KeyTypes>);

impl SharedTypes {
    /// Refuses a key of other types than those before, and notes those of the first one.
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

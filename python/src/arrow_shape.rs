//! Checks the structs of Arrow's C interface before their pointers are followed: negative counts,
//! counts that don't fit the type, and null pointers.
//!
//! Only the producer knows how long a buffer is: the interface doesn't say. `arrow_valid` checks
//! the content of the buffers.
#![allow(unsafe_code, reason = "reads the structs of the C interface")]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_buffer::bit_chunk_iterator::UnalignedBitChunk;
use arrow_data::layout;
use arrow_schema::{ArrowError, DataType};
use std::ffi::{CStr, c_char, c_void};
use std::{ptr, slice};

/// The maximum depth of nested types, as other programs have it.
const DEPTH_MAX: usize = 64;

/// `ArrowSchema`, as the interface lays it out.
#[repr(C)]
struct CSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const CSchema,
    dictionary: *const CSchema,
    release: *const c_void,
    private_data: *const c_void,
}

/// `ArrowArray`, as the interface lays it out.
#[repr(C)]
struct CArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const *const CArray,
    dictionary: *const CArray,
    release: *const c_void,
    private_data: *const c_void,
}

const _: () = assert!(size_of::<CSchema>() == size_of::<FFI_ArrowSchema>());
const _: () = assert!(size_of::<CArray>() == size_of::<FFI_ArrowArray>());

fn invalid<T>(text: impl Into<String>) -> Result<T, ArrowError> {
    Err(ArrowError::InvalidArgumentError(text.into()))
}

/// Adds the name of a column to its error.
pub(crate) fn in_column(name: &str, error: &ArrowError) -> ArrowError {
    let error = match error {
        ArrowError::InvalidArgumentError(text) => text.clone(),
        error => error.to_string(),
    };
    ArrowError::InvalidArgumentError(format!("column '{name}': {error}"))
}

/// Refuses a schema that can't be read.
pub(crate) fn check_schema(schema: &FFI_ArrowSchema) -> Result<(), ArrowError> {
    // SAFETY: both structs have the interface's layout, which never changes.
    let schema = unsafe { &*ptr::from_ref(schema).cast::<CSchema>() };
    if schema.release.is_null() {
        return invalid("the schema was released, or taken by another reader");
    }
    schema.check(0)
}

impl CSchema {
    fn check(&self, depth: usize) -> Result<(), ArrowError> {
        if depth > DEPTH_MAX {
            return invalid(format!("types are nested more than {DEPTH_MAX} deep"));
        }
        if self.format.is_null() {
            return invalid("a type has no format");
        }
        for text in [self.format, self.name].into_iter().filter(|text| !text.is_null()) {
            // SAFETY: by the interface, each is a text that ends with a zero.
            if unsafe { CStr::from_ptr(text) }.to_str().is_err() {
                return invalid("a format or a name isn't UTF-8");
            }
        }
        // SAFETY: by the interface, `children` has `n_children` pointers to schemas, which live as
        // long as this one.
        let children = unsafe { pointers(self.children, self.n_children, "children of a type") }?;
        for child in children {
            // SAFETY: as above.
            let Some(child) = (unsafe { child.as_ref() }) else {
                return invalid("a child of a type is missing");
            };
            child.check(depth + 1)?;
        }
        // SAFETY: it is null, or a schema that lives as long as this one.
        match unsafe { self.dictionary.as_ref() } {
            Some(values) => values.check(depth + 1),
            None => Ok(()),
        }
    }
}

/// The slice of the `count` pointers at `begin`.
///
/// # Safety
/// Unless `begin` is null, it points to `count` pointers.
unsafe fn pointers<'a, T>(
    begin: *const *const T,
    count: i64,
    what: &str,
) -> Result<&'a [*const T], ArrowError> {
    match usize::try_from(count) {
        Ok(0) => Ok(&[]),
        Ok(count) if !begin.is_null() && begin.is_aligned() => {
            // SAFETY: the caller promises that there are `count` pointers.
            Ok(unsafe { slice::from_raw_parts(begin, count) })
        }
        _ => invalid(format!("{count} {what}, which aren't there")),
    }
}

/// Refuses an array whose struct doesn't fit this type.
pub(crate) fn check_array(array: &FFI_ArrowArray, data_type: &DataType) -> Result<(), ArrowError> {
    // SAFETY: both structs have the interface's layout, which never changes.
    let array = unsafe { &*ptr::from_ref(array).cast::<CArray>() };
    if array.release.is_null() {
        return invalid("the array was released, or taken by another reader");
    }
    array.check(data_type)
}

impl CArray {
    fn check(&self, data_type: &DataType) -> Result<(), ArrowError> {
        let values = self.check_length(data_type)?;
        // SAFETY: by the interface, `buffers` has `n_buffers` pointers.
        let buffers = unsafe { pointers(self.buffers, self.n_buffers, "buffers") }?;
        let fits = layout(data_type);
        let has_mask = usize::from(fits.can_contain_null_mask);
        let wanted = fits.buffers.len() + has_mask;
        let found = buffers.len();
        // Views have any number of data buffers, followed by a buffer of their lengths. A type
        // without values has no buffers, and some producers leave the bitmap out, too.
        let enough = match fits.variadic {
            true => found > wanted,
            false => found == wanted || (fits.buffers.is_empty() && found == 0),
        };
        if !enough {
            return invalid(format!("an array of {data_type} with {found} buffers of {wanted}"));
        }
        if has_mask == 1 {
            self.check_nulls(buffers.first().copied().unwrap_or(ptr::null()))?;
        }
        self.check_buffers(data_type, values, buffers)?;
        self.check_children(data_type)
    }

    /// The number of values, including those skipped by the offset.
    fn check_length(&self, data_type: &DataType) -> Result<usize, ArrowError> {
        let width = match data_type {
            DataType::FixedSizeBinary(bytes) | DataType::FixedSizeList(_, bytes) if *bytes < 0 => {
                return invalid(format!("a type of negative size: {data_type}"));
            }
            DataType::FixedSizeBinary(bytes) => i64::from(*bytes),
            data_type => data_type.primitive_width().unwrap_or(size_of::<u128>()) as i64,
        };
        let all = self
            .length
            .checked_add(self.offset)
            .filter(|_| self.length >= 0 && self.offset >= 0 && self.null_count >= -1);
        // The importer counts in bits, and one offset more than there are values.
        let bits = all.and_then(|all| all.checked_add(1)?.checked_mul(width.max(1) * 8));
        match (all, bits) {
            (Some(all), Some(_)) => Ok(all as usize),
            _ => invalid(format!(
                "an array of {data_type} with length {}, offset {} and {} nulls",
                self.length, self.offset, self.null_count
            )),
        }
    }

    /// Refuses a number of nulls that differs from the bitmap's: a reader that relies on it would
    /// use invalid values.
    fn check_nulls(&self, bitmap: *const c_void) -> Result<(), ArrowError> {
        if self.null_count < 0 || self.length == 0 {
            return Ok(());
        }
        let (length, offset) = (self.length as usize, self.offset as usize);
        let found = if bitmap.is_null() {
            0
        } else {
            // SAFETY: a bitmap has a bit for each value, and for each one skipped by the offset.
            let bytes = unsafe {
                slice::from_raw_parts(bitmap.cast::<u8>(), (offset + length).div_ceil(8))
            };
            length - UnalignedBitChunk::new(bytes, offset, length).count_ones()
        };
        if found as i64 == self.null_count {
            return Ok(());
        }
        invalid(format!("{} nulls by number, and {found} in the bitmap", self.null_count))
    }

    /// Refuses null pointers and negative lengths in the buffers from which the importer learns the
    /// lengths of other buffers.
    fn check_buffers(
        &self,
        data_type: &DataType,
        values: usize,
        buffers: &[*const c_void],
    ) -> Result<(), ArrowError> {
        use DataType as T;
        let missing = || invalid(format!("a buffer of an array of {data_type} is missing"));
        match data_type {
            T::Utf8 | T::Binary | T::LargeUtf8 | T::LargeBinary if values > 0 => {
                if buffers[1].is_null() {
                    return missing();
                }
                let large = matches!(data_type, T::LargeUtf8 | T::LargeBinary);
                // SAFETY: by the interface, there is one offset more than values. Any address is
                // allowed.
                let last = unsafe {
                    match large {
                        true => buffers[1].cast::<i64>().add(values).read_unaligned(),
                        false => buffers[1].cast::<i32>().add(values).read_unaligned().into(),
                    }
                };
                if last < 0 {
                    return invalid(format!("an array of {data_type} whose last offset is {last}"));
                }
                if last > 0 && buffers[2].is_null() { missing() } else { Ok(()) }
            }
            T::Utf8View | T::BinaryView => {
                let [_, views, data @ .., lengths] = buffers else { return missing() };
                if (values > 0 && views.is_null()) || (!data.is_empty() && lengths.is_null()) {
                    return missing();
                }
                for (number, buffer) in data.iter().enumerate() {
                    // SAFETY: by the interface, there is a length for each buffer.
                    let length = unsafe { lengths.cast::<i64>().add(number).read_unaligned() };
                    if length < 0 || (length > 0 && buffer.is_null()) {
                        return invalid(format!("a buffer of views with {length} bytes"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_children(&self, data_type: &DataType) -> Result<(), ArrowError> {
        use DataType as T;
        let types: Vec<&DataType> = match data_type {
            T::List(field)
            | T::LargeList(field)
            | T::ListView(field)
            | T::LargeListView(field)
            | T::FixedSizeList(field, _)
            | T::Map(field, _) => vec![field.data_type()],
            T::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            T::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
            T::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
            _ => Vec::new(),
        };
        // SAFETY: by the interface, `children` has `n_children` pointers to arrays, which live as
        // long as this one.
        let children = unsafe { pointers(self.children, self.n_children, "children") }?;
        if children.len() != types.len() {
            let (found, wanted) = (children.len(), types.len());
            return invalid(format!("an array of {data_type} with {found} children of {wanted}"));
        }
        for (number, (child, own_type)) in children.iter().zip(types).enumerate() {
            // SAFETY: as above.
            let Some(child) = (unsafe { child.as_ref() }) else {
                return invalid(format!("a child of an array of {data_type} is missing"));
            };
            child.check(own_type).map_err(|error| match data_type {
                T::Struct(fields) => in_column(fields[number].name(), &error),
                _ => error,
            })?;
            if let T::FixedSizeList(_, size) = data_type
                && (self.length + self.offset).checked_mul((*size).into()).is_none()
            {
                return invalid(format!("{} lists of {size} values", self.length));
            }
        }
        // SAFETY: it is null, or an array that lives as long as this one.
        match (data_type, unsafe { self.dictionary.as_ref() }) {
            (T::Dictionary(_, values), Some(dictionary)) => dictionary.check(values),
            (T::Dictionary(..), None) => invalid("a dictionary's values are missing"),
            _ => Ok(()),
        }
    }
}

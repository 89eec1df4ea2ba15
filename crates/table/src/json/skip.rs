//! Skips and validates a whole value of any kind.
//!
//! It is a loop, not a recursion: each open level is one bit, so no row can overflow the stack.

use super::cursor::{Cursor, DEPTH_MAX, InvalidJson, TOO_DEEP};

/// Marks which of the open levels are objects; the others are arrays.
struct Levels {
    objects: [u64; DEPTH_MAX / 64],
    depth: usize,
}

impl Levels {
    /// Opens a level. Returns false at the limit of nesting.
    #[inline(always)]
    fn open(&mut self, is_object: bool) -> bool {
        let Some(word) = self.objects.get_mut(self.depth / 64) else { return false };
        let bit = 1 << (self.depth % 64);
        *word = if is_object { *word | bit } else { *word & !bit };
        self.depth += 1;
        true
    }

    /// The byte that closes the innermost level.
    #[inline(always)]
    fn closing(&self) -> u8 {
        let level = self.depth - 1;
        let is_object = self.objects[level / 64] >> (level % 64) & 1 == 1;
        if is_object { b'}' } else { b']' }
    }
}

impl Cursor<'_> {
    /// Skips the white space at the cursor and a value that is `depth` levels deep.
    #[inline(always)]
    pub(crate) fn skip(&mut self, depth: usize) -> Result<(), InvalidJson> {
        match self.space() {
            b'{' | b'[' => {
                self.at = nested_end(self.row, self.at, depth)?;
                Ok(())
            }
            _ => self.scalar(),
        }
    }
}

/// The end of the array or object at `at`, which is `outer` levels deep.
fn nested_end(row: &[u8], at: usize, outer: usize) -> Result<usize, InvalidJson> {
    let mut cursor = Cursor { row, at };
    let mut levels = Levels { objects: [0; DEPTH_MAX / 64], depth: outer };
    loop {
        // Before a value.
        match cursor.space() {
            opening @ (b'{' | b'[') => {
                if !levels.open(opening == b'{') {
                    return Err(cursor.invalid(TOO_DEEP));
                }
                cursor.at += 1;
                if cursor.space() != levels.closing() {
                    if opening == b'{' {
                        cursor.key()?;
                    }
                    continue;
                }
            }
            _ => cursor.scalar()?,
        }
        // After a value, or before the end of an empty array or object.
        let mut closing = levels.closing();
        while cursor.space() == closing {
            cursor.at += 1;
            levels.depth -= 1;
            if levels.depth == outer {
                return Ok(cursor.at);
            }
            closing = levels.closing();
        }
        match (cursor.peek(), closing) {
            (b',', b'}') => {
                cursor.at += 1;
                cursor.key()?;
            }
            (b',', _) => cursor.at += 1,
            (_, b'}') => return Err(cursor.invalid("',' or '}' was expected")),
            _ => return Err(cursor.invalid("',' or ']' was expected")),
        }
    }
}

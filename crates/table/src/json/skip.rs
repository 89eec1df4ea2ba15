//! A whole value of any kind, passed over and validated.
//!
//! A loop and not a recursion: what is open is a bit for each level, so no row can overflow the
//! stack.

use super::cursor::{Cursor, DEPTH_MAX, InvalidJson, TOO_DEEP};

/// Which of the open levels are objects; the others are arrays.
struct Levels {
    objects: [u64; DEPTH_MAX / 64],
    depth: usize,
}

impl Levels {
    /// Opens a level. Returns whether there may be one more.
    #[inline(always)]
    fn open(&mut self, is_object: bool) -> bool {
        let Some(word) = self.objects.get_mut(self.depth / 64) else { return false };
        let bit = 1 << (self.depth % 64);
        *word = if is_object { *word | bit } else { *word & !bit };
        self.depth += 1;
        true
    }

    /// What closes the innermost level.
    #[inline(always)]
    fn closing(&self) -> u8 {
        let level = self.depth - 1;
        let is_object = self.objects[level / 64] >> (level % 64) & 1 == 1;
        if is_object { b'}' } else { b']' }
    }
}

impl Cursor<'_> {
    /// Passes over a value that is `depth` levels deep, and the white space before it.
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

/// Where the array or the object ends that begins at `at` and is `outer` levels deep.
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
        // Behind a value, or before the end of an empty one.
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

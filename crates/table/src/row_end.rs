//! Finds the end of a row that is too long for memory, byte by byte.

use crate::split::Dialect;

/// A row that is read in parts.
pub(crate) struct RowEnd {
    dialect: Dialect,
    state: State,
    /// Bytes read so far.
    bytes: u64,
    /// Offset of the last opening quote.
    quote: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Row,
    Comment,
    Field,
    Unquoted,
    Quoted,
    /// After the escape in a quoted field.
    Escaped,
    /// After a quote in a quoted field: its end, or the first of two.
    Quote,
}

impl RowEnd {
    pub(crate) fn new(dialect: Dialect) -> RowEnd {
        RowEnd { dialect, state: State::Row, bytes: 0, quote: 0 }
    }

    /// Takes the next part. Returns the number of its bytes that belong to the row, if the row ends
    /// in it.
    pub(crate) fn take(&mut self, part: &[u8]) -> Option<usize> {
        let Dialect { delimiter, quote, escape, comment } = self.dialect;
        for (at, &byte) in part.iter().enumerate() {
            let is_quote = Some(byte) == quote;
            self.state = match self.state {
                State::Row if Some(byte) == comment => State::Comment,
                State::Row | State::Field if is_quote => {
                    self.quote = self.bytes + at as u64;
                    State::Quoted
                }
                State::Quoted if Some(byte) == escape && !is_quote => State::Escaped,
                State::Quoted if is_quote => State::Quote,
                State::Quote if is_quote => State::Quoted,
                State::Quoted | State::Escaped => State::Quoted,
                _ if byte == b'\n' => return Some(at + 1),
                State::Comment => State::Comment,
                _ if byte == delimiter => State::Field,
                _ => State::Unquoted,
            };
        }
        self.bytes += part.len() as u64;
        None
    }

    /// Offset of the quote that is still open after all parts.
    pub(crate) fn open_quote(&self) -> Option<u64> {
        matches!(self.state, State::Quoted | State::Escaped).then_some(self.quote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Row;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        /// Rows end at the same places as with all rows in memory.
        #[test]
        fn rows_end_where_they_do_in_memory(
            text in vec(prop::sample::select(b"a,\"\"\\#\n\r".to_vec()), 1..30),
            has_escape: bool,
            has_comment: bool,
            step in 1..9usize,
        ) {
            let dialect = Dialect {
                escape: has_escape.then_some(b'\\'),
                comment: has_comment.then_some(b'#'),
                ..Dialect::CSV
            };
            let (mut end, mut before) = (RowEnd::new(dialect), 0);
            let found = text.chunks(step).find_map(|part| {
                let own = end.take(part).map(|own| before + own);
                before += part.len();
                own
            });
            match (dialect.row(&text, true, 0, &mut Vec::new()), found) {
                (Row::Whole(bytes), Some(found)) => prop_assert_eq!(bytes, found),
                (Row::Whole(bytes), None) => {
                    prop_assert_eq!((bytes, end.open_quote()), (text.len(), None));
                }
                // An invalid row may end anywhere.
                (Row::AfterQuote { .. } | Row::BlankBeforeQuote(_) | Row::BareCr(_), _) => {}
                (Row::OpenQuote(at), None) => prop_assert_eq!(end.open_quote(), Some(at as u64)),
                (row, found) => prop_assert!(false, "{:?} {:?}", row, found),
            }
        }
    }
}

//! Patterns of object names: `*` stands for any text and `?` for one character, both without
//! slashes. After a backslash, each stands for itself.
//!
//! The shell expands patterns of files. It doesn't know objects, and passes their patterns
//! unchanged.

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<Token>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// This character.
    One(char),
    /// Any character except a slash.
    Any,
    /// Any number of characters except slashes.
    Run,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        let mut tokens = Vec::with_capacity(text.len());
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            tokens.push(match character {
                '*' => Token::Run,
                '?' => Token::Any,
                '\\' => {
                    let escaped = characters.next_if(|next| matches!(next, '*' | '?' | '\\'));
                    Token::One(escaped.unwrap_or('\\'))
                }
                other => Token::One(other),
            });
        }
        Pattern(tokens)
    }

    /// The text before the first wildcard, with which each match begins.
    pub(crate) fn prefix(&self) -> String {
        let literal = |token: &Token| match token {
            Token::One(character) => Some(*character),
            Token::Any | Token::Run => None,
        };
        self.0.iter().map_while(literal).collect()
    }

    /// True if the pattern matches the whole text.
    ///
    /// The text that a run matches grows by one character at a time. Only the last run can still
    /// grow: the tokens before it have matched.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut token, mut at) = (0, 0);
        // The token after the last run, and the place in the text at which it was tried.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match (self.0.get(token), text.get(at)) {
                (Some(Token::Run), _) => {
                    token += 1;
                    retry = Some((token, at));
                    continue;
                }
                (Some(Token::One(wanted)), Some(character)) if wanted == character => {
                    (token, at) = (token + 1, at + 1);
                    continue;
                }
                (Some(Token::Any), Some(character)) if *character != '/' => {
                    (token, at) = (token + 1, at + 1);
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            match retry {
                Some((behind, from)) if text.get(from).is_some_and(|next| *next != '/') => {
                    (token, at) = (behind, from + 1);
                    retry = Some((behind, from + 1));
                }
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_testing::{Random, for_each_seed};

    #[test]
    fn wildcards_stand_for_what_is_between_slashes() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("a", "a", true),
            ("*", "", true),
            ("*", "abc", true),
            ("*", "a/b", false),
            ("*/*", "a/b", true),
            ("*/*", "a/b/c", false),
            ("part-*.csv", "part-0001.csv", true),
            ("part-*.csv", "part-0001.csv.gz", false),
            ("a*b*c", "abbcbc", true),
            ("a*b*c", "abcb", false),
            ("*a*/b", "xay/b", true),
            ("*a*/b", "x/a/b", false),
            ("?", "ä", true),
            ("?", "/", false),
            ("??", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("\\?", "?", true),
            ("\\\\*", "\\a", true),
            ("a\\b", "a\\b", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn what_matches_begins_with_the_prefix() {
        for (pattern, prefix) in [
            ("s3://b/k/part-*.csv", "s3://b/k/part-"),
            ("s3://b/?", "s3://b/"),
            ("s3://b/a\\*b*", "s3://b/a*b"),
            ("s3://b/k", "s3://b/k"),
        ] {
            assert_eq!(Pattern::new(pattern).prefix(), prefix);
        }
    }

    /// The definition of a match, applied by trying all lengths of each run.
    fn plain(pattern: &[Token], text: &[char]) -> bool {
        let Some((token, rest)) = pattern.split_first() else { return text.is_empty() };
        match token {
            Token::One(wanted) => text.first() == Some(wanted) && plain(rest, &text[1..]),
            Token::Any => {
                text.first().is_some_and(|first| *first != '/') && plain(rest, &text[1..])
            }
            Token::Run => {
                let most = text.iter().position(|at| *at == '/').unwrap_or(text.len());
                (0..=most).any(|taken| plain(rest, &text[taken..]))
            }
        }
    }

    #[test]
    fn any_pattern_matches_what_it_should() {
        let mut matching = 0;
        let tried = for_each_seed("patterns", 3000, |seed| {
            let random = &mut Random::new(seed);
            let mut word = |letters: &[char], most: u64| -> String {
                (0..random.between(0, most)).map(|_| random.one_of(letters)).collect()
            };
            let pattern = Pattern::new(&word(&['a', 'b', '/', '*', '*', '?'], 7));
            let text = word(&['a', 'a', 'b', '/'], 7);
            let expected = plain(&pattern.0, &text.chars().collect::<Vec<_>>());
            matching += u64::from(expected);
            match pattern.matches(&text) == expected {
                true => Ok(()),
                false => Err(format!("{pattern:?} {text}")),
            }
        });
        assert!(matching > 100 || tried < 3000);
    }
}

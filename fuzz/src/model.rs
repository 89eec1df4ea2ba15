//! Lines sorted by the comparison alone, which is what any sort of them must come to; and keys and
//! words, which must say what it says.

use std::cmp::Ordering;
use xsort_gnu::sort::{Command, Order, Scratch};

/// The output: sorted, stable, with `-u` without those that are the same as the last one written.
pub fn sorted(command: &Command, order: &Order, lines: &mut [&[u8]]) -> Vec<u8> {
    let mut scratch = Scratch::default();
    lines.sort_by(|a, b| order.compare(a, b, &mut scratch));
    written(command, order, lines)
}

/// The output of lines that are in their order.
pub fn written(command: &Command, order: &Order, lines: &[&[u8]]) -> Vec<u8> {
    let mut scratch = Scratch::default();
    let mut output = Vec::new();
    let mut before: Option<&[u8]> = None;
    for &line in lines {
        if command.unique && before.is_some_and(|before| order.same(before, line, &mut scratch)) {
            continue;
        }
        before = Some(line);
        output.extend_from_slice(line);
        output.push(command.terminator());
    }
    output
}

/// Checks that normalised keys and their words order neighbours among `lines` as comparison does.
pub fn check_keys(order: &Order, lines: &[&[u8]]) {
    let mut scratch = Scratch::default();
    let mut words = Vec::new();
    order.words(lines.iter().copied(), 0, &mut scratch, &mut words);
    let keys: Vec<Vec<u8>> = lines.iter().map(|line| key(order, line)).collect();
    for at in 0..lines.len() {
        let (line, key) = (lines[at], &keys[at]);
        assert_eq!(words[at], window(key, 0), "first word of {line:?}");
        for skip in [0, 1, 7, 8, 9, 16, 40] {
            let word = order.word(line, skip, &mut scratch);
            assert_eq!(word, window(key, skip), "word of {line:?} from {skip}");
            let two = order.two_words(line, skip, &mut scratch);
            assert_eq!(two, [word, window(key, skip + 8)], "two words of {line:?} from {skip}");
        }
        assert_eq!(order.compare(line, line, &mut scratch), Ordering::Equal, "{line:?} and itself");
        let Some(&next) = lines.get(at + 1) else { continue };
        let compared = order.compare(line, next, &mut scratch);
        assert_eq!(
            order.compare(next, line, &mut scratch),
            compared.reverse(),
            "{line:?} {next:?}"
        );
        match key.cmp(&keys[at + 1]) {
            Ordering::Equal => assert!(!order.is_exact() || compared.is_eq(), "{line:?} {next:?}"),
            by_key => assert_eq!(by_key, compared, "{line:?} {next:?}"),
        }
    }
}

fn key(order: &Order, line: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    order.encode(line, &mut Scratch::default(), &mut key);
    key
}

/// Eight bytes from `skip` on, zeros past the end.
fn window(key: &[u8], skip: usize) -> u64 {
    let mut window = [0; 8];
    key.iter().skip(skip).zip(&mut window).for_each(|(byte, place)| *place = *byte);
    u64::from_be_bytes(window)
}

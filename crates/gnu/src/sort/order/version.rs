//! `-V`: names with numbers in them, ordered as versions: `a9` before `a10`, `1.0~rc` before `1.0`.
//!
//! Source: "Version sort ordering" in the manual of GNU coreutils, and Debian's policy, 5.6.12, its
//! origin. A name is compared without its file suffixes first, then whole. Each is cut into text
//! and numbers, alternately. In text `~` sorts before the end, the end before letters, and letters
//! before everything else. As a key:
//!
//! ```text
//! byte 0      0 empty   1 "."   2 ".."   3 other names that begin with a point   4 all others
//! then        name without suffixes, whole name, each as:
//!   text      0 `~`   11 on: letters, then all other bytes
//!   number    2 + its digits, leading zeros left out, then the digits, two a byte;
//!             from 8 digits on 10, their number (8 bytes), the digits
//!   end       1, always after a number: one without digits where the name ends with text
//! ```

const TILDE: u8 = 0;
const END: u8 = 1;
const NUMBER: u8 = 2;
/// Number of digits from which on their count is written in full.
const LONG: usize = 8;

/// The codes of the other bytes: letters first, then the rest.
const TEXT: [u8; 256] = {
    let mut table = [0; 256];
    let mut next = NUMBER + LONG as u8 + 1;
    let mut class = 0;
    while class < 2 {
        let mut byte = 0;
        while byte < 256 {
            let c = byte as u8;
            if c.is_ascii_alphabetic() == (class == 0) && !c.is_ascii_digit() && c != b'~' {
                table[byte] = next;
                // The last byte has the last code.
                next = next.wrapping_add(1);
            }
            byte += 1;
        }
        class += 1;
    }
    table
};

/// Appends the key of `name`.
pub(super) fn encode(name: &[u8], out: &mut Vec<u8>) {
    let class = match name {
        b"" => 0,
        b"." => 1,
        b".." => 2,
        [b'.', ..] => 3,
        _ => 4,
    };
    out.push(class);
    if class > 2 {
        encode_parts(&name[..stem(name)], out);
        encode_parts(name, out);
    }
}

/// Length of `name` without its file suffixes. Each is a point, a letter or `~`, and letters,
/// digits and `~`. It may be 0, as in coreutils 9.1, where `.a` therefore sorts before `.0`. Other
/// versions always keep the first byte.
fn stem(name: &[u8]) -> usize {
    let mut end = name.len();
    loop {
        let word = name[..end]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'~')
            .count();
        let start = end - word;
        let begins_well = word > 0 && (name[start].is_ascii_alphabetic() || name[start] == b'~');
        if !begins_well || start == 0 || name[start - 1] != b'.' {
            return end;
        }
        end = start - 1;
    }
}

fn encode_parts(mut name: &[u8], out: &mut Vec<u8>) {
    loop {
        let text = name.iter().take_while(|byte| !byte.is_ascii_digit());
        let length = text.clone().count();
        out.extend(text.map(|&byte| if byte == b'~' { TILDE } else { TEXT[usize::from(byte)] }));
        let digits = name[length..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        encode_number(&name[length..length + digits], out);
        name = &name[length + digits..];
        if name.is_empty() {
            break;
        }
    }
    out.push(END);
}

fn encode_number(digits: &[u8], out: &mut Vec<u8>) {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[zeros..];
    out.push(NUMBER + digits.len().min(LONG) as u8);
    if digits.len() >= LONG {
        out.extend_from_slice(&(digits.len() as u64).to_be_bytes());
    }
    let pair = |pair: &[u8]| (pair[0] - b'0') * 10 + pair.get(1).map_or(0, |digit| digit - b'0');
    out.extend(digits.chunks(2).map(pair));
}

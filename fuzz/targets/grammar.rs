//! Everything that a command line is read with: never a panic, and what was understood can be said
//! again, in words that mean the same.
//!
//! The first byte says whose: `w`, words of GNU sort's (each ended by NUL); `d`, of GNU du's; `k`,
//! key fields of `xsort sort` (by spaces); `s`, sizes and rates; `c`, checksums; `f`, the list of
//! `--files0-from`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use xsort::size;
use xsort_extsort::units;
use xsort_fuzz::{model, orders, print};
use xsort_gnu::sort::{Command, Environment, Order, Request, Scratch, listed_files, parse};
use xsort_gnu::{Locale, Numerals, du};
use xsort_records::{Checksum, KeyField, Layout};

fuzz_target!(|data: &[u8]| {
    let Some((&whose, data)) = data.split_first() else { return };
    match whose {
        b'w' => words(data),
        b'd' => words_of_du(data),
        b'k' => key_fields(&String::from_utf8_lossy(data)),
        b's' => size_of(&String::from_utf8_lossy(data)),
        b'c' => checksum(&String::from_utf8_lossy(data)),
        b'f' => list(data),
        _ => {}
    }
});

fn words(data: &[u8]) {
    let words: Vec<&OsStr> = data.split(|&byte| byte == 0).map(OsStr::from_bytes).collect();
    let plain = orders::environment();
    let old = Environment {
        posix2_version: 199_209,
        memory_bytes: 1 << 34,
        open_files_max: 1024,
        ..plain.clone()
    };
    let posix = Environment {
        posixly_correct: true,
        posix2_version: 200_112,
        has_our_letters: true,
        ..old.clone()
    };
    for environment in [plain, old, posix] {
        match parse(&words, &environment) {
            Ok(Request::Run(command)) => understood(&command, &environment),
            Ok(Request::Help | Request::Version) => {}
            Err(refusal) => {
                assert!([1, 2].contains(&refusal.status()));
                let message = refusal.message("sort");
                assert!(message.starts_with(b"sort: ") && message.ends_with(b"\n"));
                assert!(!refusal.to_string().is_empty());
            }
        }
    }
    for &word in &words {
        let locale = Locale::c();
        assert!(
            xsort_gnu::quoted_name(word, &locale).ends_with(b"'")
                || word.as_bytes().contains(&b'\'')
        );
        assert!(xsort_gnu::shown_name(word, &locale).len() >= word.len());
    }
}

/// What du understood prints any size and time, and leaves out what its patterns match.
fn words_of_du(data: &[u8]) {
    let words: Vec<&OsStr> = data.split(|&byte| byte == 0).map(OsStr::from_bytes).collect();
    let locale = Locale::c();
    // The last words are the environment, too.
    let last = words.last().map(|word| word.to_os_string());
    let some = |_: &str| last.clone();
    let read = |_: &OsStr| Ok(data.to_vec());
    for variable in [&(|_: &str| None) as &dyn Fn(&str) -> Option<OsString>, &some] {
        let surroundings = du::Surroundings {
            variable,
            locale: &|| &locale,
            read: &read,
            has_our_letters: data.len() % 2 == 0,
        };
        match du::parse(&words, &surroundings) {
            Ok(du::Understood { request: du::Request::Run(command), .. }) => {
                counted(&command, &locale)
            }
            Ok(_) => {}
            Err(refusal) => {
                assert_eq!(refusal.status(), 1);
                let message = refusal.message("du");
                assert!(message.starts_with(b"du: ") && message.ends_with(b"\n"));
            }
        }
    }
}

fn counted(command: &du::Command, locale: &Locale) {
    assert!(command.files.is_empty() == command.files0_from.is_some());
    for path in [&b"a"[..], b"a/b*.o/", b"./\xff/[x]"] {
        command.excludes.matches(path, locale);
    }
    let numerals = Numerals::default();
    for bytes in [0, 1, 1023, 1024, 999_999, u64::MAX - 1, u64::MAX] {
        let mut size = Vec::new();
        command.scale.write(bytes, &numerals, &mut size);
        let digits = size.iter().take_while(|byte| byte.is_ascii_digit()).count();
        assert!(digits > 0, "a size begins with a number");
        // Never less than it is: that many units hold it.
        if !command.scale.is_short {
            let units: u64 = std::str::from_utf8(&size[..digits]).unwrap().parse().unwrap();
            assert!(u128::from(units) * u128::from(command.scale.unit_bytes) >= u128::from(bytes));
        }
    }
    // Widths are taken at their word: those of many digits are for patient terminals.
    let is_wide =
        |format: &[u8]| format.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 4);
    if let Some(time) = command.time.as_ref().filter(|time| !is_wide(&time.format)) {
        let zone = du::Zone::of(command.files.first().map(OsString::as_os_str), |_| None);
        for seconds in [i64::MIN, -1, 0, 1 << 31, 1 << 40, i64::MAX] {
            du::write_time(&time.format, seconds, 999_999_999, &zone, locale, &mut Vec::new());
        }
    }
}

fn understood(command: &Command, environment: &Environment) {
    assert!(command.files.is_empty() == command.files0_from.is_some());
    let again = print::words(command);
    let expected = in_one_form(command.clone());
    match parse(&again, environment) {
        Ok(Request::Run(command)) => assert_eq!(in_one_form(*command), expected, "{again:?}"),
        other => panic!("{again:?} is {other:?}"),
    }
    // It can be sorted by, wherever the keys are.
    let locale = Locale::c();
    let order = Order::new(command, &locale, *b"0123456789abcdef");
    let lines: [&[u8]; 5] =
        [b"", b" a:1 -2.5e3\tJan", b"b:10K x-1.10.tar.gz", b"\xff\0:\x80 ~", b"b:9 x"];
    model::check_keys(&order, &lines);
    let mut scratch = Scratch::default();
    let mut marks = Vec::new();
    for line in lines {
        xsort_gnu::sort::annotate(&order, &locale, line, &mut scratch, &mut marks);
        let message = xsort_gnu::sort::disorder("sort", b"-", 1, line.to_vec(), command);
        assert!(message.starts_with(b"sort: "));
    }
    xsort_gnu::sort::warnings(command, &locale);
}

/// What two command lines that mean the same have alike. The last byte that can be counted is as
/// far as the one behind it, and blanks at an end that there isn't don't count anyway.
fn in_one_form(mut command: Command) -> Command {
    for key in &mut command.keys {
        key.is_obsolete = false;
        key.start_char = key.start_char.min(usize::MAX - 1);
        key.flags.end_blanks &= key.end.is_some();
    }
    command
}

fn key_fields(text: &str) {
    let fields: Vec<KeyField> = text.split(' ').filter_map(|word| word.parse().ok()).collect();
    for field in &fields {
        assert_eq!(field.to_string().parse(), Ok(*field), "{field}");
    }
    let end =
        fields.iter().map(|field| field.offset.saturating_add(field.length)).max().unwrap_or(1);
    let least = Layout::new(end, fields.clone());
    assert!(
        end == 0 || Layout::new(end - 1, fields.clone()).is_err(),
        "{fields:?} leave their record"
    );
    if let Ok(layout) = least {
        assert_eq!(layout.fields(), fields);
        assert_eq!(layout.key_bytes(), fields.iter().map(|field| field.length).sum::<usize>());
        let _ = layout.rule();
    }
}

fn size_of(text: &str) {
    let _ = (text.parse::<size::Amount>(), text.parse::<size::Memory>());
    assert!(
        size::rate(text).map_or(0, NonZeroU64::get)
            == size::bytes(text.strip_suffix("/s").unwrap_or(text)).unwrap_or(0)
    );
    let Ok(bytes) = size::bytes(text) else { return };
    // The number times its unit, as a float has it.
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = size::bytes(&format!("1{}", &text[digits.len()..])).unwrap();
    let about = digits.parse::<f64>().unwrap() * unit as f64;
    assert!(
        (bytes as f64 - about).abs() <= 1.0 + about * 1e-6,
        "{text} is {bytes}, and not about {about}"
    );
    assert_eq!(size::bytes(&bytes.to_string()), Ok(bytes));
    assert!(
        !units::Bytes(bytes).to_string().is_empty()
            && !units::Rate(bytes as f64).to_string().is_empty()
    );
}

fn list(data: &[u8]) {
    let named: Vec<&[u8]> =
        data.strip_suffix(b"\0").unwrap_or(data).split(|&byte| byte == 0).collect();
    match listed_files(data, OsStr::new("list"), &Locale::c()) {
        Ok(names) => assert!(names.iter().map(|name| name.as_bytes()).eq(named)),
        Err(refusal) => {
            assert!(named.iter().any(|name| [&b""[..], b"-"].contains(name)));
            assert!(refusal.message("sort").starts_with(b"sort: "));
        }
    }
}

fn checksum(text: &str) {
    if let Ok(sum) = Checksum::parse_sum(text) {
        let shown = Checksum::from_parts(1, sum).to_string();
        assert_eq!(Checksum::parse_sum(&shown), Ok(sum));
        let digits = text.trim_start_matches("0x").trim_start_matches('0').to_ascii_lowercase();
        assert_eq!(shown.trim_start_matches('0'), digits);
    }
}

//! A command as words that mean it: the inverse of the grammar, written from its documentation.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use xsort_gnu::When;
use xsort_gnu::sort::{Check, Codec, Command, Flags, KeyField, OutputCompression};

/// Words from which the grammar makes `command` again. Keys have one form: `is_obsolete` is lost.
pub fn words(command: &Command) -> Vec<OsString> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut say = |parts: &[&[u8]]| words.push(parts.concat());
    for letter in letters(command.global, command.global.start_blanks).bytes() {
        say(&[b"-", &[letter]]);
    }
    let output = command.extras.compress_output;
    let flags = [
        ("-c", command.check == Some(Check::DiagnoseFirst)),
        ("--check=silent", command.check == Some(Check::Quiet)),
        ("--merge", command.merge),
        ("-u", command.unique),
        ("--stable", command.stable),
        ("-z", command.zero_terminated),
        ("--debug", command.debug),
        ("--progress=always", command.extras.progress == When::Always),
        ("--progress=never", command.extras.progress == When::Never),
        ("--color=always", command.extras.color == When::Always),
        ("--color=never", command.extras.color == When::Never),
        ("--quiet", command.extras.quiet),
        ("--dry-run", command.extras.dry_run),
        ("--verbose", command.extras.verbose),
        ("--json", command.extras.json),
        ("--shuffle", command.extras.shuffles),
        ("--count", command.extras.counts),
        ("--compress-output=none", output == Some(OutputCompression::Off)),
        ("--compress-output=gzip", output == Some(OutputCompression::Gzip)),
        ("--compress-output=lz4", output == Some(OutputCompression::Lz4)),
        ("--compress-output=zstd", output == Some(OutputCompression::Zstd)),
        ("--compress=lz4", command.extras.compress == Some(Codec::Lz4)),
        ("--compress=zstd", command.extras.compress == Some(Codec::Zstd)),
        ("--compress=auto", command.extras.compress == Some(Codec::Auto)),
        ("--decompress", command.extras.decompress == Some(true)),
        ("--no-decompress", command.extras.decompress == Some(false)),
        ("--check-output", command.extras.check_output),
    ];
    flags.iter().filter(|(_, is_set)| *is_set).for_each(|(word, _)| say(&[word.as_bytes()]));
    match command.separator {
        Some(0) => say(&[b"-t\\0"]),
        Some(byte) => say(&[b"-t", &[byte]]),
        None => {}
    }
    let numbers = [
        ("-S", command.buffer_bytes, "b"),
        ("--batch-size=", command.batch_size.map(|size| size as u64), ""),
        ("--parallel=", command.parallel.map(|threads| threads as u64), ""),
        ("--header=", Some(command.extras.header_lines), ""),
        ("--seed=", command.extras.seed, ""),
        ("--top=", command.extras.top_lines, ""),
    ];
    for (name, number, unit) in numbers {
        if let Some(number) = number {
            say(&[name.as_bytes(), number.to_string().as_bytes(), unit.as_bytes()]);
        }
    }
    let names = [
        ("--files0-from=", &command.files0_from),
        ("--output=", &command.output),
        ("--compress-program=", &command.compress_program),
        ("--random-source=", &command.random_source),
        ("--header-prefix=", &command.extras.header_prefix),
        ("--memory=", &command.extras.memory),
    ];
    for (option, name) in names {
        if let Some(name) = name {
            say(&[option.as_bytes(), name.as_bytes()]);
        }
    }
    for directory in &command.temporary_directories {
        say(&[b"--temporary-directory=", directory.as_bytes()]);
    }
    if !command.is_global_key {
        for field in &command.keys {
            say(&[b"-k", key(field, command.global).as_bytes()]);
        }
    }
    if command.files0_from.is_none() {
        say(&[b"--"]);
        command.files.iter().for_each(|file| say(&[file.as_bytes()]));
    }
    words.into_iter().map(OsString::from_vec).collect()
}

/// The argument of `-k`. Without letters a key has the global ones.
fn key(key: &KeyField, global: Flags) -> String {
    let has_own = key.flags != global;
    let letters = |is_blanks| if has_own { letters(key.flags, is_blanks) } else { String::new() };
    let char = |char: usize| if char > 0 { format!(".{char}") } else { String::new() };
    // The first character is the first without being named.
    let start_char = if key.start_char > 0 { key.start_char.saturating_add(1) } else { 0 };
    let mut text = format!("{}{}", key.start_field.saturating_add(1), char(start_char));
    text += &letters(key.flags.start_blanks);
    if let Some(end) = key.end {
        text += &format!(",{}{}", end.field.saturating_add(1), char(end.char));
        if has_own && key.flags.end_blanks {
            text.push('b');
        }
    }
    text
}

/// The letters of `flags`, with a `b` or not.
fn letters(flags: Flags, has_blanks: bool) -> String {
    let letters = [
        ('b', has_blanks),
        ('d', flags.dictionary),
        ('f', flags.fold),
        ('g', flags.general),
        ('h', flags.human),
        ('i', flags.nonprinting),
        ('M', flags.month),
        ('n', flags.numeric),
        ('R', flags.random),
        ('V', flags.version),
        ('r', flags.reverse),
    ];
    letters.iter().filter(|(_, is_set)| *is_set).map(|(letter, _)| letter).collect()
}

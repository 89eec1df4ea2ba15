//! A command as words that mean it: the inverse of the grammar, written from its documentation.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use xsort_gnu::When;
use xsort_gnu::sort::{
    Check, Checkpoint, Codec, Command, Extras, Flags, KeyField, OutputCompression, RecordPart,
    Records,
};

/// Words from which the grammar makes `command` again. Keys have one form: `is_obsolete` is lost.
pub fn words(command: &Command) -> Vec<OsString> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut say = |parts: &[&[u8]]| words.push(parts.concat());
    for letter in letters(command.global, command.global.start_blanks).bytes() {
        say(&[b"-", &[letter]]);
    }
    flags(command).iter().for_each(|word| say(&[word.as_bytes()]));
    let extras = &command.extras;
    if let Some(every) = extras.checkpoint_every {
        say(&[format!("--checkpoint-every={}", every.as_secs_f64()).as_bytes()]);
    }
    match command.separator {
        Some(0) => say(&[b"-t\\0"]),
        Some(byte) => say(&[b"-t", &[byte]]),
        None => {}
    }
    let numbers = [
        ("-S", command.buffer_bytes, "b"),
        ("--batch-size=", command.batch_size.map(|size| size as u64), ""),
        ("--parallel=", command.parallel.map(|threads| threads as u64), ""),
        ("--header=", Some(extras.header_lines), ""),
        ("--seed=", extras.seed, ""),
        ("--top=", extras.top_lines, ""),
        ("--temperature-limit=", extras.limit_celsius.map(u64::from), ""),
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
        ("--header-prefix=", &extras.header_prefix),
        ("--memory=", &extras.memory),
        ("--bandwidth-limit=", &extras.bandwidth_limit),
        ("--within=", &extras.within),
        ("--late=", &extras.late),
        ("--write-index=", &extras.write_index),
        ("--index-columns=", &extras.index_columns),
        ("--min-shift=", &extras.min_shift),
        ("--report=", &extras.report),
        ("--trace=", &extras.trace),
        ("--s3-connections=", &extras.s3_connections),
        ("--s3-part-size=", &extras.s3_part_size),
    ];
    for (option, name) in names {
        if let Some(name) = name {
            say(&[option.as_bytes(), name.as_bytes()]);
        }
    }
    match &extras.records {
        Some(Records::Lines(lines)) => say(&[format!("--record-lines={lines}").as_bytes()]),
        Some(Records::BeginText(text)) => say(&[b"--record-begins=", text]),
        Some(Records::BeginMatch(expression)) => {
            say(&[b"--record-begins=/", expression.pattern().as_bytes(), b"/"]);
        }
        Some(Records::EndBlank) => say(&[b"--record-ends-blank"]),
        None => {}
    }
    for directory in &command.temporary_directories {
        say(&[b"--temporary-directory=", directory.as_bytes()]);
    }
    if !command.is_global_key {
        for field in &command.keys {
            let written = key(field, command.global);
            match &field.list {
                Some(list) => {
                    say(&[b"--order=", written.as_bytes(), b"=", list.file.as_bytes()]);
                }
                None => say(&[b"-k", written.as_bytes()]),
            }
        }
        for field in &extras.sorted_by {
            say(&[b"--sorted-by=", key(field, command.global).as_bytes()]);
        }
    }
    if command.files0_from.is_none() {
        say(&[b"--"]);
        command.files.iter().for_each(|file| say(&[file.as_bytes()]));
    }
    words.into_iter().map(OsString::from_vec).collect()
}

/// What has no argument, or one of few.
fn flags(command: &Command) -> Vec<&'static str> {
    // All fields, so that a new one can't be forgotten.
    let Extras {
        records: _,
        header_lines: _,
        header_prefix: _,
        sorted_by: _,
        within: _,
        late: _,
        write_index: _,
        index_columns: _,
        min_shift: _,
        report: _,
        trace: _,
        counts,
        shuffles,
        no_clobber,
        in_place,
        no_sync,
        no_quotes,
        allows_empty,
        verify_output,
        seed: _,
        top_lines: _,
        color,
        progress,
        quiet,
        verbose,
        dry_run,
        memory: _,
        limit_celsius: _,
        bandwidth_limit: _,
        s3_connections: _,
        s3_part_size: _,
        json,
        compress,
        compress_output,
        decompress,
        check_output,
        recursive,
        checkpoint,
        checkpoint_every: _,
        counts_links,
    } = &command.extras;
    let flags = [
        ("-c", command.check == Some(Check::DiagnoseFirst)),
        ("--check=silent", command.check == Some(Check::Quiet)),
        ("--merge", command.merge),
        ("-u", command.unique),
        ("--stable", command.stable),
        ("-z", command.zero_terminated),
        ("--debug", command.debug),
        ("--progress=always", *progress == When::Always),
        ("--progress=never", *progress == When::Never),
        ("--color=always", *color == When::Always),
        ("--color=never", *color == When::Never),
        ("--quiet", *quiet),
        ("--dry-run", *dry_run),
        ("--verbose", *verbose),
        ("--json", *json),
        ("--shuffle", *shuffles),
        ("--count", *counts),
        ("--no-clobber", *no_clobber),
        ("--in-place", *in_place),
        ("--no-sync", *no_sync),
        ("--no-quotes", *no_quotes),
        ("--allow-empty", *allows_empty),
        ("--verify-output", *verify_output),
        ("--compress-output=none", *compress_output == Some(OutputCompression::Off)),
        ("--compress-output=bgzip", *compress_output == Some(OutputCompression::Bgzip)),
        ("--compress-output=gzip", *compress_output == Some(OutputCompression::Gzip)),
        ("--compress-output=lz4", *compress_output == Some(OutputCompression::Lz4)),
        ("--compress-output=zstd", *compress_output == Some(OutputCompression::Zstd)),
        ("--compress=none", *compress == Some(Codec::Off)),
        ("--compress=lz4", *compress == Some(Codec::Lz4)),
        ("--compress=zstd", *compress == Some(Codec::Zstd)),
        ("--compress=auto", *compress == Some(Codec::Auto)),
        ("--decompress", *decompress == Some(true)),
        ("--no-decompress", *decompress == Some(false)),
        ("--check-output", *check_output),
        ("--recursive", *recursive),
        ("--count-links", *counts_links),
        ("--checkpoint", *checkpoint == Some(Checkpoint::Begin)),
        ("--resume", *checkpoint == Some(Checkpoint::Resume)),
        ("--restart", *checkpoint == Some(Checkpoint::Restart)),
    ];
    flags.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| *word).collect()
}

/// The argument of `-k`. Without letters a key has the global ones.
fn key(key: &KeyField, global: Flags) -> String {
    let has_own = key.flags != global;
    let letters = |is_blanks| if has_own { letters(key.flags, is_blanks) } else { String::new() };
    let line = match &key.part {
        RecordPart::Match(expression) => {
            return format!("/{}/{}", expression.pattern(), letters(key.flags.start_blanks));
        }
        RecordPart::Whole if key.is_length => return format!("length{}", letters(false)),
        RecordPart::Line(before) if key.is_length => {
            return format!("length(L{}){}", before.saturating_add(1), letters(false));
        }
        RecordPart::From(before) if key.is_length => {
            return format!("length(L{}-){}", before.saturating_add(1), letters(false));
        }
        RecordPart::From(before) => {
            let letters = letters(key.flags.start_blanks);
            return format!("L{}-{letters}", before.saturating_add(1));
        }
        RecordPart::Line(0) | RecordPart::Whole => String::new(),
        RecordPart::Line(before) => format!("L{}.", before.saturating_add(1)),
    };
    let char = |char: usize| if char > 0 { format!(".{char}") } else { String::new() };
    // The first character is the first without being named.
    let start_char = if key.start_char > 0 { key.start_char.saturating_add(1) } else { 0 };
    let mut text = format!("{line}{}{}", key.start_field.saturating_add(1), char(start_char));
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

//! Command lines: what they come to, where GNU sort can't be asked: our own options, values, and
//! the environment.

use std::ffi::{OsStr, OsString};

use xsort_gnu::sort::{
    Check, Codec, Command, Environment, KeyEnd, OutputCompression, Request, parse,
    refuse_combinations, warnings,
};
use xsort_gnu::{Locale, Refusal, When};

use crate::understand;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn command(line: &str) -> Command {
    *understand(&words(line)).unwrap()
}

fn refusal(line: &str) -> String {
    understand(&words(line)).unwrap_err().to_string()
}

fn under(variables: &[(&str, &str)], line: &str) -> Result<Request, Refusal> {
    let variable = |name: &str| {
        variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsStr::new(*value))
    };
    parse(words(line), &Environment::new(variable, Locale::c()))
}

fn files_under(variables: &[(&str, &str)], line: &str) -> Vec<OsString> {
    match under(variables, line) {
        Ok(Request::Run(command)) => command.files,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn options_may_follow_files_and_share_a_dash() {
    let command = command("a -rnt: b -k2,3.4b -- -c");
    assert_eq!(command.files, ["a", "b", "-c"]);
    assert_eq!(command.separator, Some(b':'));
    assert!(command.reverse && command.global.numeric && command.check.is_none());
    let [key] = &command.keys[..] else { panic!("one key: {:?}", command.keys) };
    assert_eq!(
        (key.start_field, key.start_char, key.end),
        (1, 0, Some(KeyEnd { field: 2, char: 4 }))
    );
    assert!(
        key.flags.end_blanks && !key.flags.start_blanks && !key.flags.numeric,
        "its own b, so nothing inherited"
    );
}

#[test]
fn keys_without_options_have_the_global_ones() {
    let command = command("-n -k1 -k2r");
    assert!(command.keys[0].flags.numeric && !command.keys[1].flags.numeric);
    assert!(!command.is_global_key);
}

#[test]
fn global_options_alone_make_a_key() {
    assert!(command("-n").is_global_key);
    assert!(command("-r").keys.is_empty(), "turning round is no key");
}

#[test]
fn the_largest_memory_counts() {
    assert_eq!(command("-S 1M -S 5 -S 2K").buffer_bytes, Some(1 << 20));
    assert_eq!(command("-S 50%").buffer_bytes, Some(1 << 33), "half of 16 GiB");
    assert_eq!(command("-S 7b").buffer_bytes, Some(7));
}

#[test]
fn our_options_are_there_in_full_only() {
    let extras =
        command("--header --top 5 --progress --json --decompress --check-output --compress=lz4")
            .extras;
    assert_eq!((extras.header_lines, extras.top_lines), (1, Some(5)));
    assert!(extras.json && extras.check_output);
    assert_eq!(extras.progress, When::Always);
    assert_eq!((extras.compress, extras.decompress), (Some(Codec::Lz4), Some(true)));
    assert_eq!(command("--decompress --no-decompress").extras.decompress, Some(false));
    assert_eq!(command("--header=3").extras.header_lines, 3);
    for (word, expected) in [("gzip", OutputCompression::Gzip), ("none", OutputCompression::Off)] {
        let command = command(&format!("--compress-output={word}"));
        assert_eq!(command.extras.compress_output, Some(expected));
    }
    assert!(refusal("--compress-output=xz").contains("--compress-output"));
    assert_eq!(command("--write-index").extras.write_index, Some("auto".into()));
    let index = command("--write-index=csi --min-shift 15 --index-columns=1,2").extras;
    assert_eq!(index.write_index, Some("csi".into()));
    assert_eq!((index.min_shift, index.index_columns), (Some("15".into()), Some("1,2".into())));
    assert!(refusal("--min-shift=15").contains("add --write-index"));
    assert_eq!(command("--header-prefix=#").extras.header_prefix, Some("#".into()));
    assert!(refusal("--header-prefix=").contains("text within a line"));
    assert!(refusal("--header --header-prefix=#").contains("either"));
    assert!(command("--count -u").extras.counts);
    assert!(refusal("--count").contains("add -u"));
    assert!(refusal("--count -u --debug").contains("--debug"));
    let shuffle = command("--shuffle --seed=7 -t, -z").extras;
    assert_eq!((shuffle.shuffles, shuffle.seed), (true, Some(7)));
    assert!(refusal("--seed=7").contains("--shuffle"));
    assert!(refusal("--shuffle --seed=x").contains("number"));
    for other in ["-n", "-b", "-k2", "-r", "-s", "-R", "-u", "-m", "-c", "--debug", "--sort=month"]
    {
        assert!(refusal(&format!("--shuffle {other}")).contains("--shuffle goes with"), "{other}");
    }
    assert_eq!(refusal("--heade"), "unrecognized option '--heade'");
    assert_eq!(refusal("--top=0"), "number of lines must be nonzero");
    assert_eq!(refusal("--top=x"), "invalid --top argument 'x'");
}

#[test]
fn options_of_all_commands_are_understood() {
    let line = "--memory=1GB --threads 3 --scratch=a -T b --progress=never --quiet --dry-run";
    let all = command(line);
    assert_eq!((all.extras.memory, all.parallel), (Some("1GB".into()), Some(3)));
    assert_eq!(all.temporary_directories, ["a", "b"]);
    assert!(all.extras.progress == When::Never && all.extras.quiet && all.extras.dry_run);
    assert_eq!(command("--parallel=2 --threads=0").parallel, None);
    assert_eq!(
        refusal("--threads=1025"),
        "invalid --threads argument '1025': from 0 (as many as processors) to 1024 are possible"
    );
    assert!(refusal("--progress=x").starts_with("invalid argument 'x' for '--progress'"));
    // GNU sort has no such letters.
    assert_eq!(refusal("-j3"), "invalid option -- 'j'");
    let environment =
        Environment { has_our_letters: true, ..Environment::new(|_| None, Locale::c()) };
    let Ok(Request::Run(letters)) = parse(words("-j3 -qu"), &environment) else { panic!() };
    assert!(letters.parallel == Some(3) && letters.extras.quiet && letters.unique);
}

#[test]
fn a_misspelt_option_has_a_hint_that_is_no_part_of_the_message() {
    let refusal = understand(&words("--uniqe")).unwrap_err();
    assert_eq!(refusal.hint(), Some("--unique is an option"));
    assert!(!refusal.message("sort").windows(6).any(|word| word == b"unique"));
    assert_eq!(understand(&words("--wxyz")).unwrap_err().hint(), None);
}

/// `--compress` has always been short for `--compress-program`: only four words after it are ours.
#[test]
fn other_compressions_are_programs() {
    assert_eq!(command("--compress zstd").extras.compress, Some(Codec::Zstd));
    assert_eq!(command("--compress=auto").extras.compress, Some(Codec::Auto));
    assert_eq!(command("--compress=none").extras.compress, Some(Codec::Off));
    for line in ["--compress=gzip", "--compress gzip", "--compress-program=lz4", "--compres=lz4"] {
        let command = command(line);
        assert!(command.compress_program.is_some() && command.extras.compress.is_none(), "{line}");
    }
}

#[test]
fn a_check_has_one_input() {
    assert_eq!(command("-c").check, Some(Check::DiagnoseFirst));
    assert_eq!(command("--check=silent").check, Some(Check::Quiet));
    let command = command("-C --files0-from=list");
    assert!(command.files.is_empty());
    let environment = Environment::new(|_| None, Locale::c());
    let refusal = refuse_combinations(&command, &["a", "b"], &environment).unwrap_err();
    assert_eq!(refusal.message("sort"), b"sort: extra operand 'b' not allowed with -C\n");
}

/// Such a field was once counted on from, which is an overflow, where `--debug` names it.
#[test]
fn an_obsolete_key_may_begin_and_end_beyond_all_numbers() {
    let [far, end] = ["+99999999999999999999.3 -1", "+0 -99999999999999999999.5"].map(command);
    assert_eq!((far.keys[0].start_field, far.keys[0].start_char), (0, 0));
    assert_eq!(far.keys[0].end, Some(KeyEnd { field: 0, char: 0 }));
    assert_eq!(end.keys[0].end, None);
    let lines = warnings(&far, &Locale::c()).concat();
    let said = String::from_utf8_lossy(&lines);
    assert!(
        said.contains("key '+0 -1' used; consider '-k 1,1' instead"),
        "as GNU sort 9.1 says: {said}"
    );
}

#[test]
fn posix_ends_the_options_at_the_first_file() {
    let posix = [("POSIXLY_CORRECT", "")];
    assert_eq!(files_under(&[], "a -r"), ["a"]);
    assert_eq!(files_under(&posix, "a -r"), ["a", "-r"]);
    assert_eq!(files_under(&posix, "a -o b"), ["a"], "but for an output");
}

#[test]
fn one_version_of_posix_has_no_obsolete_keys() {
    let old = [("_POSIX2_VERSION", "200112")];
    assert_eq!(files_under(&[], "+1"), ["-"]);
    assert_eq!(files_under(&old, "+1"), ["+1"]);
    assert_eq!(files_under(&old, "+1 -2"), ["-"], "an end makes it a key");
    assert_eq!(files_under(&[("_POSIX2_VERSION", "what")], "+1"), ["-"]);
}

#[test]
fn a_message_repeats_the_program_and_odd_bytes() {
    let refusal = understand(&words("--sort=x")).unwrap_err();
    assert_eq!(refusal.status(), 1);
    let message = String::from_utf8(refusal.message("/bin/sort")).unwrap();
    assert!(
        message.starts_with("/bin/sort: invalid argument 'x' for '--sort'\nValid arguments are:\n"),
        "{message}"
    );
    assert!(message.ends_with("Try '/bin/sort --help' for more information.\n"), "{message}");
    assert_eq!(under(&[], "-n --help -k0").unwrap(), Request::Help, "help is given at once");
}

//! Completion scripts, run by the shells that they are for.

use crate::sandbox::{Sandbox, clean};
use std::collections::BTreeSet;

/// A sandbox with the script of a shell.
fn sandbox(shell: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("script", sandbox.ok(&format!("completions {shell}")));
    sandbox
}

/// What a shell prints; `None` if the shell isn't installed.
fn ask(sandbox: &Sandbox, shell: &str, words: &[&str]) -> Option<String> {
    let output = clean(shell).args(words).current_dir(sandbox.path()).output().ok()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{words:?}: {stderr}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn sorted(text: &str) -> Vec<&str> {
    text.lines().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The completions of bash for the last of these words: the script's answer, without the file names
/// that bash adds if the script has none.
fn bash(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let current = words.last().unwrap().trim_start_matches('=');
    let before = words[words.len() - 2];
    let script = format!(
        "compopt() {{ :; }}; . ./script; COMP_WORDS=({}); COMP_CWORD={}
        _xsort_words xsort '{current}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1
    );
    let answer = ask(sandbox, "bash", &["--norc", "-c", &script]).expect("bash is everywhere");
    sorted(answer.trim()).into_iter().map(str::to_owned).collect()
}

/// The long options of a help text: the first words of lines that begin with a dash.
pub(crate) fn long_options(help: &str) -> BTreeSet<String> {
    let is_option = |line: &&str| {
        line.trim_start().starts_with('-') && line.len() - line.trim_start().len() < 10
    };
    let words =
        help.lines().filter(is_option).flat_map(|line| line.split([' ', ',', '=', '[', '.']));
    let names = words.filter(|word| word.len() > 2 && word.starts_with("--"));
    names.map(str::to_owned).collect()
}

#[test]
fn every_option_of_every_command_is_offered() {
    let sandbox = sandbox("bash");
    for command in ["gen", "sort", "lines", "verify", "du", "status"] {
        let help = sandbox.ok(&format!("{command} --help"));
        let offered = bash(&sandbox, &["xsort", command, "--"]);
        let expected = long_options(&help);
        assert!(expected.len() >= 4, "{help}");
        assert_eq!(offered, expected.into_iter().collect::<Vec<_>>(), "{command}");
    }
}

#[test]
fn bash_offers_words_of_closed_sets_and_otherwise_files() {
    let sandbox = sandbox("bash");
    let kinds = ["general-numeric", "human-numeric", "month", "numeric", "random", "version"];
    for (words, expected) in [
        (&["xsort", "lines", "--sort", "="][..], &kinds[..]),
        (&["xsort", "lines", "--sort", "=", "nu"], &["numeric"]),
        (&["xsort", "lines", "--sort", "v"], &["version"]),
        (&["xsort", "lines", "--check", "=", "q"], &["quiet"]),
        (&["xsort", "lines", "--compress", "="], &["auto", "lz4", "none", "zstd"]),
        (&["xsort", "lines", "--compress-output", "="], &["bgzip", "gzip", "lz4", "none", "zstd"]),
        (&["xsort", "du", "--time", "="], &["access", "atime", "ctime", "status", "use"]),
        (&["xsort", "du", "--sort", "=", ""], &["name", "size"]),
        (&["xsort", "sort", "--method", "=", "m"], &["merge"]),
        (&["xsort", "ver"], &["verify"]),
        (&["xsort", "completions", "b"], &["bash"]),
        // The argument of --check would have to be joined, so this is a file.
        (&["xsort", "lines", "--check", ""], &[]),
        (&["xsort", "lines", ""], &[]),
        (&["xsort", "lines", "-u", ""], &[]),
    ] {
        assert_eq!(bash(&sandbox, words), expected, "{words:?}");
    }
}

#[test]
fn fish_offers_the_same() {
    let sandbox = sandbox("fish");
    sandbox.write("data", "");
    for (line, expected) in [
        ("xsort lines --sort=n", &["--sort=numeric"][..]),
        ("xsort lines --check=", &["--check=diagnose-first", "--check=quiet", "--check=silent"]),
        ("xsort lines --check d", &["data"]),
        ("xsort lines d", &["data"]),
        ("xsort du --sort ", &["name", "size"]),
        ("xsort completions ", &["bash", "elvish", "fish", "powershell", "zsh"]),
    ] {
        let script = format!("source script; complete -C '{line}'");
        let Some(answer) = ask(&sandbox, "fish", &["--no-config", "-c", &script]) else {
            eprintln!("SKIPPED: there is no fish");
            return;
        };
        assert_eq!(sorted(&answer), expected, "{line}");
    }
}

#[test]
fn zsh_understands_the_script() {
    let sandbox = sandbox("zsh");
    let script = String::from_utf8(sandbox.read("script")).unwrap();
    assert!(script.contains("--check=-[") && script.contains("(quiet silent diagnose-first)"));
    if ask(&sandbox, "zsh", &["-f", "-n", "script"]).is_none() {
        eprintln!("SKIPPED: there is no zsh");
    }
}

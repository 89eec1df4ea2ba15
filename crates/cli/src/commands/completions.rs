//! `xsort completions`: turns the definition of the command line into a shell's script.
//!
//! clap writes the scripts. This module adds what clap doesn't know: the argument of some options
//! must be joined to them (`--check=quiet`), bash splits `--sort=month` into three words, and users
//! want files more often than options.

use super::gnu_definition;
use crate::args;
use crate::exit::Failure;
use crate::output::write_stdout;
use clap::{Arg, Command};
use clap_complete::Shell;

/// Prints a shell's completion script.
pub(crate) fn print(shell: Shell) -> Result<(), Failure> {
    let mut program = gnu_definition::with_options(args::command());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "xsort", &mut script);
    let script = String::from_utf8(script).expect("clap writes text");
    let script = match shell {
        Shell::Bash => script + &bash_words(&program),
        Shell::Zsh => joined_in_zsh(script, &joined_options(&program)),
        Shell::Fish => {
            joined_in_fish(&script, &joined_options(&program)) + &operands_in_fish(&program)
        }
        _ => script,
    };
    write_stdout(script.as_bytes())
}

/// The long options whose argument must be joined to them.
fn joined_options(program: &Command) -> Vec<&str> {
    let options = program.get_subcommands().flat_map(Command::get_arguments);
    options.filter(|option| option.is_require_equals_set()).filter_map(Arg::get_long).collect()
}

/// A bash function that wraps clap's function and is called in its place.
fn bash_words(program: &Command) -> String {
    let joined: String = joined_options(program).iter().map(|name| format!(" --{name}")).collect();
    format!(
        r#"
_xsort_words() {{
    local cur=$2 prev=$3 word words=()
    # `--option=value` comes as three words.
    if [[ ${{COMP_WORDS[COMP_CWORD]}} == "=" ]]; then
        cur= prev=${{COMP_WORDS[COMP_CWORD-1]}}
    elif [[ ${{COMP_WORDS[COMP_CWORD-1]}} == "=" ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    elif [[ "{joined} " == *" $prev "* ]]; then
        prev=
    fi
    _xsort "$1" "$cur" "$prev"
    # After a blank, files or other words rather than options.
    if [[ -z $cur ]]; then
        for word in "${{COMPREPLY[@]}}"; do
            [[ $word == -* ]] || words+=("$word")
        done
        COMPREPLY=("${{words[@]}}")
    fi
}}

complete -F _xsort_words -o bashdefault -o default xsort
"#
    )
}

fn joined_in_zsh(script: String, joined: &[&str]) -> String {
    joined.iter().fold(script, |script, name| {
        script.replace(&format!("--{name}=["), &format!("--{name}=-["))
    })
}

/// Removes `-r` from the joined options: without it, fish expects no separate argument.
fn joined_in_fish(script: &str, joined: &[&str]) -> String {
    let is_joined = |line: &str| joined.iter().any(|name| line.contains(&format!(" -l {name} ")));
    let lines = script.split_inclusive('\n').map(|line| match is_joined(line) {
        true => line.replace(" -r -f", " -f"),
        false => line.to_owned(),
    });
    lines.collect()
}

/// Completions for operands with a fixed set of values, which clap's script leaves out.
fn operands_in_fish(program: &Command) -> String {
    let mut script = String::new();
    for command in program.get_subcommands() {
        let values = command.get_positionals().flat_map(Arg::get_possible_values);
        let words: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        if !words.is_empty() {
            let condition = format!("__fish_xsort_using_subcommand {}", command.get_name());
            script +=
                &format!("complete -c xsort -n \"{condition}\" -f -a '{}'\n", words.join(" "));
        }
    }
    script
}

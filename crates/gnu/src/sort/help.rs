//! The texts of `--help` and `--version`: the options of GNU sort in our own words, and ours.

/// The text of `--help`; `program` is the name that was called.
pub fn help(program: &str) -> String {
    format!(
        "Usage: {program} [OPTION]... [FILE]...\n   \
         or: {program} [OPTION]... --files0-from=LIST\n{OPTIONS}"
    )
}

/// The text of `--version`; `program` is the name that was called.
pub fn version(program: &str) -> String {
    format!("{program} (xsort) {}\nSorts lines as GNU sort does.\n", env!("CARGO_PKG_VERSION"))
}

const OPTIONS: &str = "\
Sort the lines of all FILEs together and print them. Without a FILE, or where FILE is -, read \
standard input.
A long option's argument is also its short one's.

How lines compare:
  -b, --ignore-leading-blanks   leave out the blanks before a key
  -d, --dictionary-order        see only blanks, letters and digits
  -f, --ignore-case             see lower case as upper case
  -g, --general-numeric-sort    by floating-point numbers: 1e3, 0x1p4, inf
  -h, --human-numeric-sort      by numbers with a suffix: 2K before 1M
  -i, --ignore-nonprinting      see only characters that can be printed
  -M, --month-sort              by names of months; anything else before January
  -n, --numeric-sort            by numbers of any length
  -R, --random-sort             by a hash: at random, but equal keys together
  -r, --reverse                 the other way round
      --sort=WORD               by numeric, general-numeric, human-numeric, month, random or version
  -V, --version-sort            by numbers within text, as in versions

Which part of a line compares:
  -k, --key=KEY                 a part of the line, and how it compares; several keys decide one \
after another
  -t, --field-separator=CHAR    fields lie between CHARs, instead of beginning where blanks do

A KEY is START[,END]: from START to the end of END, or to the end of the line. Both are \
FIELD[.CHARACTER][LETTERS],
counted from 1; an END without a character, or with character 0, is the whole field. The LETTERS \
bdfghiMnRrV are the
options above for this key; a key without any has those given outside keys. Without -t and b, \
the blanks before a field
belong to it. Without a KEY the whole line compares. --debug shows what does.

What is done:
  -c, --check[=diagnose-first]  only see whether the input is sorted, and name the first line \
that isn't
  -C, --check=quiet             the same, without a word (also --check=silent)
  -m, --merge                   merge inputs that are sorted already
  -o, --output=FILE             write to FILE, which may be an input
  -s, --stable                  leave lines with equal keys in the order of the input
  -u, --unique                  print one of several lines with equal keys; with -c, there may \
be none
  -z, --zero-terminated         lines end with NUL
      --debug                   mark the keys of each line, and warn of what may not be meant
      --files0-from=LIST        read the files whose names are in the file LIST, each ended by NUL
      --random-source=FILE      take the random bytes for -R from FILE

What it takes:
  -S, --buffer-size=SIZE        memory: a number of KiB, or with one of % b K M G T P E Z Y
  -T, --temporary-directory=DIR where scratch goes instead of $TMPDIR or /tmp; may be repeated
      --batch-size=N            merge at most N inputs at once
      --compress-program=PROG   compress scratch: with LZ4 if PROG is called so, else with \
Zstandard; PROG isn't run
      --parallel=N              use at most N threads

What GNU sort doesn't have:
      --bandwidth-limit=RATE    move at most RATE bytes a second, in all: 200M, 1.5G, 100MB
      --check-output            compare count and checksum of the lines read and written: sorts \
always do
      --checkpoint              keep what is finished in hidden files (with -o), so that \
--resume can go on after a crash
      --checkpoint-every=S      make what is new in them durable every S seconds (1)
      --color[=WHEN]            colours of the progress bar: auto (on a terminal, without \
NO_COLOR), always, never
      --compress=lz4|zstd       compress scratch without another program
      --count-links             with --recursive, read a file of several names (hard links) \
under each of them
      --decompress              decompress inputs that are gzip, Zstandard or LZ4 as they are \
read; refuse what others compressed
      --dry-run                 only print what would be done
      --header[=N]              leave the first N lines (1) where they are
      --json                    a report for machines, as JSON on standard error
      --memory=SIZE             memory, as in the other commands: 1G, 1GB, 1GiB, or 50% of what is \
available
      --progress[=WHEN]         show how far it is on standard error: auto (if somebody watches \
it on a terminal), always, never
  -q, --quiet                   nothing but errors on standard error (-q not if called sort)
      --recursive               read all regular files below directories, by their paths: sort \
--recursive logs > all
      --restart                 throw away what an interrupted sort to this output has kept, and \
begin anew
      --resume                  go on with an interrupted sort to this output, or begin with \
--checkpoint
      --scratch=DIR             the same as -T
      --temperature-limit=C     pause scratch while a drive is hotter than C degrees Celsius
  -j, --threads=N               use at most N threads; 0: as many as processors (-j not if called \
sort)
      --top N                   print only the first N lines of the output
  -v, --verbose                 report on standard error what was sorted, how fast, and what \
was checked (-v not if called sort)

      --help                    print this
      --version                 print the version

The locale (LC_ALL and the like) decides how text compares; with LC_ALL=C it compares by bytes.
The status is 0, with -c 1 if the input isn't sorted, and 2 after an error.
";

#[cfg(test)]
mod tests {
    use super::super::options::option_names;
    use super::*;

    #[test]
    fn every_option_is_there() {
        let text = help("sort");
        for name in option_names() {
            let is_there = text.match_indices(&format!("--{name}")).any(|(at, found)| {
                !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
            });
            assert!(is_there, "--{name}");
        }
    }
}

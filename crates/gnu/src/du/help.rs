//! What `--help` and `--version` print: examples, the options of GNU du in our own words, and ours
//! beside them.

/// The text of `--help`; `program` is the name that was called.
pub fn help(program: &str) -> String {
    let examples = EXAMPLES.replace("{program}", program);
    format!(
        "Usage: {program} [OPTION]... [FILE]...\n   \
         or: {program} [OPTION]... --files0-from=LIST\n{examples}{OPTIONS}"
    )
}

/// The text of `--version`; `program` is the name that was called.
pub fn version(program: &str) -> String {
    format!(
        "{program} (xsort) {}\nCounts the space of files as GNU du does.\n",
        env!("CARGO_PKG_VERSION")
    )
}

const EXAMPLES: &str = "\
Print the space on the drive that each FILE (.) and all directories in it take, each file once.

Examples:
  {program} -sh /var              all of /var, as people read it
  {program} -h -d1 /var           and each directory right in it
  {program} -ah --top=20 .        the twenty largest of all files and directories
  {program} -h --tree /usr         two levels as a tree, with bars
  {program} -xs --skip-pseudo /   the file system of /, nothing that is mounted in it
  {program} --json -d0 /srv       bytes allocated and apparent, files and errors, for machines

";

const OPTIONS: &str = "\
A long option's argument is also its short one's.

What is counted:
  -A, --apparent-size           bytes that can be read, instead of the blocks that hold them
      --inodes                  files, instead of space
  -b, --bytes                   the same as --apparent-size --block-size=1
  -D, --dereference-args, -H    follow symbolic links that are FILEs
  -L, --dereference             follow all symbolic links
  -P, --no-dereference          follow none (as without any of these)
  -l, --count-links             count a file with several links at each of them
  -x, --one-file-system         leave out directories on other file systems than their FILE's
      --exclude=PATTERN         leave out files that a shell's PATTERN matches, from any slash on
  -X, --exclude-from=LIST       leave out what a pattern in LIST matches, one a line
      --files0-from=LIST        count the FILEs whose names are in LIST, each ended by NUL

What is printed:
  -a, --all                     lines for files too, not only for directories
  -c, --total                   a last line for all together
  -d, --max-depth=N             lines only for what is N levels below its FILE or fewer
  -s, --summarize               only a line for each FILE, the same as -d0
  -S, --separate-dirs           directories without their subdirectories
  -t, --threshold=SIZE          only what has SIZE or more; if it is negative, what has so much \
or less
      --time[=WORD]             the newest time of change in it, or WORD: atime, access, use, \
ctime, status
      --time-style=STYLE        full-iso, long-iso, iso or +FORMAT as for date
  -0, --null                    lines end with NUL

How sizes are printed:
  -B, --block-size=SIZE         in units of SIZE
  -h, --human-readable          short: 1K, 234M, 2G
      --si                      short, in powers of 1000
  -k, -m                        the same as --block-size=1K, --block-size=1M

A SIZE is a number, a unit, or both: K, M, G, T, P, E, Z, Y and KiB are powers of 1024, kB, MB \
powers of 1000. Printed sizes are rounded
up. Without an option DU_BLOCK_SIZE, BLOCK_SIZE or BLOCKSIZE say the unit, else it is 1024 \
bytes, with POSIXLY_CORRECT 512.

What GNU du doesn't have:
      --color[=WHEN]            colours: auto (on a terminal, without NO_COLOR), always, never
      --json                    one JSON document: bytes allocated and apparent, files, errors
      --progress[=WHEN]         show how far it is on standard error: auto (if somebody watches \
it on a terminal), always, never
  -q, --quiet                   no progress (-q not if called du)
      --skip-pseudo             don't enter file systems without data of their own (/proc, /sys \
and the like); -x enters no other at all
      --sort=size|name          the largest first, or by name
  -j, --threads=N               use at most N threads, 0 for as many as help; with one, lines \
come in GNU du's order (-j not if called du)
      --top=N                   only the N largest, largest first
      --tree                    a tree with bars, as wide as the terminal, with two levels \
unless -d says more

      --help                    print this
      --version                 print the version

The status is 0, or 1 if anything couldn't be counted.
";

#[cfg(test)]
mod tests {
    use super::super::options::option_names;
    use super::*;

    #[test]
    fn every_option_is_there() {
        let text = help("du");
        for name in option_names() {
            let is_there = text.match_indices(&format!("--{name}")).any(|(at, found)| {
                !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
            });
            assert!(is_there, "--{name}");
        }
    }
}

//! The output of `--help` and `--version`: examples, the options of GNU du in our own words, and
//! ours.

use super::options::words;
use crate::getopt::HelpPage;

/// The text of `--help`. `program` is the name that was called.
pub fn help(program: &str) -> String {
    HELP.replace("{program}", program)
}

/// The text of `--help`, in its parts.
pub fn help_page(program: &str) -> HelpPage {
    HelpPage::read(&help(program), words)
}

/// The text of `--version`. `program` is the name that was called.
pub fn version(program: &str) -> String {
    format!(
        "{program} (xsort) {}\nCounts the space of files as GNU du does.\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// The help text, for terminals of 80 columns. [`HelpPage`] describes its form.
const HELP: &str = "\
Usage: {program} [OPTION]... [FILE]...
   or: {program} [OPTION]... --files0-from=LIST
Print how much space each FILE and every directory in it takes, as GNU du does.
Each file counts once, whatever its names. Without FILE, count the current
directory.

Examples:
  {program} -sh /var              the whole of /var, in units people read
  {program} -h -d1 /var           and each directory directly in it
  {program} -ah --top=20 .        the twenty largest files and directories
  {program} -h --tree /usr        a tree with bars
  {program} -xs --skip-pseudo /   the root file system, nothing mounted on it
  {program} --json -d0 /srv       all figures, for programs
  {program} -hd1 s3://bucket/     objects of a store, by directories

What is counted:
  -A, --apparent-size           bytes of content, not of the blocks that hold it
      --inodes                  files, not space
  -b, --bytes                   the same as --apparent-size --block-size=1
  -D, --dereference-args, -H    follow symbolic links that are FILEs
  -L, --dereference             follow all symbolic links
  -P, --no-dereference          follow no symbolic links (the default)
  -l, --count-links             count a file once for each of its hard links
  -x, --one-file-system         stay on the file system of each FILE
      --exclude=PATTERN         leave out files that match the shell's PATTERN
  -X, --exclude-from=LIST       leave out files that match a pattern in LIST;
                                each pattern is a line
      --files0-from=LIST        read the FILEs' names from LIST; each ends with
                                NUL

What is printed:
  -a, --all                     files too, not only directories
  -c, --total                   a last line with the sum
  -d, --max-depth=N             only what is at most N levels below its FILE
  -s, --summarize               only each FILE; the same as -d0
  -S, --separate-dirs           directories without their subdirectories
  -t, --threshold=SIZE          only what has at least SIZE, or at most if SIZE
                                is negative
      --time[=WORD]             also the time of the newest change below it, or
                                the newest WORD: atime, access or use; ctime or
                                status
      --time-style=STYLE        print times as full-iso, long-iso, iso, or
                                +FORMAT as date does
  -0, --null                    end lines with NUL instead of a newline

How sizes are printed:
  -B, --block-size=SIZE         in units of SIZE
  -h, --human-readable          with a unit, in powers of 1024: 1K, 234M, 2G
      --si                      with a unit, in powers of 1000
  -k                            the same as --block-size=1K
  -m                            the same as --block-size=1M

A SIZE is a number, a unit, or both: K, M, G, T, P, E, Z, Y and KiB, MiB, ...
are powers of 1024; kB, MB, ... are powers of 1000. Sizes are rounded up. The
default unit is 1024 bytes, or 512 with POSIXLY_CORRECT.

What GNU du doesn't have:
      --color[=WHEN]            use colours: auto (on a terminal unless NO_COLOR
                                is set), always or never
      --json                    print one JSON document with all figures and
                                errors
      --progress[=WHEN]         show progress on standard error: auto (if it is
                                a terminal), always or never
  -q, --quiet                   show no progress (-q not if called du)
      --report=FILE             write a page about what was counted to FILE: a
                                map and a table of the largest (HTML)
      --skip-pseudo             don't enter file systems that hold no data, such
                                as /proc and /sys
      --sort=size|name          print the largest first, or sort by name
  -j, --threads=N               use at most N threads, or as many as help if N
                                is 0; with one, lines come in GNU du's order
                                (-j not if called du)
      --top=N                   print only the N largest, the largest first
      --tree                    draw a tree with bars, two levels deep unless -d
                                is given; on a terminal, as large as it unless
                                --top is given

Help:
      --help                    print this help
      --version                 print the version

Environment:
  DU_BLOCK_SIZE, BLOCK_SIZE, BLOCKSIZE
                      the unit of sizes; the first that is set counts
  LC_ALL, LANG        the locale of figures, times and names
  NO_COLOR            if set, --tree has no colour
  POSIXLY_CORRECT     if set, the unit is 512 bytes, and options end at the
                      first FILE
  TIME_STYLE          a STYLE for --time
  TZ                  the time zone of times
  XSORT_STATUS        off: don't publish the job's status
  XSORT_STATUS_DIR    directory for the job's status

Exit status:
  0  everything was counted
  1  something could not be counted, or the command line is wrong
";

#[cfg(test)]
mod tests {
    use super::super::options::OPTIONS;
    use super::*;
    use crate::getopt::differences;

    #[test]
    fn every_option_is_described() {
        assert_eq!(differences(&help_page("du"), &OPTIONS), [""; 0]);
    }

    #[test]
    fn it_fits_80_columns() {
        let text = help("xsort du");
        assert_eq!(text.lines().find(|line| line.len() > 80), None);
    }
}

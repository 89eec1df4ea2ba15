//! The texts of `--help` and `--version`: examples, the options of GNU sort in our own words, and
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
    format!("{program} (xsort) {}\nSorts lines as GNU sort does.\n", env!("CARGO_PKG_VERSION"))
}

/// The help text, for terminals of 80 columns. [`HelpPage`] describes its form.
const HELP: &str = "\
Usage: {program} [OPTION]... [FILE]...
   or: {program} [OPTION]... --files0-from=LIST
Sort the lines of all FILEs together and print them, as GNU sort does.
Without FILE, or if FILE is -, read standard input.

Examples:
  {program} big.txt -o sorted.txt
                      sort a file of any size
  {program} -t, -k2,2n --header data.csv
                      sort by the number in column 2; the first line stays
  {program} --top=10 -k3,3nr results
                      print the ten lines with the largest third field
  {program} --recursive --decompress -S 1G logs -o all
                      sort a tree of files, also compressed ones, in 1 GiB
  {program} --record-lines=4 -k1,1V reads.fastq.gz -o sorted.fastq.gz
                      sort records of four lines by their first lines
  {program} -c big.txt
                      check whether a file is sorted
  tail -f log | {program} -k1,1n --within=10s
                      sort a log by its times in seconds, as it grows

How lines are compared:
  -b, --ignore-leading-blanks   ignore blanks before a key
  -d, --dictionary-order        compare only blanks, letters and digits
  -f, --ignore-case             treat lower case as upper case
  -g, --general-numeric-sort    compare floating-point numbers: 1e3, 0x1p4, inf
  -h, --human-numeric-sort      compare numbers with a suffix: 2K, then 1M
  -i, --ignore-nonprinting      compare only printable characters
  -M, --month-sort              compare names of months; any other text is first
  -n, --numeric-sort            compare numbers with any number of digits
  -R, --random-sort             random order, but equal keys together
  -r, --reverse                 reverse the order
      --sort=WORD               the same as the option of this name:
                                general-numeric, human-numeric, month, numeric,
                                random or version
  -V, --version-sort            compare version numbers within text

What part of a line is compared:
  -k, --key=KEY                 compare this part; repeat for further keys, each
                                of which decides between lines with equal ones
  -t, --field-separator=CHAR    CHAR separates fields; otherwise a field begins
                                with the blanks before it

A KEY is START[,END]: from START to the end of END, or to the end of the line.
Both are FIELD[.CHARACTER][LETTERS], counted from 1; an END without CHARACTER
includes its whole field. The LETTERS bdfghiMnRrV are the options above, for
this key only; a key without LETTERS has the options given outside keys. Without
a KEY the whole line is compared. --debug shows what is compared.

With --record-lines, --record-begins or --record-ends-blank, a KEY is in the
first line of a record, and these are KEYs, too: L2.START[,END] in line 2, L2 or
L2LETTERS for all of it, L2- for it and all after it, joined; length, length(L2)
or length(L2-) (the number of bytes, r after it), and /REGEX/LETTERS, what the
first group finds, or all of REGEX without a group.

What to do:
  -c, --check[=WORD]            sort nothing; check whether the input is sorted.
                                diagnose-first, the default, prints the first
                                line out of order; quiet and silent print none
  -C                            the same as --check=quiet
  -m, --merge                   merge inputs that are sorted already
  -o, --output=FILE             write to FILE, which may be one of the inputs; -
                                is standard output (a file if called sort)
  -s, --stable                  keep the input's order of lines with equal keys
  -u, --unique                  print only the first of lines with equal keys;
                                with -c, check that there are no equal ones
  -z, --zero-terminated         lines end with NUL instead of a newline
      --debug                   underline what is compared, and warn about keys
                                that may not do what was meant
      --files0-from=LIST        read the inputs' names from LIST; each ends with
                                NUL
      --random-source=FILE      take the random bytes for -R from FILE

Memory, scratch and threads:
  -S, --buffer-size=SIZE        use this much memory: a number of KiB, or with a
                                suffix %, b, K, M, G, T, P, E, Z or Y
  -T, --temporary-directory=DIR put scratch files into DIR instead of $TMPDIR or
                                /tmp; repeat to use several at once
      --batch-size=N            accepted; has no effect
      --compress-program=PROG   compress scratch files: with LZ4 if PROG is lz4,
                                otherwise with Zstandard; PROG isn't run
      --parallel=N              use at most N threads

What GNU sort doesn't have:
      --allow-empty             with --recursive, a directory or a prefix of
                                objects may have nothing below it; otherwise
                                that is an error
      --bandwidth-limit=RATE    read and write at most RATE bytes a second in
                                all: 200M, 1.5G, 100MB
      --check-output            compare count and checksum of the lines read and
                                written; a sort always does
      --checkpoint              keep finished work in hidden files, so that
                                --resume can continue after a crash; needs -o
      --checkpoint-every=S      make new work durable every S seconds (1)
      --color[=WHEN]            use colours in the progress bar: auto (on a
                                terminal, unless NO_COLOR is set), always, never
      --compress=HOW            compress scratch files: auto, lz4, zstd or none;
                                with auto only where threads wait for the drive
      --compress-output=HOW     compress the output: bgzip (gzip in blocks, for
                                tabix), gzip, lz4, zstd or none; without this,
                                xsort lines (not sort) goes by the end of -o's
                                FILE: .gz, .lz4, .zst, and for bgzip .bgz or,
                                before .gz, .bed, .fastq, .fq, .gff, .gff3,
                                .gtf, .pairs, .sam or .vcf; it refuses endings
                                such as .xz, which it can't write
      --count                   with -u, print before each line how many equal
                                ones there are, as uniq -c does
      --count-links             with --recursive, read a file with several hard
                                links once for each of them
      --decompress              decompress inputs in gzip, Zstandard or LZ4
                                format; refuse other compressed inputs; xsort
                                lines (not sort) always does
      --dry-run                 only print what would be done
      --header[=N]              leave the first N lines (1) in place
      --header-prefix=TEXT      leave the first lines in place that begin with
                                TEXT
      --in-place                write over -o's file, which keeps its inode and
                                hard links, instead of replacing it by a new one
                                once that is whole; sort always does
      --index-columns=COLUMNS   with --write-index, where a row's position is:
                                bed, gff, pairs, sam, vcf, or the numbers of the
                                columns SEQUENCE,BEGIN[,END], separated by tabs,
                                with :0 after them if the first base is 0 as in
                                BED; otherwise -o's FILE tells the format
      --json                    print a report as JSON on standard error
      --late=FILE               with --within, write lines that come too late to
                                FILE; otherwise the first one is an error
      --memory=SIZE             use this much memory, written as for the other
                                commands: 1G, 1GB, 1GiB, or 50% of what is
                                available
      --min-shift=N             with --write-index, write csi with smallest bins
                                of 2^N bases (14)
      --no-clobber              with -o, refuse to replace a file or an object
      --no-decompress           take compressed inputs as they are; sort always
                                does
      --no-quotes               sort lines of .csv files that end within quotes,
                                onto the file itself, too; xsort lines (not
                                sort) says that their rows are torn, and refuses
                                that: 'xsort table' keeps rows whole
      --no-sync                 don't wait until -o's file is safe against a
                                power cut; sort never does
      --order=KEY=FILE          compare by KEY, names that come in the order of
                                FILE: a name in each line, .fai, .genome or
                                .dict; other names come last
      --progress[=WHEN]         show progress on standard error: auto (if it is
                                a terminal), always or never
  -q, --quiet                   print only errors (-q not if called sort)
      --record-begins=TEXT      sort records of several lines: one begins with
                                each line that begins with TEXT; or, if TEXT is
                                /REGEX/, with each line in which REGEX matches.
                                Lines before the first are a record, too
      --record-ends-blank       sort records of several lines, which end with a
                                blank line, or several
      --record-lines=N          sort records of N lines each
      --recursive               read all regular files below each directory, in
                                the order of their paths
      --report=FILE             write a page about the run to FILE: what took
                                the time, and why (HTML)
      --restart                 discard what an interrupted sort to this output
                                has finished, and begin anew with --checkpoint
      --resume                  continue an interrupted sort to this output, or
                                begin one with --checkpoint
      --s3-connections=N        make N requests to object stores at once
      --s3-part-size=SIZE       write objects in parts of SIZE, 5M to 5G
      --scratch=DIR             the same as -T
      --seed=N                  the same N gives the same order; needs --shuffle
      --shuffle                 put all lines in a random order, equal ones too
      --sorted-by=KEY           the lines are in the order of KEY, which is also
                                the first -k (repeat for others): check that,
                                and print lines with equal KEYs, sorted, as soon
                                as the next KEY comes
      --temperature-limit=C     pause scratch I/O while a drive is hotter than
                                C degrees Celsius
  -j, --threads=N               use at most N threads, or as many as processors
                                if N is 0 (-j not if called sort)
      --top=N                   print only the first N lines, after a header
      --trace=FILE              write what each thread did over time to FILE, in
                                Chrome's trace format
  -v, --verbose                 report on standard error what was sorted, how
                                fast, and what was checked (-v not if called
                                sort)
      --verify-output           read an object that was written, and compare it
                                with what was sent
      --within=N                the lines are nearly in order: print each when
                                no other can come before it. N is by how many
                                lines one may come late (5000, 100k, 2M), or by
                                which time its first key may (90s, 10m, 12h),
                                a number (-n) of seconds
      --write-index[=FORM]      also write an index of the output, FILE.tbi or
                                .csi, for tabix: tbi, csi, or auto, tbi if all
                                positions are to 512 Mbp; or gzi, of the blocks
                                only; the output is compressed as by bgzip

Help:
      --help                    print this help
      --version                 print the version

Environment:
  LC_ALL, LC_COLLATE, LC_CTYPE, LC_NUMERIC, LC_TIME, LANG
                      the locale, which decides how text is compared; LC_ALL=C
                      compares bytes and is much faster
  POSIXLY_CORRECT     if set, options end at the first FILE
  _POSIX2_VERSION     from 200112 to 200808, +1 is a FILE and not a key
  TMPDIR              directory for scratch files without -T
  XSORT_STATUS        off: don't publish the job's status
  XSORT_STATUS_DIR    directory for the job's status

Exit status:
  0  done; with -c or -C, the input is sorted
  1  with -c or -C, the input is not sorted
  2  an error
";

#[cfg(test)]
mod tests {
    use super::super::options::OPTIONS;
    use super::*;
    use crate::getopt::differences;

    #[test]
    fn every_option_is_described() {
        // `-y` does nothing; `--compress` is read as an abbreviation.
        assert_eq!(
            differences(&help_page("sort"), &OPTIONS),
            ["only the text has --compress", "the text lacks -y"]
        );
    }

    #[test]
    fn it_fits_80_columns() {
        let text = help("xsort lines");
        assert_eq!(text.lines().find(|line| line.len() > 80), None);
    }
}

//! `xsort lines` and `sort` in scripts: the same scripts with the installed GNU sort must have the
//! same output, messages, files and statuses.

use crate::sandbox::{Sandbox, clean, program};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use xsort_testing::surroundings::without_descriptors;
use xsort_testing::{gnu, quick_or_long};

/// The outcome of a script.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The contents of all files after the script; a hash for long ones.
    files: BTreeMap<String, String>,
}

/// Runs a script of sh in a new directory with `files`. There, `sort` is xsort or the installed GNU
/// sort.
pub(crate) fn run(script: &str, files: &[(&str, Vec<u8>)], is_ours: bool) -> Outcome {
    run_in(&["sh", "-c", script], &[("LC_ALL", "C")], files, is_ours)
}

/// Runs a command in a new directory with `files`, in an environment of `PATH` and these variables
/// only.
pub(crate) fn run_in(
    command: &[&str],
    variables: &[(&str, &str)],
    files: &[(&str, Vec<u8>)],
    is_ours: bool,
) -> Outcome {
    let directory = Directory::with(files);
    let mut path = std::env::var("PATH").unwrap();
    if is_ours {
        path = PROGRAMS.with(|bin| format!("{}:{path}", bin.path().display()));
    }
    // Some scripts leave only the descriptors that they need.
    let output = without_descriptors(command[0], &gnu::path(command[0]))
        .args(&command[1..])
        .current_dir(directory.sandbox.path())
        .env_clear()
        .env("PATH", path.as_str())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let outcome = Outcome {
        status: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap()),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        files: contents(&directory.sandbox),
    };
    if !command.iter().any(|word| leaves_processes(word)) {
        directory.keep_if_unchanged();
    }
    outcome
}

thread_local! {
    /// xsort's programs, under the names that scripts call.
    static PROGRAMS: Sandbox = programs();
    /// The directory of the last script, if the script only read: creating the files takes longer
    /// than sorting them.
    static UNCHANGED: Cell<Option<Directory>> = const { Cell::new(None) };
}

fn programs() -> Sandbox {
    let bin = Sandbox::new();
    symlink(program(), bin.path().join("sort")).unwrap();
    // With one thread, the order is GNU du's. The name must be, too.
    let du = format!("#!/bin/bash\nexec -a du {} --threads=1 \"$@\"\n", program().display());
    bin.write("du", du);
    set_permissions(bin.path().join("du"), Permissions::from_mode(0o755)).unwrap();
    // Scripts become other users, who would otherwise find GNU's programs instead of these.
    set_permissions(bin.path(), Permissions::from_mode(0o755)).unwrap();
    bin
}

/// True if scripts can become a user without rights who finds xsort's programs and may run them.
pub(crate) fn others_can_run_programs() -> bool {
    PROGRAMS.with(|bin| {
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        let sort = bin.path().join("sort");
        let ran = other.arg(sort).arg("--version").stdin(Stdio::null()).output();
        ran.is_ok_and(|ran| ran.status.success() && ran.stdout.starts_with(b"sort (xsort"))
    })
}

/// True if a script starts a process that may outlive it.
fn leaves_processes(script: &str) -> bool {
    let others = script.replace("&&", "").replace(">&", "").replace("<&", "").replace("&>", "");
    others.contains('&')
}

/// The directory of a script.
struct Directory {
    sandbox: Sandbox,
    files: Vec<(String, Vec<u8>)>,
    modes: Vec<[u32; 3]>,
}

impl Directory {
    fn with(files: &[(&str, Vec<u8>)]) -> Directory {
        let mut files: Vec<_> =
            files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect();
        files.sort();
        if let Some(unchanged) = UNCHANGED.take().filter(|directory| directory.files == files) {
            return unchanged;
        }
        let sandbox = Sandbox::new();
        files.iter().for_each(|(name, bytes)| sandbox.write(name, bytes));
        let mut made = Directory { sandbox, files, modes: Vec::new() };
        made.modes = made.modes_now();
        made
    }

    fn keep_if_unchanged(self) {
        let names = self.files.iter().map(|(name, _)| name);
        if names.eq(&self.sandbox.names())
            && self.modes_now() == self.modes
            && self.files.iter().all(|(name, bytes)| self.sandbox.read(name) == *bytes)
        {
            UNCHANGED.set(Some(self));
        }
    }

    /// Mode and owner of the directory and of each file.
    fn modes_now(&self) -> Vec<[u32; 3]> {
        let names = std::iter::once(".").chain(self.files.iter().map(|(name, _)| &name[..]));
        let metadata = names.map(|name| fs::symlink_metadata(self.sandbox.path().join(name)));
        metadata.flatten().map(|now| [now.mode(), now.uid(), now.gid()]).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\n", "\n").replace("\\'", "'")
}

fn contents(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let names = sandbox.names().into_iter().filter(|name| sandbox.path().join(name).is_file());
    let content = |name: &str| match sandbox.read(name) {
        long if long.len() > 1000 => sandbox.sha256(name),
        short => text(&short),
    };
    names.map(|name| (name.clone(), content(&name))).collect()
}

/// The files that scripts find in their directory.
pub(crate) fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("few", b"pear 3\napple 10\nfig 2\napple 9\n\nfig 2\n".to_vec()),
        ("sorted", b"a\nb\nb\nd\n".to_vec()),
        ("other", b"B\nC\nb\ne".to_vec()),
        ("open", b"no\nend".to_vec()),
        ("empty", Vec::new()),
        ("nul", b"b\nx\0a\0\0b\n\0c".to_vec()),
        ("keys", b"x:3:m\ny:1:n\nz:3:a\nw::\nv:2\n".to_vec()),
        (
            "many",
            (0..60_000).flat_map(|n| format!("{}\n", n * 7919 % 60_000).into_bytes()).collect(),
        ),
        ("sixteen", b"0123456789abcdefgh".to_vec()),
    ]
}

/// Scripts that succeed, and scripts that are refused.
const SCRIPTS: &[&str] = &[
    // Inputs.
    "sort few",
    "sort <few",
    "cat few | sort",
    "cat few | sort -",
    "sort few sorted other open",
    "sort open open",
    "sort few - other <sorted",
    "sort - - <few",
    "cat many | sort - few -",
    "sort few few",
    "sort empty",
    "sort empty empty open",
    "sort /dev/null",
    "sort many | cksum",
    "sort -n many | cksum",
    "cat many many | sort -rn | cksum",
    "(read line; sort) <many | cksum",
    "mkfifo pipe; cat few >pipe & sort pipe; wait; rm pipe",
    "sort -- few",
    "sort few -r",
    "cp few ./-file; sort -- -file",
    // Orders.
    "sort -r few",
    "sort -u few sorted",
    "sort -uf sorted other",
    "sort -f sorted other",
    "sort -s -k1,1 few",
    "sort -k2n few",
    "sort -k2,2nr -k1,1 few",
    "sort -t: -k2,2n -k3 keys",
    "sort -t: -k2,2 -u keys",
    "sort -t: -k2,2 -s -r keys",
    "sort -z nul | od -c",
    "sort -zu nul | od -c",
    "sort -R --random-source=sixteen few",
    "sort -Ru --random-source=sixteen few | sort",
    "sort -R few | sort",
    "sort -R many | uniq | wc -l",
    "sort -V few; sort -h few; sort -g few; sort -M few; sort -d few; sort -i few; sort -b few",
    "sort +1 -2 few",
    // Outputs.
    "sort few -o out",
    "sort few -o few",
    "sort -o few few sorted",
    "sort -o out empty",
    "echo long old content >out; sort -o out sorted",
    "echo old >out; sort -o out missing",
    "sort <few -o few",
    "sort -n many -o many",
    "sort few >>sorted",
    "sort sorted - sorted -o sorted <other",
    "sort -mu sorted - -o sorted <sorted",
    "mkfifo pipe; cat pipe >out & sort few -o pipe; wait; rm pipe",
    "umask 027; sort few -o new; stat -c %a new; chmod 600 few; sort few -o few; stat -c %a few",
    "echo old >out; sort -c sorted; sort -u sorted -o out",
    "ln -s out link; sort few -o link",
    "sort few -o /dev/null",
    "sort few -o /dev/stdout",
    "sort few -o /missing/out",
    "mkdir d; sort few -o d",
    "(sort many; echo $? >status) | head -1",
    "(sort -m many; echo $? >status) | head -1",
    // Checks.
    "sort -c few; echo $?",
    "sort -C few; echo $?",
    "sort -c sorted; sort -C sorted; sort --check=quiet sorted",
    "sort -c <few",
    "sort -c empty",
    "sort -cu sorted",
    "sort -cs -k1,1 few",
    "sort -cr many",
    "sort -cn many",
    "sort -cz nul",
    "cp few 'a b'; sort -c 'a b'",
    "sort -c few sorted",
    "sort -c -o out few",
    "sort -c missing",
    "mkdir d; sort -c d",
    // Merges.
    "sort -m sorted",
    "sort -m sorted sorted",
    "sort -f other >o; sort -f -m sorted o",
    "sort -mu sorted sorted",
    "sort -m open empty",
    "sort -m - sorted <sorted",
    "sort -m sorted sorted -o sorted",
    "sort -m <sorted -o sorted",
    "sort -ms -k1,1 sorted sorted",
    "sort many >m; sort -m m m m | cksum; sort -mu m m m | cksum",
    "for i in $(seq 40); do seq $i 3 200 | sort >m$i; done; sort -m --batch-size=5 m? m?? | cksum",
    "for i in $(seq 40); do seq $i 3 200 >m$i; done; ulimit -n 24; sort -n -m m? m?? | cksum",
    "sort -m missing sorted",
    "sort -m sorted missing -o out",
    "mkdir d; sort -m d",
    // Lists of inputs.
    "printf 'few\\0sorted\\0' | sort --files0-from=-",
    "printf 'few\\0sorted' | sort --files0-from=-",
    "printf 'few\\0sorted' >list; sort --files0-from=list",
    "printf 'few\\0\\0' | sort --files0-from=-",
    "printf '\\0' | sort --files0-from=-",
    "printf 'few\\0-\\0' | sort --files0-from=-",
    "printf 'few\\0missing\\0' | sort --files0-from=-",
    "printf 'few\\0sorted\\0' | sort -c --files0-from=-",
    "sort --files0-from=- few",
    "sort --files0-from=empty",
    "sort --files0-from=missing",
    "sort --files0-from=missing -nd; sort --files0-from=missing -co out; sort -k0 --files0-from=x",
    "sort --files0-from=few -nd; sort --files0-from=empty -nd; mkdir d; sort --files0-from=d -nM",
    "printf 'few\\0\\0' | sort -nd --files0-from=-",
    "printf 'few\\0other' | sort -cnd --files0-from=-",
    "printf 'few\\0' | sort -co out --files0-from=-; printf few | sort --debug -c --files0-from=-",
    "mkdir d; sort --files0-from=d",
    "cp empty 'a b'; sort --files0-from='a b'; printf '\\0' >'a b'; sort --files0-from='a b'",
    // Files that can't be read, and options that can't be parsed.
    "sort missing",
    "sort few missing >out",
    "sort 'a b' few",
    "sort 'a:b'",
    "sort \"it's\"",
    "sort ''",
    "mkdir d; sort d",
    "mkdir d; sort few d",
    "mkdir d; sort <d",
    "mkdir d; sort -c <d",
    "mkdir d; sort -m sorted - <d",
    "sort -R --random-source=missing few",
    "sort -R --random-source=empty few",
    "mkdir d; sort -R --random-source=d few",
    "sort --random-source=missing few",
    "sort -k0 few",
    "sort -nd few",
    "sort --frobnicate",
    "sort -x",
    "sort -o a -o b few",
    "sort -S x few",
    "sort --parallel=0 few",
    "sort --batch-size=1 few",
    "sort --check=loud few",
    // Resources.
    "sort -S 1 few",
    "sort -S 1E few",
    "cat many | sort -S 2t | cksum",
    "(cat few; sleep 0.3; cat sorted) | sort -S 1E",
    "sort -m -S 1E sorted sorted",
    "sort -S 5% --parallel=3 few",
    "sort -S 10M -T . -T /tmp many | cksum",
    "sort -T /missing few",
    "TMPDIR=/missing sort few",
    "sort --compress-program=gzip few",
    // Locales.
    "LC_ALL=C.UTF-8 sort few",
    "LC_ALL=no_SUCH sort few",
    "LC_ALL=no_SUCH sort --debug few",
    "LC_ALL=C.UTF-8 sort -f other sorted",
    "LC_ALL=C.UTF-8 sort 'é' 'ü'",
    "LC_ALL=C.UTF-8 sort 'é a'",
    "LC_ALL=C.UTF-8 sort -S x few",
    "LC_ALL=C.UTF-8 sort --debug few",
    // Marks.
    "sort --debug few",
    "sort --debug -t: -k2,2n keys",
    "sort --debug -b -k2r few",
    "sort --debug -m sorted",
    "sort --debug -z nul",
    "sort --debug -u -k1,1 few",
    "sort --debug few -o out",
];

#[test]
fn scripts_cannot_tell_it_from_gnu_sort() {
    if !gnu::has("sort") {
        return;
    }
    let files = files();
    let differ = |script: &&str| {
        let (ours, gnus) = (run(script, &files, true), run(script, &files, false));
        (ours != gnus).then(|| format!("{script}\nours:  {ours:?}\nGNU's: {gnus:?}\n"))
    };
    let different: Vec<String> = SCRIPTS.iter().filter_map(differ).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn scratch_that_cannot_be_is_told() {
    let outcome =
        run("cat many many many many many many many many | sort -S 2M -T /missing", &files(), true);
    let told = "sort: cannot create temporary file in '/missing': No such file or directory\n";
    assert_eq!((outcome.status, outcome.stderr.as_str()), (2, told));
}

/// Messages begin with the name by which the program was called.
#[test]
fn it_speaks_under_the_name_that_was_called() {
    let sandbox = Sandbox::new();
    sandbox.write("few", "b\na\n");
    assert_eq!(sandbox.ok("lines few"), "a\nb\n");
    assert_eq!(sandbox.ok("lines -- few"), "a\nb\n");
    let missing = sandbox.run("lines missing");
    assert_eq!(missing.stderr, "xsort lines: cannot read: missing: No such file or directory\n");
    assert_eq!(missing.code, Some(2));
    let unknown = sandbox.run("lines -x").stderr;
    assert!(unknown.ends_with("\nTry 'xsort lines --help' for more information.\n"), "{unknown}");
    let disorder = sandbox.run("lines -c few");
    assert_eq!(
        (disorder.code, disorder.stderr.as_str()),
        (Some(1), "xsort lines: few:2: disorder: a\n")
    );
    assert!(sandbox.ok("lines --help").starts_with("Usage: xsort lines [OPTION]... [FILE]...\n"));
    assert!(sandbox.ok("lines --version").starts_with("xsort lines (xsort) "));
    let help = run("sort --help", &[], true);
    assert!(help.stdout.starts_with("Usage: sort [OPTION]... [FILE]...\n"), "{help:?}");
}

#[test]
fn a_header_stays_and_the_top_is_enough() {
    let sandbox = Sandbox::new();
    sandbox.write("table", "name\n----\nc\na\nb");
    sandbox.write("more", "d\n0\n");
    assert_eq!(sandbox.ok("lines --header table more"), "name\n----\n0\na\nb\nc\nd\n");
    assert_eq!(sandbox.ok("lines --header=2 --top 2 table more"), "name\n----\n0\na\n");
    assert_eq!(sandbox.ok("lines --header=9 more table"), "d\n0\n----\na\nb\nc\nname\n");
    assert_eq!(sandbox.ok("lines --top 1 -r table"), "name\n");
    sandbox.write("sorted", "head\na\nc\n");
    sandbox.write("rest", "b\n");
    assert_eq!(sandbox.ok("lines -m --header sorted rest"), "head\na\nb\nc\n");
    sandbox.write("vcf", "##version\n#chrom\n2\n1\n#odd\n");
    sandbox.write("other", "#chrom\n3\n");
    let expected = "##version\n#chrom\n#chrom\n#odd\n1\n2\n3\n";
    assert_eq!(sandbox.ok("lines --header-prefix=# vcf other"), expected);
    assert_eq!(sandbox.ok("lines --header-prefix ## --top 1 vcf"), "##version\n#chrom\n");
    assert_eq!(sandbox.ok("lines --header-prefix=x vcf"), sandbox.ok("lines vcf"));
    sandbox.ok("lines --header-prefix=# vcf -o vcf.gz");
    let merged = "##version\n#chrom\n#odd\n#chrom\n1\n2\n3\n";
    assert_eq!(sandbox.ok("lines -m --header-prefix=# vcf.gz other"), merged);
    assert_eq!(sandbox.ok("lines --header=2 table -o table"), "");
    assert_eq!(sandbox.read("table"), b"name\n----\na\nb\nc\n");
}

#[test]
fn figures_go_to_standard_error() {
    let sandbox = Sandbox::new();
    sandbox.write("few", "b\na\nb\n");
    let ended = sandbox.run("lines -u --json few");
    assert_eq!(ended.stdout, "a\nb\n");
    let report: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((&report["lines"], &report["bytes"]), (&3.into(), &6.into()));
    assert_eq!((&report["written_bytes"], &report["spilled_bytes"]), (&4.into(), &0.into()));
    assert_eq!(sandbox.run("lines --progress few").stdout, "a\nb\nb\n");
    sandbox.write("sorted", "a\nc");
    let ended = sandbox.run("lines -m --json --progress sorted sorted");
    assert_eq!(ended.stdout, "a\na\nc\nc\n");
    let report: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((&report["lines"], &report["bytes"]), (&4.into(), &8.into()));
}

/// A few lines from a pipe are sorted like a small file: by one thread, in little memory. A slow or
/// longer stream is also sorted completely.
#[test]
fn a_short_stream_is_sorted_as_a_small_file_is() {
    let sandbox = Sandbox::new();
    let sort = |writes: &str| {
        let script = format!("({writes}) | \"$0\" lines --json -j 2 -S 64M >out");
        let mut shell = clean("sh");
        shell.args(["-c", &script]).arg(program()).current_dir(sandbox.path());
        let ended = shell.output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let report: serde_json::Value = serde_json::from_slice(&ended.stderr).unwrap();
        let figure = |name: &str| report[name].as_u64().unwrap();
        (sandbox.read("out"), figure("threads"), figure("memory_bytes"))
    };
    for writes in ["printf 'b\\na\\n'", "printf 'b\\n'; sleep 0.02; printf a"] {
        let (out, threads, memory_bytes) = sort(writes);
        assert_eq!(out, b"a\nb\n", "{writes}");
        assert_eq!(threads, 1, "{writes}");
        assert!(memory_bytes < 1 << 20, "{writes}: {memory_bytes}");
    }
    assert_eq!(sort("true").0, b"");
    let (out, threads, _) = sort("printf 'b\\n'; sleep 0.5; printf a");
    assert_eq!((&out[..], threads), (&b"a\nb\n"[..], 2));
    let (out, threads, _) = sort("seq 100001 200000");
    let expected: String = (100_001..=200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!((out, threads), (expected.into_bytes(), 2));
}

/// The check finds the first line out of order with any number of threads.
#[test]
fn a_check_of_a_large_file_names_the_first_line_out_of_order() {
    let sandbox = Sandbox::new();
    let mut text: String = (100_000..900_000).map(|number| format!("{number}\n")).collect();
    sandbox.write("sorted", &text);
    for options in ["", "-n ", "-u ", "-nu "] {
        for threads in [1, 4] {
            sandbox.ok(&format!("lines -c {options}-j {threads} sorted"));
        }
    }
    for at in [7 * 790_000, 7 * 300_000, 7 * 20] {
        text.replace_range(at..at + 6, "000000");
        sandbox.write("broken", &text);
        for threads in [1, 4] {
            let ended = sandbox.run(&format!("lines -c -j {threads} broken"));
            let expected = format!("xsort lines: broken:{}: disorder: 000000\n", at / 7 + 1);
            assert_eq!((ended.code, ended.stderr), (Some(1), expected));
        }
    }
}

/// The input is larger than the memory, so that the output is written by its path where possible.
#[test]
fn an_output_that_others_write_to_keeps_what_is_theirs() {
    if !gnu::has("sort") {
        return;
    }
    let line =
        |number: u64| format!("{} and more of the same\n", number * 7_919 % 100_003).into_bytes();
    let files = [("big", (0..150_000).flat_map(line).collect::<Vec<u8>>())];
    for script in [
        "sort -S 2M big > out",
        "(sort -S 2M big; echo end) > out",
        "(echo start; sort -S 2M big) > out",
        "echo start > out; sort -S 2M big >> out; sort -S 2M -u big >> out",
        "sort -S 2M big >> out; echo end >> out",
        "cp big out; sort -S 2M -o out out; sort -S 2M big 1<> out",
    ] {
        assert_eq!(run(script, &files, true), run(script, &files, false), "{script}");
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("few", "b\na\n");
    for (line, reason) in [
        ("-m --check-output few", "option '--check-output' does nothing beside -m"),
        ("-c --top 3 few", "option '--top' does nothing beside -c"),
        ("-C --header few", "option '--header' does nothing beside -C"),
        ("-c --compress-output=gzip few", "option '--compress-output' does nothing beside -c"),
        ("-cu --count few", "option '--count' does nothing beside -c"),
        ("-c --json few", "option '--json' does nothing beside -c"),
    ] {
        let ended = sandbox.run(&format!("lines {line}"));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{line}");
        assert_eq!(ended.stderr, format!("xsort lines: {reason}\n"), "{line}");
    }
}

/// This needs only gzip. The crates themselves read what they write in the other formats (tests of
/// `decompress`); here an installed gzip writes.
#[test]
fn compressed_inputs_are_known_by_their_first_bytes() {
    let files = files();
    for (ours, gnus) in [
        ("gzip few; sort --decompress few.gz sorted", "sort few sorted"),
        ("gzip few; cat few.gz few.gz | sort --decompress", "sort few few"),
        (
            "gzip many sorted; mv sorted.gz s; sort --decompress -n s many.gz | cksum",
            "sort -n sorted many | cksum",
        ),
        (
            "gzip sorted other; sort --decompress -f -m sorted.gz - <other.gz",
            "sort -f -m sorted other",
        ),
        ("gzip sorted; sort --decompress -c sorted.gz; sort --decompress -C <sorted.gz", ""),
        ("gzip few; sort --decompress --header few.gz", "head -1 few; tail -n +2 few | sort"),
        (
            "gzip few; sort --decompress -c few.gz; echo $?",
            "echo 'sort: few.gz:2: disorder: apple 10' >&2; echo 1",
        ),
    ] {
        let (ours, gnus) = (run(ours, &files, true), run(gnus, &files, false));
        assert_eq!(
            (ours.status, &ours.stdout, &ours.stderr),
            (gnus.status, &gnus.stdout, &gnus.stderr)
        );
    }
    for option in ["", "-m ", "-c "] {
        let cut = run(
            &format!("sort many >s; gzip s; head -c 5000 s.gz >cut; sort --decompress {option}cut"),
            &files,
            true,
        );
        assert_eq!(cut.status, 2, "{cut:?}");
        assert!(cut.stderr.starts_with("sort: read failed: cut: "), "{cut:?}");
        for (spoilt, reason) in [
            ("head -c 2 s.gz", "unexpected end of file"),
            ("head -c 1 s.gz", "it is cut off"),
            (r"printf '\037\213\007'; tail -c +4 s.gz", "invalid gzip header"),
            ("cat s.gz; echo garbage", "bytes follow the gzip data"),
            (r"printf '\3757zXZ\0\0'; echo rest", "compressed by xz, which isn't read here"),
            (r"printf 'BZh91AY&SY'; echo rest", "(bzip2 -dc FILE | xsort lines)"),
        ] {
            let script = format!(
                "sort few >s; gzip s; ({spoilt}) >spoilt; sort --decompress {option}spoilt"
            );
            let ended = run(&script, &files, true);
            let is_told = ended.stderr.starts_with("sort: read failed: spoilt: ");
            assert!(
                ended.status == 2 && is_told && ended.stderr.contains(reason),
                "{reason}: {ended:?}"
            );
        }
        let padded = format!(
            "sort few >s; gzip s; head -c 999 /dev/zero >>s.gz; sort --decompress {option}s.gz"
        );
        assert_eq!(run(&padded, &files, true).status, 0, "{option}");
    }
}

/// No option is needed, except where GNU sort is expected.
#[test]
fn lines_decompress_what_is_compressed_unless_they_are_called_sort() {
    let sandbox = Sandbox::new();
    let script = |line: &str| {
        let ended = clean("sh")
            .args(["-c", line])
            .current_dir(sandbox.path())
            .env("LC_ALL", "C")
            .env("X", program())
            .output()
            .unwrap();
        (ended.status.code(), ended.stdout, text(&ended.stderr))
    };
    let numbers: String = (0..90_000).map(|n| format!("{}\n", n * 7919 % 90_000)).collect();
    sandbox.write("plain", "b\na\n");
    sandbox.write("many", &numbers);
    assert_eq!(script("gzip -nk plain many && gzip -nc many | head -c 90000 >cut.gz").0, Some(0));
    symlink(program(), sandbox.path().join("sort")).unwrap();
    for (ours, expected) in [
        ("$X lines plain.gz", "printf 'a\\nb\\n'"),
        ("$X lines <plain.gz", "printf 'a\\nb\\n'"),
        ("cat plain.gz plain.gz | $X lines", "printf 'a\\na\\nb\\nb\\n'"),
        ("cat plain.gz | $X lines plain - many.gz", "sort plain plain many"),
        ("$X lines -S 2M -n many.gz many plain.gz", "sort -n many many plain"),
        ("$X lines -m plain.gz - plain <plain.gz", "sort -m plain plain plain"),
        ("$X lines --header --top=2 plain.gz", "cat plain"),
        ("mkdir d; cp many.gz plain d; $X lines --recursive d; rm -r d", "sort many plain"),
        ("$X lines -c plain.gz 2>/dev/null; echo $?", "echo 1"),
        ("$X lines --checkpoint -S 2M plain.gz many.gz -o out; cat out", "sort plain many"),
        ("$X lines --no-decompress plain.gz", "sort plain.gz"),
        ("$X lines -c --no-decompress <plain.gz; echo $?", "echo 0"),
        ("$X lines -m --no-decompress plain.gz", "sort -m plain.gz"),
        ("./sort plain.gz; ./sort -m <many.gz", "sort plain.gz; sort -m <many.gz"),
        ("./sort --decompress plain.gz", "sort plain"),
    ] {
        assert_eq!(script(ours), script(expected), "{ours}");
    }
    for (ours, reason) in [
        ("$X lines cut.gz", "read failed: cut.gz: it isn't valid gzip to its end: "),
        ("$X lines plain - <cut.gz", "read failed: -: it isn't valid gzip to its end: "),
        ("$X lines -m plain cut.gz", "read failed: cut.gz: it isn't valid gzip to its end: "),
        ("$X lines -o plain plain cut.gz; s=$?; cmp plain kept && exit $s", "(--no-decompress "),
        (r"printf '\375\067zXZ\0....' | $X lines plain - many", "(xz -dc FILE | xsort lines)"),
    ] {
        let (status, _, told) = script(&format!("cp plain kept; {ours}"));
        assert!(status == Some(2) && told.contains(reason), "{ours}: {told}");
    }
}

/// The name of the output decides, or an option; with one thread and several, in memory and on
/// scratch.
#[test]
fn outputs_are_compressed_as_they_are_written() {
    let sandbox = Sandbox::new();
    let line = |n: u32| format!("line {} of the text\n", n.wrapping_mul(2_654_435_761) % 1_000_003);
    let text: String = (0..200_000).map(line).collect();
    sandbox.write("text", format!("head\n{text}"));
    sandbox.ok("lines --header text -o expected");
    for (ending, codec, reads) in [
        ("gz", "gzip", "gzip -dc"),
        ("bgz", "bgzip", "bgzip -dc"),
        ("zst", "zstd", "zstd -dc"),
        ("lz4", "lz4", "lz4 -dc"),
    ] {
        let compressed = format!("out.{ending}");
        for options in ["-S 2M", "-S 64M --parallel=2", "-m -S 64M"] {
            let input = if options.starts_with("-m") { "expected" } else { "text" };
            sandbox.ok(&format!("lines --header {options} {input} -o {compressed}"));
            let is_smaller =
                sandbox.read(&compressed).len() * 3 / 2 < sandbox.read("expected").len();
            assert!(is_smaller, "{options} {compressed}");
            sandbox.ok(&format!("lines --header -m {compressed} -o back"));
            assert_eq!(
                sandbox.sha256("back"),
                sandbox.sha256("expected"),
                "{options} {compressed}"
            );
        }
        let script = format!(
            "$X lines --header --compress-output={codec} <text >out && \
             ln -sf $X sort && ./sort expected -o plain.{ending} && \
             ./sort expected -o kept --compress-output={codec} && ! cmp -s kept plain.{ending} && \
             $X lines --compress-output=none expected | cmp plain.{ending} && \
             $X lines --compress-output={codec} /dev/null >empty && test -s empty && \
             test -z \"$($X lines empty)\" && \
             if command -v {codec} >/dev/null; then \
             {reads} out | cmp - expected && {reads} empty; fi"
        );
        let ended = clean("sh")
            .args(["-ec", &script])
            .current_dir(sandbox.path())
            .env("X", program())
            .output()
            .unwrap();
        assert!(ended.status.success() && ended.stdout.is_empty(), "{codec}: {ended:?}");
    }
    sandbox.ok("lines -u --top=2 out.gz -o out.gz");
    assert_eq!(sandbox.ok("lines out.gz"), "head\nline 0 of the text\n");
    let refused = sandbox.run("lines --checkpoint text -o out.gz");
    let told = "xsort lines: a sort that can be resumed doesn't compress its output \
                (--compress-output=none)\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), told));
    let word = sandbox.run("lines --compress-output=xz text").stderr;
    assert!(word.contains("--compress-output") && word.contains("zstd"), "{word}");
}

/// An output named for another compression gets plain text only if an option asks for it.
#[test]
fn outputs_of_compressions_that_are_not_written_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "b\na\n");
    for ending in ["xz", "bz2", "lz", "lzma", "lzo", "br", "Z", "zip", "7z"] {
        let name = format!("out.{ending}");
        for line in ["lines missing -o", "lines -m text -o", "lines --dry-run text -o"] {
            let refused = sandbox.run(&format!("{line} {name}"));
            assert_eq!(refused.code, Some(2), "{line} {name}");
            let start = format!("xsort lines: {name}: this compression can't be written: ");
            assert!(refused.stderr.starts_with(&start), "{}", refused.stderr);
            assert_eq!(sandbox.names(), ["text"], "{line} {name}");
        }
    }
    let told = sandbox.run("lines text -o out.xz").stderr;
    assert!(told.contains("(xsort lines ... | xz > FILE)"), "{told}");
    assert!(told.contains("(--compress-output=none)"), "{told}");
    // The remedies.
    sandbox.ok("lines --compress-output=none text -o out.xz");
    assert_eq!(sandbox.read("out.xz"), b"a\nb\n");
    sandbox.ok("lines --compress-output=gzip text -o out.Z");
    assert_eq!(sandbox.ok("lines out.Z"), "a\nb\n");
    let called_sort = |words: &[&str]| {
        let mut command = clean(program());
        command.arg0("sort").args(words).current_dir(sandbox.path()).output().unwrap()
    };
    assert!(called_sort(&["text", "-o", "plain.xz"]).status.success());
    assert_eq!(sandbox.read("plain.xz"), b"a\nb\n");
}

/// As for the other commands. To GNU sort, `-` is a file name.
#[test]
fn the_output_dash_is_standard_output_unless_it_is_called_sort() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "b\na\n");
    assert_eq!(sandbox.ok("lines text -o -"), "a\nb\n");
    assert_eq!(sandbox.ok("lines -m text --output=-"), "b\na\n");
    assert_eq!(sandbox.ok("lines text -o ./-"), "");
    assert_eq!(sandbox.read("-"), b"a\nb\n");
    fs::remove_file(sandbox.path().join("-")).unwrap();
    let refused = sandbox.run("lines --checkpoint text -o -");
    assert!(refused.stderr.contains("needs an output file (-o)"), "{}", refused.stderr);
    let refused = sandbox.run("lines --checkpoint-every=1 text -o out");
    assert!(refused.stderr.contains("add --checkpoint, --resume or --restart"));
    assert_eq!(sandbox.names(), ["text"]);
    let mut sort = clean(program());
    sort.arg0("sort").args(["text", "-o", "-"]).current_dir(sandbox.path());
    assert!(sort.output().unwrap().stdout.is_empty());
    assert_eq!(sandbox.read("-"), b"a\nb\n");
}

/// Tested in memory, on scratch, and merged by one thread and by several.
#[test]
fn equal_lines_are_counted_as_uniq_does() {
    let sandbox = Sandbox::new();
    let line = |n: u32| format!("word {}\n", n.wrapping_mul(2_654_435_761) >> 16 & 0xfff);
    sandbox.write(
        "words",
        (0..quick_or_long(100_000, 600_000)).map(line).collect::<String>() + "\n\nword 7",
    );
    sandbox.write("fields", "2 b\n1 c\n2 a\n1 c\n");
    sandbox.write("equal", "x\n".repeat(quick_or_long(500_000, 2_000_000)));
    for (ours, expected) in [
        ("$X lines -u --count words", "sort words | uniq -c"),
        ("$X lines -u --count -S 2M --parallel=3 words", "sort words | uniq -c"),
        ("$X lines -u --count -S 2M equal", "uniq -c equal"),
        ("$X lines -ru --count --top=3 words", "sort -r words | uniq -c | head -3"),
        ("sort words >s; $X lines -mu --count s s", "sort words words | uniq -c"),
        (
            "for i in 1 2 3 4 5 6 7 8; do cat words; echo; done | sort >s; \
             $X lines -S 4M -mu --count s s; rm s",
            "for i in 1 2 3 4 5 6 7 8; do cat words; echo; cat words; echo; done | sort | uniq -c",
        ),
        ("tr '\\n' '\\0' <words | $X lines -zu --count", "sort words | uniq -c | tr '\\n' '\\0'"),
        ("$X lines -u --count -k1,1n fields", "printf '      2 1 c\\n      2 2 b\\n'"),
        ("$X lines --header -u --count fields", "printf '2 b\\n      2 1 c\\n      1 2 a\\n'"),
        ("$X lines -u --count -o o.gz fields; gzip -dc o.gz", "sort fields | uniq -c"),
        ("$X lines -u --count /dev/null", "true"),
    ] {
        let run = |script: &str| {
            let output = clean("sh")
                .args(["-c", &format!("({script}) | cksum")])
                .current_dir(sandbox.path())
                .env("LC_ALL", "C")
                .env("X", program())
                .output()
                .unwrap();
            (text(&output.stdout), text(&output.stderr))
        };
        assert_eq!(run(ours), run(expected), "{ours}");
    }
}

/// Tested with any memory and threads, from files and pipes.
#[test]
fn a_shuffle_is_random_and_that_of_its_seed() {
    let sandbox = Sandbox::new();
    let numbers: String = (0..300_000).map(|n| format!("{n}\n")).collect();
    let (one, two) = numbers.split_at(numbers.find("\n123456\n").unwrap() + 1);
    sandbox.write("one", one);
    sandbox.write("two", two);
    sandbox.ok("lines --shuffle --seed=5 one two -o out");
    let shuffled = sandbox.sha256("out");
    for options in
        ["-S 2M --parallel=1", "-S 2M --parallel=5 --compress=lz4", "-S 64M --parallel=2"]
    {
        sandbox.ok(&format!("lines --shuffle --seed=5 {options} one two -o out"));
        assert_eq!(sandbox.sha256("out"), shuffled, "{options}");
    }
    let piped = clean("sh")
        .args(["-c", "cat one two | LC_ALL=C.UTF-8 $X lines --shuffle --seed=5 >piped"])
        .current_dir(sandbox.path())
        .env("X", program())
        .status();
    assert!(piped.unwrap().success() && sandbox.sha256("piped") == shuffled);
    // Rank and place are uncorrelated.
    let text = String::from_utf8(sandbox.read("out")).unwrap();
    let (count, middle) = (300_000.0, 149_999.5);
    let products = text
        .lines()
        .enumerate()
        .map(|(place, line)| (place as f64 - middle) * (line.parse::<f64>().unwrap() - middle));
    let correlation = products.sum::<f64>() / (count * count * count / 12.0);
    assert!(correlation.abs() < 0.01, "{correlation}");
    sandbox.ok("lines -n out -o sorted");
    assert_eq!(sandbox.read("sorted"), numbers.as_bytes());
    assert_ne!(sandbox.ok("lines --shuffle one"), sandbox.ok("lines --shuffle one"));
    let sample = sandbox.ok("lines --shuffle --seed=5 --top=3 one two");
    assert!(text.starts_with(&sample) && sample.lines().count() == 3);
    sandbox.write("table", "head\nx\nx\ny");
    let table = sandbox.ok("lines --shuffle --header table");
    assert!(table.starts_with("head\n") && table.len() == 11, "{table}");
    let report = sandbox.run("lines --shuffle --json table -o table").stderr;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["bytes"], &report["written_bytes"]), (&11.into(), &11.into()));
    let refused = sandbox.run("lines --shuffle --checkpoint one -o out").stderr;
    assert_eq!(refused, "xsort lines: a sort that can be resumed has no --shuffle\n");
}

/// A part of the output must not look complete.
#[test]
fn a_compressed_output_that_could_not_be_written_is_cut_off() {
    let sandbox = Sandbox::new();
    let line = |n: u32| format!("{}\n", n.wrapping_mul(2_654_435_761));
    sandbox.write("text", (0..900_000).map(line).collect::<String>());
    let script = "ulimit -f 2000; trap '' XFSZ; \
                  (exec -a sort $X --compress-output=gzip text -o out.gz); s=$?; \
                  $X lines out.gz >/dev/null; exit $s$?";
    let ended = clean("bash")
        .args(["-c", script])
        .current_dir(sandbox.path())
        .env("X", program())
        .output()
        .unwrap();
    let told = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(22), "{told}");
    assert!(told.contains("write failed: out.gz: ") && told.contains("read failed: out.gz: "));
}

#[test]
fn scratch_is_compressed_within_the_process() {
    let sandbox = Sandbox::new();
    let text: String =
        (0..200_000).map(|n| format!("a line of a log, number {}\n", n * 7919 % 200_000)).collect();
    sandbox.write("log", &text);
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    sandbox.write("expected", lines.concat());
    let scratch = |option: &str| {
        let ended = sandbox.run(&format!("lines --json -S 2M {option} log -o out"));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(sandbox.sha256("out"), sandbox.sha256("expected"), "{option}");
        let report: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
        (report["spilled_bytes"].as_u64().unwrap(), report["scratch_bytes"].as_u64().unwrap())
    };
    for option in ["", "--compress=none", "--compress=none --compress-program=gzip"] {
        let (before, after) = scratch(option);
        assert!(before > 0 && after >= before, "{option}");
    }
    // The machine decides whether it compresses.
    scratch("--compress=auto");
    for option in [
        "--compress=lz4",
        "--compress=zstd",
        "--compress-program=/missing/lz4",
        "--compress-program=gzip",
    ] {
        let (before, after) = scratch(option);
        assert!(after < before / 2, "{option}: {before} {after}");
    }
}

/// The line is longer than any block, and the files are larger than the memory.
#[test]
fn a_long_line_is_a_line() {
    if !gnu::has("sort") {
        return;
    }
    let make = "seq 300000 >short; (head -c 1700000 /dev/zero | tr '\\0' 5; echo) >long; cat \
        short long short >all; rm short long";
    for (script, options) in
        [("all", "-S 8M"), ("all all", "-S 8M -u"), ("all", "-S 8M -s -k1,1n"), ("all", "-S 8M -r")]
    {
        let sort = format!("{make}; sort {options} {script} | cksum");
        assert_eq!(run(&sort, &[], true), run(&sort, &[], false), "{options}");
    }
    let merge = format!("{make}; sort all >sorted; rm all; sort -m -S 32M sorted sorted | cksum");
    assert_eq!(run(&merge, &[], true), run(&merge, &[], false));
    let nul = format!("{make}; tr '\\n' '\\0' <all >nul; sort -z -S 8M nul | cksum");
    assert_eq!(run(&nul, &[], true), run(&nul, &[], false));
    let refused = run(&format!("{make}; sort -S 2M all"), &[], true);
    assert_eq!(refused.status, 2);
    let told =
        "sort: all: a line of 1700001 bytes is too long for a memory budget of 2.00 MiB: -S ";
    assert!(refused.stderr.starts_with(told), "{refused:?}");
}

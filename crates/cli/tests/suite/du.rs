//! `xsort du` and `du` in scripts: the same scripts with the installed GNU du must have the same
//! output, messages and statuses.

use crate::lines::{others_can_run_programs, run};
use crate::sandbox::{Sandbox, clean, program};
use std::sync::LazyLock;
use xsort_testing::gnu;
use xsort_testing::surroundings::closing_descriptors;

/// True if directories have an apparent size. From 9.2 on, GNU du gives them none.
pub(crate) fn has_old_apparent_sizes() -> bool {
    static IS_OLD: LazyLock<bool> = LazyLock::new(|| gnu::version("du") < Some((9, 2)));
    *IS_OLD
}

/// The files that all scripts find.
const TREE: &str = "mkdir -p t/d/e t/f; printf 1234567 >t/a; printf 12 >t/d/b; head -c 70000 \
    /dev/zero >t/d/e/c; ln t/a t/f/a; \
    ln -s ../d t/f/l; ln -s nowhere t/n; mkfifo t/p; touch -d '2024-02-29 07:08:09.0123 UTC' t/a \
    t/d/b; touch -d @-1 t/d/e/c; ";

const SCRIPTS: &[&str] = &[
    // What is counted.
    "du",
    "du t",
    "du t/ t//",
    "du -a t",
    "du -s t t/d t/d",
    "du -l t t/d",
    "du -al t",
    "du t/a t/f/a; du -l t/a t/f/a",
    "du t/f t/a t; du -a t/f t",
    "du -S t; du -sS t; du -aS t",
    "du -c t/d t/f; du -c; du -sc t t",
    "du --inodes t; du --inodes -S -c t t/d",
    "du -x t; du -x /dev 2>/dev/null | grep pts; du -x --inodes -s /dev/pts | cut -f 2",
    "du t/p t/n t/f/l",
    "du -D t/f/l; du -H t/f/l t/n; du -D t/f",
    "du -L t; du -L t/n; du -aL t/f t/d; du -LP t/f; du -PL t/f; du -DL t/f",
    "ln -s . t/d/loop; du -aL t; du -L -l t",
    "ln -s .. t/d/up; du -aL t/d",
    "du nowhere t nowhere/x t/a/x",
    "du '' t; du ''",
    "du -- -a; du -a -- t; mkdir ./-s; du -- -s",
    "du t -a; POSIXLY_CORRECT=1 du t -a",
    // Forty links may follow one another.
    "for i in $(seq 0 50); do mkdir d$i; echo >d$i/f; ln -s ../d$((i+1)) d$i/l; done; du -L d0; \
        du -aL d20; du -sL d0 d30; du -L d0/l/l/l",
    "echo >c0; for i in $(seq 50); do ln -s c$((i-1)) c$i; done; du -aL . | sort -k2; du -L c39; \
        du -L c50",
    // Patterns.
    "du -a --exclude=a t; du -a --exclude=t t; du -a --exclude='*' t",
    "du -a --exclude='t/d' t; du -a --exclude='d/*' t; du -a --exclude='?' t; du -a \
        --exclude='[a-c]' t",
    "du -a --exclude='./t' . ; du -a --exclude=. .; du -a --exclude='*/e*' t; du -a \
        --exclude='\\a' t; du --exclude= t/",
    "printf 'a  \\n\\n*e\\nf' >x; du -a -X x t; du -a -Xx --exclude=d t; du -a -X - t <x; du -aX \
        x -X /dev/null t",
    "du -X missing t; du -X . t; du -X missing -X gone -q t; du --exclude-from=missing --help \
        >/dev/null; echo $?",
    // Lists.
    "printf 't/d\\0t/f' | du --files0-from=-; printf 't/d\\0t/f\\0' >x; du --files0-from=x; du \
        --files0-from=x -c",
    "printf 't/d\\0\\0t\\0-\\0nowhere\\0' | du -s --files0-from=-; printf '\\0-\\0' >x; du \
        --files0-from=x",
    "du --files0-from=/dev/null; du -c --files0-from=/dev/null; du --files0-from=- -c </dev/null",
    "du --files0-from=missing; du --files0-from=.; du --files0-from=x t; du --files0-from=- <&-",
    // Which lines.
    "du -d0 t; du -d 1 t; du -d 0x1 t; du -d01 t; du -a --max-depth=2 t; du -d9999999999999999999 \
        t; du -d-1 t; du -d x -d y t",
    "du -s -d0 t; du -s -d1 t; du -sa t; du -sad1 t; du -d1 -d0 -s t; du -as -q t",
    "du -t 20K t; du -t -20K t; du -at 4097 t; du -t0 t; du -t -0 t; du -t 1x t; du \
        --threshold=99E t; du --thresh=KB t; du -t '' t",
    "du --inodes -t3 t; du --inodes -t-3 t; du -t -1KiB -b t/a; du -t -9223372036854775808 t; du \
        -t -9223372036854775809 t",
    "du -0 t | od -c; du -0ac t | od -c",
    // Sizes.
    "du -k t; du -m t; du -h t; du --si t; du -B1 t; du -BK t; du -B kB t; du -BMiB t; du -B 3 t; \
        du -h -k t; du -k -h t",
    "du -B human t; du -B si t; du -B \"'1\" t; du -B \"'human\" t; du -B 1kD t; du -BE t; du -BZ \
        t; du -B0x10 t; du -B010 t",
    "du -B x t; du -B0 t; du -B -1 t; du -B '' t; du -B 1e t; du -B 1Kx t; du --block-size=1Y t; \
        du --block-size t; du -B",
    "BLOCK_SIZE=1 du t; BLOCKSIZE=K du t; DU_BLOCK_SIZE=human du t; DU_BLOCK_SIZE=7q du t; \
        DU_BLOCK_SIZE=0 BLOCK_SIZE=1 du t",
    "DU_BLOCK_SIZE= du t; POSIXLY_CORRECT= du t; POSIXLY_CORRECT=1 DU_BLOCK_SIZE=x du t; \
        BLOCK_SIZE=1Y du t; BLOCK_SIZE=\\'1 du t",
    "du -h --inodes t; du --inodes -BK t; du --inodes -B7 t",
    // Times.
    "du -a --time t/a t/d/b t/d/e/c; du -ac --time=mtime t; du --time=c t >/dev/null; echo $?; du \
        --time= t; du --time=x t",
    "for s in full-iso long-iso iso i + +%s.%N%n%:z +%10Y%_d x '' posix-iso locale; do du --time \
        --time-style=$s t/a t/d/b; done",
    "for s in locale posix-iso posix-posix-full-iso posix-locale posix- x '+%Y\n%m'; do \
        TIME_STYLE=$s du --time t/a; done",
    "for z in '' CET-1CEST,M3.5.0,M10.5.0/3 EST5EDT Europe/Berlin :America/New_York \
        '<+0530>-5:30' XXX-1:02:03 Foo/Bar no; do \
        TZ=$z du --time --time-style='+%F %T.%N %z %Z' t/a t/d/b; done",
    "touch -d @9999999999 t/a; du --time t/a; du --time -c nowhere; du --time=use --time-style=x \
        t; du --time-style=x t/a",
    "export LC_ALL=C.UTF-8; du 'nöwhere' \"it's\" t; du -d ä t; du --time=ä; printf '\\377' >x; \
        du -a \"$(cat x)\"",
    "cd /dev/shm && f=xsort-$$ && for s in -4000000000000 253402300800 67768036191676799 \
        67768036191676800; do \
        touch -d @$s $f 2>/dev/null && TZ= du --time --time-style='+%Y %C %G %F' $f | \
        sed \"s/$f//\"; done; rm -f $f",
    // Bash warns of a missing locale.
    "touch -d @1709611506 t/a; export TZ=UTC; for l in C $(locale -a | grep -i ja_JP.utf); do \
        for f in \
        '%-Od %_5Od %05Od %+Od %Ok %Ol %Oj %Og %OG' '%Ey %10EY %EC %Oy %OC' '%OH:%OM:%OS' \
        '%Om %Oe %OI %Ou %Ow %OU %OV %OW' 'e%Ex %^EX %Ec'; do \
        LC_ALL=$l du --time --time-style=\"+$f\" t/a; done; done",
    // Names.
    "mkdir u v; echo x >v/f; ln -s u l; for o in '' -L -D '-L -s'; do \
        du $o u/; du $o u//; du $o l/; du $o --exclude=f v/; done",
    // Words.
    "du -q; du -q -y t; du --nope; du --d t; du --ex=x; du --s; du --h; du --all=3; du -s=3; du \
        --exclude; du --time-style",
    "du --apparent t/a; du --tot t; du --deref t; du --dereference-a t; du --block=1 t; du \
        --max=1 t; du --nul t | od -c | tail -n 2",
    // Streams.
    "du t >&-; echo $?; du nowhere >&-; echo $?; du t >/dev/full; echo $?; du -s t nowhere \
        >/dev/full; echo $?; du --version >/dev/full; echo $?",
    "du nowhere t 2>&-; echo $?; du nowhere 2>/dev/full; echo $?; du t 2>&-; echo $?; du -s -d0 t \
        2>/dev/full; echo $?",
    "du t/d nowhere t/f 2>&1; du -a t/d '' t/n nowhere 2>&1",
    "{ sleep 0.2; du t; echo $? >&2; } | :; sleep 0.4",
    "trap '' PIPE; { sleep 0.2; du t; echo $? >&2; } | :; sleep 0.4",
];

#[test]
fn scripts_cannot_tell_it_from_gnu_du() {
    if !gnu::has("du") {
        return;
    }
    for script in SCRIPTS {
        if script.contains("-b ") && !has_old_apparent_sizes() {
            continue;
        }
        let script = format!("{TREE}{script}");
        assert_eq!(run(&script, &[], true), run(&script, &[], false), "{script}");
    }
}

/// There are entries at each of 400 levels, and few files may be open.
#[test]
fn deep_trees_are_counted_with_few_open_files() {
    let sandbox = Sandbox::new();
    let mut path = sandbox.path().join("tree");
    for _ in 0..400 {
        for name in ["a", "m", "z"] {
            std::fs::create_dir_all(path.join(name)).unwrap();
            std::fs::write(path.join(name).join("file"), "x").unwrap();
        }
        path.push("m");
    }
    let counted = |files: &str, threads: &str| {
        let close = closing_descriptors();
        let du = format!("exec {} du {threads} tree", program().display());
        let script = format!("{close}ulimit -n {files}; {du}");
        let output =
            clean("bash").args(["-c", &script]).current_dir(sandbox.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), &stderr[..]), (Some(0), ""), "{script}");
        let mut lines: Vec<Vec<u8>> =
            output.stdout.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort_unstable();
        lines
    };
    let expected = counted("1000", "");
    assert_eq!(expected.len(), 1 + 3 * 400 + 1, "a line a directory, and what is behind the last");
    for threads in ["", "--threads=1", "--threads=2", "--threads=64"] {
        assert!(counted("24", threads) == expected, "{threads}");
    }
}

/// Only a user bound by permissions can meet an unreadable directory, so root becomes one. The
/// error is reported once, even if the directory is visited often, except with -l.
#[test]
fn an_unreadable_directory_is_reported_once() {
    if !gnu::has("du") || !others_can_run_programs() {
        eprintln!("SKIPPED: nobody can become another user who may run the program");
        return;
    }
    for script in [
        "du t/u t",
        "du t/u t/u t",
        "du -L t",
        "du -aL t/v t",
        "du -a t/u t",
        "du -s t/v/l t t/u",
        "du -l t/u t",
    ] {
        let script = format!(
            "chmod 777 .; mkdir -p t/u t/v; echo >t/v/f; ln -s ../u t/v/l; chmod 0 t/u; \
             chown -R 65534 t; setpriv --reuid=65534 --clear-groups bash -c '{script}'; chmod 700 \
             t/u"
        );
        assert_eq!(run(&script, &[], true), run(&script, &[], false), "{script}");
    }
}

/// A mount of a directory below itself is not a damaged file system, whatever the argument is.
#[test]
fn a_directory_that_is_mounted_below_itself_is_no_damage() {
    let can_mount = "mkdir x && mount --bind x x && umount x";
    if !gnu::has("du") || run(can_mount, &[], true).status != 0 {
        eprintln!("SKIPPED: nothing can be mounted here");
        return;
    }
    for argument in ["a", "a/b", "a/b/c", "a/b/c/b", "a/b a", "-x a/b", "-L a/b"] {
        let script = format!(
            "mkdir -p a/b/c; echo >a/b/f; mount --bind a a/b/c; du {argument}; echo $?; \
             umount a/b/c"
        );
        assert_eq!(run(&script, &[], true), run(&script, &[], false), "{argument}");
    }
}

/// On another file system `-x` stats the directory and doesn't open it: that could set off an
/// automount, or wait for a server.
#[test]
fn other_file_systems_are_only_statted() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path().join("t/mounted")).unwrap();
    std::fs::create_dir_all(sandbox.path().join("t/own")).unwrap();
    let script = "mount -t tmpfs none t/mounted || exit 9; mkdir t/mounted/below; \
        for o in -x '-x -a' '-x -L' '-x --threads=1'; do \
        strace -f -qq -o log -e trace=open,openat,openat2,statx $xsort du $o t >>out || s=8; \
        cat log >>logs; done; umount t/mounted; exit $s";
    let mut shell = clean("bash");
    shell.args(["-c", script]).env("xsort", program()).current_dir(sandbox.path());
    let ended = shell.output().unwrap();
    if ended.status.code() != Some(0) {
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("mount") || said.contains("strace"), "{said}");
        eprintln!("SKIPPED: nothing can be mounted or traced here");
        return;
    }
    let logs = String::from_utf8(sandbox.read("logs")).unwrap();
    let calls = |call: &str, name: &str| {
        logs.lines().filter(|line| line.contains(call) && line.contains(name)).count()
    };
    assert!(calls("open", "\"own\"") >= 4, "{logs}");
    assert!(calls("statx", "\"mounted\"") >= 4, "{logs}");
    assert_eq!(calls("open", "\"mounted\""), 0, "{logs}");
    assert!(!String::from_utf8(sandbox.read("out")).unwrap().contains("mounted"));
}

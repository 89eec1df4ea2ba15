//! `xsort lines`, called sort, compared with GNU sort: merges and checks of inputs that are in
//! order by keys, and sorts of lines that are in order or equal.

use crate::lines::run;
use xsort_testing::{Random, gnu, quick_or_long};

/// Orders of all kinds: keys that are built once, key words, and plain lines.
const ORDERS: &[&str] = &[
    "",
    "-r",
    "-n",
    "-f",
    "-V",
    "-h",
    "-M",
    "-g",
    "-s -k2,2",
    "-k2,2",
    "-k2,2r",
    "-k2n",
    "-k2,2n -k1,1r",
    "-t, -k2,2",
    "-t, -k2,2f -k1,1",
    "-t, -k3,3h -r",
    "-t, -k2,2V -k3,3nr -s",
];

/// Merges of the sorted files `0`, `1`, ...: `ORDER` and `NAMES` are replaced.
const MERGES: &[&str] = &[
    "sort -m ORDER NAMES | cksum",
    "sort -mu ORDER NAMES | cksum",
    "cat 0 | sort -m ORDER - NAMES | cksum",
    "sort -m ORDER --batch-size=2 NAMES -o 0",
    "cat NAMES | sort -c ORDER",
    "cat NAMES | sort -C ORDER",
    "sort -m ORDER NAMES | sort -c ORDER",
    "sort -m ORDER NAMES | sort -cu ORDER",
    "sort -mu ORDER NAMES | sort -cu ORDER",
];

fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.below(60) {
        let word =
            |random: &mut Random| random.one_of(&["a", "b", "ab", "B", "", "\0", "\x01", "a b"]);
        let number = random.below(30);
        let words = [word(random), word(random), word(random)];
        let line = format!("{}{number} {}{number},{},{number}K", words[0], words[1], words[2]);
        text.extend(line.bytes());
        // Longer than the lines whose keys are kept.
        if random.below(20) == 0 {
            let bytes = random.below(6000);
            text.extend(std::iter::repeat_n(b'x', bytes));
        }
        text.push(b'\n');
    }
    text
}

#[test]
fn merges_and_checks_by_any_key_are_gnu_sorts() {
    if !gnu::has("sort") {
        return;
    }
    for seed in 0..quick_or_long(60, 3000) {
        let random = &mut Random::new(seed);
        let order = random.one_of(ORDERS);
        let count = 1 + random.below(9);
        let names: Vec<String> = (0..count).map(|name| name.to_string()).collect();
        let files: Vec<(&str, Vec<u8>)> =
            names.iter().map(|name| (&name[..], text(random))).collect();
        let merge = random.one_of(MERGES);
        let script = merge.replace("ORDER", order).replace("NAMES", &names.join(" "));
        let sorted = names.iter().map(|name| format!("sort {order} {name} -o {name}; "));
        let script = format!("export LC_ALL=C; {}{script}", sorted.collect::<String>());
        let [ours, gnus] = [true, false].map(|is_ours| run(&script, &files, is_ours));
        assert_eq!(ours, gnus, "seed {seed}: {script}");
    }
}

/// Runs that don't overlap, and equal lines in all of them, are also cut into segments. Equal lines
/// keep the order of the input.
#[test]
fn lines_that_are_in_order_or_equal_are_sorted_as_gnu_sort_does() {
    if !gnu::has("sort") {
        return;
    }
    let scripts = [
        "seq -w 300000 >in; sort in | cmp - in && rm in",
        "seq -w 300000 >in; sort in | cksum; sort -r in | cksum; rm in",
        "yes 'the same line' | head -n 300000 >in; sort in | cksum; sort -u in; rm in",
        "seq 300000 | sed 's/.*/& same/' >in; sort -s -k2,2 in | cksum; rm in",
        "seq 300000 | sed 's/.*/& same/' >in; sort -S 3M -s -k2,2 in | cksum; rm in",
        "seq -w 300000 >in; sort -S 3M in | cksum; sort -S 3M -u in in | cksum; rm in",
    ];
    for script in scripts {
        let script = format!("export LC_ALL=C; {script}");
        let [ours, gnus] = [true, false].map(|is_ours| run(&script, &[], is_ours));
        assert_eq!(ours, gnus, "{script}");
    }
}

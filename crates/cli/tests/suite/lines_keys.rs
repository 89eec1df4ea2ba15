//! `xsort lines`, called sort, compared with GNU sort where keys are stored with their lines:
//! enough lines with similar keys, in memory and on scratch.

use crate::lines::run;
use xsort_testing::{Random, gnu};

/// Sorts with short output. The last ones spill: keys take more than what is left of 16 MiB.
const SCRIPTS: [&str; 19] = [
    "sort -t, -k2,2 text | cksum",
    "sort -t, -k2,2 -s text | cksum",
    "sort -t, -k2,2 -u text",
    "sort -t, -k2,2r -k1,1n text | cksum",
    "sort -r -t, -k2,2 -k1,1n text | cksum",
    "sort -t, -k3,3h -k4,4M text | cksum",
    "sort -t, -k4,4M -k3,3hr -s text | cksum",
    "sort -t, -k5V text | cksum",
    "sort -t, -k2,2f -k5,5d -u text | cksum",
    "sort -t, -k1,1g -k2,2 -u text | cksum",
    "sort -t, -k3,3g -k2,2 -u text | cksum",
    "sort -h text | cksum",
    "cat text | sort -t, -k2,2 -k3,3n | cksum",
    "cat text text | sort -t, -k2,2 -k5,5 -o out --parallel=3",
    "tr '\\n' '\\0' <text | sort -z -t, -k2,2 | cksum",
    "tr 'x' '\\001' <text | sort -t, -k2,2 | cksum",
    "tr 'x' '\\0' <text | sort -t, -k2,2 -k5,5r | cksum",
    "for i in 1 2 3 4 5 6 7 8 9 10; do cat text; done | sort -S 8M -t, -k2,2 -k1,1nr | cksum",
    "for i in 1 2 3 4 5 6 7 8 9 10; do cat text; done | sort -S 8M -t, -k2,2 -u | cksum",
];

/// Rows of few values, whose keys agree in more bytes than the engine keeps next to a line.
fn rows() -> Vec<u8> {
    let random = &mut Random::new(7);
    let mut text = String::new();
    while text.len() < 1 << 20 {
        let place = ["north of the river", "north of the rivers", "south of it", "x", ""];
        let number = random.one_of(&["-", "", "00", "1e", "."]);
        text += &format!(
            "{number}{},{} {},{}{},{},x{}~{}.{}\n",
            random.below(50),
            random.one_of(&place),
            random.below(300),
            random.below(2000),
            random.one_of(&["", "K", "M", "G"]),
            random.one_of(&["jan", "FEB", "Mar", "", "dec 4"]),
            random.below(30),
            random.below(3),
            random.below(20),
        );
    }
    text.into_bytes()
}

#[test]
fn lines_with_keys_are_sorted_as_gnu_sort_does() {
    if !gnu::has("sort") {
        return;
    }
    let files = [("text", rows())];
    for script in SCRIPTS {
        let script = format!("export LC_ALL=C; {script}");
        let [ours, gnus] = [true, false].map(|is_ours| run(&script, &files, is_ours));
        assert_eq!(ours, gnus, "{script}");
    }
}

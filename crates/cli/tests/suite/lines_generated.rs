//! Options and inputs by chance, from seeds that stay: scripts with GNU sort and with ours must do the same.

use crate::lines::{gnu_is_here, run};

/// Scripts that are compared; the whole takes some seconds.
const SCRIPTS: u64 = 250;

/// Options of which some are taken together; those that exclude each other are refused alike.
const OPTIONS: &[&str] = &[
    "-n",
    "-r",
    "-u",
    "-s",
    "-f",
    "-b",
    "-d",
    "-i",
    "-g",
    "-h",
    "-V",
    "-M",
    "-z",
    "-k2",
    "-k2,2",
    "-k1,1n",
    "-k2n",
    "-k2,2r",
    "-k1.2,1.3",
    "-k3,1",
    "-k2b,2",
    "-k1,1f",
    "-k2,2V",
    "-k2h",
    "-k1,1M",
    "-k2g",
    "-t:",
    "-t:",
    "-t,",
    "-k2.1b,2.3b",
    "--parallel=2",
    "--debug",
    "-R --random-source=seed",
];

/// What lines are made of.
const PIECES: &[&str] = &[
    "a", "b", "B", "A", "ab", " ", "  ", "\t", ":", ":", ",", "0", "1", "2", "10", "007", "-1", "1.5", "1e3",
    "3K", "2M", "jan", "FEB", "dec", "v1.2", "v1.10", "~", "_", ".", "x", "\u{1}", "nan", "inf", "0x1f",
];

#[test]
fn generated_scripts_cannot_tell_it_from_gnu_sort() {
    if !gnu_is_here() {
        return;
    }
    for seed in 1..=SCRIPTS {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let options: Vec<&str> = (0..chance.below(4)).map(|_| chance.one_of(OPTIONS)).collect();
        let options = options.join(" ");
        let files =
            [("seed", b"sixteen bytes or more".to_vec()), ("1", text(&mut chance)), ("2", text(&mut chance))];
        // Merges are of what is in order.
        let plain = options.replace("--debug", "");
        let script = match chance.below(6) {
            0 => format!("sort {options} -c 1"),
            1 => format!("sort {plain} 1 >s1; sort {plain} 2 >s2; sort {options} -m s1 s2"),
            2 => format!("cat 2 | sort {options} 1 - -o 1"),
            3 => format!("sort {options} <2; sort {options} 1 2 >s; sort {options} -C s; echo $?"),
            _ => format!("sort {options} 1 2"),
        };
        assert_eq!(run(&script, &files, true), run(&script, &files, false), "seed {seed}: {script}");
    }
}

fn text(chance: &mut Chance) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..chance.below(40) {
        (0..chance.below(6)).for_each(|_| text.extend(chance.one_of(PIECES).bytes()));
        let end = if chance.below(30) == 0 { b'\0' } else { b'\n' };
        text.push(end);
    }
    if chance.below(4) == 0 {
        text.pop();
    }
    text
}

/// xorshift64*
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn one_of(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.below(choices.len())]
    }
}

//! `xsort lines`, called sort, compared with GNU sort in the installed locales.

use crate::lines::run;
use xsort_gnu::Locale;
use xsort_testing::{Random, gnu};

const LOCALES: [&str; 5] =
    ["en_US.UTF-8", "de_DE.UTF-8", "fr_CA.UTF-8", "sv_SE.UTF-8", "ja_JP.UTF-8"];

/// Sorts of `text` with short output, with and without spilling.
const SCRIPTS: [&str; 11] = [
    "sort text | cksum",
    "sort -S 2M --parallel=3 text text text -o out",
    "sort -r text | cksum",
    "sort -u text | cksum",
    "sort -f text | cksum",
    "sort -d -k2 text | cksum",
    "sort -s -k2,2 -k1,1r text | cksum",
    "sort -z text | cksum",
    "sort -c text",
    "sort -o sorted text && sort -c sorted && sort -m sorted text | cksum",
    "tr 'a' '\\0' <text | sort | cksum",
];

/// Words whose order depends on accents, case, punctuation and scripts, alone and among others.
const WORDS: [&str; 52] = [
    "cote", "côte", "coté", "côté", "Cote", "COTE", "resume", "résumé", "Résumé", "re-sume", "a",
    "A", "á", "Ä", "å", "Å", "ä", "aa", "o", "ö", "Ö", "ø", "z", "Z", "ss", "ß", "œ", "l·l", "ll",
    "l", "L", "$_E(", "$e", "12", "1 2", "1-2", "(12)", "x!", "x", "X", "naïve", "naive", "Жук",
    "жук", "αλφα", "ά", "中文", "日本", "かな", "カナ", "한글", "😀",
];

/// Lines of these words.
pub(crate) fn words() -> Vec<u8> {
    let random = &mut Random::new(1);
    let mut text = Vec::new();
    for _ in 0..10_000 {
        for _ in 0..=random.below(4) {
            text.extend_from_slice(random.one_of(&WORDS).as_bytes());
            text.extend_from_slice(random.one_of(&[" ", " ", "", "-", ", "]).as_bytes());
        }
        if random.one_in(20) {
            text.push(random.below(256) as u8);
        }
        text.push(b'\n');
    }
    text
}

#[test]
fn every_installed_language_is_sorted_as_gnu_sort_does() {
    if !gnu::has("sort") {
        return;
    }
    let files = [("text", words())];
    for locale in LOCALES {
        if Locale::named(locale).is_none() {
            eprintln!("SKIPPED: there is no locale {locale}");
            continue;
        }
        for script in SCRIPTS {
            let script = format!("export LC_ALL={locale} LANGUAGE=en; {script}");
            let [ours, gnus] = [true, false].map(|is_ours| run(&script, &files, is_ours));
            assert_eq!(ours, gnus, "{script}");
        }
    }
}

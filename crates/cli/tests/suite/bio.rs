//! `xsort bio`: the orders of bedtools, bcftools, samtools and pairtools. bcftools and samtools are
//! asked where they are installed.

use crate::sandbox::Sandbox;
use std::fmt::Write;

/// A number that looks random, of the row and the use.
fn random(row: u64, of: u64, below: u64) -> u64 {
    let mixed = (row * 31 + of).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) % below
}

fn bed(from: u64, rows: u64) -> String {
    let mut text = String::new();
    for row in from..from + rows {
        let begin = random(row, 1, 500);
        let end = begin + random(row, 2, 9);
        writeln!(text, "chr{}\t{begin}\t{end}\tname{row}", 1 + random(row, 3, 12)).unwrap();
    }
    text
}

/// Sorts rows by what `key` makes of their fields; equal ones stay as they are.
fn sorted<K: Ord>(rows: &str, key: impl Fn(&[&str]) -> K) -> String {
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(|row| key(&row.split('\t').collect::<Vec<_>>()));
    rows.iter().flat_map(|row| [row, "\n"]).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

#[test]
fn bed_is_sorted_by_position_below_its_header() {
    let sandbox = Sandbox::new();
    let (a, b) = (bed(0, 3000), bed(3000, 500));
    sandbox.write("a.bed", format!("browser position chr1\ntrack name=a\n#x\n{a}"));
    sandbox.write("b.bed", format!("track name=b\n#x\n{b}"));
    let both = a + &b;
    let header = "browser position chr1\ntrack name=a\ntrack name=b\n#x\n";
    let position = |fields: &[&str]| (number(fields[1]), number(fields[2]));
    let by_name = sorted(&both, |fields| (fields[0].to_owned(), position(fields)));
    let by_number = sorted(&both, |fields| (number(&fields[0][3..]), position(fields)));
    let by_list = sorted(&both, |fields| (99 - number(&fields[0][3..]), position(fields)));
    assert_eq!(sandbox.ok("bio bed a.bed b.bed -q"), format!("{header}{by_name}"));
    assert_eq!(sandbox.ok("bio bed a.bed b.bed -q --natural"), format!("{header}{by_number}"));
    let list: String = (1..=12).rev().map(|number| format!("chr{number}\t1000\n")).collect();
    sandbox.write("genome", list);
    let listed = sandbox.ok("bio bed --genome genome a.bed -q b.bed");
    assert_eq!(listed, format!("{header}{by_list}"));
    // From a pipe, with a compressed output and an index.
    sandbox.script_ok("cat a.bed b.bed | grep '^chr' | $xsort bio bed -o c.bed.gz --write-index");
    assert_eq!(sandbox.script_ok("gzip -dc c.bed.gz"), by_name);
    assert!(sandbox.names().contains(&"c.bed.gz.tbi".to_owned()));
    sandbox.write("sorted.bed", listed);
    sandbox.ok("bio bed sorted.bed --genome genome --check");
    // chr9 comes before chr12, and in the order of bytes chr12 before it.
    let line = sandbox.run("bio bed sorted.bed --check");
    let row = 1
        + header.lines().count()
        + by_list.lines().position(|row| row.starts_with("chr11")).unwrap();
    assert_eq!(line.code, Some(1));
    assert!(line.stderr.contains(&format!("row {row} is out of order: chr11")), "{}", line.stderr);
}

/// The printed command does the same.
#[test]
fn a_dry_run_prints_the_plain_command() {
    let sandbox = Sandbox::new();
    sandbox.write("a.bed", format!("track name=a\n{}", bed(0, 50)));
    sandbox.write("my genes.gff3", "##gff-version 3\nchr2\t.\tgene\t5\t9\nchr1\t.\tgene\t7\t9\n");
    for line in ["bio bed a.bed --natural", "bio gff 'my genes.gff3' --parents-first"] {
        sandbox.script_ok(&format!(
            "$xsort {line} -q >expected; $xsort {line} --dry-run | sed -n '1s/^xsort/$xsort/p' \
             >plain; grep -q ' table ' plain; eval \"$(cat plain | sed 's/--dry-run/-q/')\" | \
             cmp - expected"
        ));
    }
    let plan = sandbox.json("bio bed a.bed --dry-run");
    assert_eq!(plan["command"], "table", "{plan}");
}

#[test]
fn what_is_no_position_is_an_error_with_its_place() {
    let sandbox = Sandbox::new();
    for (text, options, code, parts) in [
        ("chr1\t5\t9\nchr1\tx\t9\n", "", 3, &["row 2", "byte 14", "'x' is no int"][..]),
        ("chr1\t5\t9\nchr1\t7\n", "", 3, &["row 2", "column #3 has no value"]),
        ("chr1\t5\t9\n\n", "", 3, &["row 2", "has no value"]),
        ("#c\nchr1 5 9\n", "", 2, &["no column"]),
        ("chr1\t5\t9\nchr3\t5\t9\n", "--genome list", 3, &["row 2", "'chr3'", "others-last"]),
        ("", "--genome twice", 2, &["line 3", "'chr1'"]),
        ("", "--genome missing", 2, &["missing", "No such file"]),
        ("", "--genome empty", 2, &["no names"]),
        ("", "--genome list --natural", 2, &["leave one out"]),
        ("", "--parents-first", 2, &["gff"]),
    ] {
        sandbox.write("in", text);
        sandbox.write("out", "old");
        sandbox.write("list", "chr1\nchr2\n");
        sandbox.write("twice", "chr1\nchr2\nchr1\n");
        sandbox.write("empty", "");
        let line = sandbox.fails(&format!("bio bed in {options} -o out"), code);
        for part in parts {
            assert!(line.contains(part), "{text:?} {options}: {line}");
        }
        assert_eq!(sandbox.read("out"), b"old");
    }
}

const VCF_TOP: &str = "##fileformat=VCFv4.3\n##contig=<ID=2,length=900>\n\
                       ##contig=<ID=10,length=900>\n##contig=<ID=1,length=900>\n";
const VCF_HEADER: &str = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";

fn vcf(from: u64, rows: u64) -> String {
    let alleles = ["A", "C", "a", "AC", "ACG", "<DEL>", "A,C", "A,CT", "AT,C", "*", "g]1:5]"];
    let mut text = String::new();
    for row in from..from + rows {
        let contig = ["1", "2", "10"][random(row, 1, 3) as usize];
        let [a, b] = [2, 3].map(|of| alleles[random(row, of, 11) as usize]);
        let a =
            if a.starts_with(|first: char| first.is_ascii_alphabetic()) { &a[..1] } else { "N" };
        let position = 1 + random(row, 4, 40);
        writeln!(text, "{contig}\t{position}\ti{row}\t{a}\t{b}\t.\t.\t.").unwrap();
    }
    text
}

#[test]
fn vcf_is_sorted_as_bcftools_does() {
    let sandbox = Sandbox::new();
    let (a, b) = (vcf(0, 900), vcf(900, 100));
    sandbox.write("a.vcf", format!("{VCF_TOP}{VCF_HEADER}{a}"));
    sandbox.write("b.vcf", format!("{VCF_TOP}##INFO=<ID=X>\n{VCF_HEADER}{b}"));
    let key = |fields: &[&str]| {
        let contig = ["2", "10", "1"].iter().position(|name| *name == fields[0]);
        let [reference, other] = [3, 4].map(|at| fields[at].to_ascii_lowercase());
        (contig, number(fields[1]), reference, other)
    };
    let expected = format!("{VCF_TOP}##INFO=<ID=X>\n{VCF_HEADER}{}", sorted(&(a + &b), key));
    sandbox.ok("bio vcf a.vcf b.vcf -o both.vcf");
    assert_eq!(String::from_utf8(sandbox.read("both.vcf")).unwrap(), expected);
    sandbox.script_ok(
        "command -v bcftools >/dev/null || exit 0; $xsort bio vcf a.vcf -q | grep -v '^#' >ours
         bcftools sort a.vcf 2>/dev/null | grep -v '^#' | cmp - ours",
    );
    sandbox.ok("bio vcf both.vcf -o both.vcf.gz --write-index");
    sandbox.write("other.vcf", format!("{VCF_TOP}{}\tS1\n", VCF_HEADER.trim_end()));
    let line = sandbox.fails("bio vcf a.vcf other.vcf -o new", 3);
    assert!(line.contains("other.vcf") && line.contains("S1"), "{line}");
    sandbox.write(
        "longer.vcf",
        format!("{}{VCF_HEADER}", VCF_TOP.replace("10,length=9", "10,length=99")),
    );
    let line = sandbox.fails("bio vcf a.vcf longer.vcf -o new", 3);
    assert!(line.contains("different genomes"), "{line}");
    sandbox.write("bare.vcf", format!("##x\n{VCF_HEADER}{b}"));
    let line = sandbox.fails("bio vcf bare.vcf -o new", 3);
    assert!(line.contains("give a list, order(FILE)"), "{line}");
    sandbox.write("none.vcf", format!("##x\n{VCF_HEADER}"));
    sandbox.write("empty", "");
    assert_eq!(sandbox.ok("bio vcf none.vcf -q"), format!("##x\n{VCF_HEADER}"));
    assert_eq!(sandbox.ok("bio vcf empty -q"), "");
    sandbox.write("later.vcf", format!("##contig=<assembly=x,ID=2,length=900>\n{VCF_HEADER}"));
    let said = sandbox.run("bio vcf a.vcf later.vcf -o new");
    assert!(said.code == Some(0) && said.stderr.contains("1 line of later"), "{}", said.stderr);
    sandbox.ok("bio vcf bare.vcf --natural -o new");
}

#[test]
fn sam_is_sorted_as_samtools_does() {
    let sandbox = Sandbox::new();
    let header = "@HD\tVN:1.6\tSO:unknown\n@SQ\tSN:b\tLN:900\n@SQ\tSN:a\tLN:900\n";
    let mut rows = String::new();
    for row in 0..2000 {
        let name = ["a", "b", "*"][random(row, 1, 3) as usize];
        let flag = random(row, 2, 2) * 16 + if name == "*" { 4 } else { 0 };
        let (begin, cigar) = if name == "*" { (0, "*") } else { (1 + random(row, 3, 50), "4M") };
        writeln!(rows, "r{row}\t{flag}\t{name}\t{begin}\t0\t{cigar}\t*\t0\t0\tACGT\tIIII").unwrap();
    }
    sandbox.write("a.sam", format!("{header}{rows}"));
    let key = |fields: &[&str]| {
        let sequence = ["b", "a", "*"].iter().position(|name| *name == fields[2]);
        (sequence, number(fields[3]), number(fields[1]) & 16)
    };
    assert_eq!(sandbox.ok("bio sam a.sam -q"), format!("{header}{}", sorted(&rows, key)));
    // Reads without a place are the last ones in any order.
    sandbox.write("list", "a\nb\n");
    let by_name = |fields: &[&str]| {
        let sequence = ["a", "b", "*"].iter().position(|name| *name == fields[2]);
        (sequence, number(fields[3]), number(fields[1]) & 16)
    };
    for option in ["--natural", "--genome list"] {
        let found = sandbox.ok(&format!("bio sam a.sam -q {option}"));
        assert_eq!(found, format!("{header}{}", sorted(&rows, by_name)), "{option}");
    }
    sandbox.script_ok(
        "command -v samtools >/dev/null || exit 0; $xsort bio sam a.sam -q | grep -v '^@' >ours
         samtools sort -O sam a.sam 2>/dev/null | grep -v '^@' | cmp - ours",
    );
}

#[test]
fn genes_come_before_their_parts() {
    let sandbox = Sandbox::new();
    let row = |sequence, kind, begin, end| format!("{sequence}\t.\t{kind}\t{begin}\t{end}\t.\n");
    let rows = [
        row("2", "gene", 1, 90),
        row("1", "CDS", 10, 20),
        row("1", "exon", 10, 20),
        row("1", "exon", 10, 90),
        row("1", "mRNA", 10, 90),
        row("1", "gene", 10, 90),
        row("1", "odd", 5, 6),
    ];
    sandbox.write("a.gff3", format!("##gff-version 3\n{}###\n", rows.concat()));
    let expected = [6, 5, 4, 3, 2, 1, 0].map(|at: usize| rows[at].clone()).concat();
    assert_eq!(
        sandbox.ok("bio gff a.gff3 --parents-first -q"),
        format!("##gff-version 3\n###\n{expected}")
    );
    let by_begin = [6, 1, 2, 3, 4, 5, 0].map(|at: usize| rows[at].clone()).concat();
    assert_eq!(sandbox.ok("bio gtf a.gff3 -q"), format!("##gff-version 3\n###\n{by_begin}"));
}

#[test]
fn pairs_and_fragments_have_their_orders() {
    let sandbox = Sandbox::new();
    let (mut pairs, mut fragments) = (String::new(), String::new());
    for row in 0..500 {
        let [a, b] = [1, 2].map(|of| random(row, of, 3));
        let [begin_a, begin_b] = [3, 4].map(|of| random(row, of, 30));
        writeln!(pairs, "r{row}\tchr{a}\t{begin_a}\tchr{b}\t{begin_b}\t+\t-").unwrap();
        writeln!(fragments, "chr{a}\t{begin_a}\t{begin_b}\tB{b}\t1").unwrap();
    }
    sandbox.write("a.pairs", format!("## pairs format v1.0\n#columns: readID\n{pairs}"));
    sandbox.write("a.tsv", &fragments);
    let name = |fields: &[&str], at: usize| fields[at].to_owned();
    let by_both = sorted(&pairs, |fields| {
        (name(fields, 1), name(fields, 3), number(fields[2]), number(fields[4]))
    });
    assert!(sandbox.ok("bio pairs a.pairs -q").ends_with(&by_both));
    let by_first = sorted(&pairs, |fields| {
        (name(fields, 1), number(fields[2]), name(fields, 3), number(fields[4]))
    });
    sandbox.ok("bio pairs a.pairs -o a.pairs.gz --write-index");
    assert!(sandbox.script_ok("gzip -dc a.pairs.gz").ends_with(&by_first));
    let expected = sorted(&fragments, |fields| {
        (name(fields, 0), number(fields[1]), number(fields[2]), name(fields, 3))
    });
    assert_eq!(sandbox.ok("bio fragments a.tsv -q"), expected);
}

#[test]
fn lines_are_sorted_by_lists_too() {
    let sandbox = Sandbox::new();
    sandbox.write("in", bed(0, 2000).replace("chr9\t", "odd\t").replace("chr8\t", "even\t"));
    sandbox.write("list", "chr2\nchr10\t5\nchr1\nodd\n");
    let text = String::from_utf8(sandbox.read("in")).unwrap();
    let place = |name: &str| {
        let at = ["chr2", "chr10", "chr1", "odd"].iter().position(|listed| *listed == name);
        (at.unwrap_or(4), if at.is_some() { String::new() } else { name.to_owned() })
    };
    let expected = sorted(&text, |fields| (place(fields[0]), number(fields[1])));
    assert_eq!(sandbox.ok("lines -s --order 1,1=list -k2,2n in"), expected);
    let script = "$xsort lines -s -t \"$(printf '\\t')\" --order=1,1=list -k2,2n -S 2M in";
    assert_eq!(sandbox.script_ok(script), expected);
    let by_end = sorted(&text, |fields| (number(fields[2]), std::cmp::Reverse(place(fields[0]))));
    assert_eq!(sandbox.ok("lines -s -k3,3n --order 1,1r=list in"), by_end);
    for (line, why) in [
        ("--order 1=missing in", "No such file"),
        ("--order 1 in", "KEY=FILE"),
        ("--order 1n=list in", "only the letter r"),
        ("--order x=list in", "invalid"),
    ] {
        let said = sandbox.run(&format!("lines {line}"));
        assert_eq!(said.code, Some(2));
        assert!(said.stderr.contains(why), "{line}: {}", said.stderr);
    }
}

#[test]
fn reads_and_sequences_are_sorted_by_what_is_asked() {
    let sandbox = Sandbox::new();
    let read =
        |name: &str, bases: &str| format!("@{name} x\n{bases}\n+\n{}\n", "I".repeat(bases.len()));
    let (a, b, c) = (read("r10", "ACGT"), read("r9", "CC"), read("r100", "AAA"));
    sandbox.write("a.fq", [&*a, &b, &c].concat());
    for (by, expected) in [
        ("", [&b, &a, &c]),
        ("--by name", [&b, &a, &c]),
        ("--by=sequence", [&c, &a, &b]),
        ("--by length", [&b, &c, &a]),
        ("--by length:desc", [&a, &c, &b]),
    ] {
        assert_eq!(sandbox.ok(&format!("bio fastq a.fq {by}")), expected.map(|at| &**at).concat());
    }
    sandbox.ok("bio fastq a.fq -o b.fq.gz");
    assert_eq!(sandbox.ok("bio fastq b.fq.gz --by sequence"), [&*c, &a, &b].concat());
    let (a, b, c) = (">s10 d\nACGT\nAC\n", ">s9\nACGTC\n", ">s9b\nACG\n");
    sandbox.write("a.fa", [a, b, c].concat());
    assert_eq!(sandbox.ok("bio fasta a.fa"), [b, c, a].concat());
    assert_eq!(sandbox.ok("bio fasta a.fa --by sequence"), [c, a, b].concat());
    assert_eq!(sandbox.ok("bio fasta a.fa --by length:desc"), [a, b, c].concat());
    let (wrapped, long) = (">a\nAC\nGT\nAC\nGT\n", ">b\nACGTACGTA\n");
    sandbox.write("w.fa", [long, wrapped].concat());
    for by in ["length", "sequence"] {
        assert_eq!(sandbox.ok(&format!("bio fasta w.fa --by {by}")), [wrapped, long].concat());
    }
    assert_eq!(sandbox.ok("bio fastq a.fq -m 16M --by name").len(), sandbox.read("a.fq").len());
    let line = sandbox.fails("bio -- bed a.bed", 2);
    assert!(line.contains("right after 'bio'"), "{line}");
    let plan = sandbox.ok("bio fasta a.fa --dry-run");
    assert!(plan.starts_with("xsort lines '--record-begins=>' -s -k 1,1V a.fa --dry-run\n"));
    sandbox.write("cut.fq", "@r\nACGT\n+\n");
    let said = sandbox.run("bio fastq cut.fq -o new");
    assert_eq!(said.code, Some(2));
    let line = said.stderr;
    assert!(line.contains("cut.fq") && line.contains("record 1"), "{line}");
    sandbox.fails("bio fastq a.fq --by x", 2);
}

/// Lists and headers of 300,000 sequences are counted in the memory.
#[test]
fn many_sequences_are_within_the_memory() {
    let sandbox = Sandbox::new();
    let mut text = "##fileformat=VCFv4.3\n".to_owned();
    for sequence in (0..300_000).rev() {
        writeln!(text, "##contig=<ID=scaffold_{sequence},length=1000>").unwrap();
    }
    text += VCF_HEADER;
    for row in 0..1000 {
        writeln!(text, "scaffold_{}\t1\t.\tA\tC\t.\t.\t.", random(row, 1, 300_000)).unwrap();
    }
    sandbox.write("in.vcf", text);
    let line = sandbox.fails("bio vcf in.vcf -m 32M -o out.vcf", 4);
    let more = line.split("(-m ").nth(1).and_then(|more| more.split(')').next());
    let more = more.unwrap_or_else(|| panic!("{line}"));
    sandbox.ok(&format!("bio vcf in.vcf -m {more} -o out.vcf"));
    let sorted = String::from_utf8(sandbox.read("out.vcf")).unwrap();
    let numbers = sorted.lines().filter_map(|line| {
        number_after(line.split('\t').next()?, "scaffold_").filter(|_| !line.starts_with('#'))
    });
    let numbers: Vec<u64> = numbers.collect();
    assert_eq!(numbers.len(), 1000);
    assert!(numbers.is_sorted_by(|a, b| a >= b));
}

fn number_after(text: &str, prefix: &str) -> Option<u64> {
    text.strip_prefix(prefix)?.parse().ok()
}

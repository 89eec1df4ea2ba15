//! Files of BGZF, with their indexes, as programs for genomes read them: tabix and bgzip, where
//! they are installed.

use crate::sandbox::Sandbox;
use std::fmt::Write;

/// The empty block at the end of every whole file.
const END: &[u8] = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";

fn bed(rows: u64) -> String {
    let mut text = String::new();
    for row in 0..rows {
        let random = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (begin, bases) =
            (1 + random % 100_000_000, [1, 500, 90_000][(random >> 5) as usize % 3]);
        writeln!(text, "chr{}\t{begin}\t{}\tname{row}", random % 7, begin + bases).unwrap();
    }
    text
}

fn vcf(rows: u64) -> String {
    let mut text =
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n".to_owned();
    for row in 0..rows {
        let random = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let begin = 1 + random % 50_000_000;
        let (bases, end) = ("ACGT".repeat(1 + (random >> 9) as usize % 50), begin + 777);
        let info =
            ["DP=1".to_owned(), format!("DP=1;END={end}")][(random >> 7) as usize % 2].clone();
        writeln!(text, "{}\t{begin}\t.\t{bases}\tT\t.\tPASS\t{info}", 1 + random % 3).unwrap();
    }
    text
}

/// Every block says its length, none has more text than others read, and the last one is empty.
fn check_blocks(file: &[u8]) {
    assert!(file.ends_with(END));
    let mut rest = file;
    while !rest.is_empty() {
        assert_eq!((&rest[..4], &rest[12..16]), (&END[..4], &END[12..16]));
        let bytes = usize::from(u16::from_le_bytes([rest[16], rest[17]])) + 1;
        let text = u32::from_le_bytes(rest[bytes - 4..bytes].try_into().unwrap());
        assert!(text <= 65_280, "{text}");
        rest = &rest[bytes..];
    }
}

/// Of lines and of tables, by the name and by the option.
#[test]
fn names_of_programs_for_genomes_get_blocks() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bed", bed(20_000));
    sandbox.write("in.tsv", "name\tnumber\nb\t2\na\t1\n");
    sandbox.write("empty", "");
    sandbox.ok("lines in.bed -o expected");
    for ending in ["bed.gz", "vcf.gz", "gff3.gz", "fastq.gz", "bgz", "txt.bgz"] {
        sandbox.ok(&format!("lines in.bed -S 64M --parallel=2 -o out.{ending}"));
        check_blocks(&sandbox.read(&format!("out.{ending}")));
    }
    sandbox.ok("lines out.txt.bgz -o back");
    assert!(sandbox.read("back") == sandbox.read("expected"));
    sandbox.ok("lines empty -o none.bed.gz");
    assert_eq!(sandbox.read("none.bed.gz"), END);
    sandbox.ok("lines in.bed -o out.txt.gz");
    assert!(!sandbox.read("out.txt.gz").ends_with(END));
    sandbox.ok("lines in.bed --compress-output=bgzip -o out.txt.gz");
    check_blocks(&sandbox.read("out.txt.gz"));
    sandbox.ok("table in.tsv --by number:int -o out.tsv.bgz");
    check_blocks(&sandbox.read("out.tsv.bgz"));
    assert_eq!(sandbox.ok("table out.tsv.bgz --by name -q"), "name\tnumber\na\t1\nb\t2\n");
    sandbox.ok("table in.tsv --by name --compress-output=bgzip -o out.xz");
    check_blocks(&sandbox.read("out.xz"));
    sandbox.ok("table in.tsv --by name --compress-output=none -o out.gz");
    assert_eq!(sandbox.read("out.gz"), b"name\tnumber\na\t1\nb\t2\n");
}

/// tabix finds the same rows by its own index and by ours; the same index comes from `table`.
#[test]
fn tabix_reads_the_index() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bed", bed(20_000));
    sandbox.write("in.vcf", vcf(9_000));
    sandbox.write("in.tsv", format!("sequence\tbegin\tend\tname\n{}", bed(5_000)));
    for (line, output) in [
        ("lines -k1,1 -k2,2n in.bed --write-index -o", "a.bed.gz"),
        ("lines -k1,1 -k2,2n in.bed --write-index=csi -o", "b.bed.gz"),
        ("lines --header-prefix=# -k1,1 -k2,2n in.vcf --write-index -o", "c.vcf.gz"),
        ("table in.tsv --by #1,#2:int --index-columns=bed --write-index -q -o", "d.tsv.gz"),
        (
            "table in.tsv --by #1,#2:int --index-columns=1,2 --min-shift=12 --write-index -q -o",
            "e.tsv.gz",
        ),
    ] {
        sandbox.ok(&format!("{line} {output}"));
    }
    let names = sandbox.names();
    for index in ["a.bed.gz.tbi", "b.bed.gz.csi", "c.vcf.gz.tbi", "d.tsv.gz.tbi", "e.tsv.gz.csi"] {
        assert!(names.iter().any(|name| name == index), "{names:?}");
    }
    assert_eq!(names.len(), 13, "{names:?}");
    sandbox.ok("lines in.bed -o g.gz --write-index=gzi");
    let tabix = "set -e; command -v tabix >/dev/null || exit 0
        try() {
            file=$1; shift
            cp $file own.gz; tabix -f \"$@\" own.gz
            for chr in chr1 chr5 1 3; do for from in 1 1000000 33333333 49999999; do
                region=$chr:$from-$((from + 300000))
                tabix $file $region >ours; tabix own.gz $region | cmp - ours
            done; done
            tabix -l own.gz >names; tabix -l $file | cmp - names; test -s names
        }
        try a.bed.gz -p bed; try b.bed.gz -p bed; try c.vcf.gz -p vcf
        try d.tsv.gz -p bed -S 1; try e.tsv.gz -s 1 -b 2 -e 2 -S 1
        cp g.gz own.gz; bgzip -r own.gz; cmp g.gz.gzi own.gz.gzi";
    sandbox.script_ok(tabix);
}

/// Neither output nor index appears, and those that were there stay.
#[test]
fn an_output_out_of_order_has_no_index() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bed", bed(5_000));
    sandbox.write("in.tsv", bed(5_000));
    sandbox.write("old.bed.gz", "old");
    sandbox.write("old.bed.gz.tbi", "old index");
    let names = sandbox.names();
    let fails = |line: &str, code| {
        let ended = sandbox.run(line);
        assert_eq!((ended.code, &*ended.stdout), (Some(code), ""), "{line}: {}", ended.stderr);
        ended.stderr
    };
    let told = fails("lines -k2,2n in.bed -o old.bed.gz --write-index", 2);
    assert!(told.starts_with("xsort lines: old.bed.gz: line 6 of the output can't be"), "{told}");
    assert!(told.contains("other sequences are between"), "{told}");
    for line in [
        "lines -k1,1 in.bed -o new.bed.gz --write-index",
        "lines in.bed -o new.bed.gz --write-index --index-columns=3,2",
    ] {
        fails(line, 2);
    }
    let line = "table --no-header --by #2:int in.tsv -o old.bed.gz --write-index";
    let told = fails(line, 3);
    assert!(told.contains("line 6 of the output can't be in its index"), "{told}");
    assert_eq!(sandbox.names(), names);
    assert_eq!(sandbox.read("old.bed.gz"), b"old");
    assert_eq!(sandbox.read("old.bed.gz.tbi"), b"old index");
    for (line, expected) in [
        ("lines in.bed --write-index", "name one with -o"),
        ("lines in.bed --write-index -o out", "BGZF"),
        ("lines in.bed --write-index -o out.bed.gz --compress-output=gzip", "BGZF"),
        ("lines in.bed --write-index -o out.gz", "--index-columns"),
        ("lines in.bed --write-index=x -o out.bed.gz", "gzi"),
        ("lines in.bed --write-index --min-shift=31 -o out.bed.gz", "from 1 to 30"),
        ("lines in.bed --write-index --index-columns=1 -o out.bed.gz", "SEQUENCE,BEGIN"),
        ("lines -c in.bed --write-index", "does nothing"),
        ("table in.tsv --by #1 --write-index -o out.bed.gz --file-size 1M", "--file-size"),
        ("table in.tsv --by #1 --no-header --write-index", "name one with -o"),
    ] {
        let told = fails(line, 2);
        assert!(told.contains(expected), "{line}: {told}");
    }
    assert_eq!(sandbox.names(), names);
}

/// Inputs are inflated by several threads, and none that is cut or damaged passes for whole.
#[test]
fn inputs_are_read_by_blocks() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bed", bed(60_000));
    sandbox.ok("lines in.bed -o expected");
    sandbox.ok("lines --shuffle --seed=1 in.bed -o in.bed.gz");
    for options in ["-S 2M", "-S 64M --parallel=2", "-S 256M --parallel=3 -k1", "-m"] {
        let input = if options == "-m" { "sorted.bgz" } else { "in.bed.gz" };
        sandbox.ok(&format!("lines {options} {input} -o out"));
        assert!(sandbox.read("out") == sandbox.read("expected"), "{options}");
        sandbox.ok("lines in.bed -o sorted.bgz");
    }
    sandbox.ok("lines -c sorted.bgz");
    assert!(sandbox.script_ok("cat in.bed.gz | $xsort lines | cmp - expected").is_empty());
    let table = "table --format tsv --no-header --by #4";
    sandbox.ok(&format!("{table} in.bed.gz -q -o out.tsv"));
    sandbox.ok(&format!("{table} in.bed -q -o expected.tsv"));
    assert!(sandbox.read("out.tsv") == sandbox.read("expected.tsv"));

    // In order, so that a check reads all of it.
    let packed = sandbox.read("sorted.bgz");
    let text = packed.len() - END.len();
    sandbox.write("no_end.gz", &packed[..text]);
    sandbox.write("cut.gz", &packed[..text - 1]);
    let mut damaged = packed.clone();
    damaged[500] ^= 1;
    sandbox.write("damaged.gz", &damaged);
    for (name, expected) in [
        ("no_end.gz", "none without text marks the end"),
        ("cut.gz", " is cut off"),
        ("damaged.gz", "the block at byte 0 is damaged"),
    ] {
        for command in ["lines", "lines -m", "lines -c", table] {
            let told = sandbox.run(&format!("{command} {name}"));
            assert!(told.stderr.contains(expected), "{command} {name}: {}", told.stderr);
            assert!(told.stderr.contains(&format!("{name}: ")), "{}", told.stderr);
            assert!(matches!(told.code, Some(2 | 3)), "{command} {name}: {:?}", told.code);
        }
    }
    // The way out that is named.
    sandbox.script_ok("gzip -dc no_end.gz | $xsort lines | cmp - expected");
}

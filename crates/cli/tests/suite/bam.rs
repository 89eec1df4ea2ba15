//! `xsort bam`: the orders, headers and indexes of samtools, which is asked where it is installed.

use crate::sandbox::Sandbox;

/// A record by what sorts it.
#[derive(Clone, Debug)]
struct Read {
    name: String,
    sequence: i32,
    position: i32,
    flags: u16,
    /// The value of the tag NM.
    number: Option<i32>,
}

fn reads(from: u64, count: u64) -> Vec<Read> {
    let random = |row: u64, of: u64, below: u64| {
        let mixed = (row * 31 + of).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20) % below
    };
    let read = |row: u64| {
        let is_placed = random(row, 1, 20) > 0;
        Read {
            name: format!("r{}:{:03}", random(row, 2, 12), random(row, 3, 40)),
            sequence: if is_placed { random(row, 4, 2) as i32 } else { -1 },
            position: if is_placed { random(row, 5, 900) as i32 } else { -1 },
            flags: [0, 16, 64, 128, 256 + 64][random(row, 6, 5) as usize]
                | if is_placed { 0 } else { 4 },
            number: (random(row, 7, 4) > 0).then(|| random(row, 8, 300) as i32 - 100),
        }
    };
    (from..from + count).map(read).collect()
}

fn header(lines: &str, first_length: i32) -> Vec<u8> {
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend((lines.len() as u32).to_le_bytes());
    bytes.extend(lines.bytes());
    bytes.extend(3_u32.to_le_bytes());
    for (name, length) in [("b", first_length), ("a", 5000), ("c", 5000)] {
        bytes.extend([name.len() as u8 + 1, 0, 0, 0]);
        bytes.extend(name.bytes().chain([0]));
        bytes.extend(length.to_le_bytes());
    }
    bytes
}

const LINES: &str = "@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:b\tLN:5000\n@SQ\tSN:a\tLN:5000\n\
                     @SQ\tSN:c\tLN:5000\n@PG\tID:bwa\n";

/// The records in BAM, each of four bases.
fn records(reads: &[Read]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for read in reads {
        let mut body = [read.sequence.to_le_bytes(), read.position.to_le_bytes()].concat();
        body.extend([read.name.len() as u8 + 1, 60, 0, 0]);
        let is_mapped = read.flags & 4 == 0;
        body.extend(u16::from(is_mapped).to_le_bytes());
        body.extend(read.flags.to_le_bytes());
        body.extend(4_i32.to_le_bytes());
        body.extend([0xff; 8]);
        body.extend([0; 4]);
        body.extend(read.name.bytes().chain([0]));
        body.extend(if is_mapped { vec![0x40, 0, 0, 0] } else { Vec::new() });
        body.extend([0x12, 0x48, 30, 30, 30, 30]);
        if let Some(number) = read.number {
            body.extend(b"NMi".iter().copied().chain(number.to_le_bytes()));
        }
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body);
    }
    bytes
}

/// The text of a file of BGZF: its lines of SAM, and what follows the sequences.
fn read_bam(sandbox: &Sandbox, name: &str) -> (String, Vec<u8>) {
    sandbox.script_ok(&format!("gzip -dc {name} >text"));
    let text = sandbox.read("text");
    let lines_bytes = u32::from_le_bytes(text[4..8].try_into().unwrap()) as usize;
    let lines = String::from_utf8(text[8..8 + lines_bytes].to_vec()).unwrap();
    let sequences_bytes = header("", 5000).len() - 8;
    (lines, text[8 + lines_bytes + sequences_bytes..].to_vec())
}

fn by_coordinate(read: &Read) -> (u32, i32, u16) {
    (read.sequence as u32, read.position, read.flags & 16)
}

fn sorted<K: Ord>(reads: &[Read], key: impl FnMut(&Read) -> K) -> Vec<u8> {
    let mut reads = reads.to_vec();
    reads.sort_by_key(key);
    records(&reads)
}

#[test]
fn each_order_is_that_of_samtools() {
    let sandbox = Sandbox::new();
    let all = reads(0, 4000);
    sandbox.write("in.bam", [header(LINES, 5000), records(&all)].concat());
    sandbox.ok("bio bam in.bam -o out.bam");
    let (lines, found) = read_bam(&sandbox, "out.bam");
    assert!(found == sorted(&all, by_coordinate));
    let expected = LINES.replace("SO:unsorted", "SO:coordinate");
    let program = lines.strip_prefix(&expected).unwrap_or_else(|| panic!("{lines}"));
    assert!(program.starts_with("@PG\tID:xsort\tPN:xsort\tPP:bwa\tVN:"), "{program}");
    assert!(program.ends_with("\tCL:xsort bio bam in.bam -o out.bam\n"), "{program}");
    // The same from a pipe, from a file of BGZF, with little memory, and in parts that are merged.
    for script in [
        "cat out.bam | $xsort bam -q --no-pg -o - >other.bam",
        "$xsort bam -q --no-pg -m 2M -j 3 --compress lz4 out.bam -o other.bam",
        "$xsort bam -q --no-pg --merge out.bam -o other.bam",
    ] {
        sandbox.script_ok(script);
        assert!(read_bam(&sandbox, "other.bam") == (lines.clone(), found.clone()), "{script}");
    }
    let flags = |read: &Read| read.flags & 0xc0;
    let number = |text: &str| text.parse::<u64>().unwrap();
    for (order, expected) in [
        (
            "name",
            sorted(&all, |read| {
                let (a, b) = read.name[1..].split_once(':').unwrap();
                (number(a), number(b), flags(read))
            }),
        ),
        ("name-bytes", sorted(&all, |read| (read.name.clone(), flags(read)))),
        ("tag:NM", sorted(&all, |read| (read.number, by_coordinate(read)))),
    ] {
        sandbox.ok(&format!("bam in.bam --by {order} -o out.bam"));
        let (lines, found) = read_bam(&sandbox, "out.bam");
        assert!(found == expected, "{order}");
        let says = if order.starts_with("tag") { "SO:unknown" } else { "SO:queryname" };
        assert!(lines.contains(says), "{lines}");
    }
}

#[test]
fn samtools_reads_what_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write("in.bam", [header(LINES, 5000), records(&reads(0, 3000))].concat());
    for form in ["", "=csi", "=bai"] {
        sandbox.ok(&format!("bam in.bam -o out.bam --write-index{form}"));
        let name = if form == "=csi" { "out.bam.csi" } else { "out.bam.bai" };
        assert!(sandbox.names().contains(&name.to_owned()));
        sandbox.script_ok(
            "set -e; command -v samtools >/dev/null || exit 0
             samtools quickcheck out.bam; samtools sort -o own.bam in.bam 2>/dev/null
             samtools index own.bam
             samtools idxstats out.bam >ours; samtools idxstats own.bam | cmp - ours
             samtools view out.bam >ours; samtools view own.bam | cmp - ours
             for region in a b:1-20 b:400-410 a:899 c; do
                 samtools view out.bam $region >ours; samtools view own.bam $region | cmp - ours
             done
             for order in name:-n tag:NM:-tNM; do
                 $xsort bam -q in.bam --by ${order%:*} -o by.bam; samtools view by.bam >ours
                 samtools sort ${order##*:} in.bam 2>/dev/null | samtools view | cmp - ours
             done",
        );
        sandbox.script_ok("rm out.bam*");
    }
}

#[test]
fn several_inputs_have_one_header() {
    let sandbox = Sandbox::new();
    let (a, b) = (reads(0, 500), reads(500, 100));
    sandbox.write("a.bam", [header(LINES, 5000), records(&a)].concat());
    let other = LINES.replace("@PG\tID:bwa", "@RG\tID:x\n@PG\tID:bwa\tCL:other");
    sandbox.write("b.bam", [header(&other, 5000), records(&b)].concat());
    let said = sandbox.run("bam a.bam b.bam --no-pg -o out.bam");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("1 line of later headers left out"), "{}", said.stderr);
    let (lines, found) = read_bam(&sandbox, "out.bam");
    assert_eq!(lines, LINES.replace("SO:unsorted", "SO:coordinate") + "@RG\tID:x\n");
    assert!(found == sorted(&[a, b].concat(), by_coordinate));
}

/// The old output stays.
#[test]
fn what_is_no_bam_is_refused() {
    let sandbox = Sandbox::new();
    let good = [header(LINES, 5000), records(&reads(0, 10))].concat();
    let bad_sequence = Read { sequence: 3, ..reads(0, 1)[0].clone() };
    sandbox.write("in.bam", &good);
    sandbox.write("cut.bam", &good[..good.len() - 5]);
    sandbox.write("header.bam", &good[..30]);
    sandbox.write("sam.bam", LINES);
    sandbox.write("other.bam", [header(LINES, 5001), Vec::new()].concat());
    sandbox.write("bad.bam", [header(LINES, 5000), records(&[bad_sequence])].concat());
    sandbox.write("out.bam", "old");
    for (line, code, parts) in [
        ("cut.bam", 3, &["cut.bam", "record 10", "incomplete"][..]),
        ("header.bam", 3, &["header.bam", "header ends"]),
        ("sam.bam", 3, &["sam.bam", "doesn't begin as BAM"]),
        ("in.bam other.bam", 3, &["other.bam", "different genomes"]),
        ("bad.bam", 3, &["bad.bam", "record 1", "doesn't have its sequence"]),
        ("in.bam --by name --write-index", 2, &["by coordinate"]),
        ("in.bam --by tag:x", 2, &["tag:XX"]),
        ("in.bam --merge", 3, &["in.bam", "not in order"]),
        ("in.bam missing.bam", 3, &["missing.bam"]),
    ] {
        let said = sandbox.fails(&format!("bam {line} -o out.bam"), code);
        assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
        assert_eq!(sandbox.read("out.bam"), b"old", "{line}");
    }
    let said = sandbox.fails("bam in.bam --write-index -o -", 2);
    assert!(said.contains("beside a file"), "{said}");
    assert_eq!(sandbox.names().len(), 7);
    sandbox.write("none.bam", header(LINES, 5000));
    sandbox.ok("bam none.bam -o out.bam --write-index");
    assert!(read_bam(&sandbox, "out.bam").1.is_empty());
}

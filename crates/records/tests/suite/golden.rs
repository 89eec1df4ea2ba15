//! The public generator's own output: every row of `golden/gensort.tsv`, by SHA-256 of the whole
//! file and by checksum.

use sha2::{Digest, Sha256};
use xsort_records::{Checksum, Format, GenerateSpec, Generator, Pattern, VerifySummary};

const GOLDEN: &str = include_str!("../golden/gensort.tsv");

/// What gensort's arguments ask for; the last one is the number of records.
fn spec(arguments: &str) -> GenerateSpec {
    let mut spec = GenerateSpec {
        format: Format::Gensort,
        skewed: false,
        pattern: Pattern::Uniform,
        start: 0,
        seed: 0,
        total: 0,
    };
    for argument in arguments.split(' ') {
        match argument {
            "-a" => spec.format = Format::GensortAscii,
            "-s" => spec.skewed = true,
            _ => match argument.strip_prefix("-b") {
                Some(start) => spec.start = start.parse().unwrap(),
                None => spec.total = argument.parse().unwrap(),
            },
        }
    }
    spec
}

#[test]
fn every_row_is_reproduced() {
    let mut rows = 0;
    for row in GOLDEN.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let [name, arguments, records, checksum, sha256] = row.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("five columns: {row}")
        };
        let spec = spec(arguments);
        assert_eq!(spec.total, records.parse().unwrap(), "{name}");
        let generator = Generator::new(spec).unwrap();
        let (mut ours, mut sum) = (Sha256::new(), Checksum::default());
        let mut part = VerifySummary::new(&spec.format.layout());
        // Blocks of a prime number of records, so that no strip or block of the generator's own is
        // favoured.
        let mut block = vec![0; 7919 * 100];
        let mut first = 0;
        while first < spec.total {
            let count = (spec.total - first).min(7919);
            let block = &mut block[..count as usize * 100];
            generator.fill(first, block);
            ours.update(&block);
            sum.add_records(block, 100);
            part.extend(block);
            first += count;
        }
        assert_eq!(format!("{:x}", ours.finalize()), sha256, "{name}");
        assert_eq!(sum.to_string(), checksum, "{name}");
        assert_eq!(Checksum::parse_sum(checksum).unwrap(), sum.sum(), "{name}");
        assert_eq!(part.checksum(), sum, "{name}");
        rows += 1;
    }
    assert_eq!(rows, 8, "all rows of the file");
}

/// What valsort says of the first thousand records.
#[test]
fn valsort_of_unsorted_records() {
    let generator = Generator::new(spec("1000")).unwrap();
    let mut records = vec![0; 100_000];
    generator.fill(0, &mut records);
    let mut part = VerifySummary::new(&Format::Gensort.layout());
    part.extend(&records);
    assert_eq!(part.first_unordered(), Some(2));
    assert_eq!(part.unordered(), 483);
    assert_eq!(part.records(), 1000);
    assert_eq!(part.checksum().to_string(), "1ea6370b955");

    let (order, _) = records.as_chunks_mut::<100>();
    order.sort();
    let mut part = VerifySummary::new(&Format::Gensort.layout());
    part.extend(&records);
    assert!(part.is_sorted());
    assert_eq!((part.duplicates(), part.first_unordered()), (0, None));
    assert_eq!(part.checksum().to_string(), "1ea6370b955");
}

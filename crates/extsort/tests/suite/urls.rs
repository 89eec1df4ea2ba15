//! Sorts of files at URLs, which only the disk can read and write. On the simulated disk a URL is
//! an ordinary name; the file system has no such file.

use crate::adversity::{Impatient, smooth_or_rough};
use crate::lines_simulation::{sorted, text};
use crate::sort::{generated, options, oracle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use xsort_disk::{Disk, Fault, FaultSite, FileRole, Operation, SimDisk, SimOptions};
use xsort_extsort::lines::{
    ByBytes, LinesCheckpoint, LinesInput, SortedOutput, recognise, sort_lines_to,
};
use xsort_extsort::records::Method;
use xsort_extsort::{
    Begin, Checkpoint, Error, LinesOptions, LinesReport, SortOptions, Unobserved, merge_lines,
    sort, sort_lines,
};
use xsort_records::{Format, Pattern};
use xsort_testing::{Random, for_each_seed};

const MIB: u64 = 1 << 20;
const OUTPUT: &str = "gs://out/dir/sorted";

fn records(inputs: Vec<PathBuf>, output: &str) -> SortOptions {
    SortOptions {
        inputs,
        output: output.into(),
        format_is_assumed: true,
        method: Method::Auto,
        sync: true,
        ..options(&Format::Gensort.layout(), Path::new("/"), MIB, 2)
    }
}

/// Scratch is in a directory of this machine, wherever the output is.
#[test]
fn records_come_from_urls_and_go_to_one() {
    let layout = Format::Gensort.layout();
    let bytes = generated(Format::Gensort, Pattern::Uniform, 40_000);
    let (first, second) = bytes.split_at(1_300_000);
    for seed in 0..3 {
        let disk = SimDisk::new(SimOptions::rough(seed));
        disk.put("s3://in/a", first);
        disk.put("s3://in/b", second);
        disk.put(OUTPUT, "old");
        let inputs = vec!["s3://in/a".into(), "s3://in/b".into()];
        let report = sort(&records(inputs, OUTPUT), &disk, &Unobserved).unwrap();
        let (directory, spilled_bytes) = &report.scratch[0];
        assert!(*directory == std::env::temp_dir() && *spilled_bytes > 0, "{report}");
        assert!(disk.get(OUTPUT).unwrap() == oracle(&layout, &bytes));
        assert_eq!((disk.open_files(), disk.paths().len()), (0, 3));
    }
}

#[test]
fn an_old_object_stays_if_the_sort_fails() {
    let fault = Fault {
        operation: Operation::Read,
        role: Some(FileRole::Input),
        site: FaultSite::Byte(900_000),
        errno: 5,
    };
    let disk = SimDisk::new(SimOptions { faults: vec![fault], ..SimOptions::default() });
    disk.put("s3://in", generated(Format::Gensort, Pattern::Uniform, 20_000));
    disk.put(OUTPUT, "old");
    let error = sort(&records(vec!["s3://in".into()], OUTPUT), &disk, &Unobserved).unwrap_err();
    assert!(error.to_string().contains("s3://in at byte"), "{error}");
    assert_eq!((disk.get(OUTPUT).unwrap(), disk.open_files()), (b"old".to_vec(), 0));
}

fn lines(budget_bytes: u64, threads: usize) -> LinesOptions {
    LinesOptions { scratch: vec!["/scratch".into()], ..LinesOptions::new(budget_bytes, threads) }
}

fn checkpoint_to(output: &str, inputs: Vec<PathBuf>) -> LinesCheckpoint {
    LinesCheckpoint {
        checkpoint: Checkpoint { begin: Begin::Resume, every: Duration::ZERO },
        output: output.into(),
        inputs,
        meaning: String::new(),
    }
}

fn url(number: usize) -> PathBuf {
    format!("s3://in/{number}").into()
}

/// Returns texts that fit the budget together, or don't. Some are compressed.
fn texts(random: &mut Random, budget: u64, may_compress: bool) -> Vec<(Vec<u8>, bool)> {
    let bytes = random.one_of(&[0, 1, 100_000, budget / 2, 2 * budget]);
    let count = random.between(1, 5);
    let one = |_| {
        let is_compressed = may_compress && random.one_in(3);
        (text(random, bytes / count), is_compressed)
    };
    (0..count).map(one).collect()
}

fn packed(text: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(text, 1).unwrap()
}

fn simulate_lines(seed: u64) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let is_merge = random.one_in(3);
    // A smaller memory has no room for a long line of each input.
    let mib = if is_merge { random.one_of(&[5, 8]) } else { random.one_of(&[2, 3, 5]) };
    let options = lines(mib * MIB, random.between(1, 3) as usize);
    let mut texts = texts(random, options.budget_bytes, true);
    if is_merge {
        texts.iter_mut().for_each(|(text, _)| *text = sorted(&[text.split_off(0)], false, false));
    }
    let sim = Arc::new(SimDisk::new(smooth_or_rough(random, seed)));
    for (number, (text, is_compressed)) in texts.iter().enumerate() {
        sim.put(url(number), if *is_compressed { packed(text) } else { text.clone() });
    }
    let disk = Arc::clone(&sim) as Arc<dyn Disk>;
    let input = |number| {
        let input = LinesInput::on(&disk, &url(number)).unwrap();
        if is_merge { input.beside_others() } else { input }
    };
    let inputs = (0..texts.len()).map(input).collect();
    let inputs = recognise(inputs, is_merge, || (options.budget_bytes, 2)).unwrap().inputs;
    let plain: Vec<_> = texts.iter().map(|(text, _)| text.clone()).collect();
    let expected = sorted(&plain, false, false);
    let mut streamed = Vec::new();
    let is_file = !is_merge && random.one_in(2);
    let result: Result<LinesReport, Error> = match (is_merge, is_file) {
        (true, _) => merge_lines(&options, &ByBytes, inputs, &mut streamed, &*disk, &Unobserved),
        (false, false) => {
            sort_lines(&options, &ByBytes, inputs, &mut streamed, &*disk, &Unobserved)
        }
        (false, true) => {
            let output = SortedOutput::File { path: OUTPUT.as_ref(), sync: true };
            let report = sort_lines_to(&options, &ByBytes, inputs, output, &*disk, &Unobserved);
            streamed = sim.get(OUTPUT).ok_or("no output")?;
            report
        }
    };
    result.map_err(|error| error.to_string())?;
    match () {
        () if streamed != expected => Err("the output is wrong".into()),
        () if sim.open_files() > 0 => Err("files are open".into()),
        () if sim.paths().len() != texts.len() + usize::from(is_file) => {
            Err(format!("leftovers: {:?}", sim.paths()))
        }
        () => Ok(()),
    }
}

#[test]
fn lines_come_from_urls_and_go_to_one() {
    for_each_seed("lines at URLs", 15, simulate_lines);
}

/// Simulates interrupted sorts to a local file or to a URL.
fn simulate_resumed(seed: u64) -> Result<u64, String> {
    let random = &mut Random::new(seed);
    let budget_bytes = random.one_of(&[2, 3]) * MIB;
    let texts: Vec<_> =
        texts(random, budget_bytes, false).into_iter().map(|(text, _)| text).collect();
    let sim = Arc::new(SimDisk::new(smooth_or_rough(random, seed)));
    (0..).zip(&texts).for_each(|(number, text)| sim.put(url(number), text));
    let disk = Arc::clone(&sim) as Arc<dyn Disk>;
    let urls: Vec<_> = (0..texts.len()).map(url).collect();
    let output = random.one_of(&["/sorted", OUTPUT]);
    let checkpoint = checkpoint_to(output, urls.clone());
    let options = LinesOptions { checkpoint: Some(checkpoint), ..lines(budget_bytes, 2) };
    let all: u64 = texts.iter().map(|text| text.len() as u64).sum();
    for attempt in 0.. {
        let is_last = attempt == 6;
        let patience = if is_last { u64::MAX } else { random.between(0, 3 * all) };
        let inputs = urls.iter().map(|url| LinesInput::on(&disk, url).unwrap()).collect();
        let (nowhere, observer) = (&mut std::io::sink(), Impatient::after(patience));
        match sort_lines(&options, &ByBytes, inputs, nowhere, &*disk, &observer) {
            // Or before there was anything to resume.
            Err(Error::Resumable { .. } | Error::Cancelled) if !is_last => {}
            Err(error) => return Err(format!("attempt {attempt}: {error}")),
            Ok(_) if sim.get(output) != Some(sorted(&texts, false, false)) => {
                return Err(format!("attempt {attempt}: the output is wrong"));
            }
            Ok(_) if sim.open_files() > 0 => return Err("files are open".into()),
            Ok(_) => return Ok(attempt),
        }
    }
    unreachable!("the last attempt has patience")
}

#[test]
fn an_interrupted_sort_of_urls_goes_on() {
    let mut interruptions = 0;
    let tried = for_each_seed("resumed sort of URLs", 8, |seed| {
        interruptions += simulate_resumed(seed)?;
        Ok(())
    });
    assert!(interruptions > 0 || tried == 1);
}

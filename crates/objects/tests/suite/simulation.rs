//! Whole sorts from objects to an object, on the simulated store and the simulated disk, over many
//! seeds. The seed decides everything: records, budget, threads, parts, connections and faults.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use xsort_disk::{SimDisk, SimOptions};
use xsort_extsort::records::Method;
use xsort_extsort::{Error, Observer, SortOptions, dry_run, sort};
use xsort_objects::{
    ObjectDisk, ObjectSettings, Reason, SimStore, StoreCall, StoreFault, StoreOptions, StoreTrouble,
};
use xsort_records::Layout;
use xsort_testing::{Random, for_each_seed};

pub(crate) const OUTPUT: &str = "s3://out/sorted records";

/// The trouble in a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trouble {
    /// Only faults that a sort must survive.
    Rough,
    /// Requests fail permanently.
    Faults,
    /// Another program replaces an input.
    Change,
    /// The user cancels.
    Cancel,
    /// The store misbehaves without an error.
    Lies(StoreTrouble),
    /// The store flips bits, and no answer reveals it.
    Canary,
    /// The store flips bits, and the output is read back.
    ReadBack,
}

/// Acts once a number of bytes are processed.
struct Meanwhile<'a> {
    after: u64,
    done: AtomicU64,
    is_over: AtomicBool,
    act: &'a (dyn Fn() + Sync),
    /// Whether it then also cancels.
    is_impatient: bool,
}

impl Observer for Meanwhile<'_> {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if done > self.after && !self.is_over.swap(true, Ordering::Relaxed) {
            (self.act)();
        }
    }
    fn notice(&self, _line: &str) {}
    fn is_cancelled(&self) -> bool {
        self.is_impatient && self.is_over.load(Ordering::Relaxed)
    }
}

/// A sort of objects, possibly with a file among them.
pub(crate) struct Case {
    pub(crate) options: SortOptions,
    pub(crate) settings: ObjectSettings,
    records: Vec<u8>,
    pub(crate) store: Arc<SimStore>,
    pub(crate) local: Arc<SimDisk>,
    /// Each input's bytes.
    pub(crate) parts: Vec<Vec<u8>>,
}

/// A plain merge sort, without a budget and threads, which the caller sets.
pub(crate) fn merge_sort(inputs: Vec<PathBuf>, output: PathBuf, layout: Layout) -> SortOptions {
    SortOptions {
        inputs,
        output,
        method: Method::Merge,
        scratch: vec!["/scratch".into()],
        ..SortOptions::new(layout, 0, 1)
    }
}

impl Case {
    pub(crate) fn new(seed: u64, trouble: Trouble) -> Case {
        let random = &mut Random::new(seed);
        let record_bytes = random.one_of(&[1, 16, 100, 100, 333]);
        let key_bytes = record_bytes.min(10);
        let layout = Layout::new(record_bytes, vec![format!("0:{key_bytes}").parse().unwrap()]);
        let lies = matches!(trouble, Trouble::Lies(_) | Trouble::Canary | Trouble::ReadBack);
        let least = if lies { 1_000 } else { 0 };
        let count = random.one_of(&[0, 1, 300_000 / record_bytes, 300_000 / record_bytes]);
        let records = random.bytes(count.max(least) * record_bytes);
        let inputs = random.one_of(&[1, 2, 5]);
        let is_local = |input: usize| input == 1;
        let paths = (0..inputs).map(|input| match is_local(input) {
            true => PathBuf::from(format!("/in/{input}")),
            false => PathBuf::from(format!("s3://in/{input}")),
        });
        let mut options = SortOptions {
            threads: random.between(1, 4) as usize,
            method: random.one_of(&[Method::Merge, Method::Scatter]),
            ..merge_sort(paths.collect(), OUTPUT.into(), layout.unwrap())
        };
        let settings = ObjectSettings {
            part_bytes: 4096 * random.between(1, 12),
            connections: random.between(1, 4) as usize,
            writers: options.threads,
            verify_output: trouble == Trouble::ReadBack,
            ..ObjectSettings::default()
        };
        let local = if random.one_in(2) { SimOptions::rough(seed) } else { SimOptions::default() };
        let local = Arc::new(SimDisk::new(local));
        let store = Arc::new(SimStore::new(store_options(random, seed, trouble)));
        let whole = records.len() / record_bytes;
        let at = |input: usize| whole * input / inputs * record_bytes;
        let parts: Vec<Vec<u8>> =
            (0..inputs).map(|input| records[at(input)..at(input + 1)].to_vec()).collect();
        options.budget_bytes =
            least_budget(&options, &parts) * random.one_of(&[100, 101, 130, 200, 400, 3_000]) / 100;
        for (path, part) in options.inputs.iter().zip(&parts) {
            match path.to_str() {
                Some(url) if url.starts_with("s3:") => store.put_object(url, part.clone()),
                _ => local.put(path, part),
            }
        }
        store.put_object(OUTPUT, "old");
        Case { options, settings, records, store, local, parts }
    }

    fn disk(&self) -> ObjectDisk {
        let (local, store) = (Arc::clone(&self.local), Arc::clone(&self.store));
        ObjectDisk::with_client(local, self.settings.clone(), store)
    }

    /// Returns the current content at an input's path.
    fn input(&self, path: &Path) -> Option<Vec<u8>> {
        match path.to_str() {
            Some(url) if url.starts_with("s3:") => self.store.object(url).map(|it| it.to_vec()),
            _ => self.local.get(path),
        }
    }

    /// Returns the records in order, sorted independently.
    pub(crate) fn sorted(&self) -> Vec<u8> {
        let record_bytes = self.options.layout.record_bytes();
        let key_bytes = record_bytes.min(10);
        let mut records: Vec<&[u8]> = self.records.chunks(record_bytes).collect();
        records.sort_by(|one, other| one[..key_bytes].cmp(&other[..key_bytes]));
        records.concat()
    }
}

fn store_options(random: &mut Random, seed: u64, trouble: Trouble) -> StoreOptions {
    let plain = StoreOptions { seed, ..StoreOptions::default() };
    let mut options = if random.one_in(2) { StoreOptions::rough(seed) } else { plain };
    match trouble {
        Trouble::Rough | Trouble::Change | Trouble::Cancel => {}
        Trouble::Faults => {
            use StoreCall::{Complete, CreateMultipart, GetRange, Head, Put, PutPart, Remove};
            let calls = [Complete, CreateMultipart, GetRange, Head, Put, PutPart, Remove];
            let reasons = [
                Reason::Unavailable,
                Reason::TimedOut,
                Reason::Denied,
                Reason::Expired,
                Reason::NoBucket,
            ];
            let (call, reason) = (random.one_of(&calls), random.one_of(&reasons));
            let chance = random.one_of(&[0.02, 0.3, 1.0]);
            options.faults = vec![StoreFault { call, reason, chance }];
        }
        Trouble::Lies(trouble) => {
            options.trouble = Some(trouble);
            let tells = matches!(trouble, StoreTrouble::FlipBit | StoreTrouble::FlipWhole);
            options.has_opaque_tags &= !tells;
        }
        Trouble::Canary | Trouble::ReadBack => {
            options.trouble = Some(StoreTrouble::FlipBit);
            (options.has_opaque_tags, options.keeps_marks) = (true, true);
        }
    }
    options
}

/// Finds the minimum budget by trying, on a disk without faults.
fn least_budget(options: &SortOptions, parts: &[Vec<u8>]) -> u64 {
    let plain = SimDisk::new(SimOptions::default());
    for (path, part) in options.inputs.iter().zip(parts) {
        plain.put(path, part);
    }
    match dry_run(options, &plain, &xsort_extsort::Unobserved) {
        Err(Error::Memory { needed_bytes, .. }) => needed_bytes,
        other => panic!("no budget at all is not too little: {other:?}"),
    }
}

/// Returns whether an error names the file, and is one to which this trouble may lead.
fn is_clear(error: &Error, trouble: Trouble) -> bool {
    match error {
        Error::InputsRemoved { cause } => is_clear(cause, trouble),
        Error::Disk(error) => {
            let path = error.path.to_string_lossy();
            path.starts_with("s3://in/") || path == OUTPUT || path.starts_with('/')
        }
        Error::Input { .. } => {
            matches!(trouble, Trouble::Change | Trouble::Lies(StoreTrouble::ShortLength))
        }
        Error::Cancelled => trouble == Trouble::Cancel,
        _ => false,
    }
}

/// Runs the simulation of a seed. `Err` names the broken promise.
fn simulate(seed: u64, trouble: Trouble) -> Result<(), String> {
    let case = Case::new(seed, trouble);
    let random = &mut Random::new(!seed);
    let is_impatient = trouble == Trouble::Cancel;
    let changed = random.below(case.options.inputs.len());
    let has_trouble = is_impatient || trouble == Trouble::Change;
    let after = if has_trouble { random.between(0, case.records.len() as u64) } else { u64::MAX };
    let change = || {
        let path = &case.options.inputs[changed];
        let Some(mut bytes) = case.input(path).filter(|_| trouble == Trouble::Change) else {
            return;
        };
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
        match path.to_str() {
            Some(url) if url.starts_with("s3:") => case.store.put_object(url, bytes),
            _ => case.local.overwrite(path, bytes),
        }
    };
    let (done, is_over) = Default::default();
    let observer = Meanwhile { after, done, is_over, act: &change, is_impatient };
    let disk = case.disk();
    let result = sort(&case.options, &disk, &observer);
    drop(disk);

    let output = case.store.object(OUTPUT).ok_or("no output at all")?;
    let (is_sorted, is_old) = (output == case.sorted(), output == "old");
    match &result {
        Ok(_) if !is_sorted => return Err("success, but the output is wrong".into()),
        Ok(_) => {}
        Err(error) if trouble == Trouble::Rough => return Err(format!("failed: {error}")),
        Err(error) if !is_clear(error, trouble) => return Err(format!("unclear: {error}")),
        // The error says that the object there can't be used.
        Err(error) if error.to_string().contains("is not what was written") => {}
        Err(error) if error.to_string().contains("it couldn't be looked at") && is_sorted => {}
        Err(error) if error.to_string().contains("there now is unknown") && is_sorted => {}
        Err(_) if is_old => {}
        Err(error) => return Err(format!("the output is not what is said of it: {error}")),
    }
    if case.store.upload_bytes() > 0 {
        return Err("parts are left in the store".into());
    }
    let has_changed = |input: usize| trouble == Trouble::Change && input == changed;
    for (input, (path, part)) in case.options.inputs.iter().zip(&case.parts).enumerate() {
        match case.input(path) {
            _ if has_changed(input) => {}
            Some(there) if there == *part => {}
            _ => return Err(format!("{} is damaged", path.display())),
        }
    }
    if case.local.open_files() > 0 {
        return Err("files are open".into());
    }
    Ok(())
}

fn check_seeds(trouble: Trouble) {
    for_each_seed(&format!("objects {trouble:?}"), 20, |seed| simulate(seed, trouble));
}

#[test]
fn ordinary_adversity_changes_nothing() {
    check_seeds(Trouble::Rough);
}

#[test]
fn failing_requests_leave_the_old_object() {
    check_seeds(Trouble::Faults);
}

#[test]
fn an_input_that_is_replaced_is_noticed() {
    check_seeds(Trouble::Change);
}

#[test]
fn a_stop_on_request_leaves_the_old_object() {
    check_seeds(Trouble::Cancel);
}

#[test]
fn a_lost_part_leaves_the_old_object() {
    check_seeds(Trouble::Lies(StoreTrouble::LosePart));
}

#[test]
fn an_object_without_a_part_is_no_success() {
    check_seeds(Trouble::Lies(StoreTrouble::CompleteWithoutPart));
}

#[test]
fn an_object_that_is_longer_than_announced_is_no_success() {
    check_seeds(Trouble::Lies(StoreTrouble::ShortLength));
}

#[test]
fn bytes_that_arrive_damaged_are_no_success() {
    check_seeds(Trouble::Lies(StoreTrouble::FlipBit));
}

#[test]
fn parts_that_are_put_together_wrongly_are_no_success() {
    check_seeds(Trouble::Lies(StoreTrouble::FlipWhole));
}

#[test]
fn what_is_read_back_and_is_another_is_no_success() {
    check_seeds(Trouble::ReadBack);
}

/// The canary: the store keeps other bytes than it was sent, and no answer reveals it. If the test
/// doesn't detect that, the tests above prove nothing.
#[test]
fn the_canary_is_caught() {
    let broken = simulate(1, Trouble::Canary);
    assert_eq!(broken, Err("success, but the output is wrong".into()));
}

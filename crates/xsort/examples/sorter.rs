//! Sorts a stream of structs by two fields, in 32 MiB of memory and from several threads.
//! usage: cargo run --release -p xsort --example sorter -- EVENTS

use std::{env, thread};
use xsort::{Error, Pusher, SortKey, Sorter};

/// What is sorted: by town, then the latest first.
struct Event {
    town: &'static str,
    time: u64,
    value: f32,
}

impl Event {
    /// Any event.
    fn number(number: u64) -> Event {
        let random = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let town = ["Bergen", "Oslo", "Troms\u{f8}"][(random % 3) as usize];
        Event { town, time: random >> 40, value: number as f32 }
    }

    fn key<'k>(&self, key: &'k mut SortKey) -> &'k mut SortKey {
        key.clear().text(self.town).descending().u64(self.time)
    }

    /// What isn't in the key.
    fn to_bytes(&self) -> [u8; 4] {
        self.value.to_le_bytes()
    }
}

fn push_events(mut pusher: Pusher, numbers: impl Iterator<Item = u64>) -> Result<(), Error> {
    let mut key = SortKey::new();
    for event in numbers.map(Event::number) {
        pusher.push(event.key(&mut key), event.to_bytes())?;
    }
    pusher.flush()
}

fn main() -> Result<(), Error> {
    let events: u64 = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5_000_000);
    let sorting = Sorter::new().memory(32 << 20).start()?;
    thread::scope(|scope| {
        let pushers = [0..events / 2, events / 2..events].map(|numbers| {
            let pusher = sorting.pusher();
            scope.spawn(move || push_events(pusher, numbers))
        });
        pushers.into_iter().try_for_each(|thread| thread.join().expect("it doesn't panic"))
    })?;
    let mut sorted = sorting.finish()?;
    let (mut sum, mut last_town) = (0.0, Vec::new());
    while let Some((key, record)) = sorted.next()? {
        sum += f64::from(f32::from_le_bytes(record.try_into().expect("four bytes")));
        let town = key.split(|&byte| byte == 0).next().unwrap_or_default();
        if town != last_town {
            eprintln!("{}", String::from_utf8_lossy(town));
            last_town = town.to_vec();
        }
    }
    let report = sorted.report().expect("all records came");
    eprintln!(
        "{} records in {:.1} s, {} bytes spilled, sum {sum}",
        report.records, report.seconds, report.spilled_bytes
    );
    Ok(())
}

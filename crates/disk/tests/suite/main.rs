//! One suite for every way that bytes can travel.

use crossbeam_channel::unbounded;
use xsort_disk::*;

#[test]
fn smoke() {
    for io in [IoChoice::Uring, IoChoice::Sync] {
        let dir = tempfile::tempdir_in("/work/bench_tmp").unwrap();
        let disk = OsDisk::new(DiskOptions { io, ..Default::default() }).unwrap();
        let path = dir.path().join("out");
        let out = disk.create_output(&path).unwrap();
        let shelf = Shelf::map(8, 1 << 20).unwrap();
        let (reply, done) = unbounded::<Completion>();
        for i in 0..32u64 {
            if i >= 8 {
                done.recv().unwrap().result.unwrap();
            }
            let mut lease = shelf.take().unwrap();
            lease.fill(i as u8);
            disk.submit(Request {
                direction: Direction::Write,
                file: out,
                offset: i << 20,
                bytes: 1 << 20,
                bytes_needed: 1 << 20,
                lease,
                tag: i,
                reply: reply.clone(),
            });
        }
        drop(reply);
        for c in done {
            c.result.unwrap();
        }
        disk.publish(out, (31 << 20) + 5000, true).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), (31 << 20) + 5000);
        assert!(bytes.iter().enumerate().all(|(i, &b)| b == (i >> 20) as u8));
        assert_eq!(shelf.available(), 8);
        println!("{} {:?}", disk.describe(), disk.notices());
    }
}

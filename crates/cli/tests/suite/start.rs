//! What a process inherits from its parent: closed standard streams, and pipes without a reader.

use crate::sandbox::{Sandbox, clean, program};
use std::io;

/// If descriptors 0 to 2 were free, the output would get one of them, and messages on standard
/// error would go into it.
#[test]
fn a_closed_stream_is_not_the_number_of_a_file_that_is_opened() {
    let sandbox = Sandbox::new();
    sandbox.ok("gen -q 1000r expected");
    for closed in ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"] {
        let script = format!(r#""$0" gen 1000r out {closed}"#);
        let mut shell = clean("sh");
        let status = shell
            .args(["-c", &script])
            .arg(program())
            .current_dir(sandbox.path())
            .status()
            .unwrap();
        assert!(status.code().is_some(), "{closed}: {status}");
        assert_eq!(sandbox.read("out"), sandbox.read("expected"), "{closed}");
    }
}

/// A refusal has its status even without a reader.
#[test]
fn a_refusal_that_nobody_reads_has_its_status() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let status = clean(program()).args(["gen", "99"]).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(2), "{status}");
}

//! Prints what trees take: `total [-j THREADS] [-d] PATH...` (`-d`: each directory too).
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use xsort_usage::{Detail, FoundFile, Options, Visitor, WalkError, walk};

struct Printer;

impl Visitor for Printer {
    fn found(&self, found: &FoundFile<'_>) {
        let kibibytes = found.total.allocated_bytes / 1024;
        let _ = writeln!(io::stdout(), "{kibibytes}\t{}", String::from_utf8_lossy(&found.path()));
    }

    fn failed(&self, failure: &WalkError) {
        let _ = writeln!(io::stderr(), "{failure}");
    }
}

fn main() {
    let mut options = Options { detail: Detail::Total, ..Options::default() };
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == "-j").is_some() {
        let threads = arguments.next().expect("a number after -j");
        options.threads = threads.to_str().and_then(|text| text.parse::<NonZeroUsize>().ok());
    }
    if arguments.next_if(|argument| argument == "-d").is_some() {
        options.detail = Detail::Directories;
    }
    walk(&options, &mut arguments.map(OsStringExt::into_vec), &Printer);
}

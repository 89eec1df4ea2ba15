//! URLs: objects with the feature, otherwise refused by all jobs.

use xsort::{Du, Error, Format, Generate, Lines, Prefix, Prefixed, Sort, Table, Verify};

/// Returns the errors of all jobs for this URL as an input, and of two for it as an output.
fn refusals(url: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("out"));
    Generate::records(100).run(&data).unwrap();
    let jobs: [Option<Error>; 9] = [
        Sort::files([url]).run(&out).err(),
        Lines::files([url]).run(&out).err(),
        Prefixed::files(Prefix::U8, [url]).run(&out).err(),
        Table::csv([url]).by("k").unwrap().run(&out).err(),
        Verify::files([url]).run().err(),
        Verify::files([url]).prefixed(Prefix::U8, []).run().err(),
        Lines::files(["/dev/null"]).run(url).err(),
        Generate::records(100).run(url).err(),
        Sort::files([&data]).format(Format::Gensort).run(url).err(),
    ];
    assert!(!out.exists());
    jobs.into_iter().map(|error| error.expect("no such job succeeds").to_string()).collect()
}

#[test]
fn a_url_is_an_object_if_the_crate_is_built_with_them() {
    let expected = match cfg!(feature = "objects") {
        true => "no bucket has such a name",
        false => "not built into this program",
    };
    let url = "s3://no such bucket/key";
    for text in refusals(url) {
        assert!(text.contains(expected), "{text}");
    }
    let usage = Du::trees([url]).run();
    assert!(usage.errors.len() == 1 && usage.errors[0].contains("only files"), "{usage:?}");
}

#[cfg(feature = "objects")]
#[test]
fn what_objects_take_is_part_of_the_memory_and_errors_say_how_much_is_enough() {
    let sort = Sort::files(["https://host/data"]).memory(20 << 20).threads(2);
    let error = sort.run("s3://bucket/key").unwrap_err();
    let Error::Memory { budget_bytes, needed_bytes } = error else { panic!("{error}") };
    assert_eq!(budget_bytes, 20 << 20);
    assert!((48 << 20..64 << 20).contains(&needed_bytes), "{needed_bytes}");
}

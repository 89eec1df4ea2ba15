//! Defaults from the environment.

use crate::sandbox::Sandbox;
use std::fs;

const VARIABLES: [(&str, &str); 3] =
    [("XSORT_MEMORY", "70M"), ("XSORT_THREADS", "1"), ("XSORT_SCRATCH", "one:two")];

#[test]
fn variables_are_defaults_and_options_win() {
    let sandbox = Sandbox::with_variables(&VARIABLES);
    // Small inputs take less than they may.
    sandbox.write("t.csv", "a\n".to_owned() + &"2\n1\n".repeat(2 << 20));
    sandbox.write("text", "b\na\n".repeat(2 << 20));
    sandbox.ok("gen 100r data");
    for scratch in ["one", "two"] {
        fs::create_dir(sandbox.path().join(scratch)).unwrap();
    }
    let used = |line: &str| {
        let plan = sandbox.json(&format!("{line} --dry-run"));
        let memory_bytes = plan["memory_bytes"].as_u64().unwrap();
        (memory_bytes.div_ceil(1 << 20), plan["threads"].as_u64().unwrap())
    };
    for line in ["table t.csv --by a -o out", "lines text -o out"] {
        assert_eq!(used(line), (70, 1), "{line}");
        assert_eq!(used(&format!("{line} --memory 80M -j 2")), (80, 2), "{line}");
    }
    for line in ["sort data -o out", "gen 100r out", "table t.csv --by a -o out"] {
        let text = sandbox.ok(&format!("{line} --dry-run -v"));
        assert!(
            text.contains("\nsettings memory by XSORT_MEMORY, threads by XSORT_THREADS"),
            "{text}"
        );
        let text = sandbox.ok(&format!("{line} --dry-run -v -m 80M"));
        assert!(text.contains("\nsettings memory by --memory, threads by XSORT_THREADS"), "{text}");
    }
    let text = sandbox.ok("sort data -o out --dry-run -v");
    assert!(text.contains("scratch by XSORT_SCRATCH"), "{text}");
    let text = sandbox.ok("lines text --dry-run --verbose");
    assert!(text.contains("scratch by XSORT_SCRATCH"), "{text}");
}

#[test]
fn scratch_goes_where_the_variable_says() {
    let sandbox = Sandbox::with_variables(&[("XSORT_SCRATCH", "missing")]);
    sandbox.ok("gen 30MB data");
    for line in ["sort -m 8M data -o out", "lines --memory 8M data -o out"] {
        let line = sandbox.run(line);
        assert!(line.code != Some(0) && line.stderr.contains("missing"), "{}", line.stderr);
    }
    sandbox.ok("sort -m 8M -T . data -o out");
}

#[test]
fn a_variable_with_another_value_is_refused_by_its_name() {
    for (name, value) in [("XSORT_MEMORY", "64Q"), ("XSORT_THREADS", "many")] {
        let sandbox = Sandbox::with_variables(&[(name, value)]);
        let expected = format!("'{value}' of {name}");
        for line in ["gen 100r data", "lines", "table t.csv --by a"] {
            let line = sandbox.run(line);
            assert!(line.code == Some(2) && line.stderr.contains(&expected), "{}", line.stderr);
        }
        assert!(sandbox.names().is_empty());
    }
    let sandbox = Sandbox::with_variables(&[("XSORT_THREADS", "many")]);
    assert!(sandbox.run("du .").stderr.contains("of XSORT_THREADS"));
    // An empty one is none.
    Sandbox::with_variables(&[("XSORT_MEMORY", ""), ("XSORT_THREADS", "")]).ok("gen 100r data");
}

//! The drawing of the house against the house: the table of rooms in docs/architecture.md must say
//! what the manifests say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli is two levels down")
}

/// The table's rows: a room and whom it may import.
fn drawn() -> Arrows {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let names =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let rows =
        text.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 6);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        (names(cells[1]).pop_first().unwrap(), names(cells[3]))
    })
    .collect()
}

/// The manifests' arrows, development dependencies left out.
fn built() -> Arrows {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(vec!["--offline".into(), "--locked".into()])
        .exec()
        .unwrap();
    let room = |name: &str| match name {
        "xsort" => Some("cli".to_owned()),
        _ => name.strip_prefix("xsort-").map(str::to_owned),
    };
    let arrows = |package: &cargo_metadata::Package| {
        let real = package.dependencies.iter().filter(|dependency| {
            dependency.kind != cargo_metadata::DependencyKind::Development
                && dependency.path.is_some()
        });
        real.filter_map(|dependency| room(&dependency.name)).collect()
    };
    let packages = metadata.workspace_packages();
    packages.iter().filter_map(|package| Some((room(&package.name)?, arrows(package)))).collect()
}

#[test]
fn the_table_of_rooms_is_true() {
    let (drawn, built) = (drawn(), built());
    assert_eq!(drawn.keys().collect::<Vec<_>>(), built.keys().collect::<Vec<_>>(), "rooms");
    for (room, imports) in &built {
        assert_eq!(imports, &drawn[room], "what `{room}` imports");
    }
}

/// Rooms whose unsafe code is "forbidden" say so to the compiler; in the others every file that has
/// some names it.
#[test]
fn unsafe_code_is_where_the_table_says() {
    for (room, is_forbidden) in [
        ("records", true),
        ("extsort", true),
        ("status", true),
        ("usage", true),
        ("cli", true),
        ("kernels", false),
        ("disk", false),
        ("text", false),
        ("shm", false),
    ] {
        let source = root().join("crates").join(room).join("src");
        let entry = if room == "cli" { "main.rs" } else { "lib.rs" };
        let entry = fs::read_to_string(source.join(entry)).unwrap();
        assert_eq!(entry.contains("#![forbid(unsafe_code)]"), is_forbidden, "{room}");
        let mut folders = vec![source];
        while let Some(folder) = folders.pop() {
            for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if file.is_dir() {
                    folders.push(file);
                    continue;
                }
                let text = fs::read_to_string(&file).unwrap();
                let has_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "#[unsafe("]
                    .iter()
                    .any(|word| text.contains(word));
                let names_it = text.contains("#![allow(unsafe_code");
                assert!(
                    !has_unsafe || names_it,
                    "{} has unsafe code and does not name it",
                    file.display()
                );
            }
        }
    }
}

/// Whoever judges a sort shares nothing with it but what records are, and how bytes come from
/// drives: what the verifier's files name of their own rooms is in this list.
#[test]
fn the_verifier_shares_no_code_with_the_sort() {
    let files = [
        ("extsort/src/verify.rs", &["threads", "Error", "Frame", "Gauges", "Observer"][..]),
        ("extsort/src/threads.rs", &["Error"]),
        ("records/src/verify.rs", &["judge", "Checksum", "Layout"]),
        ("records/src/judge.rs", &["Endian", "KeyField", "KeyKind"]),
    ];
    for (file, allowed) in files {
        let text = fs::read_to_string(root().join("crates").join(file)).unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let text = text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
        let words = |text: &str| -> Vec<String> {
            let names = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        // `crate::a::b` names a, `crate::{a, b}` both.
        let named = text.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => words(list.split('}').next().unwrap()),
            None => {
                words(rest.split("::").next().unwrap().split(';').next().unwrap())[..1].to_vec()
            }
        });
        let named: BTreeSet<String> = named.collect();
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(named, allowed, "{file}");
        assert!(!text.contains("xsort_kernels"), "{file}");
    }
}

//! Checks what readers of the source rely on: docs/architecture.md and docs/glossary.md against the
//! manifests and the files. Nothing here builds or runs anything.

mod exceptions;
mod floors;
mod modules;
mod pages;
mod promises;
mod source;
mod style;
mod words;

use source::files_in;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli is two levels down")
}

/// A row of the table of crates.
struct Row {
    imports: BTreeSet<String>,
    /// The last column: "forbidden", or the files with unsafe code.
    unsafe_code: String,
}

/// The table of crates: the only table of five columns whose rows begin with a name.
fn table() -> BTreeMap<String, Row> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let names =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let rows =
        text.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 6);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let row = Row { imports: names(cells[3]), unsafe_code: cells[5].trim().to_owned() };
        (names(cells[1]).pop_first().unwrap(), row)
    })
    .collect()
}

/// The crates of the workspace that each crate imports by its manifest, without development
/// dependencies.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(vec!["--offline".into(), "--locked".into()])
        .exec()
        .unwrap();
    let name = |package: &str| match package {
        "xsort" => Some("xsort".to_owned()),
        _ => package.strip_prefix("xsort-").map(str::to_owned),
    };
    let imports = |package: &cargo_metadata::Package| {
        let real = package.dependencies.iter().filter(|dependency| {
            dependency.kind != cargo_metadata::DependencyKind::Development
                && dependency.path.is_some()
        });
        real.filter_map(|dependency| name(&dependency.name)).collect()
    };
    let packages = metadata.workspace_packages();
    packages.iter().filter_map(|package| Some((name(&package.name)?, imports(package)))).collect()
}

#[test]
fn the_table_of_crates_is_true() {
    let (table, manifests) = (table(), manifests());
    assert_eq!(table.keys().collect::<Vec<_>>(), manifests.keys().collect::<Vec<_>>(), "crates");
    for (name, imports) in &manifests {
        assert_eq!(*imports, table[name].imports, "what `{name}` imports");
    }
}

/// The program's dependencies, except those that only tests need, build with the compiler that the
/// manifest promises.
#[test]
fn no_dependency_needs_a_newer_compiler() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(
            ["--offline", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
                .map(str::to_owned)
                .to_vec(),
        )
        .exec()
        .unwrap();
    // The metadata have features that only tests switch on; the tree shows what is built.
    let tree = std::process::Command::new(env!("CARGO"))
        .args("tree --offline --locked -p xsort-cli -e normal,build --prefix none".split(' '))
        .args(["-f", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let seen: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| line.split_once(" v"))
        .map(|(name, rest)| (name, rest.split(' ').next().unwrap()))
        .collect();
    let package = |(name, version): (&str, &str)| {
        let mut all = metadata.packages.iter();
        all.find(|package| *package.name == name && package.version.to_string() == version)
    };
    let program = package(("xsort-cli", env!("CARGO_PKG_VERSION"))).unwrap();
    let promised = program.rust_version.as_ref();
    for &used in &seen {
        let needed = package(used).unwrap().rust_version.as_ref();
        assert!(needed <= promised, "{used:?} needs Rust {}", needed.unwrap());
    }
    assert!(seen.len() > 50);
}

/// Crates whose unsafe code is "forbidden" forbid it to the compiler. In the others, every file
/// with unsafe code allows it by name, and if the table names files, no other file has any.
#[test]
fn unsafe_code_is_where_the_table_says() {
    let files = files_in(&["crates", "python"]);
    for (name, row) in table() {
        let source = match &*name {
            "python" => "python/src/".to_owned(),
            name => format!("crates/{name}/src/"),
        };
        let files = files.iter().filter(|file| file.path.starts_with(&source));
        for file in files {
            let inside = &file.path[source.len()..];
            if matches!(inside, "lib.rs" | "main.rs") {
                let forbids = file.code.contains("#![forbid(unsafe_code)]");
                assert_eq!(forbids, row.unsafe_code == "forbidden", "{}", file.path);
            }
            let has_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "#[unsafe("]
                .iter()
                .any(|word| file.code.contains(word));
            if has_unsafe {
                let names_it = file.code.contains("#![allow(unsafe_code");
                assert!(names_it, "{} has unsafe code and does not name it", file.path);
                let is_allowed = row.unsafe_code == "in files that name it"
                    || row.unsafe_code.contains(&format!("`{inside}`"));
                assert!(is_allowed, "{}: the table says {}", file.path, row.unsafe_code);
            }
        }
    }
}

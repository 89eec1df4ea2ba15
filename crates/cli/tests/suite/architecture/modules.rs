//! Which file of a crate uses which: the edges that `use` declarations and paths form.
//!
//! A name that a module only re-exports counts for the file that defines it. So a `mod.rs` that
//! gathers its children's names forms no circle with them. Code after `#[cfg(test)]` is left out.

use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;

/// For each file, the files of its crate that it uses.
pub(super) type Uses = BTreeMap<String, BTreeSet<String>>;

/// The name of a module: its path from the crate's root.
type ModulePath = Vec<String>;

struct Module {
    file: String,
    imports: Vec<Import>,
    /// Paths in the code itself.
    paths: Vec<Vec<String>>,
}

/// A name that a `use` declaration brings into scope.
struct Import {
    name: String,
    path: Vec<String>,
    is_public: bool,
}

/// The files of one crate's `src`, and what they use of each other.
pub(super) fn uses(files: &[&SourceFile]) -> Uses {
    let modules: BTreeMap<ModulePath, Module> = files
        .iter()
        .filter_map(|file| Some((module_path(&file.path)?, Module::read(file))))
        .collect();
    let mut uses = Uses::new();
    for (name, module) in &modules {
        let used = uses.entry(module.file.clone()).or_default();
        let imported =
            module.imports.iter().filter(|import| !import.is_public).map(|import| &import.path);
        for path in imported.chain(&module.paths) {
            if let Some(target) = resolve(&modules, name, path, 0) {
                used.insert(modules[&target].file.clone());
            }
        }
        used.remove(&module.file);
    }
    uses
}

/// The sets of files that use each other, directly or indirectly: strongly connected components of
/// two files or more.
pub(super) fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|file| (file, reachable_from(uses, file))).collect();
    let mut circles = BTreeSet::new();
    for (file, below) in &reachable {
        let circle: BTreeSet<String> = below
            .iter()
            .filter(|other| reachable[*other].contains(file))
            .copied()
            .cloned()
            .collect();
        if !circle.is_empty() {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reachable_from<'u>(uses: &'u Uses, file: &String) -> BTreeSet<&'u String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = uses[file].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&uses[next]);
        }
    }
    reached
}

/// The module path of a file; `None` for files that hold only tests.
fn module_path(file: &str) -> Option<ModulePath> {
    let (_, inside) = file.split_once("/src/")?;
    let mut names: ModulePath =
        inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    match names.last()?.as_str() {
        "tests" => return None,
        "mod" | "lib" | "main" => drop(names.pop()),
        _ => {}
    }
    Some(names)
}

impl Module {
    fn read(file: &SourceFile) -> Module {
        let code = file.code.split("#[cfg(test)]\nmod ").next().unwrap();
        let tokens = tokens(code);
        let (mut imports, mut paths) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < tokens.len() {
            let before = at.checked_sub(1).map_or("", |before| tokens[before]);
            if tokens[at] == "use" {
                let is_public = before == "pub" || before == ")";
                at = read_use(&tokens, at + 1, &[], is_public, &mut imports);
            } else if is_name(tokens[at]) && before != "::" && tokens.get(at + 1) == Some(&"::") {
                let mut path = vec![tokens[at].to_owned()];
                while tokens.get(at + 1) == Some(&"::")
                    && tokens.get(at + 2).is_some_and(|next| is_name(next))
                {
                    at += 2;
                    path.push(tokens[at].to_owned());
                }
                paths.push(path);
                at += 1;
            } else {
                at += 1;
            }
        }
        Module { file: file.path.clone(), imports, paths }
    }
}

/// Reads a tree of a `use` declaration that begins at a token. Returns where it ends.
fn read_use(
    tokens: &[&str],
    mut at: usize,
    before: &[String],
    is_public: bool,
    imports: &mut Vec<Import>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).copied().unwrap_or(";") {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = read_use(tokens, at, &path, is_public, imports);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "*" => {
                imports.push(Import { name: "*".to_owned(), path, is_public });
                return at + 1;
            }
            "as" => {
                imports.push(Import { name: tokens[at + 1].to_owned(), path, is_public });
                return at + 2;
            }
            name if is_name(name) => {
                if name != "self" || path.is_empty() {
                    path.push(name.to_owned());
                }
                at += 1;
            }
            _ => {
                if let Some(name) = path.last().cloned() {
                    imports.push(Import { name, path, is_public });
                }
                return at;
            }
        }
    }
}

/// The module whose file a path in `within` leads to; `None` if it leads out of the crate.
fn resolve(
    modules: &BTreeMap<ModulePath, Module>,
    within: &ModulePath,
    path: &[String],
    depth: usize,
) -> Option<ModulePath> {
    let child = |module: &[String], name: &String| [module, from_ref(name)].concat();
    let mut module = within.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (module, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while let Some((first, after)) = rest.split_first()
                && first == "super"
            {
                module.pop()?;
                rest = after;
            }
        }
        _ if modules.contains_key(&child(within, &path[0])) => {}
        _ => return None,
    }
    while let Some((name, after)) = rest.split_first() {
        let next = child(&module, name);
        if modules.contains_key(&next) {
            (module, rest) = (next, after);
            continue;
        }
        let import = modules.get(&module)?.imports.iter().find(|import| import.name == *name);
        let Some(import) = import.filter(|_| depth < 10) else { break };
        let path = [&import.path[..], after].concat();
        // A name from another crate counts as a name of this module.
        return resolve(modules, &module, &path, depth + 1).or(Some(module));
    }
    Some(module)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Splits code into names, `::`, and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let bytes = match first {
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..bytes]);
        rest = rest[bytes..].trim_start();
    }
    tokens
}

#[test]
fn circles_are_found_and_gathered_names_make_none() {
    let circles_of = |files: &[(&str, &str)]| {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile::new(&format!("crates/x/src/{path}"), (*text).into()))
            .collect();
        let circles = circles(&uses(&files.iter().collect::<Vec<_>>()));
        circles.into_iter().map(|circle| circle.len()).collect::<Vec<_>>()
    };
    let lib = ("lib.rs", "mod a; mod b; pub use a::One; pub use b::{inner::Two, Three as Four};");
    let one = ("a.rs", "use crate::b::{self, inner::{Two}}; // use crate::c::Five;");
    let two = ("b/inner.rs", "fn two() { super::three(\"crate::One\") }");
    let facade = ("b/mod.rs", "mod inner; pub(crate) use inner::Two; fn three() {}");
    assert_eq!(circles_of(&[lib, one, two, facade]), [0; 0]);
    // By name, through the crate's root, in a path, in a private import of the parent.
    for back in ["use crate::One;", "use super::super::a;", "fn f() { crate::a::f() }"] {
        let two = ("b/inner.rs", back);
        assert_eq!(circles_of(&[lib, one, two, facade]), [2], "{back}");
    }
    let parent = ("b/mod.rs", "mod inner; use inner::Two; fn three() {}");
    assert_eq!(circles_of(&[lib, one, two, parent]), [2]);
}

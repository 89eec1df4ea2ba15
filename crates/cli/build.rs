//! Links the unwinder into the program, where the C compiler has it as an archive. As a library of
//! its own it is loaded at every start, and asks the processor for its features: together a tenth
//! of a millisecond, in some virtual machines three, of the one that sorting a thousand lines
//! takes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    let is_cross = env::var_os("HOST") != env::var_os("TARGET");
    if is_cross || !is("CARGO_CFG_TARGET_ENV", "gnu") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    let archives = ["libgcc_eh.a", "libgcc.a"].map(archive);
    if let [Some(unwinder), Some(support)] = archives {
        let directory = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        // The linker takes this for the library that the standard library asks for, and reads what
        // to link in its place.
        let script = format!("INPUT({} {})\n", unwinder.display(), support.display());
        fs::write(directory.join("libgcc_s.so"), script).expect("cargo made the directory");
        println!("cargo:rustc-link-search=native={}", directory.display());
    }
}

/// Where the C compiler has an archive of its own.
fn archive(name: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = Path::new(path.trim_end());
    (path.is_absolute() && path.is_file()).then(|| path.to_path_buf())
}

//! What `xsort --version` prints: the version, what was compiled, and what this machine has of it.

use std::sync::LazyLock;

/// The commit of a released program. `make dist` sets it.
const COMMIT: Option<&str> = option_env!("XSORT_COMMIT");

/// Extensions of the instruction set that the program or one of its libraries asks for.
#[cfg(target_arch = "x86_64")]
fn extensions() -> [(&'static str, bool); 3] {
    [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("vpclmulqdq", is_x86_feature_detected!("vpclmulqdq")),
    ]
}

/// Extensions of the instruction set that the program or one of its libraries asks for.
#[cfg(target_arch = "aarch64")]
fn extensions() -> [(&'static str, bool); 2] {
    let has = std::arch::is_aarch64_feature_detected!("crc");
    [("neon", true), ("crc", has)]
}

/// Extensions of the instruction set that the program or one of its libraries asks for.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn extensions() -> [(&'static str, bool); 0] {
    []
}

/// The version, and a line for each of commit, features, target and instruction sets.
pub(super) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let commit = COMMIT.map(|commit| format!("\ncommit        {commit}")).unwrap_or_default();
        let columns = if cfg!(feature = "columns") { "columns" } else { "none" };
        let target = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
        let known = extensions();
        let of = |is_there: bool| {
            let found = known.iter().filter(|(_, has)| *has == is_there).map(|(name, _)| *name);
            let found: Vec<_> = found.collect();
            if found.is_empty() { "none".to_owned() } else { found.join(", ") }
        };
        format!(
            "{}{commit}\nfeatures      {columns}\ntarget        {target}\n\
             instructions  in use: {}; compiled, but not on this machine: {}",
            env!("CARGO_PKG_VERSION"),
            of(true),
            of(false)
        )
    });
    &TEXT
}

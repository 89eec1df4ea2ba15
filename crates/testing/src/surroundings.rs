//! What a test inherits from its parent process and doesn't pass on to programs: open descriptors,
//! the umask, and variables that change what programs do.

use crate::gnu;
use rustix::fs::Mode;
use rustix::process::umask;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// Flag in `/proc/PID/fdinfo`, in octal: the descriptor is closed when another program is executed.
const CLOSE_ON_EXEC: u64 = 0o2_000_000;

/// The descriptors after the standard streams that programs inherit.
static INHERITED: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let is_inherited = |number: &u32| {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & CLOSE_ON_EXEC == 0)
    };
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| *number > 2).filter(is_inherited).collect()
});

/// Makes the files of this process, and of all that it starts, readable by all users, as is usual.
pub fn set_umask() {
    static SET: LazyLock<()> = LazyLock::new(|| {
        umask(Mode::from_raw_mode(0o022));
    });
    LazyLock::force(&SET);
}

/// Returns the beginning of a bash script that closes the descriptors which this process has
/// inherited.
#[must_use]
pub fn closing_descriptors() -> String {
    INHERITED.iter().map(|number| format!("exec {number}<&-; ")).collect()
}

/// Returns a command that runs the program at `path` under the name `name`, without the descriptors
/// that this process has inherited.
#[must_use]
pub fn without_descriptors(name: &str, path: &Path) -> Command {
    if INHERITED.is_empty() {
        let mut command = Command::new(path);
        command.arg0(name);
        return command;
    }
    // Not every shell can close descriptors from 10 on, or execute under another name.
    let script = closing_descriptors() + &format!("exec -a {name} \"$0\" \"$@\"");
    let mut command = Command::new(gnu::path("bash"));
    command.args(["-c", &script]).arg(path);
    command
}

/// Makes a program print, compare and look for files without the user's settings.
pub fn without_settings(command: &mut Command) -> &mut Command {
    let of_locale = ["LANG", "LANGUAGE", "LC_CTYPE", "LC_COLLATE", "LC_NUMERIC", "LC_TIME"];
    let of_programs = ["TMPDIR", "POSIXLY_CORRECT", "_POSIX2_VERSION", "TIME_STYLE", "BLOCK_SIZE"];
    let of_du = ["DU_BLOCK_SIZE", "BLOCKSIZE", "TZ"];
    let of_ours = ["XSORT_STATUS", "XSORT_STATUS_DIR", "XSORT_SYSFS", "NO_COLOR"];
    let of_jobs = ["XSORT_MEMORY", "XSORT_THREADS", "XSORT_SCRATCH"];
    let ours = of_ours.iter().chain(&of_jobs);
    for name in of_locale.iter().chain(&of_programs).chain(&of_du).chain(ours) {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C")
}

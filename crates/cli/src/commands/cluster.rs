//! `xsort cluster`: runs the command line of the Python package `xsort.ray`, which replaces this
//! process. The package drives Ray from Python, and the nodes run this program's steps.

use crate::exit::Failure;
use crate::output::write_stdout;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names the Python that has the package.
const PYTHON: &str = "XSORT_PYTHON";
/// The variable that names this program to the package.
const PROGRAM: &str = "XSORT_PROGRAM";

/// The Python program that passes on the arguments, or prints what is missing.
const MAIN: &str = r#"
import sys
try:
    from xsort.ray.__main__ import main
except ImportError as error:
    print(f"xsort: error: {sys.executable}: {error}: install the package there "
          "(pip install 'xsort[ray]'), or name another Python in XSORT_PYTHON", file=sys.stderr)
    sys.exit(2)
sys.exit(main(sys.argv[1:]))
"#;

/// The help where the package isn't installed.
const HELP: &str = "\
Sort on many machines, on Ray

This needs the Python package: pip install 'xsort[ray]'. XSORT_PYTHON names the Python that has it.
Then 'xsort cluster --help' lists all options.

Examples:
  xsort cluster sort s3://bucket/in/ -o s3://bucket/out/
  xsort cluster sort s3://bucket/logs/ -o s3://bucket/sorted -- lines -k2,2n
  xsort cluster status                    progress of running jobs

Usage: xsort cluster <COMMAND>

Commands:
  sort      Sort into parts
  status    Progress of running jobs
  validate  Read the parts of a job again
  clean     Remove what dead jobs have left
  plan      Time and cost on machines
";

/// Replaces the process by the package's command line. Returns only if that fails, or if the help
/// is wanted and there is no package.
pub(crate) fn run(words: &[OsString]) -> Result<(), Failure> {
    let program = env::current_exe().ok();
    let python = package_python();
    let wants_help = matches!(words, [word] if word == "--help" || word == "-h");
    if wants_help && !has_package(&python) {
        return write_stdout(HELP.as_bytes());
    }
    let mut command = Command::new(&python);
    command.args(["-c", MAIN]).args(words);
    if let Some(program) = program.filter(|_| env::var_os(PROGRAM).is_none()) {
        command.env(PROGRAM, program);
    }
    let source = command.exec();
    let python = python.display();
    let what = format!("starting {python}, which runs Ray (name another Python in {PYTHON})");
    Err(Failure::File { what, source })
}

fn has_package(python: &Path) -> bool {
    let mut command = Command::new(python);
    let quiet = || Stdio::null();
    command.args(["-c", "import xsort.ray.__main__"]).stdout(quiet()).stderr(quiet());
    command.status().is_ok_and(|status| status.success())
}

/// The Python that should have the package.
pub(crate) fn package_python() -> PathBuf {
    let program = env::current_exe().ok();
    python(env::var_os(PYTHON), program.as_deref().and_then(|path| path.parent()))
}

/// The Python that the variable names; otherwise that of the environment in which the program is
/// installed; otherwise the first one on the path.
fn python(named: Option<OsString>, directory: Option<&Path>) -> PathBuf {
    let own = || directory.map(|directory| directory.join("python3")).filter(|path| path.exists());
    let named = named.filter(|name| !name.is_empty()).map(PathBuf::from);
    named.or_else(own).unwrap_or_else(|| OsStr::new("python3").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_python_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = Some(directory.path());
        assert_eq!(python(None, path), PathBuf::from("python3"));
        fs::write(directory.path().join("python3"), "").unwrap();
        assert_eq!(python(None, path), directory.path().join("python3"));
        assert_eq!(python(Some("".into()), path), directory.path().join("python3"));
        assert_eq!(python(Some("other".into()), path), PathBuf::from("other"));
    }
}

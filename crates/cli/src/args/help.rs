//! Texts shared by several help pages.

/// The order of a help page: what the command does, examples, usage, options.
pub(super) const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Groups of options that several commands have.
pub(super) const ORDER: &str = "Order";
pub(super) const INPUT: &str = "Input";
pub(super) const OUTPUT: &str = "Output";
pub(super) const RESOURCES: &str = "Resources";
pub(super) const INTERRUPTIONS: &str = "Interruptions";
pub(super) const REPORT: &str = "Report";

pub(super) const SIZES: &str = "\
Sizes: 512M, 16GiB, 1.5G, 8GB. K, M, G, T are powers of 1024 as for GNU sort; \
KB, MB, GB, TB are powers of 1000.";

/// The statuses without a failure: of most commands, of verify, of validate, and of all together.
pub(super) const DONE: &str = "0    success";
pub(super) const VERDICT: &str = "\
0    in order, and as expected
  1    out of order, or not the expected records";
pub(super) const DONE_OR_VALID: &str = "\
0    success; for validate: all is there, and in order
  1    validate: something is missing, doubled, out of order or another record";
pub(super) const DONE_OR_VERDICT: &str = "\
0    success; for verify: in order, and as expected
  1    verify: out of order, or not the expected records";

const FAILURE: &str = "\
2    wrong usage or settings, or a directory that can't be written
  3    an input is missing, unreadable, or doesn't consist of records of this size and kind
  4    not enough disk space or memory
  5    a read or write failed
  6    data was corrupted on the way; no output was put in place
  101  a bug in xsort: please report it
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM, after cleaning up
  141  stopped by SIGPIPE: nobody reads the output any more";

const ENVIRONMENT: &str = "\
Environment:
  NO_COLOR          if set, nothing is coloured
  XSORT_MEMORY      the memory, unless --memory is given
  XSORT_THREADS     the number of threads, unless --threads is given
  XSORT_SCRATCH     directories for scratch with ':' between them, unless --scratch is given
  XSORT_STATUS      if it is off, a job doesn't publish its status
  XSORT_STATUS_DIR  where jobs publish their status, and where xsort status looks";

/// The help text on environment and exit statuses. `success` describes the statuses without a
/// failure.
pub(super) fn environment_and_exit_status(success: &str) -> String {
    format!("{ENVIRONMENT}\n\nExit status:\n  {success}\n  {FAILURE}")
}

/// The help text on sizes, environment and exit statuses.
pub(super) fn sizes_environment_and_exit_status(success: &str) -> String {
    format!("{SIZES}\n\n{}", environment_and_exit_status(success))
}

//! The program as its users meet it: processes, files, exit statuses, signals.

mod architecture;
mod bandwidth;
mod du;
mod du_extras;
mod du_generated;
mod faults;
mod flaky_drive;
mod generate;
mod help;
mod hostile;
mod json;
mod limits;
mod lines;
mod lines_generated;
mod lines_scripts;
mod refusals;
mod resume;
mod sandbox;
mod signals;
mod soak;
mod sort;
mod start;
mod status;
mod stdin;
mod trees;
mod verify;

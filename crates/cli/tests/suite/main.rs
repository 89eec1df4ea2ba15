//! The program as its users meet it: processes, files, exit statuses, signals.

mod architecture;
mod chance;
mod du;
mod du_extras;
mod du_generated;
mod generate;
mod help;
mod json;
mod limits;
mod lines;
mod lines_generated;
mod lines_scripts;
mod refusals;
mod sandbox;
mod signals;
mod soak;
mod sort;
mod status;
mod stdin;
mod trees;
mod verify;

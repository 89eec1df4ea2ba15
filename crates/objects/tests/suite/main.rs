//! Objects as inputs and outputs: on a simulated store, and over HTTP.

mod http;
mod reading;
mod server;
mod simulation;
mod transfers;
mod writing;

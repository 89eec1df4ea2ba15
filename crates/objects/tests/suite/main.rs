//! Objects as inputs and outputs, on a simulated store and over HTTP.

mod answers;
mod azure;
mod damage;
mod google;
mod http;
mod lengths;
mod lost_answers;
mod many;
mod mortal;
mod persistent;
mod reading;
mod real_bytes;
mod resume;
#[path = "../../examples/s3_server/server/mod.rs"]
mod s3_server;
mod server;
mod simulation;
mod transfers;
mod writing;

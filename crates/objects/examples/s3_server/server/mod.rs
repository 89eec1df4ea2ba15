//! A small S3 in a process: as much of it as xsort and the AWS tools ask for, over data that may be
//! larger than memory.
//!
//! Bytes are in nameless files in a directory (`extents`), names and parts in memory (`store`), so
//! nothing is left of it when its process ends. A thread serves each connection (`http`, `head`);
//! what is received goes through a buffer that stays in the processor's cache, and what is sent the
//! kernel takes from the page cache by itself. `requests` are those of S3; `lists` and `refusal`
//! say what it says.
//!
//! **Only for data that anybody on this machine may read and change.** It knows no users:
//! signatures and credentials aren't looked at. Conditions are those by tag (If-Match, and
//! If-None-Match: *). CRC-32s that are sent are compared, other checksums are not. Tags are
//! numbers, not MD5s. Not there, and refused: copies, versions, bodies in chunks, deleting several
//! objects at once.

mod extents;
mod head;
mod http;
mod lists;
mod refusal;
mod requests;
mod store;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
pub(crate) use store::Store;

/// Serves all connections, for ever.
///
/// # Errors
/// If no connection can be taken any more.
pub(crate) fn serve(listener: &TcpListener, store: &Arc<Store>, delay: Duration) -> io::Result<()> {
    for stream in listener.incoming() {
        let (store, stream) = (Arc::clone(store), stream?);
        thread::spawn(move || {
            http::serve(&stream, |asked, sent| {
                thread::sleep(delay);
                requests::answer(&store, asked, sent)
            });
        });
    }
    Ok(())
}

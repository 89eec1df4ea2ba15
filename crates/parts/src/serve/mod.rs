//! A small HTTP/1.1 server for the sorted slices in a directory, for the merge tasks of other
//! nodes.
//!
//! ```text
//!  /TOKEN/slice-I.data    GET, HEAD: a slice's data, with Range, ETag and If-Match; by sendfile
//!  /TOKEN/slice-I.json    its manifest
//!  /TOKEN/parts/J         all slices' entries for part J, as a list
//!  anything else          404
//! ```
//!
//! The token is a secret: a client that has it may read the slices, and no other requests are
//! answered. There is no TLS: the network between the nodes is trusted with the data, as in
//! shuffles of other systems. A connection is a thread. Clients that don't send the token have ten
//! seconds, and don't keep a place that another client needs (`guests`).

mod answer;
mod connection;
mod guests;
mod request;
mod resource;
mod served;

use crate::error::Error;
use connection::serve_connection;
use guests::{Guests, Limits};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use served::Served;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xsort_disk::{Operation, block_sigpipe};

/// Minimum number of letters and digits of a token.
const TOKEN_BYTES_MIN: usize = 16;

/// A listening server.
pub struct Server {
    listener: TcpListener,
    served: Arc<Served>,
    guests: Arc<Guests>,
}

impl Server {
    /// Listens at an address, whose port may be 0. Serves the slices in a directory to clients with
    /// the token.
    ///
    /// # Errors
    /// If the directory doesn't exist, if the token is too short or has characters other than ASCII
    /// letters, digits, `-` and `_`, or if it can't listen at the address.
    pub fn bind(directory: &Path, address: SocketAddr, token: String) -> Result<Server, Error> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if token.len() < TOKEN_BYTES_MIN || !token.bytes().all(is_plain) {
            return Err(Error::settings(format!(
                "a token has {TOKEN_BYTES_MIN} or more letters, digits, '-' and '_'"
            )));
        }
        let fail = |error| xsort_disk::Error::new(Operation::Inspect, directory, error);
        if !std::fs::metadata(directory).map_err(fail)?.is_dir() {
            return Err(Error::input(directory, "it is no directory"));
        }
        let at = |error: io::Error| Error::settings(format!("listening at {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(at)?;
        listener.set_nonblocking(true).map_err(at)?;
        let served = Arc::new(Served { directory: directory.to_owned(), token });
        Ok(Server { listener, served, guests: Arc::new(Guests::new(Limits::default())) })
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// If the system doesn't return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `is_over` returns true. That is called several times a second.
    ///
    /// # Errors
    /// If the system can't wait for connections any more.
    pub fn run(&self, mut is_over: impl FnMut() -> bool) -> io::Result<()> {
        let pause = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        while !is_over() {
            match poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&pause)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(errno) => return Err(errno.into()),
            }
            match self.listener.accept() {
                Ok((stream, peer)) => self.take(stream, peer.ip()),
                // The client is gone again, or there are no more descriptors: other connections may
                // end.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
        Ok(())
    }

    /// Serves a connection in its own thread. A connection above the limit is closed: the client
    /// tries again.
    fn take(&self, stream: TcpStream, peer: IpAddr) {
        let stream = Arc::new(stream);
        let Some(guest) = self.guests.admit(&stream, peer) else { return };
        let served = Arc::clone(&self.served);
        let _ = thread::Builder::new().name("serve".into()).spawn(move || {
            // A client that goes away ends its connection, but not the server.
            block_sigpipe();
            let is_set_up = stream.set_nonblocking(false).is_ok()
                && stream.set_write_timeout(Some(guest.limits().silence)).is_ok()
                && stream.set_nodelay(true).is_ok();
            if is_set_up {
                serve_connection(&stream, guest, &served);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, Ordering};

    const TOKEN: &str = "a-token-of-letters";

    fn server(directory: &Path, token: &str) -> Result<Server, Error> {
        Server::bind(directory, "127.0.0.1:0".parse().unwrap(), token.to_owned())
    }

    /// Sends requests over one connection, and returns all answers.
    fn ask(address: SocketAddr, requests: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(requests.as_bytes()).unwrap();
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).unwrap();
        String::from_utf8(answers).unwrap()
    }

    #[test]
    fn slices_are_readable_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("slices");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(folder.path().join("slice-1.data"), "secret").unwrap();
        std::fs::write(directory.join("slice-0.data"), "0123456789").unwrap();
        std::fs::write(directory.join("other"), "secret").unwrap();
        std::os::unix::fs::symlink("../slice-1.data", directory.join("slice-2.data")).unwrap();
        let server = server(&directory, TOKEN).unwrap();
        let address = server.address().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| server.run(|| is_over.load(Ordering::Relaxed)).unwrap());
            let end = "connection: close\r\n\r\n";
            let get = |path: &str, headers: &str| {
                ask(address, &format!("GET /{path} HTTP/1.1\r\n{headers}{end}"))
            };
            let data = format!("{TOKEN}/slice-0.data");
            let whole = get(&data, "");
            assert!(whole.starts_with("HTTP/1.1 200 ") && whole.ends_with("\r\n\r\n0123456789"));
            let tag = whole.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
            let some = get(&data, &format!("Range: bytes=2-4\r\nIf-Match: {tag}\r\n"));
            assert!(some.starts_with("HTTP/1.1 206 ") && some.ends_with("\r\n\r\n234"), "{some}");
            assert!(some.contains("content-range: bytes 2-4/10\r\n"), "{some}");
            assert!(get(&data, "If-Match: \"other\"\r\n").starts_with("HTTP/1.1 412 "));
            assert!(get(&data, "Range: bytes=10-\r\n").starts_with("HTTP/1.1 416 "));
            let twice = format!("HEAD /{data} HTTP/1.1\r\n\r\nPOST /{data} HTTP/1.1\r\n{end}");
            let twice = ask(address, &twice);
            assert!(twice.contains("content-length: 10\r\n") && twice.contains("HTTP/1.1 405 "));
            assert!(get(&format!("{TOKEN}/parts/0"), "").ends_with("\r\n\r\n[]"));
            for path in [
                "slice-0.data".to_owned(),
                "another-token-of-it/slice-0.data".to_owned(),
                format!("{TOKEN}/slice-1.data"),
                format!("{TOKEN}/slice-2.data"),
                format!("{TOKEN}/../slice-1.data"),
                format!("{TOKEN}/other"),
                format!("{TOKEN}/"),
                format!("{TOKEN}//slice-0.data"),
                format!("{TOKEN}/slice-%30.data"),
            ] {
                let answer = get(&path, "");
                assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
                assert!(!answer.contains("secret"));
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn tokens_that_can_be_guessed_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for token in ["", "short", "with/a/slash/in/it", "with blanks in it at all"] {
            server(folder.path(), token).err().unwrap();
        }
        server(&folder.path().join("none"), TOKEN).err().unwrap();
    }

    /// Runs a server with these limits during `test`.
    fn with_server(limits: Limits, test: impl FnOnce(SocketAddr)) {
        let folder = tempfile::tempdir().unwrap();
        let mut server = server(folder.path(), TOKEN).unwrap();
        server.guests = Arc::new(Guests::new(limits));
        let (address, is_over) = (server.address().unwrap(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| server.run(|| is_over.load(Ordering::Relaxed)).unwrap());
            // Also after a failure.
            let _end = Ending(&is_over);
            test(address);
        });
    }

    struct Ending<'o>(&'o AtomicBool);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn with_token(end: &str) -> String {
        format!("GET /{TOKEN}/parts/0 HTTP/1.1\r\n{end}\r\n")
    }

    #[test]
    fn connections_that_say_nothing_keep_nobody_out() {
        let hour = Duration::from_secs(3600);
        for (connections, strangers) in [(8, 4), (8, 1024)] {
            let limits = Limits { connections, strangers, head_time: hour, silence: hour };
            with_server(limits, |address| {
                let mut silent = Vec::new();
                for number in 0..40 {
                    silent.push(TcpStream::connect(address).unwrap());
                    let begun = ["", "G", "GET /x HTTP/1.1\r\n\r\n", "GET /x HTTP/1.1\r\n"];
                    silent[number].write_all(begun[number % 4].as_bytes()).ok();
                }
                for _ in 0..20 {
                    let answer = ask(address, &with_token("connection: close\r\n"));
                    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
                }
            });
        }
    }

    #[test]
    fn clients_that_know_the_token_keep_their_places() {
        let hour = Duration::from_secs(3600);
        let limits = Limits { connections: 4, strangers: 2, head_time: hour, silence: hour };
        with_server(limits, |address| {
            let once = |stream: &mut TcpStream| {
                stream.write_all(with_token("").as_bytes()).unwrap();
                let mut answer = [0; 12];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"HTTP/1.1 200");
                while !answer.ends_with(b"[]") {
                    answer.rotate_left(1);
                    stream.read_exact(&mut answer[11..]).unwrap();
                }
            };
            let client = |_| {
                let mut client = TcpStream::connect(address).unwrap();
                once(&mut client);
                client
            };
            let mut clients: Vec<TcpStream> = (0..4).map(client).collect();
            // All places are taken: a further connection is closed, and the others stay.
            assert_eq!(ask(address, ""), "");
            clients.iter_mut().for_each(once);
        });
    }

    #[test]
    fn a_head_that_comes_drop_by_drop_ends_in_time() {
        let limits = Limits { head_time: Duration::from_millis(200), ..Limits::default() };
        with_server(limits, |address| {
            let drip = |stream: &mut TcpStream| {
                // 120 s, unless the connection is closed.
                let is_over = (0..12_000).any(|_| {
                    thread::sleep(Duration::from_millis(10));
                    stream.write_all(b"a").is_err()
                });
                assert!(is_over);
            };
            drip(&mut TcpStream::connect(address).unwrap());
            // Requests without the token don't extend the time, and a request with the token
            // doesn't extend it for the head of the next one.
            for begin in ["GET /x HTTP/1.1\r\n\r\n".to_owned(), with_token("")] {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(begin.as_bytes()).unwrap();
                drip(&mut stream);
            }
        });
    }

    #[test]
    fn a_client_may_wait_between_requests() {
        let limits = Limits { head_time: Duration::from_millis(100), ..Limits::default() };
        with_server(limits, |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            for end in ["", "", "connection: close\r\n"] {
                stream.write_all(with_token(end).as_bytes()).unwrap();
                thread::sleep(Duration::from_millis(300));
            }
            let mut answers = String::new();
            stream.read_to_string(&mut answers).unwrap();
            assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 3);
        });
    }
}

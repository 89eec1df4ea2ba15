//! A connection: requests and answers, one after the other.

use super::answer::Answer;
use super::guests::Guest;
use super::request::Asked;
use super::resource::Resource;
use super::served::Served;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Maximum number of bytes that the kernel sends in one call.
const SEND_BYTES: u64 = 1 << 20;

/// A client's input up to a deadline, however it spreads its bytes.
struct Timed<'s> {
    stream: &'s TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn allow(&mut self, time: Duration) {
        self.until = Instant::now() + time;
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(bytes)
    }
}

/// Serves a connection until it ends. Errors are left for the client to notice.
pub(super) fn serve_connection(stream: &TcpStream, mut guest: Guest, served: &Served) {
    let limits = *guest.limits();
    // Requests don't extend a stranger's time.
    let until = Instant::now() + limits.head_time;
    let mut reader = BufReader::new(Timed { stream, until });
    loop {
        if guest.is_known() {
            reader.get_mut().allow(limits.silence);
            if !reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
                return;
            }
            reader.get_mut().allow(limits.head_time);
        }
        let Ok(Some(asked)) = Asked::read(&mut reader) else { return };
        if served.is_known(&asked.target) && !guest.introduce() {
            return;
        }
        let answer = served.answer(&asked);
        let is_last = asked.is_last || answer.is_last;
        if send(stream, answer, asked.method == "HEAD", is_last).is_err() || is_last {
            return;
        }
    }
}

fn send(mut stream: &TcpStream, answer: Answer, is_head: bool, is_last: bool) -> io::Result<()> {
    let bytes = answer.body.as_ref().map_or(0, |(_, begin, end)| end - begin);
    let mut head = format!("HTTP/1.1 {} -\r\ncontent-length: {bytes}\r\n", answer.status);
    for line in &answer.headers {
        head += line;
        head += "\r\n";
    }
    if is_last {
        head += "connection: close\r\n";
    }
    head += "\r\n";
    match answer.body {
        Some((Resource::Text { text, .. }, begin, end)) if !is_head => {
            let mut all = head.into_bytes();
            all.extend_from_slice(&text[begin as usize..end as usize]);
            stream.write_all(&all)
        }
        Some((Resource::File { file, .. }, begin, end)) if !is_head => {
            stream.write_all(head.as_bytes())?;
            send_file(stream, &file, begin, end)
        }
        _ => stream.write_all(head.as_bytes()),
    }
}

/// Sends a range of a file, on Linux without copying it through this process.
fn send_file(stream: &TcpStream, file: &File, begin: u64, end: u64) -> io::Result<()> {
    let mut offset = begin;
    while offset < end {
        let bytes = (end - offset).min(SEND_BYTES) as usize;
        match send_some(stream, file, &mut offset, bytes) {
            // The file became shorter: the client notices the missing bytes.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends at most `bytes` bytes, and moves the offset (sendfile(2)).
#[cfg(all(target_os = "linux", not(portable)))]
fn send_some(stream: &TcpStream, file: &File, offset: &mut u64, bytes: usize) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(stream, file, Some(offset), bytes)?)
}

/// Sends at most `bytes` bytes by way of this process, and moves the offset: each system has
/// another sendfile.
#[cfg(not(all(target_os = "linux", not(portable))))]
fn send_some(
    mut stream: &TcpStream,
    file: &File,
    offset: &mut u64,
    bytes: usize,
) -> io::Result<usize> {
    let mut copy = vec![0; bytes.min(64 << 10)];
    let read = std::os::unix::fs::FileExt::read_at(file, &mut copy, *offset)?;
    stream.write_all(&copy[..read])?;
    *offset += read as u64;
    Ok(read)
}

//! A connection: requests and answers, one after the other.

use super::answer::Answer;
use super::request::Asked;
use super::resource::Resource;
use rustix::fs::sendfile;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::net::TcpStream;

/// Bytes that the kernel sends in one call.
const SEND_BYTES: u64 = 1 << 20;

/// Serves a connection until it ends. Whatever is wrong with it is the client's to find out.
pub(super) fn serve_connection(stream: &TcpStream, answer: impl Fn(&Asked) -> Answer) {
    let mut reader = BufReader::new(stream);
    while let Ok(Some(asked)) = Asked::read(&mut reader) {
        let answer = answer(&asked);
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

/// Sends a range of a file without copying it through this process.
fn send_file(stream: &TcpStream, file: &File, begin: u64, end: u64) -> io::Result<()> {
    let mut offset = begin;
    while offset < end {
        let bytes = (end - offset).min(SEND_BYTES) as usize;
        match sendfile(stream, file, Some(&mut offset), bytes) {
            // The file became shorter: the client sees that bytes are missing.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

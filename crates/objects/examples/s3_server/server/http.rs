//! HTTP/1.1 as clients of a store speak it: requests and answers with a length, one after the other
//! on a connection.

use super::extents::Extent;
use super::head::Head;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::Arc;

/// Longest body that isn't an object or a part, in bytes: a list of 10,000 parts is shorter.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The body of a request.
pub(crate) struct Sent<'c> {
    rest: io::Take<&'c mut dyn BufRead>,
    stream: &'c TcpStream,
    /// The client sends nothing before it is asked to.
    awaits: bool,
}

impl Sent<'_> {
    /// Bytes that are still to come.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.rest.limit()
    }

    /// All of a short body.
    pub(crate) fn text(&mut self) -> io::Result<String> {
        if self.bytes_left() > TEXT_BYTES_MAX {
            return Err(io::Error::other("such a request has no such body"));
        }
        let mut text = String::new();
        self.read_to_string(&mut text)?;
        Ok(text)
    }
}

impl Read for Sent<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.awaits) {
            let mut stream = self.stream;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        self.rest.read(buffer)
    }
}

/// What is answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

enum Body {
    Text(String),
    /// A range of these extents, one after the other.
    Extents(Vec<Arc<Extent>>, Range<u64>),
    /// None, but its length is said.
    Length(u64),
}

impl Answer {
    pub(crate) fn new(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), body: Body::Text(String::new()) }
    }

    pub(crate) fn xml(status: u16, text: &str) -> Answer {
        let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}");
        let answer = Answer { body: Body::Text(text), ..Answer::new(status) };
        answer.with("content-type", "application/xml")
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Answer {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// A range of an object.
    pub(crate) fn with_extents(self, extents: Vec<Arc<Extent>>, range: Range<u64>) -> Answer {
        Answer { body: Body::Extents(extents, range), ..self }
    }

    /// The answer to HEAD.
    pub(crate) fn with_length(self, bytes: u64) -> Answer {
        Answer { body: Body::Length(bytes), ..self }
    }

    fn send(self, mut stream: &TcpStream, is_head: bool) -> io::Result<()> {
        let bytes = match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::Extents(_, range) => range.end - range.start,
            Body::Length(bytes) => *bytes,
        };
        let mut head = format!("HTTP/1.1 {} -\r\ncontent-length: {bytes}\r\n", self.status);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head += "\r\n";
        match self.body {
            Body::Text(text) if !is_head => stream.write_all((head + &text).as_bytes()),
            Body::Extents(extents, range) if !is_head => {
                stream.write_all(head.as_bytes())?;
                send_range(&extents, range, stream)
            }
            _ => stream.write_all(head.as_bytes()),
        }
    }
}

/// Text between tags.
pub(crate) fn escape(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

/// Sends a range of extents that follow each other.
fn send_range(extents: &[Arc<Extent>], range: Range<u64>, stream: &TcpStream) -> io::Result<()> {
    let mut begin = 0;
    for extent in extents {
        let end = begin + extent.bytes();
        let (from, to) = (range.start.max(begin), range.end.min(end));
        if from < to {
            extent.send(from - begin..to - begin, stream)?;
        }
        begin = end;
    }
    Ok(())
}

/// Serves a connection until it ends. Where the body of a request isn't taken, it is skipped.
pub(crate) fn serve(stream: &TcpStream, answer: impl Fn(&Head, &mut Sent<'_>) -> Answer) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    // Whatever is wrong with a connection is the client's to find out.
    while let Ok(Some(asked)) = Head::read(&mut reader) {
        let length = asked.header("content-length").map_or(Ok(0), str::parse);
        let (Ok(length), false) = (length, asked.headers.contains_key("transfer-encoding")) else {
            let _ = Answer::new(411).with("connection", "close").send(stream, false);
            return;
        };
        let awaits = asked.header("expect").is_some_and(|what| what == "100-continue");
        let rest = (&mut reader as &mut dyn BufRead).take(length);
        let mut sent = Sent { rest, stream, awaits };
        let answer = answer(&asked, &mut sent);
        let is_skipped = sent.awaits || io::copy(&mut sent, &mut io::sink()).is_ok();
        if !is_skipped || answer.send(stream, asked.method == "HEAD").is_err() {
            return;
        }
    }
}

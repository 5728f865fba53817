//! A small HTTP server, for what servers say.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

/// What a client sends.
pub(crate) struct Request {
    /// The first line and the headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The method, and the path with its query.
    pub(crate) fn line(&self) -> (&str, &str) {
        let mut words = self.head.split(' ');
        (words.next().unwrap(), words.next().unwrap())
    }

    /// A header; the name is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut headers = lines.filter_map(|line| line.split_once(':'));
        let found = headers.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }
}

/// An answer, with the length of its body.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Answers each request, until the process ends.
pub(crate) fn serve(answer: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some(request) = request(&mut reader) {
                    if stream.write_all(&answer(&request)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// `None` at the end of the connection.
fn request(reader: &mut impl BufRead) -> Option<Request> {
    let mut head = String::new();
    loop {
        let start = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[start..].trim().is_empty() {
            break;
        }
    }
    let mut request = Request {
        head,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .map_or(0, |n| n.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

//! A small HTTP server, for what servers say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

/// Answers each request, of which it hears the head, until the process ends.
pub(crate) fn serve(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some((head, length)) = head(&mut reader) {
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    stream.write_all(answer(&head).as_bytes()).unwrap();
                }
            });
        }
    });
    address
}

/// A request's head and the length of its body; `None` at the end of the connection.
fn head(reader: &mut impl BufRead) -> Option<(String, usize)> {
    let (mut head, mut length) = (String::new(), 0);
    for line in reader.lines().map_while(Result::ok) {
        if line.is_empty() {
            return Some((head, length));
        }
        let small = line.to_ascii_lowercase();
        if let Some(value) = small.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        head.push('\n');
    }
    assert_eq!(head, "", "a request without an end");
    None
}

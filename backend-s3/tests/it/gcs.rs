//! What Google Cloud Storage does of its XML interface, as far as a session needs it: creates on the
//! condition that there is no generation, reads with ranges, lists in pages, deletes. No emulator
//! has these conditions; the real one was not reached.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use jiff::{Timestamp, fmt::rfc2822};
use percent_encoding::percent_decode_str;

use crate::stub::{Request, answer, serve};

/// Objects on a page of a list: few, so that every list has several.
const PAGE: usize = 50;

/// A bucket of the name `bucket`.
#[derive(Default)]
pub(crate) struct Objects {
    by_key: BTreeMap<String, Object>,
    generations: u64,
    gone: Arc<AtomicBool>,
}

struct Object {
    bytes: Vec<u8>,
    generation: u64,
    written: Timestamp,
}

/// A bucket in memory, which lives as long as the process.
pub(crate) fn start() -> SocketAddr {
    let objects = Mutex::new(Objects::default());
    serve(move |request| objects.lock().unwrap().answer(request))
}

impl Objects {
    /// A bucket that is not there while this is true.
    pub(crate) fn vanishing(gone: Arc<AtomicBool>) -> Self {
        Self {
            gone,
            ..Self::default()
        }
    }

    pub(crate) fn answer(&mut self, request: &Request) -> Vec<u8> {
        let (method, target) = request.line();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (bucket, key) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        let key = percent_decode_str(key).decode_utf8().unwrap().into_owned();
        if request.header("authorization") != Some("Bearer test") {
            return answer("401 Unauthorized", "", b"");
        }
        match method {
            _ if bucket != "bucket" || self.gone.load(Ordering::SeqCst) => answer(
                "404 Not Found",
                "",
                b"<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>",
            ),
            "GET" if key.is_empty() => self.list(query),
            "PUT" => self.put(key, request),
            "GET" | "HEAD" => self.read(&key, request),
            "DELETE" => match self.by_key.remove(&key) {
                Some(_) => answer("204 No Content", "", b""),
                None => missing(),
            },
            _ => answer("405 Method Not Allowed", "", b""),
        }
    }

    fn put(&mut self, key: String, request: &Request) -> Vec<u8> {
        let there = self.by_key.get(&key).map_or(0, |object| object.generation);
        let wanted = request.header("x-goog-if-generation-match");
        if wanted.is_some_and(|wanted| wanted.parse() != Ok(there)) {
            return answer(
                "412 Precondition Failed",
                "",
                b"<Error><Code>PreconditionFailed</Code></Error>",
            );
        }
        self.generations += 1;
        let object = Object {
            bytes: request.body.clone(),
            generation: self.generations,
            written: Timestamp::now(),
        };
        let headers = object.headers();
        self.by_key.insert(key, object);
        answer("200 OK", &headers, b"")
    }

    fn read(&self, key: &str, request: &Request) -> Vec<u8> {
        let Some(object) = self.by_key.get(key) else {
            return missing();
        };
        let headers = object.headers();
        let bytes = &object.bytes;
        if let Some(range) = request.header("range") {
            let (from, to) = range
                .strip_prefix("bytes=")
                .unwrap()
                .split_once('-')
                .unwrap();
            let from: usize = from.parse().unwrap();
            if from >= bytes.len() {
                return answer("416 Range Not Satisfiable", "", b"");
            }
            let to = to
                .parse()
                .map_or(bytes.len(), |to: usize| (to + 1).min(bytes.len()));
            let range = format!("Content-Range: bytes {from}-{}/{}\r\n", to - 1, bytes.len());
            return answer("206 Partial Content", &(headers + &range), &bytes[from..to]);
        }
        let whole = answer("200 OK", &headers, bytes);
        match request.line().0 {
            "HEAD" => whole[..whole.len() - bytes.len()].to_vec(),
            _ => whole,
        }
    }

    fn list(&self, query: &str) -> Vec<u8> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query: BTreeMap<_, _> = pairs
            .map(|(name, value)| {
                let value = value.replace('+', " ");
                (
                    name,
                    percent_decode_str(&value)
                        .decode_utf8()
                        .unwrap()
                        .into_owned(),
                )
            })
            .collect();
        let text = |name: &str| query.get(name).map_or("", String::as_str);
        let after = text("continuation-token").max(text("start-after"));
        let (prefix, delimiter) = (text("prefix"), text("delimiter"));
        let mut xml = String::from("<ListBucketResult>");
        let (mut listed, mut folder) = (0, "");
        for (key, object) in self.by_key.range(prefix.to_owned()..) {
            let Some(below) = key.strip_prefix(prefix) else {
                break;
            };
            if key.as_str() <= after || (!folder.is_empty() && key.starts_with(folder)) {
                continue;
            }
            if listed == PAGE {
                break;
            }
            listed += 1;
            let more = below
                .split_once(delimiter)
                .filter(|_| !delimiter.is_empty());
            let last = match more {
                Some((name, _)) => {
                    folder = &key[..prefix.len() + name.len() + delimiter.len()];
                    xml += &format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>");
                    // Behind everything in it.
                    format!("{folder}\u{10ffff}")
                }
                None => {
                    xml += &format!(
                        "<Contents><Key>{key}</Key><Size>{}</Size><LastModified>{}</LastModified>\
                         <ETag>\"{}\"</ETag></Contents>",
                        object.bytes.len(),
                        object.written,
                        object.generation
                    );
                    key.clone()
                }
            };
            if listed == PAGE {
                xml += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
            }
        }
        answer("200 OK", "", (xml + "</ListBucketResult>").as_bytes())
    }
}

impl Object {
    fn headers(&self) -> String {
        let written = rfc2822::DateTimePrinter::new();
        let written = written.timestamp_to_rfc9110_string(&self.written).unwrap();
        format!(
            "ETag: \"{0}\"\r\nx-goog-generation: {0}\r\nLast-Modified: {written}\r\n",
            self.generation
        )
    }
}

fn missing() -> Vec<u8> {
    let body = b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>";
    answer("404 Not Found", "", body)
}

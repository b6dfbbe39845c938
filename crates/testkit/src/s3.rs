//! A bucket for one test, on the S3 server that the harness has started.
//!
//! Has its own client and does not use the crate under test, so that tests see the real content of the
//! server. Requests are few, small and on loopback, so they block.

use std::collections::BTreeSet;
use std::env;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use kinora_blob::StorageUrl;
use kinora_domain::Timestamp;
use sha2::{Digest, Sha256};

/// The variable with the server, as a storage URL; its bucket is ignored.
const SERVER_VARIABLE: &str = "KINORA_TEST_STORAGE_URL";

/// Timeout of a response, against hangs.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Attempts to connect: one minute in total.
const CONNECTS_MAX: u32 = 600;
/// Delay between two attempts.
const BETWEEN_CONNECTS: Duration = Duration::from_millis(100);

/// The prefix of objects in [`S3Bucket::url`], so that tests do not pass only at the root of a bucket.
const PREFIX: &str = "pre/fix";

/// A new bucket. It is deleted, with all its objects, when this is dropped.
#[derive(Debug)]
pub struct S3Bucket {
    server: Server,
    name: String,
}

/// The parameters of the server, from the environment.
#[derive(Debug, Clone)]
struct Server {
    /// `host:port`.
    address: String,
    region: String,
    access_key: String,
    secret_key: String,
}

impl S3Bucket {
    /// Creates a bucket. Panics if there is no server; the message has the command to run.
    pub fn create() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let server = Server::from_env();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kinora-test-{}-{count}-{:x}", std::process::id(), now().as_micros());
        server.send_request("PUT", &format!("/{name}"), &[], b"");
        Self { server, name }
    }

    /// The storage URL of this bucket, with a prefix.
    pub fn url(&self) -> StorageUrl {
        let Server { address, region, .. } = &self.server;
        let url = format!("s3://{}/{PREFIX}?endpoint=http://{address}&region={region}", self.name);
        url.parse().expect("the parts make a storage URL")
    }

    /// The names of all objects below the prefix, without it.
    pub fn objects(&self) -> BTreeSet<String> {
        let prefix = format!("{PREFIX}/");
        self.all_objects().iter().filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned)).collect()
    }

    /// The names of the objects with a multipart upload in progress, without the prefix.
    pub fn uploads(&self) -> Vec<String> {
        let prefix = format!("{PREFIX}/");
        let uploads = self.all_uploads();
        uploads.iter().map(|(name, _)| name.strip_prefix(&prefix).unwrap_or(name).to_owned()).collect()
    }

    /// The IDs of all multipart uploads in progress.
    pub fn upload_ids(&self) -> Vec<String> {
        self.all_uploads().into_iter().map(|(_, id)| id).collect()
    }

    /// Writes an object below the prefix, also over an existing one.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.server.send_request("PUT", &format!("/{}/{PREFIX}/{name}", self.name), &[], bytes);
    }

    /// Removes an object below the prefix, like another client.
    pub fn remove(&self, name: &str) {
        self.server.send_request("DELETE", &format!("/{}/{PREFIX}/{name}", self.name), &[], b"");
    }

    fn all_objects(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        loop {
            let last = names.last().cloned().unwrap_or_default();
            let query = [("list-type", "2"), ("start-after", last.as_str())];
            let listing = self.server.send_request("GET", &format!("/{}", self.name), &query, b"");
            let page = texts(&listing, "Key");
            if page.is_empty() {
                return names;
            }
            names.extend(page);
        }
    }

    fn all_uploads(&self) -> Vec<(String, String)> {
        let listing = self.server.send_request("GET", &format!("/{}", self.name), &[("uploads", "")], b"");
        texts(&listing, "Key").into_iter().zip(texts(&listing, "UploadId")).collect()
    }
}

impl Drop for S3Bucket {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // the server goes with the harness, and a second panic would hide the first
        }
        for (name, id) in self.all_uploads() {
            self.server.send_request("DELETE", &format!("/{}/{name}", self.name), &[("uploadId", &id)], b"");
        }
        for name in self.all_objects() {
            self.server.send_request("DELETE", &format!("/{}/{name}", self.name), &[], b"");
        }
        self.server.send_request("DELETE", &format!("/{}", self.name), &[], b"");
    }
}

impl Server {
    fn from_env() -> Self {
        let of = |name: &str| {
            env::var(name).unwrap_or_else(|_| {
                panic!("{name} is not set: run `make test`, or `cargo xtask servers -- cargo nextest run`")
            })
        };
        let url = of(SERVER_VARIABLE);
        let part = |name: &str| {
            let (_, query) = url.split_once('?').unwrap_or_default();
            query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        let endpoint = part("endpoint").expect("the URL of the test server has an endpoint");
        let address = endpoint.strip_prefix("http://").expect("the test server speaks http");
        Self {
            address: address.trim_end_matches('/').to_owned(),
            region: part("region").unwrap_or_else(|| "us-east-1".to_owned()),
            access_key: of("AWS_ACCESS_KEY_ID"),
            secret_key: of("AWS_SECRET_ACCESS_KEY"),
        }
    }

    /// Sends a signed request and returns the body of a successful response. Names must need no escapes.
    fn send_request(&self, method: &str, path: &str, query: &[(&str, &str)], body: &[u8]) -> String {
        let mut query: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        query.sort_unstable();
        let query = query.join("&");
        let hash = hex(&Sha256::digest(body));
        let (time, authorization) = self.sign(method, path, &query, &hash);
        let head = format!(
            "{method} {path}?{query} HTTP/1.1\r\nhost: {}\r\nx-amz-date: {time}\r\nx-amz-content-sha256: {hash}\r\n\
             authorization: {authorization}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        let answer = exchange(&self.address, &[head.as_bytes(), body].concat())
            .unwrap_or_else(|error| panic!("the S3 server at {} does not answer: {error}", self.address));
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        let status = head.split(' ').nth(1).unwrap_or_default();
        assert!(status.starts_with('2'), "{method} {path}?{query}: {status} {body}");
        body.to_owned()
    }

    /// Amazon S3, "Signature calculations for the Authorization header" (AWS4-HMAC-SHA256).
    fn sign(&self, method: &str, path: &str, query: &str, hash: &str) -> (String, String) {
        const SIGNED: &str = "host;x-amz-content-sha256;x-amz-date";
        let time: String = now().to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect();
        let time = format!("{}Z", &time[..15]);
        let (address, day, region) = (&self.address, &time[..8], &self.region);
        let request = format!(
            "{method}\n{path}\n{query}\nhost:{address}\nx-amz-content-sha256:{hash}\nx-amz-date:{time}\n\n{SIGNED}\n{hash}"
        );
        let scope = format!("{day}/{region}/s3/aws4_request");
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
        let mut key = format!("AWS4{}", self.secret_key).into_bytes();
        for part in [day, region, "s3", "aws4_request"] {
            key = hmac(&key, part);
        }
        let signature = hex(&hmac(&key, &text));
        let credential = format!("{}/{scope}", self.access_key);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={SIGNED}, Signature={signature}"
        );
        (time, authorization)
    }
}

/// Connects; waits for a server that is restarting (`cargo xtask servers`).
fn connect(address: &str) -> std::io::Result<TcpStream> {
    for _ in 1..CONNECTS_MAX {
        match TcpStream::connect(address) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::thread::park_timeout(BETWEEN_CONNECTS);
            }
            connected => return connected,
        }
    }
    TcpStream::connect(address)
}

/// Sends one request on one connection and returns the response. Chunked bodies are joined.
fn exchange(address: &str, request: &[u8]) -> std::io::Result<String> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.to_ascii_lowercase().contains("transfer-encoding: chunked") => {
            Ok(format!("{head}\r\n\r\n{}", joined(body)))
        }
        _ => Ok(answer),
    }
}

/// Joins a chunked body. RFC 9112, 7.1.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((len, rest)) = chunks.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).unwrap_or(0);
        if len == 0 {
            break;
        }
        body.push_str(&rest[..len]);
        chunks = rest.get(len + 2..).unwrap_or_default();
    }
    body
}

/// The texts of all elements with this name, in order.
fn texts(xml: &str, name: &str) -> Vec<String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(&begin).skip(1).filter_map(|rest| Some(rest.split_once(&end)?.0.to_owned())).collect()
}

fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The real time: servers reject signatures with another time.
#[expect(clippy::disallowed_methods, reason = "a server outside of the test reads its own clock")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

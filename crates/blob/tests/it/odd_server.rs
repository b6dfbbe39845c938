//! A tiny S3 server in this process, which misbehaves as a test tells it to. It checks no signature.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinora_blob::{Blob, S3Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What happens to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// It is served.
    None,
    /// It is served, and the connection ends instead of an answer.
    LostAnswer,
    /// It is not served; the answer has this status and code.
    Refusal(u16, &'static str),
    /// Success, with an error in the body.
    ErrorInBody(&'static str),
    /// No answer, ever.
    Silence,
    /// The body ends in the middle.
    CutBody,
    /// The body stops in the middle, and the connection stays.
    StalledBody,
    /// `Content-Range` speaks of the byte behind.
    WrongRange,
    /// 200 and the whole object instead of the range.
    WholeObject,
    /// The object is said to have so many bytes.
    HugeObject(u64),
    /// `If-None-Match` is not looked at.
    Careless,
    /// 307 to this address.
    Redirect(&'static str),
}

/// A request, as far as tests look at it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without the bucket.
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) headers: String,
    body: Vec<u8>,
}

impl Asked {
    fn has(&self, part: &str) -> bool {
        self.query.split('&').any(|p| p == part || p.starts_with(&format!("{part}=")))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(given, value)| given.eq_ignore_ascii_case(name).then_some(value))
    }

    /// `PUT source/..`, with what sets the calls of S3 apart.
    pub(crate) fn what(&self) -> String {
        let kind = if self.has("uploads") {
            " begin"
        } else if self.has("partNumber") {
            " part"
        } else if self.has("uploadId") {
            " upload"
        } else {
            ""
        };
        let folder = self.name.split('/').next().unwrap_or_default();
        format!("{}{kind} {folder}", self.method)
    }
}

#[derive(Default)]
struct Held {
    objects: BTreeMap<String, Vec<u8>>,
    parts: BTreeMap<usize, Vec<u8>>,
    asked: Vec<Asked>,
}

type Decide = dyn Fn(&Asked, usize) -> Oddity + Send + Sync;

/// The server. It ends with this handle.
pub(crate) struct OddServer {
    address: String,
    held: Arc<Mutex<Held>>,
    serving: JoinHandle<()>,
}

impl OddServer {
    /// `decide` gets each request and how many of the same kind came before it.
    pub(crate) async fn start(decide: impl Fn(&Asked, usize) -> Oddity + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let held = Arc::new(Mutex::new(Held::default()));
        let decide: Arc<Decide> = Arc::new(decide);
        let serving = tokio::spawn({
            let held = Arc::clone(&held);
            async move {
                while let Ok((socket, _)) = listener.accept().await {
                    tokio::spawn(serve(socket, Arc::clone(&held), Arc::clone(&decide)));
                }
            }
        });
        Self { address, held, serving }
    }

    /// A server that never answers a part of an upload.
    pub(crate) async fn without_answers_to_parts() -> Self {
        Self::start(|asked, _| match asked.what().as_str() {
            "PUT part source" => Oddity::Silence,
            _ => Oddity::None,
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("s3://bucket?endpoint=http://{}", self.address)
    }

    /// A store here, which waits little between two tries.
    pub(crate) fn blob(&self) -> Blob {
        Blob::open_s3_with(&self.url().parse().unwrap(), impatient()).unwrap()
    }

    /// What was asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.held.lock().unwrap().asked.iter().map(Asked::what).collect()
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.held.lock().unwrap().asked.clone()
    }

    /// The names of all objects.
    pub(crate) fn objects(&self) -> Vec<String> {
        self.held.lock().unwrap().objects.keys().cloned().collect()
    }
}

impl Drop for OddServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// No time limit that a busy machine could reach, and little time between two tries.
pub(crate) fn impatient() -> S3Limits {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    S3Limits {
        connect: 24 * HOUR,
        answer: HOUR,
        read: 2 * HOUR,
        retry_delay_min: Duration::from_millis(1),
        retry_delay_max: Duration::from_millis(2),
        part_len: 5 << 20,
        ..S3Limits::default()
    }
}

async fn serve(mut socket: TcpStream, held: Arc<Mutex<Held>>, decide: Arc<Decide>) -> Option<()> {
    let asked = read(&mut socket).await?;
    let before = {
        let mut held = held.lock().unwrap();
        let before = held.asked.iter().filter(|earlier| earlier.what() == asked.what()).count();
        held.asked.push(asked.clone());
        before
    };
    let oddity = decide(&asked, before);
    let answer = match oddity {
        Oddity::Silence => std::future::pending().await,
        Oddity::Refusal(status, code) => error(status, code),
        Oddity::ErrorInBody(code) => {
            answer(200, "", format!("<Error><Code>{code}</Code></Error>").as_bytes())
        }
        Oddity::Redirect(to) => answer(307, &format!("location: {to}\r\n"), b""),
        _ => act(&asked, oddity, &mut held.lock().unwrap()),
    };
    if oddity == Oddity::LostAnswer {
        return None;
    }
    let is_cut = matches!(oddity, Oddity::CutBody | Oddity::StalledBody);
    let end = if is_cut { answer.len() - 3 } else { answer.len() };
    socket.write_all(&answer[..end]).await.ok()?;
    if oddity == Oddity::StalledBody {
        std::future::pending::<()>().await;
    }
    socket.shutdown().await.ok()
}

/// Does what S3 does.
fn act(asked: &Asked, oddity: Oddity, held: &mut Held) -> Vec<u8> {
    let name = asked.name.clone();
    match asked.method.as_str() {
        "PUT" if asked.has("partNumber") => {
            let number = asked.query.split('&').find_map(|part| part.strip_prefix("partNumber=")).unwrap();
            held.parts.insert(number.parse().unwrap(), asked.body.clone());
            answer(200, &format!("etag: \"p{number}\"\r\n"), b"")
        }
        "PUT" => {
            let is_conditional = asked.header("if-none-match") == Some("*");
            if is_conditional && oddity != Oddity::Careless && held.objects.contains_key(&name) {
                return error(412, "PreconditionFailed");
            }
            held.objects.insert(name, asked.body.clone());
            answer(200, "etag: \"e\"\r\n", b"")
        }
        "POST" if asked.has("uploads") => answer(
            200,
            "",
            b"<InitiateMultipartUploadResult><UploadId>up</UploadId></InitiateMultipartUploadResult>",
        ),
        "POST" if held.parts.is_empty() => error(404, "NoSuchUpload"),
        "POST" => {
            let whole = std::mem::take(&mut held.parts).into_values().flatten().collect();
            held.objects.insert(name, whole);
            answer(
                200,
                "",
                b"<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>",
            )
        }
        "DELETE" if asked.has("uploadId") => {
            held.parts.clear();
            answer(204, "", b"")
        }
        "DELETE" => {
            held.objects.remove(&name);
            answer(204, "", b"")
        }
        "GET" if asked.has("list-type") => answer(200, "", list(asked, held).as_bytes()),
        "GET" | "HEAD" => match held.objects.get(&name) {
            None => error(404, "NoSuchKey"),
            Some(object) => get(asked, oddity, object),
        },
        other => panic!("the odd server does not know {other}"),
    }
}

fn get(asked: &Asked, oddity: Oddity, object: &[u8]) -> Vec<u8> {
    let facts = "etag: \"e\"\r\nlast-modified: Sat, 21 Nov 2026 16:57:22 GMT\r\n";
    let len = if let Oddity::HugeObject(len) = oddity { len } else { object.len() as u64 };
    if asked.method == "HEAD" || matches!(oddity, Oddity::HugeObject(_)) {
        return format!("HTTP/1.1 200 OK\r\ncontent-length: {len}\r\nconnection: close\r\n{facts}\r\n")
            .into();
    }
    let range = asked.header("range").filter(|_| oddity != Oddity::WholeObject);
    let Some((start, end)) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
        return answer(200, facts, object);
    };
    let (start, end): (usize, usize) = (start.parse().unwrap(), end.parse().unwrap());
    let shift = usize::from(oddity == Oddity::WrongRange);
    let range = format!("content-range: bytes {}-{}/{}\r\n", start + shift, end + shift, object.len());
    answer(206, &format!("{facts}{range}"), &object[start..=end])
}

fn list(asked: &Asked, held: &Held) -> String {
    let prefix = asked.query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or_default();
    let prefix = prefix.replace("%2F", "/");
    let entry = |(name, object): (&String, &Vec<u8>)| {
        format!(
            "<Contents><Key>{name}</Key><Size>{}</Size><LastModified>2026-11-21T16:57:22.000Z</LastModified></Contents>",
            object.len()
        )
    };
    let entries: String =
        held.objects.iter().filter(|(name, _)| name.starts_with(&prefix)).map(entry).collect();
    format!("<ListBucketResult>{entries}</ListBucketResult>")
}

fn error(status: u16, code: &str) -> Vec<u8> {
    answer(status, "", format!("<Error><Code>{code}</Code><Message>hush</Message></Error>").as_bytes())
}

fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head_len = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_len].to_vec()).ok()?;
    let (line, headers) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let name = path.strip_prefix("/bucket")?.trim_start_matches('/').to_owned();
    let mut asked = Asked {
        method,
        name,
        query: query.to_owned(),
        headers: headers.replace('\r', ""),
        body: bytes.split_off(head_len),
    };
    let len: usize = asked.header("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
    while asked.body.len() < len {
        if socket.read_buf(&mut asked.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(asked)
}

//! A tiny S3 server in this process, which misbehaves as a test requires. It checks no signature.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinora_blob::{Blob, S3Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The treatment of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is served.
    None,
    /// It is served, and the connection ends instead of a response.
    LostAnswer,
    /// It is not served; the response has this status and code.
    Refusal(u16, &'static str),
    /// Success, with an error in the body.
    ErrorInBody(&'static str),
    /// Never a response.
    Silence,
    /// The body ends in the middle.
    CutBody,
    /// The body stops in the middle, and the connection stays.
    StalledBody,
    /// `Content-Range` starts one byte later.
    WrongRange,
    /// 200 and the whole object instead of the range.
    WholeObject,
    /// The object is reported to have this many bytes.
    HugeObject(u64),
    /// `If-None-Match` is ignored.
    Careless,
    /// 307 to this URL.
    Redirect(&'static str),
}

/// A request, as far as tests check it.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    /// Without the bucket.
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) headers: String,
    body: Vec<u8>,
}

impl ReceivedRequest {
    fn has(&self, part: &str) -> bool {
        self.query.split('&').any(|p| p == part || p.starts_with(&format!("{part}=")))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    }

    /// `PUT source/..`, with the parts that distinguish the calls of S3.
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
    requests: Vec<ReceivedRequest>,
}

type Decide = dyn Fn(&ReceivedRequest, usize) -> Fault + Send + Sync;

/// The server. It ends with this handle.
pub(crate) struct FaultyS3 {
    address: String,
    state: Arc<Mutex<Held>>,
    serving: JoinHandle<()>,
}

impl FaultyS3 {
    /// `decide` gets each request and the number of earlier ones of the same kind.
    pub(crate) async fn start(
        decide: impl Fn(&ReceivedRequest, usize) -> Fault + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(Held::default()));
        let decide: Arc<Decide> = Arc::new(decide);
        let serving = tokio::spawn({
            let held = Arc::clone(&state);
            async move {
                while let Ok((socket, _)) = listener.accept().await {
                    tokio::spawn(serve(socket, Arc::clone(&held), Arc::clone(&decide)));
                }
            }
        });
        Self { address, state, serving }
    }

    /// A server that never responds to a part of an upload.
    pub(crate) async fn without_answers_to_parts() -> Self {
        Self::start(|request, _| match request.what().as_str() {
            "PUT part source" => Fault::Silence,
            _ => Fault::None,
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("s3://bucket?endpoint=http://{}", self.address)
    }

    /// A store on this server, with short delays between two tries.
    pub(crate) fn blob(&self) -> Blob {
        Blob::open_s3_with(&self.url().parse().unwrap(), fast_retries()).unwrap()
    }

    /// All requests, in order.
    pub(crate) fn request_names(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.iter().map(ReceivedRequest::what).collect()
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The names of all objects.
    pub(crate) fn objects(&self) -> Vec<String> {
        self.state.lock().unwrap().objects.keys().cloned().collect()
    }
}

impl Drop for FaultyS3 {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// No timeout that a busy machine could reach, and short delays between two tries.
pub(crate) fn fast_retries() -> S3Limits {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    S3Limits {
        connect_timeout: 24 * HOUR,
        response_timeout: HOUR,
        read_timeout: 2 * HOUR,
        retry_delay_min: Duration::from_millis(1),
        retry_delay_max: Duration::from_millis(2),
        part_len: 5 << 20,
        ..S3Limits::default()
    }
}

async fn serve(mut socket: TcpStream, state: Arc<Mutex<Held>>, decide: Arc<Decide>) -> Option<()> {
    let request = read(&mut socket).await?;
    let before = {
        let mut held = state.lock().unwrap();
        let before = held.requests.iter().filter(|earlier| earlier.what() == request.what()).count();
        held.requests.push(request.clone());
        before
    };
    let fault = decide(&request, before);
    let answer = match fault {
        Fault::Silence => std::future::pending().await,
        Fault::Refusal(status, code) => error(status, code),
        Fault::ErrorInBody(code) => answer(200, "", format!("<Error><Code>{code}</Code></Error>").as_bytes()),
        Fault::Redirect(to) => answer(307, &format!("location: {to}\r\n"), b""),
        _ => act(&request, fault, &mut state.lock().unwrap()),
    };
    if fault == Fault::LostAnswer {
        return None;
    }
    let is_cut = matches!(fault, Fault::CutBody | Fault::StalledBody);
    let end = if is_cut { answer.len() - 3 } else { answer.len() };
    socket.write_all(&answer[..end]).await.ok()?;
    if fault == Fault::StalledBody {
        std::future::pending::<()>().await;
    }
    socket.shutdown().await.ok()
}

/// Behaves like S3.
fn act(request: &ReceivedRequest, fault: Fault, state: &mut Held) -> Vec<u8> {
    let name = request.name.clone();
    match request.method.as_str() {
        "PUT" if request.has("partNumber") => {
            let number = request.query.split('&').find_map(|part| part.strip_prefix("partNumber=")).unwrap();
            state.parts.insert(number.parse().unwrap(), request.body.clone());
            answer(200, &format!("etag: \"p{number}\"\r\n"), b"")
        }
        "PUT" => {
            let is_conditional = request.header("if-none-match") == Some("*");
            if is_conditional && fault != Fault::Careless && state.objects.contains_key(&name) {
                return error(412, "PreconditionFailed");
            }
            state.objects.insert(name, request.body.clone());
            answer(200, "etag: \"e\"\r\n", b"")
        }
        "POST" if request.has("uploads") => answer(
            200,
            "",
            b"<InitiateMultipartUploadResult><UploadId>up</UploadId></InitiateMultipartUploadResult>",
        ),
        "POST" if state.parts.is_empty() => error(404, "NoSuchUpload"),
        "POST" => {
            let content = std::mem::take(&mut state.parts).into_values().flatten().collect();
            state.objects.insert(name, content);
            answer(
                200,
                "",
                b"<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>",
            )
        }
        "DELETE" if request.has("uploadId") => {
            state.parts.clear();
            answer(204, "", b"")
        }
        "DELETE" => {
            state.objects.remove(&name);
            answer(204, "", b"")
        }
        "GET" if request.has("list-type") => answer(200, "", list(request, state).as_bytes()),
        "GET" | "HEAD" => match state.objects.get(&name) {
            None => error(404, "NoSuchKey"),
            Some(object) => get(request, fault, object),
        },
        other => panic!("the odd server does not know {other}"),
    }
}

fn get(request: &ReceivedRequest, fault: Fault, object: &[u8]) -> Vec<u8> {
    let facts = "etag: \"e\"\r\nlast-modified: Sat, 21 Nov 2026 16:57:22 GMT\r\n";
    let len = if let Fault::HugeObject(len) = fault { len } else { object.len() as u64 };
    if request.method == "HEAD" || matches!(fault, Fault::HugeObject(_)) {
        return format!("HTTP/1.1 200 OK\r\ncontent-length: {len}\r\nconnection: close\r\n{facts}\r\n")
            .into();
    }
    let range = request.header("range").filter(|_| fault != Fault::WholeObject);
    let Some((start, end)) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
        return answer(200, facts, object);
    };
    let (start, end): (usize, usize) = (start.parse().unwrap(), end.parse().unwrap());
    let shift = usize::from(fault == Fault::WrongRange);
    let range = format!("content-range: bytes {}-{}/{}\r\n", start + shift, end + shift, object.len());
    answer(206, &format!("{facts}{range}"), &object[start..=end])
}

fn list(request: &ReceivedRequest, state: &Held) -> String {
    let prefix = request.query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or_default();
    let prefix = prefix.replace("%2F", "/");
    let entry = |(name, object): (&String, &Vec<u8>)| {
        format!(
            "<Contents><Key>{name}</Key><Size>{}</Size><LastModified>2026-11-21T16:57:22.000Z</LastModified></Contents>",
            object.len()
        )
    };
    let entries: String =
        state.objects.iter().filter(|(name, _)| name.starts_with(&prefix)).map(entry).collect();
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

async fn read(socket: &mut TcpStream) -> Option<ReceivedRequest> {
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
    let mut request = ReceivedRequest {
        method,
        name,
        query: query.to_owned(),
        headers: headers.replace('\r', ""),
        body: bytes.split_off(head_len),
    };
    let len: usize = request.header("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
    while request.body.len() < len {
        if socket.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}

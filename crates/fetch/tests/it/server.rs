//! A scripted server that controls every byte and counts its clients.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use url::Url;

/// The pause between two pieces of a slow body. Tests advance the clock.
pub(crate) const DRIP: Duration = Duration::from_secs(60);

/// The response to one request: bytes, then one further action.
pub(crate) struct Answer {
    bytes: Vec<u8>,
    then: Then,
}

enum Then {
    /// Reads the next request on this connection.
    Keep,
    Close,
    /// Resets the connection: bytes in flight to the client are lost.
    Reset,
    /// Sends no more bytes and does not close.
    Hang,
    /// Sends this repeatedly, with a pause of [`DRIP`] before each.
    Drip(Vec<u8>),
}

/// A complete response; the connection stays open.
pub(crate) fn answer(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer { bytes: bytes.into(), then: Then::Keep }
}

/// These bytes, then the end of the connection.
pub(crate) fn cut(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer { bytes: bytes.into(), then: Then::Close }
}

/// These bytes, then a reset of the connection.
pub(crate) fn reset(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer { bytes: bytes.into(), then: Then::Reset }
}

/// These bytes, then none, without end.
pub(crate) fn hang(bytes: impl Into<Vec<u8>>) -> Answer {
    Answer { bytes: bytes.into(), then: Then::Hang }
}

/// These bytes, then `piece` repeatedly.
pub(crate) fn drip(bytes: impl Into<Vec<u8>>, piece: impl Into<Vec<u8>>) -> Answer {
    Answer { bytes: bytes.into(), then: Then::Drip(piece.into()) }
}

/// The text of a response with its `Content-Length`. `fields` end in line breaks.
pub(crate) fn with_length(status: &str, fields: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{fields}content-length: {}\r\n\r\n{body}", body.len())
}

#[derive(Default)]
struct Seen {
    /// The client's address of each connection.
    clients: Vec<SocketAddr>,
    requests: Vec<String>,
    /// Number of written responses, each up to its `then`.
    answered: watch::Sender<usize>,
}

type Script = dyn Fn(usize, &str) -> Answer + Send + Sync;

/// Runs until it is dropped.
pub(crate) struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// A server on `127.0.0.1` and a free port. `script` gets the number of the request, from 0, and its
    /// text.
    pub(crate) async fn start(script: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen((Ipv4Addr::LOCALHOST, 0).into(), script).await.expect("a free port on loopback")
    }

    /// A server with the same response to every request.
    pub(crate) async fn always(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, _| answer(bytes.clone())).await
    }

    /// Two servers with one port, on `127.0.0.1` and `127.0.0.2`, both with the same response to every
    /// request.
    pub(crate) async fn pair(bytes: impl Into<Vec<u8>>) -> (Self, Self) {
        let bytes: Vec<u8> = bytes.into();
        loop {
            let first = Self::always(bytes.clone()).await;
            let bytes = bytes.clone();
            let second = SocketAddr::new(Ipv4Addr::new(127, 0, 0, 2).into(), first.address.port());
            if let Ok(second) = Self::listen(second, move |_, _| answer(bytes.clone())).await {
                return (first, second);
            }
        }
    }

    async fn listen(
        address: SocketAddr,
        script: impl Fn(usize, &str) -> Answer + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let script: Arc<Script> = Arc::new(script);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, seen.clone(), script));
        Ok(Self { address, seen, _tasks: tasks })
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.address.ip()
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// A URL of this server's port with a name instead of the address.
    pub(crate) fn url_by_name(&self, name: &str) -> Url {
        Url::parse(&format!("http://{name}:{}/", self.address.port())).unwrap()
    }

    /// Number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.seen.lock().unwrap().clients.len()
    }

    /// Waits until this many responses were written.
    pub(crate) async fn answered(&self, count: usize) {
        let mut answered = self.seen.lock().unwrap().answered.subscribe();
        answered.wait_for(|answered| count <= *answered).await.unwrap();
    }

    /// Waits until the first response was written and its client has read every byte of it.
    pub(crate) async fn first_answer_is_read(&self) {
        self.answered(1).await;
        let (server, client) = (self.address.port(), self.seen.lock().unwrap().clients[0].port());
        // In this order: acknowledged bytes are in the client's queue until they are read.
        while queued(server, client).is_none_or(|queued| 0 < queued.sent)
            || queued(client, server).is_none_or(|queued| 0 < queued.received)
        {
            yield_now().await;
        }
    }

    /// The requests so far, heads and bodies, with `HOST` instead of this server's address and the fields
    /// sorted.
    pub(crate) fn requests(&self) -> Vec<String> {
        let address = self.address.to_string();
        self.seen
            .lock()
            .unwrap()
            .requests
            .iter()
            .map(|text| in_order(&text.replace(&address, "HOST")))
            .collect()
    }

    /// The value of one field in every request so far.
    pub(crate) fn fields(&self, name: &str) -> Vec<Option<String>> {
        self.requests().iter().map(|request| field(request, name).map(str::to_owned)).collect()
    }
}

/// Bytes in the queues of one end of a connection.
struct Queued {
    /// Sent and not acknowledged.
    sent: u64,
    /// Received and not read.
    received: u64,
}

/// The queues of the end that has this port, as the kernel shows them: proc_pid_net(5), `tcp`.
fn queued(port: u16, other_end: u16) -> Option<Queued> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let port_of = |address: &str| hex(address.rsplit_once(':')?.1);
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let ends = [port_of(columns.next()?)?, port_of(columns.next()?)?];
        let (sent, received) = columns.nth(1)?.split_once(':')?;
        let queued = Queued { sent: hex(sent)?, received: hex(received)? };
        (ends == [port, other_end].map(u64::from)).then_some(queued)
    })
}

/// The value of a field in the head of a request.
pub(crate) fn field<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = request.split("\r\n").take_while(|line| !line.is_empty());
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The HTTP client sends its fields in no fixed order.
fn in_order(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let (line, fields) = head.split_once("\r\n").unwrap();
    let mut fields: Vec<&str> = fields.split("\r\n").collect();
    fields.sort_unstable();
    format!("{line}\r\n{}\r\n\r\n{body}", fields.join("\r\n"))
}

async fn accept(listener: TcpListener, seen: Arc<Mutex<Seen>>, script: Arc<Script>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, client)) = listener.accept().await else { continue };
        seen.lock().unwrap().clients.push(client);
        connections.spawn(serve(stream, seen.clone(), script.clone()));
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Seen>>, script: Arc<Script>) {
    while let Some(request) = read_request(&mut stream).await {
        let answer = {
            let mut seen = seen.lock().unwrap();
            seen.requests.push(request);
            let number = seen.requests.len() - 1;
            script(number, &seen.requests[number])
        };
        if stream.write_all(&answer.bytes).await.is_err() {
            return;
        }
        seen.lock().unwrap().answered.send_modify(|answered| *answered += 1);
        match answer.then {
            Then::Keep => {}
            Then::Close => return,
            Then::Reset => {
                stream.set_zero_linger().expect("the socket is open");
                return;
            }
            Then::Hang => std::future::pending().await,
            Then::Drip(piece) => {
                let mut drips = tokio::time::interval(DRIP);
                while stream.write_all(&piece).await.is_ok() {
                    drips.tick().await;
                }
                return;
            }
        }
    }
}

/// One request as text; `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        (0 < stream.read_buf(&mut bytes).await.ok()?).then_some(())?;
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let length: usize = field(&text, "content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head + length {
        (0 < stream.read_buf(&mut bytes).await.ok()?).then_some(())?;
    }
    Some(String::from_utf8(bytes).unwrap())
}

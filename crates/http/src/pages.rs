//! Has the kernel send ranges of files by itself, so that their bytes are not copied through this process.
//!
//! hyper takes bodies as bytes. So a range is announced to it as that many blank bytes, which lie in a static of this module,
//! and queued in the [`Outbox`] of the connection. What comes out of hyper passes the [`Socket`], which knows the blanks by
//! where they lie in memory, and sends the range in their place.
//!
//! Nothing between a handler and the socket may read or change such a body. Blanks that are not those of the range that is next
//! break the connection: what a player gets is right, or cut short.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use kinora_packager::{PAGES_MAX, Pages};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Successive ranges begin at successive places, so that no range is taken for another of the same length.
const PLACES: usize = 4096;

/// Never read, so it never gets into memory.
static BLANK: [u8; PLACES + PAGES_MAX] = [0; PLACES + PAGES_MAX];

/// The ranges that a connection is about to send, in order. Each request carries that of its connection.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Announced>>);

#[derive(Default)]
struct Announced {
    waiting: VecDeque<Waiting>,
    count: usize,
}

struct Waiting {
    pages: Pages,
    /// Where the blanks of what is left begin in [`BLANK`].
    place: usize,
}

impl Outbox {
    /// Queues a range, and answers what stands for it in the body. To be called in the order of the body.
    pub(crate) fn announce(&self, pages: Pages) -> Bytes {
        let len = usize::try_from(pages.range.end - pages.range.start).expect("at most PAGES_MAX");
        let mut announced = self.lock();
        let place = announced.count % PLACES;
        announced.count = announced.count.wrapping_add(1);
        announced.waiting.push_back(Waiting { pages, place });
        Bytes::from_static(&BLANK[place..place + len])
    }

    /// Sends what it can of the range that is next, if `blanks` are its own.
    fn send(&self, stream: &TcpStream, blanks: &[u8]) -> io::Result<usize> {
        let mut announced = self.lock();
        let next = announced.waiting.front_mut();
        let Some(next) = next.filter(|next| next.blanks().as_ptr_range() == blanks.as_ptr_range()) else {
            return Err(io::Error::other("a body was changed on its way to the socket"));
        };
        let file = next.pages.reader.as_file().ok_or(io::ErrorKind::Unsupported)?;
        // A position of our own: others read the file at the same time.
        let mut position = next.pages.range.start;
        let sent = rustix::fs::sendfile(stream, file, Some(&mut position), blanks.len())?;
        if sent == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into()); // the file is shorter than it was
        }
        next.pages.range.start += sent as u64;
        next.place += sent;
        if next.pages.range.is_empty() {
            announced.waiting.pop_front();
        }
        Ok(sent)
    }

    fn lock(&self) -> MutexGuard<'_, Announced> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn blanks(&self) -> &'static [u8] {
        let len = usize::try_from(self.pages.range.end - self.pages.range.start).unwrap_or(usize::MAX);
        BLANK.get(self.place..self.place.saturating_add(len)).unwrap_or_default()
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    !bytes.is_empty() && BLANK.as_ptr_range().contains(&bytes.as_ptr())
}

/// A connection that knows the ranges in its outbox.
pub(crate) struct Socket {
    stream: TcpStream,
    outbox: Outbox,
}

impl Socket {
    /// A connection and the outbox that its requests are given.
    pub(crate) fn new(stream: TcpStream, outbox: Outbox) -> Self {
        Self { stream, outbox }
    }

    fn poll_send(&self, cx: &mut Context<'_>, blanks: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_io(Interest::WRITABLE, || self.outbox.send(&self.stream, blanks)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices.iter().position(|slice| is_blank(slice)) {
            Some(0) => self.poll_send(cx, &slices[0]),
            before => {
                let ordinary = &slices[..before.unwrap_or(slices.len())];
                Pin::new(&mut self.stream).poll_write_vectored(cx, ordinary)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use kinora_blob::{Blob, ObjectKey, ObjectReader};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A file of `PAGES_MAX` bytes.
    struct World {
        _folder: tempfile::TempDir,
        bytes: Bytes,
        reader: ObjectReader,
    }

    impl World {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let blob = Blob::open_folder(folder.path()).await.unwrap();
            let bytes: Bytes = (0..PAGES_MAX).map(|at| (at % 251) as u8).collect();
            blob.put_once(ObjectKey::DemoClip, bytes.clone()).await.unwrap();
            let reader = blob.reader(ObjectKey::DemoClip).await.unwrap().unwrap();
            Self { _folder: folder, bytes, reader }
        }

        fn announce(&self, outbox: &Outbox, range: std::ops::Range<u64>) -> Bytes {
            outbox.announce(Pages { reader: self.reader.clone(), range })
        }
    }

    /// A socket, and what the other side of it has read when the socket is dropped.
    async fn connected(outbox: &Outbox) -> (Socket, tokio::task::JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let read = tokio::spawn(async move {
            let mut read = Vec::new();
            client.read_to_end(&mut read).await.unwrap();
            read
        });
        (Socket::new(server, outbox.clone()), read)
    }

    /// Writes the pieces as hyper does: all that is left in one call, again and again.
    async fn write(socket: &mut Socket, mut pieces: VecDeque<Bytes>) -> io::Result<()> {
        while !pieces.is_empty() {
            let slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
            let mut written = socket.write_vectored(&slices).await?;
            while let Some(piece) = pieces.front_mut() {
                let taken = written.min(piece.len());
                written -= taken;
                drop(piece.split_to(taken));
                if !piece.is_empty() {
                    break;
                }
                pieces.pop_front();
            }
        }
        Ok(())
    }

    #[tokio::test]
    async fn ranges_and_bytes_arrive_in_the_order_of_the_body() {
        let world = World::new().await;
        let outbox = Outbox::default();
        let (mut socket, read) = connected(&outbox).await;
        let end = PAGES_MAX as u64;
        let mut expected = Vec::new();
        // Often enough that places are used again, and more than the socket takes at once.
        for _ in 0..PLACES / 128 {
            for _ in 0..128 {
                let body = [
                    Bytes::from_static(b"head"),
                    world.announce(&outbox, 5..6),
                    world.announce(&outbox, 0..1000),
                    Bytes::from_static(b"between"),
                    world.announce(&outbox, 1000..2000),
                ];
                write(&mut socket, body.into()).await.unwrap();
                expected.extend_from_slice(b"head");
                expected.extend_from_slice(&world.bytes[5..6]);
                expected.extend_from_slice(&world.bytes[..1000]);
                expected.extend_from_slice(b"between");
                expected.extend_from_slice(&world.bytes[1000..2000]);
            }
            write(&mut socket, [world.announce(&outbox, 0..end)].into()).await.unwrap();
            expected.extend_from_slice(&world.bytes);
        }
        drop(socket);
        assert!(read.await.unwrap() == expected);
    }

    #[tokio::test]
    async fn a_body_that_was_changed_breaks_the_connection_and_sends_no_blank() {
        let world = World::new().await;
        let check = async |what: &str, change: &dyn Fn(Bytes, Bytes) -> Vec<Bytes>, expected: &[u8]| {
            let outbox = Outbox::default();
            let (mut socket, read) = connected(&outbox).await;
            let (first, second) = (world.announce(&outbox, 0..10), world.announce(&outbox, 10..20));
            let written = write(&mut socket, change(first, second).into()).await;
            assert_eq!(
                written.unwrap_err().to_string(),
                "a body was changed on its way to the socket",
                "{what}"
            );
            drop(socket);
            assert_eq!(read.await.unwrap(), expected, "{what}");
        };
        check("out of order", &|first, second| vec![second, first], b"").await;
        check("its begin is missing", &|first, _| vec![first.slice(1..)], b"").await;
        check("its end is missing", &|first, _| vec![first.slice(..9)], b"").await;
        check("one is missing", &|_, second| vec![second], b"").await;
        let ten = world.bytes.slice(..10);
        check("one comes twice", &|first, _| vec![first.clone(), first], &ten).await;
    }

    #[tokio::test]
    async fn a_file_that_became_shorter_breaks_the_connection() {
        let world = World::new().await;
        let outbox = Outbox::default();
        let (mut socket, _read) = connected(&outbox).await;
        let end = PAGES_MAX as u64;
        let blanks = world.announce(&outbox, end..end + 1);
        let written = write(&mut socket, [blanks].into()).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

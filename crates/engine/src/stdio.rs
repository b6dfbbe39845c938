//! The pipes of a child: feeding one, reading the other two, never more than is allowed.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes read at once: the size of a pipe on Linux (pipe(7)).
const READ_BYTES: usize = 64 << 10;

/// What is kept of the last words of a process, for the log.
const LAST_WORDS_MAX: usize = 4 << 10;

/// Writes all of `input` and closes the pipe. A process that stops reading has its reasons: its exit code tells.
pub(crate) async fn feed(mut pipe: impl AsyncWrite + Unpin, input: Bytes) -> io::Result<()> {
    match pipe.write_all(&input).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Reads to the end, or `None` as soon as there is more than `max` bytes.
pub(crate) async fn collect(mut pipe: impl AsyncRead + Unpin, max: u64) -> io::Result<Option<Bytes>> {
    let mut bytes = BytesMut::new();
    loop {
        bytes.reserve(READ_BYTES);
        if pipe.read_buf(&mut bytes).await? == 0 {
            return Ok(Some(bytes.freeze()));
        }
        if max < bytes.len() as u64 {
            return Ok(None);
        }
    }
}

/// Reads to the end and keeps the last few kilobytes, as one line of text without control characters.
pub(crate) async fn last_words(mut pipe: impl AsyncRead + Unpin) -> io::Result<String> {
    let mut kept = BytesMut::with_capacity(2 * LAST_WORDS_MAX);
    loop {
        kept.reserve(LAST_WORDS_MAX);
        if pipe.read_buf(&mut kept).await? == 0 {
            return Ok(String::from_utf8_lossy(&kept).trim().escape_debug().to_string());
        }
        let surplus = kept.len().saturating_sub(LAST_WORDS_MAX);
        let _ = kept.split_to(surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_is_read_up_to_its_limit_and_not_a_byte_further() {
        assert_eq!(collect(&b"12345"[..], 5).await.unwrap(), Some(Bytes::from_static(b"12345")));
        assert_eq!(collect(&b"123456"[..], 5).await.unwrap(), None);
        assert_eq!(collect(&b""[..], 0).await.unwrap(), Some(Bytes::new()));
        assert_eq!(collect(tokio::io::repeat(7), 1 << 20).await.unwrap(), None);
    }

    #[tokio::test]
    async fn only_the_last_words_are_kept_and_they_are_one_line() {
        assert_eq!(
            last_words(&b" two\nlines\x1b[31m\xff \n"[..]).await.unwrap(),
            "two\\nlines\\u{1b}[31m\u{fffd}"
        );
        let long = "a".repeat(3 << 20) + "end";
        let words = last_words(long.as_bytes()).await.unwrap();
        assert_eq!(words.len(), LAST_WORDS_MAX);
        assert!(words.ends_with("aend"));
    }

    #[tokio::test]
    async fn a_reader_that_leaves_early_is_no_error() {
        let (ours, theirs) = tokio::io::duplex(4);
        drop(theirs);
        feed(ours, Bytes::from_static(b"more than fits")).await.unwrap();
    }
}

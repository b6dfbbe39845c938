//! Encrypts files while they are sent to a viewer: each as a whole, with AES-128-CBC and PKCS#7 (RFC 8216,
//! 4.3.2.4; D-0087).

use std::ops::Range;

use aws_lc_rs::cipher::{AES_128, EncryptionContext, StreamingEncryptingKey, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, future, stream};
use kinora_domain::ContentKey;

/// The block size of AES, in bytes.
const BLOCK: u64 = ContentKey::LEN as u64;
/// Bytes that are encrypted at once for one viewer: they are still in the processor's cache when they are
/// sent.
const PIECE_BYTES: usize = 64 << 10;

/// Encrypts one file.
pub(super) struct FileCipher {
    key: ContentKey,
    iv: [u8; ContentKey::LEN],
}

/// A file that is being encrypted.
struct EncryptionStream {
    /// `None` after the end of the file.
    cipher: Option<StreamingEncryptingKey>,
    /// The offset of the next encrypted byte.
    position: u64,
    /// The requested range of the encrypted file.
    range: Range<u64>,
}

impl FileCipher {
    /// The cipher of the file at this path below the playback ID of the key.
    pub(super) fn of(key: &ContentKey, path: &str) -> Self {
        Self { key: key.clone(), iv: key.iv(path) }
    }

    /// The length of a file of `clear` bytes after encryption: there is always padding (RFC 5652, 6.3).
    pub(super) fn encrypted_len(clear: u64) -> u64 {
        clear - clear % BLOCK + BLOCK
    }

    /// The bytes of a file of `len` bytes that must be read for a range of the encrypted file.
    ///
    /// They begin at 0, since each block depends on all blocks before it.
    pub(super) fn clear_range(range: &Range<u64>, len: u64) -> Range<u64> {
        0..range.end.next_multiple_of(BLOCK).min(len)
    }

    /// Encrypts the whole file.
    pub(super) fn encrypt(self, clear: &[u8]) -> Bytes {
        let mut encryptor = self.begin(0..u64::MAX);
        let mut encrypted = Vec::with_capacity(clear.len() + ContentKey::LEN);
        encrypted.extend_from_slice(&encryptor.update(clear));
        encrypted.extend_from_slice(&encryptor.finish());
        Bytes::from(encrypted)
    }

    /// Encrypts a range, with one piece in memory at a time. `clear` gives at least the bytes of
    /// [`clear_range`](Self::clear_range).
    pub(super) fn stream<E: Send + 'static>(
        self,
        clear: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
        range: Range<u64>,
    ) -> impl Stream<Item = Result<Bytes, E>> + Send + 'static {
        let chunks = clear.flat_map(|chunk| stream::iter(split(chunk)));
        let with_end = chunks.map(|piece| piece.map(Some)).chain(stream::iter([Ok(None)]));
        let encrypted = with_end.scan(self.begin(range), |encryptor, piece| {
            future::ready(match piece {
                Ok(Some(clear)) => Some(Ok(encryptor.update(&clear))),
                Ok(None) => Some(Ok(encryptor.finish())),
                // Nothing follows an error, above all no padding: it would mark the file as complete.
                Err(error) => encryptor.cipher.take().map(|_| Err(error)),
            })
        });
        encrypted.filter(|piece| future::ready(!piece.as_ref().is_ok_and(Bytes::is_empty)))
    }

    fn begin(&self, range: Range<u64>) -> EncryptionStream {
        let key = UnboundCipherKey::new(&AES_128, self.key.as_bytes());
        let context = EncryptionContext::Iv128(FixedLength::from(self.iv));
        let cipher = key.and_then(|key| StreamingEncryptingKey::less_safe_cbc_pkcs7(key, context));
        EncryptionStream { cipher: Some(cipher.expect("a key and a vector of 16 bytes")), position: 0, range }
    }
}

impl EncryptionStream {
    /// The requested bytes of the blocks that `clear` fills.
    fn update(&mut self, clear: &[u8]) -> Bytes {
        let Some(cipher) = &mut self.cipher else { return Bytes::new() };
        let mut out = vec![0; clear.len() + ContentKey::LEN];
        let written =
            cipher.update(clear, &mut out).expect("there is room for another block").written().len();
        out.truncate(written);
        self.in_range(out)
    }

    /// The requested bytes of the last block.
    fn finish(&mut self) -> Bytes {
        let Some(cipher) = self.cipher.take() else { return Bytes::new() };
        let mut out = vec![0; ContentKey::LEN];
        let (_, written) = cipher.finish(&mut out).expect("there is room for a block");
        let written = written.written().len();
        out.truncate(written);
        self.in_range(out)
    }

    fn in_range(&mut self, encrypted: Vec<u8>) -> Bytes {
        let (first, len) = (self.position, encrypted.len());
        self.position += len as u64;
        let at =
            |position: u64| usize::try_from(position.saturating_sub(first)).map_or(len, |at| at.min(len));
        let (start, end) = (at(self.range.start), at(self.range.end));
        Bytes::from(encrypted).slice(start.min(end)..end)
    }
}

/// Cuts a piece into parts of at most [`PIECE_BYTES`].
fn split<E>(chunk: Result<Bytes, E>) -> Vec<Result<Bytes, E>> {
    match chunk {
        Ok(bytes) => {
            let starts = (0..bytes.len()).step_by(PIECE_BYTES);
            starts.map(|start| Ok(bytes.slice(start..bytes.len().min(start + PIECE_BYTES)))).collect()
        }
        Err(error) => vec![Err(error)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher() -> FileCipher {
        FileCipher { key: ContentKey::from_bytes([7; 16]), iv: [9; 16] }
    }

    /// Bytes that differ from block to block.
    fn clear(len: usize) -> Bytes {
        (0..len).map(|at| (at % 251) as u8).collect()
    }

    fn collect(
        chunks: Vec<Result<Bytes, &'static str>>,
        range: Range<u64>,
    ) -> Result<Vec<u8>, (Vec<u8>, &'static str)> {
        let mut all = Vec::new();
        for chunk in futures_util::FutureExt::now_or_never(
            cipher().stream(stream::iter(chunks), range).collect::<Vec<_>>(),
        )
        .expect("nothing is waited for")
        {
            match chunk {
                Ok(bytes) => {
                    assert!(!bytes.is_empty() && bytes.len() <= PIECE_BYTES + ContentKey::LEN);
                    all.extend_from_slice(&bytes);
                }
                Err(error) => return Err((all, error)),
            }
        }
        Ok(all)
    }

    #[test]
    fn aes_128_cbc_matches_nist_vectors() {
        // NIST SP 800-38A, F.2.1, the first two blocks; the padding follows them.
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        };
        let key: [u8; 16] = hex("2b7e151628aed2a6abf7158809cf4f3c").try_into().unwrap();
        let iv: [u8; 16] = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let cipher = FileCipher { key: ContentKey::from_bytes(key), iv };
        let encrypted =
            cipher.encrypt(&hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"));
        assert_eq!(encrypted.len(), 48);
        assert_eq!(encrypted[..32], hex("7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"));
    }

    #[test]
    fn encrypted_length_includes_padding() {
        for (clear_len, len) in [(0, 16), (1, 16), (15, 16), (16, 32), (17, 32), (1 << 20, (1 << 20) + 16)] {
            assert_eq!(FileCipher::encrypted_len(clear_len), len);
            assert_eq!(cipher().encrypt(&clear(clear_len as usize)).len() as u64, len);
        }
    }

    #[test]
    fn encrypted_range_equals_slice_of_whole_file() {
        for len in [0, 1, 16, 100, 2 * PIECE_BYTES + 5] {
            let file = clear(len);
            let encrypted = cipher().encrypt(&file);
            let end = encrypted.len() as u64;
            for range in [0..end, 0..1, 15..17, 16..32, end - 1..end, end / 2..end, 0..end / 2] {
                let range = range.start.min(end)..range.end.min(end);
                let needed = FileCipher::clear_range(&range, len as u64);
                let file = file.slice(0..needed.end as usize);
                let at = range.start as usize..range.end as usize;
                for size in [1, 7, 16, 4096, usize::MAX] {
                    if size < 16 && len > 1000 {
                        continue;
                    }
                    let chunks =
                        file.chunks(size.min(len.max(1))).map(|part| Ok(Bytes::copy_from_slice(part)));
                    let found = collect(chunks.collect(), range.clone());
                    assert_eq!(found.as_deref(), Ok(&encrypted[at.clone()]), "{len} {range:?} {size}");
                }
            }
        }
    }

    #[test]
    fn failed_stream_gets_no_padding() {
        let encrypted = cipher().encrypt(&clear(100));
        let chunks = vec![Ok(clear(100).slice(0..40)), Err("gone"), Ok(clear(100).slice(40..100))];
        let (sent, error) = collect(chunks, 0..112).unwrap_err();
        assert_eq!((sent.as_slice(), error), (&encrypted[..32], "gone"));
    }
}

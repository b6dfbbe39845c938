//! Transport streams: checks whether the last packet is complete. ISO/IEC 13818-1, 2.4.3.

use serde::{Deserialize, Serialize};

/// The first byte of each packet.
const SYNC: u8 = 0x47;
const PACKET_LEN: u64 = 188;
/// A time code before each packet of discs and camcorders.
const TIME_CODE_LEN: u64 = 4;

/// Tracks the positions of packets.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TransportStream {
    at: u64,
    /// Bytes before the sync byte of a packet; `None` until the first byte has come.
    prefix_len: Option<u64>,
    /// The byte at the expected start of the last packet.
    last_sync: Option<u8>,
}

impl TransportStream {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(&first) = bytes.first() else { return };
        let prefix_len = *self.prefix_len.get_or_insert(if first == SYNC { 0 } else { TIME_CODE_LEN });
        let end = self.at + bytes.len() as u64;
        let len = PACKET_LEN + prefix_len;
        // The last expected packet start in these bytes.
        let last = (end - 1).checked_sub(prefix_len).map(|within| within / len * len + prefix_len);
        let within = last.and_then(|last| last.checked_sub(self.at)).and_then(|at| usize::try_from(at).ok());
        if let Some(&byte) = within.and_then(|at| bytes.get(at)) {
            self.last_sync = Some(byte);
        }
        self.at = end;
    }

    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    pub(super) fn is_valid(&self, len: u64) -> bool {
        self.at == len && self.prefix_len.is_none_or(|prefix_len| prefix_len <= TIME_CODE_LEN)
    }

    /// Whether it ends inside a packet. If bytes are missing in the middle, packet positions have moved, and
    /// the result is `false`.
    pub(super) fn is_truncated(&self) -> bool {
        let len = PACKET_LEN + self.prefix_len.unwrap_or(0);
        !self.at.is_multiple_of(len) && self.last_sync == Some(SYNC)
    }
}

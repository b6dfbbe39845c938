//! Transport streams: whether the last packet is whole. ISO/IEC 13818-1, 2.4.3.

use serde::{Deserialize, Serialize};

/// What each packet begins with.
const SYNC: u8 = 0x47;
const PACKET_LEN: u64 = 188;
/// A time code in front of each packet of discs and camcorders.
const TIME_CODE_LEN: u64 = 4;

/// Watches where packets begin.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Transport {
    at: u64,
    /// Bytes in front of the sync byte of a packet; `None` until the first byte has come.
    lead: Option<u64>,
    /// What stands where the last packet should begin.
    last_sync: Option<u8>,
}

impl Transport {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(&first) = bytes.first() else { return };
        let lead = *self.lead.get_or_insert(if first == SYNC { 0 } else { TIME_CODE_LEN });
        let end = self.at + bytes.len() as u64;
        let len = PACKET_LEN + lead;
        // The last place in these bytes at which a packet should begin.
        let last = (end - 1).checked_sub(lead).map(|within| within / len * len + lead);
        let within = last.and_then(|last| last.checked_sub(self.at)).and_then(|at| usize::try_from(at).ok());
        if let Some(&byte) = within.and_then(|at| bytes.get(at)) {
            self.last_sync = Some(byte);
        }
        self.at = end;
    }

    /// Whether what came back from a checkpoint behind `len` bytes can go on.
    pub(super) fn is_sound(&self, len: u64) -> bool {
        self.at == len && self.lead.is_none_or(|lead| lead <= TIME_CODE_LEN)
    }

    /// Whether it ends inside a packet. Where bytes are missing in between, too, packets are no more where
    /// they should be: then nobody knows.
    pub(super) fn is_cut_off(&self) -> bool {
        let len = PACKET_LEN + self.lead.unwrap_or(0);
        !self.at.is_multiple_of(len) && self.last_sync == Some(SYNC)
    }
}

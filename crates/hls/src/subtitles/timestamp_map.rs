//! `X-TIMESTAMP-MAP` of a WebVTT file that was segmented for HLS. RFC 8216, 3.5.

use super::Cue;
use super::times::read_time;

const NAME: &str = "X-TIMESTAMP-MAP=";
/// Ticks of an MPEG-2 timestamp in a millisecond.
const TICKS_PER_MS: u64 = 90;
/// Bits of an MPEG-2 timestamp.
const TIMESTAMP_BITS: u32 = 33;

/// Offset of the cues in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TimestampMap {
    offset_ms: i64,
}

impl TimestampMap {
    /// Parses a line of the head; `None` for another line, and for an invalid one.
    ///
    /// The cue time `LOCAL` is shown at `MPEGTS` of a presentation that begins at 0. If `LOCAL` is 0 there
    /// is no offset: cue times then count from the beginning, and `MPEGTS` is the first timestamp of the
    /// stream that the file was segmented with, mostly 10 s (D-0116).
    pub(super) fn read(line: &str) -> Option<Self> {
        let (mut local, mut mpegts) = (None, None);
        for part in line.strip_prefix(NAME)?.split(',') {
            match part.trim().split_once(':')? {
                ("LOCAL", time) => local = Some(read_time(time.trim())?),
                ("MPEGTS", ticks) => mpegts = Some(ticks.trim().parse::<u64>().ok()?),
                _ => {}
            }
        }
        let (local, mpegts) = (local?, mpegts.filter(|ticks| ticks >> TIMESTAMP_BITS == 0)?);
        if local == 0 {
            return Some(Self::default());
        }
        let signed = |ms: u64| i64::try_from(ms).ok();
        Some(Self { offset_ms: signed(mpegts / TICKS_PER_MS)? - signed(local)? })
    }

    /// The cue with the offset applied; `None` for one that ends before the presentation begins.
    pub(super) fn apply(self, cue: Cue) -> Option<Cue> {
        let moved = |ms: u64| ms.checked_add_signed(self.offset_ms);
        let end_ms = moved(cue.end_ms).filter(|end| *end > 0)?;
        Some(Cue { start_ms: moved(cue.start_ms).unwrap_or(0), end_ms, ..cue })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_moves_cues_from_local_to_mpegts() {
        let check = |line: &str, moved_ms: Option<i64>| {
            assert_eq!(TimestampMap::read(line).map(|map| map.offset_ms), moved_ms, "{line}");
        };
        check("X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:01:00:00.000", Some(-3_600_000));
        check("X-TIMESTAMP-MAP=LOCAL:00:00:05.000,MPEGTS:900000", Some(5000));
        check("X-TIMESTAMP-MAP=LOCAL:00:10.000, MPEGTS:900000", Some(0));
        check("X-TIMESTAMP-MAP=MPEGTS:8589934591,LOCAL:00:00:00.001", Some(95_443_717 - 1));
        check("X-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000", Some(0));
        for line in [
            "",
            "X-TIMESTAMP-MAP",
            "X-TIMESTAMP-MAP=",
            "X-TIMESTAMP-MAP=MPEGTS:0",
            "X-TIMESTAMP-MAP=LOCAL:00:00:01.000",
            "X-TIMESTAMP-MAP=MPEGTS:x,LOCAL:00:00:01.000",
            "X-TIMESTAMP-MAP=MPEGTS:-1,LOCAL:00:00:01.000",
            "X-TIMESTAMP-MAP=MPEGTS:8589934592,LOCAL:00:00:01.000",
            "X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:1",
            "NOTE X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:01.000",
        ] {
            check(line, None);
        }
    }
}

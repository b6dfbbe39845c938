//! Joins the two fields of a frame into one sample, as ISO/IEC 14496-15, 5.2.2 requires for H.264.
//!
//! H.264 may code a frame as two fields. Demuxers of transport streams return each field as a packet, so a
//! copy of such a stream has one sample for each field: twice as many samples as frames, and a keyframe that
//! does not decode alone. A sample counts as a field if it lasts half as long as a frame of the sequence
//! parameter set.

use kinora_index::checkpoint::is_valid_time;
use serde::{Deserialize, Serialize};

use super::tables::RawSample;

/// Joins the fields of one track, sample by sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FieldPairs {
    /// Shortest and longest duration of a field, in ticks: half a frame, 25 % less or more because clocks
    /// are rounded.
    field_ticks: (i64, i64),
    /// A first field that waits for its second one.
    first: Option<RawSample>,
}

impl FieldPairs {
    /// `timescale` is in ticks per second; the parameter set says that `frames` last `seconds`.
    pub(super) fn new(timescale: u32, (frames, seconds): (u32, u32)) -> Self {
        let eighths = |n: i64| i64::from(timescale) * i64::from(seconds) * n / (i64::from(frames.max(1)) * 8);
        Self { field_ticks: (eighths(3), eighths(5)), first: None }
    }

    /// Adds the next sample in decode order. Returns the samples that are complete now, at most two.
    pub(super) fn push(&mut self, row: RawSample) -> [Option<RawSample>; 2] {
        let Some(first) = self.first.take() else {
            if self.may_be_field(&row) {
                self.first = Some(row);
                return [None, None];
            }
            return [Some(row), None];
        };
        match self.pair(&first, &row) {
            Some(frame) => [Some(frame), None],
            None => {
                let [next, _] = self.push(row);
                [Some(first), next]
            }
        }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        self.first.is_none_or(|row| is_valid_time(row.dts))
    }

    /// The last field, if its second one never came.
    pub(super) fn finish(self) -> Option<RawSample> {
        self.first
    }

    fn may_be_field(&self, row: &RawSample) -> bool {
        self.is_field(row.delta.into())
    }

    fn is_field(&self, ticks: i64) -> bool {
        let (min, max) = self.field_ticks;
        (min..=max).contains(&ticks)
    }

    /// One sample of both fields, if the second directly follows the first in the file and is decoded half a
    /// frame later. The first may be a keyframe; the second is none, because it refers to the first.
    fn pair(&self, first: &RawSample, second: &RawSample) -> Option<RawSample> {
        let is_adjacent = first.offset.checked_add(first.size.into()) == Some(second.offset);
        let is_soon = self.is_field(second.dts.checked_sub(first.dts)?);
        // The last sample of a fragment may claim to last as long as the one before.
        if !is_adjacent || !is_soon || second.is_sync || !self.may_be_field(second) {
            return None;
        }
        let pts = |row: &RawSample| row.dts.checked_add(row.composition_offset.into());
        let composition_offset = pts(first)?.min(pts(second)?).checked_sub(first.dts)?;
        Some(RawSample {
            delta: first.delta.checked_add(second.delta)?,
            composition_offset: i32::try_from(composition_offset).ok()?,
            size: first.size.checked_add(second.size)?,
            ..*first
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(dts: i64, delta: u32, offset: u64, is_sync: bool) -> RawSample {
        RawSample { dts, delta, composition_offset: 10, offset, size: 100, is_sync }
    }

    fn all(rows: &[RawSample]) -> Vec<RawSample> {
        let mut pairs = FieldPairs::new(90_000, (25, 1));
        let mut joined: Vec<_> = rows.iter().flat_map(|row| pairs.push(*row)).flatten().collect();
        joined.extend(pairs.finish());
        joined
    }

    #[test]
    fn two_fields_become_one_sample_and_frames_remain() {
        let rows = [
            row(0, 1800, 0, true),
            row(1800, 1800, 100, false),
            row(3600, 3600, 200, false),
            row(7200, 1800, 300, false),
            row(9000, 1800, 400, false),
        ];
        let expected = [
            RawSample { size: 200, ..row(0, 3600, 0, true) },
            row(3600, 3600, 200, false),
            RawSample { size: 200, ..row(7200, 3600, 300, false) },
        ];
        assert_eq!(all(&rows), expected);
    }

    #[test]
    fn unpaired_fields_and_keyframes_are_not_joined() {
        let apart = [row(0, 1800, 0, true), row(1800, 1800, 101, false)];
        assert_eq!(all(&apart), apart);
        let keyframes = [row(0, 1800, 0, true), row(1800, 1800, 100, true), row(3600, 1800, 200, false)];
        let expected = [keyframes[0], RawSample { size: 200, ..row(1800, 3600, 100, true) }];
        assert_eq!(all(&keyframes), expected);
        let late = [row(0, 1800, 0, true), row(3600, 1800, 100, false)];
        assert_eq!(all(&late), late);
    }

    #[test]
    fn field_pair_takes_the_earlier_time() {
        let second = RawSample { composition_offset: -1795, ..row(1800, 1800, 100, false) };
        assert_eq!(all(&[row(0, 1800, 0, true), second])[0].composition_offset, 5);
    }
}

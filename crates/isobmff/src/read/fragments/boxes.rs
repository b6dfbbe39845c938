//! Parses the boxes of movie fragments: `trex` in the `moov`, then `tfhd`, `tfdt` and `trun` in each `moof`.
//! ISO/IEC 14496-12, 8.8.
//!
//! The parser allocates nothing: a run is a slice of the `moof`. A count is limited by the bytes of the box;
//! if the samples need no bytes there, the caller limits it.

use serde::{Deserialize, Serialize};

use super::super::super::{
    boxes::{BoxRef, FieldReader, children},
    error::ReadError,
};

/// `sample_is_non_sync_sample`. ISO/IEC 14496-12, 8.8.3.1.
const IS_NON_SYNC: u32 = 0x0001_0000;
/// The two bits of `sample_depends_on`. Value 1: depends on others. Some writers set only this flag.
const DEPENDS_ON_MASK: u32 = 0x0300_0000;
const DEPENDS_ON_OTHERS: u32 = 0x0100_0000;

/// Defaults for the samples of a track, which its runs may override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Defaults {
    /// `sample_description_index`: number of the sample entry, from 1.
    pub(super) description_index: u32,
    pub(super) duration: u32,
    pub(super) size: u32,
    pub(super) flags: u32,
}

impl Default for Defaults {
    /// For a track without `trex`: the standard forbids it, but such files exist.
    fn default() -> Self {
        Defaults { description_index: 1, duration: 0, size: 0, flags: 0 }
    }
}

impl Defaults {
    /// Reads a `trex` box: the number of a track and its defaults. ISO/IEC 14496-12, 8.8.3.
    pub(super) fn parse(trex: &BoxRef<'_>) -> Option<(u32, Self)> {
        let mut fields = FieldReader::new(trex.body);
        fields.version_and_flags()?;
        let track_id = fields.u32()?;
        let description_index = fields.u32()?.max(1);
        Some((
            track_id,
            Defaults {
                description_index,
                duration: fields.u32()?,
                size: fields.u32()?,
                flags: fields.u32()?,
            },
        ))
    }
}

/// One `traf`: the samples of one track in a fragment.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackFragment<'a> {
    traf: BoxRef<'a>,
    pub(super) track_id: u32,
    base: Base,
    description_index: Option<u32>,
    duration: Option<u32>,
    size: Option<u32>,
    flags: Option<u32>,
    /// The flag `duration-is-empty`: there are no samples for the default duration.
    pub(super) is_duration_empty: bool,
    /// Decode time of its first sample, in ticks of the track.
    pub(super) decode_time: Option<u64>,
}

/// The base of data offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    At(u64),
    /// The first byte of the `moof`.
    Moof,
    /// The first byte of the `moof` for the first `traf`; for others the end of the data of the previous
    /// one.
    AfterPrevious,
}

impl<'a> TrackFragment<'a> {
    /// Reads `tfhd` and `tfdt`. ISO/IEC 14496-12, 8.8.7 and 8.8.12.
    pub(super) fn parse(traf: BoxRef<'a>) -> Result<Self, ReadError> {
        let parse = || {
            let mut fields = FieldReader::new(traf.child(b"tfhd")?.body);
            let (_, flags) = fields.version_and_flags()?;
            let track_id = fields.u32()?;
            let base = match (flags & 1 != 0, flags & 0x2_0000 != 0) {
                (true, _) => Base::At(fields.u64()?),
                (false, true) => Base::Moof,
                (false, false) => Base::AfterPrevious,
            };
            let mut field = |flag: u32| if flags & flag == 0 { Some(None) } else { fields.u32().map(Some) };
            Some(TrackFragment {
                traf,
                track_id,
                base,
                description_index: field(2)?,
                duration: field(8)?,
                size: field(0x10)?,
                flags: field(0x20)?,
                is_duration_empty: flags & 0x1_0000 != 0,
                decode_time: match traf.child(b"tfdt") {
                    Some(tfdt) => Some(decode_time(&tfdt)?),
                    None => None,
                },
            })
        };
        parse().ok_or_else(|| ReadError::damaged("the head of a fragment is shorter than it says"))
    }

    /// The defaults for its samples, from the defaults of its track.
    pub(super) fn defaults(&self, of_track: Defaults) -> Defaults {
        Defaults {
            description_index: self
                .description_index
                .map_or(of_track.description_index, |description| description.max(1)),
            duration: self.duration.unwrap_or(of_track.duration),
            size: self.size.unwrap_or(of_track.size),
            flags: self.flags.unwrap_or(of_track.flags),
        }
    }

    /// The base of its offsets, from the first byte of the `moof` and the end of the data of the previous
    /// `traf`.
    pub(super) fn base(&self, moof: u64, previous_data_end: u64) -> u64 {
        match self.base {
            Base::At(offset) => offset,
            Base::Moof => moof,
            Base::AfterPrevious => previous_data_end,
        }
    }

    /// Its runs, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Result<TrackRun<'a>, ReadError>> + use<'a> {
        children(self.traf.body).filter(|child| &child.kind.0 == b"trun").map(|trun| {
            TrackRun::parse(&trun)
                .ok_or_else(|| ReadError::damaged("a run of samples has fewer rows than it says"))
        })
    }
}

fn decode_time(tfdt: &BoxRef<'_>) -> Option<u64> {
    let mut fields = FieldReader::new(tfdt.body);
    let (version, _) = fields.version_and_flags()?;
    if version == 0 { fields.u32().map(u64::from) } else { fields.u64() }
}

/// One `trun`: consecutive samples. ISO/IEC 14496-12, 8.8.8.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackRun<'a> {
    /// Number of samples. If a row has no fields, no bytes of the file confirm it.
    pub(super) count: u32,
    /// From the base to its first sample; without it, the data follows the previous run.
    pub(super) data_offset: Option<i32>,
    first_flags: Option<u32>,
    sample_fields: u32,
    rows: &'a [u8],
}

/// The optional fields of a row, in order.
const DURATION: u32 = 0x100;
const SIZE: u32 = 0x200;
const FLAGS: u32 = 0x400;
const COMPOSITION_OFFSET: u32 = 0x800;

/// One sample of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackRunSample {
    pub(super) duration: u32,
    pub(super) size: u32,
    pub(super) composition_offset: i32,
    pub(super) is_sync: bool,
}

impl<'a> TrackRun<'a> {
    fn parse(trun: &BoxRef<'a>) -> Option<Self> {
        let mut fields = FieldReader::new(trun.body);
        let (_, flags) = fields.version_and_flags()?;
        let count = fields.u32()?;
        let data_offset = if flags & 1 != 0 { Some(fields.i32()?) } else { None };
        let first_flags = if flags & 4 != 0 { Some(fields.u32()?) } else { None };
        let sample_fields = flags & (DURATION | SIZE | FLAGS | COMPOSITION_OFFSET);
        let len = u64::from(count) * 4 * u64::from(sample_fields.count_ones());
        let rows = fields.bytes(usize::try_from(len).ok()?)?;
        Some(TrackRun { count, data_offset, first_flags, sample_fields, rows })
    }

    /// Its samples, in order.
    pub(super) fn samples(&self, defaults: Defaults) -> impl Iterator<Item = TrackRunSample> + use<'a> {
        let (sample_fields, mut first_flags) = (self.sample_fields, self.first_flags);
        let mut rows = FieldReader::new(self.rows);
        (0..self.count).map_while(move |_| {
            let mut field = |flag: u32, default| {
                if sample_fields & flag == 0 { Some(default) } else { rows.u32() }
            };
            let duration = field(DURATION, defaults.duration)?;
            let size = field(SIZE, defaults.size)?;
            let flags = field(FLAGS, first_flags.take().unwrap_or(defaults.flags))?;
            // The standard says unsigned for version 0, but writers also store negative offsets there, and
            // none is above 2^31.
            let composition_offset = field(COMPOSITION_OFFSET, 0)? as i32;
            let is_sync = flags & IS_NON_SYNC == 0 && flags & DEPENDS_ON_MASK != DEPENDS_ON_OTHERS;
            Some(TrackRunSample { duration, size, composition_offset, is_sync })
        })
    }

    /// Bytes of all its samples together.
    pub(super) fn data_len(&self, defaults: Defaults) -> u64 {
        if self.sample_fields & SIZE == 0 {
            return u64::from(self.count) * u64::from(defaults.size);
        }
        self.samples(defaults).map(|sample| u64::from(sample.size)).sum()
    }
}

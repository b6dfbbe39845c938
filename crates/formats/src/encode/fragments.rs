//! Reads the fragmented MP4 that an encoder writes, while it arrives.
//!
//! The output is untrusted: the encoder processed external bytes. Every size has a limit, and invalid input
//! is an error.

use std::ops::Range;

use kinora_index::{
    codec::{
        aac::{AudioConfig, Esds},
        h264::AvcConfig,
    },
    plan::SEGMENT_SAMPLES_MAX,
};
use kinora_isobmff::boxes::{BoxRef, FieldReader, FourCc, children};

use super::segmenter::SegmenterError;

/// Maximum length of a box without sample data. The head of 65,536 samples of 7 rungs has 7 MiB.
const HEAD_LEN_MAX: u64 = 8 << 20;
/// Maximum sample data of one fragment: a segment of all rungs. The largest, 8 s of 42 Mb/s, has 42 MB.
const DATA_LEN_MAX: u64 = 256 << 20;
/// Maximum number of tracks in one file: one per rung.
const TRACKS_MAX: usize = 16;
/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const VISUAL_FIELDS_LEN: usize = 78;
/// The same of an audio sample entry. ISO/IEC 14496-12, 12.2.3.
const AUDIO_FIELDS_LEN: usize = 28;
/// The sample is no sync sample. ISO/IEC 14496-12, 8.8.3.1.
const FLAG_NOT_SYNC: u32 = 0x0001_0000;

/// The header of one track of an encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EncodedTrack<D> {
    id: u32,
    /// Ticks per second; not 0.
    pub(super) timescale: u32,
    /// Ticks that the edit list subtracts from each time.
    media_time: i64,
    /// The decoder configuration.
    pub(super) description: D,
}

/// The parsed sample entry.
pub(super) trait EntryDescription: Sized {
    /// The error for a track with another codec.
    const MISMATCH: &'static str;

    /// `None` for another codec.
    fn of_entry(entry: BoxRef<'_>) -> Option<Self>;
}

/// H.264.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Avc {
    /// Body of the `avcC` box.
    pub(super) avcc: Vec<u8>,
    /// Its parsed form.
    pub(super) config: AvcConfig,
}

/// AAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Aac {
    /// Its parsed `esds` box.
    pub(super) config: AudioConfig,
}

impl EntryDescription for Avc {
    const MISMATCH: &'static str = "a track that is no H.264";

    fn of_entry(entry: BoxRef<'_>) -> Option<Self> {
        let boxes = entry.body.get(VISUAL_FIELDS_LEN..).filter(|_| entry.kind == FourCc(*b"avc1"))?;
        let avcc = children(boxes).find(|child| child.kind == FourCc(*b"avcC"))?.body;
        Some(Self { avcc: avcc.to_vec(), config: AvcConfig::parse(avcc)? })
    }
}

impl EntryDescription for Aac {
    const MISMATCH: &'static str = "a track that is no AAC";

    fn of_entry(entry: BoxRef<'_>) -> Option<Self> {
        let boxes = entry.body.get(AUDIO_FIELDS_LEN..).filter(|_| entry.kind == FourCc(*b"mp4a"))?;
        let esds = Esds::parse(children(boxes).find(|child| child.kind == FourCc(*b"esds"))?.body)?;
        Some(Self {
            config: AudioConfig::parse(esds.decoder_specific_info.filter(|_| esds.is_aac_family())?)?,
        })
    }
}

/// One encoded frame, or audio packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodedSample {
    /// Presentation time, in ticks of its track.
    pub(super) pts: i64,
    /// Length in bytes.
    pub(super) size: u32,
    /// Decoding can begin here.
    pub(super) is_sync: bool,
}

/// Consecutive samples of one track, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodedSamples<'a> {
    /// Index of the track.
    pub(super) track: usize,
    /// The samples in decode order.
    pub(super) samples: &'a [CodedSample],
    /// The bytes of all of them.
    pub(super) bytes: &'a [u8],
}

/// Reads one file, from bytes in order.
#[derive(Debug)]
pub(super) struct FragmentReader<D> {
    pending: Vec<u8>,
    /// Position of the first pending byte in the file.
    position: u64,
    tracks: Vec<EncodedTrack<D>>,
    /// The pending runs of the fragment whose data comes next: samples, and the position of their bytes in
    /// the file.
    runs: Vec<(usize, Vec<CodedSample>, Range<u64>)>,
}

/// A complete box.
struct CompleteBox {
    kind: [u8; 4],
    head_len: usize,
    len: usize,
}

impl<D> Default for FragmentReader<D> {
    fn default() -> Self {
        Self { pending: Vec::new(), position: 0, tracks: Vec::new(), runs: Vec::new() }
    }
}

impl<D: EntryDescription> FragmentReader<D> {
    /// Adds bytes, and calls `on_samples` for each complete run of samples.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut on_samples: impl FnMut(&[EncodedTrack<D>], CodedSamples<'_>) -> Result<(), SegmenterError>,
    ) -> Result<(), SegmenterError> {
        self.pending.extend_from_slice(bytes);
        let mut consumed = 0;
        while let Some(complete) = next_box(&self.pending[consumed..])? {
            let body = &self.pending[consumed + complete.head_len..consumed + complete.len];
            let start = self.position + consumed as u64;
            match &complete.kind {
                b"moov" if self.tracks.is_empty() => self.tracks = tracks(body)?,
                b"moov" => return Err(SegmenterError::Malformed("a second moov")),
                b"moof" if self.tracks.is_empty() => {
                    return Err(SegmenterError::Malformed("a moof before the moov"));
                }
                b"moof" => self.runs = runs(body, start, &self.tracks)?,
                b"mdat" => {
                    let body_start = start + complete.head_len as u64;
                    for (track, samples, range) in self.runs.drain(..) {
                        let index_of =
                            |position: u64| usize::try_from(position.checked_sub(body_start)?).ok();
                        let bytes = index_of(range.start)
                            .zip(index_of(range.end))
                            .and_then(|(from, to)| body.get(from..to));
                        let bytes = bytes.ok_or(SegmenterError::Malformed("samples outside their data"))?;
                        on_samples(&self.tracks, CodedSamples { track, samples: &samples, bytes })?;
                    }
                }
                // Brands, indexes and padding.
                _ => {}
            }
            consumed += complete.len;
        }
        self.pending.drain(..consumed);
        self.position += consumed as u64;
        Ok(())
    }

    /// The tracks, once the `moov` has come.
    pub(super) fn tracks(&self) -> &[EncodedTrack<D>] {
        &self.tracks
    }

    /// Ends the file. Errors if it ends inside a box, before its data, or without tracks.
    pub(super) fn finish(&self) -> Result<(), SegmenterError> {
        if self.pending.is_empty() && self.runs.is_empty() && !self.tracks.is_empty() {
            Ok(())
        } else {
            Err(SegmenterError::Truncated)
        }
    }
}

/// The first box, if it is complete.
fn next_box(bytes: &[u8]) -> Result<Option<CompleteBox>, SegmenterError> {
    let mut fields = FieldReader::new(bytes);
    let Some((size, kind)) = fields.u32().zip(fields.array::<4>()) else { return Ok(None) };
    let (size, head_len) = match size {
        1 => match fields.u64() {
            Some(size) => (size, 16),
            None => return Ok(None),
        },
        size => (u64::from(size), 8),
    };
    if size < head_len {
        return Err(SegmenterError::Malformed("a box without an end"));
    }
    let limit = if &kind == b"mdat" { DATA_LEN_MAX } else { HEAD_LEN_MAX };
    if limit < size {
        return Err(SegmenterError::TooLarge { what: "a box", bytes: size });
    }
    let len = usize::try_from(size).map_err(|_| SegmenterError::TooLarge { what: "a box", bytes: size })?;
    let found = CompleteBox { kind, head_len: head_len as usize, len };
    Ok((len <= bytes.len()).then_some(found))
}

/// The tracks of a `moov`, in its order.
fn tracks<D: EntryDescription>(moov: &[u8]) -> Result<Vec<EncodedTrack<D>>, SegmenterError> {
    let traks: Vec<BoxRef<'_>> =
        children(moov).filter(|child| &child.kind.0 == b"trak").take(TRACKS_MAX + 1).collect();
    if traks.is_empty() || TRACKS_MAX < traks.len() {
        return Err(SegmenterError::Malformed("no tracks, or too many"));
    }
    let read = |trak: &BoxRef<'_>| track(*trak).ok_or(SegmenterError::Malformed(D::MISMATCH));
    traks.iter().map(read).collect()
}

fn track<D: EntryDescription>(trak: BoxRef<'_>) -> Option<EncodedTrack<D>> {
    // ISO/IEC 14496-12, 8.3.2 and 8.4.2: version 1 has times of 64 bits.
    let after_times = |full: BoxRef<'_>| {
        let mut fields = FieldReader { rest: full.body };
        let (version, _) = fields.version_and_flags()?;
        fields.bytes(if version == 1 { 16 } else { 8 })?;
        fields.u32()
    };
    let id = after_times(trak.child(b"tkhd")?)?;
    let timescale = after_times(trak.descend(&[b"mdia", b"mdhd"])?).filter(|timescale| *timescale != 0)?;
    let media_time = match trak.descend(&[b"edts", b"elst"]) {
        Some(list) => media_time(list.body)?,
        None => 0,
    };
    let stsd = trak.descend(&[b"mdia", b"minf", b"stbl", b"stsd"])?;
    let entry = children(stsd.body.get(8..)?).next()?;
    Some(EncodedTrack { id, timescale, media_time, description: D::of_entry(entry)? })
}

/// The start of the only edit. ISO/IEC 14496-12, 8.6.6. Our files have no empty edit before it.
fn media_time(list: &[u8]) -> Option<i64> {
    let mut fields = FieldReader::new(list);
    let (version, _) = fields.version_and_flags()?;
    if fields.u32()? != 1 {
        return None;
    }
    let media_time = if version == 1 {
        fields.u64()?;
        fields.i64()?
    } else {
        fields.u32()?;
        i64::from(fields.i32()?)
    };
    (0 <= media_time).then_some(media_time)
}

type Runs = Vec<(usize, Vec<CodedSample>, Range<u64>)>;

/// The runs of samples of a `moof` that begins at `start`.
fn runs<D>(moof: &[u8], start: u64, tracks: &[EncodedTrack<D>]) -> Result<Runs, SegmenterError> {
    let mut all = Vec::new();
    let mut count = 0;
    for traf in children(moof).filter(|child| &child.kind.0 == b"traf") {
        traf_runs(traf, start, tracks, &mut count, &mut all)
            .ok_or(SegmenterError::Malformed("the head of a fragment makes no sense"))?;
    }
    Ok(all)
}

/// Adds the runs of one `traf`. ISO/IEC 14496-12, 8.8.7, 8.8.8 and 8.8.12. `count` is the number of all
/// samples of the fragment.
fn traf_runs<D>(
    traf: BoxRef<'_>,
    start: u64,
    tracks: &[EncodedTrack<D>],
    count: &mut u64,
    all: &mut Runs,
) -> Option<()> {
    let mut fields = FieldReader::new(traf.child(b"tfhd")?.body);
    let (_, flags) = fields.version_and_flags()?;
    let id = fields.u32()?;
    let track = tracks.iter().position(|track| track.id == id)?;
    // Offsets must count from the moof.
    if flags & 0x01 != 0 || flags & 0x02_0000 == 0 {
        return None;
    }
    let mut read_if = |flag: u32| if flags & flag == 0 { Some(None) } else { fields.u32().map(Some) };
    read_if(0x02)?; // sample description
    let (duration, size, sample_flags) = (read_if(0x08)?, read_if(0x10)?, read_if(0x20)?);

    let mut fields = FieldReader::new(traf.child(b"tfdt")?.body);
    let (version, _) = fields.version_and_flags()?;
    // ffmpeg writes a negative time as a signed number.
    let mut dts = if version == 1 { fields.i64()? } else { i64::from(fields.u32()?) };

    for trun in children(traf.body).filter(|child| &child.kind.0 == b"trun") {
        let mut fields = FieldReader::new(trun.body);
        let (version, flags) = fields.version_and_flags()?;
        let samples = fields.u32()?;
        *count += u64::from(samples);
        if u64::from(SEGMENT_SAMPLES_MAX) * TRACKS_MAX as u64 <= *count {
            return None;
        }
        let offset = if flags & 0x01 != 0 { fields.i32()? } else { return None };
        let from = start.checked_add_signed(i64::from(offset))?;
        let mut first_flags = if flags & 0x04 != 0 { Some(fields.u32()?) } else { None };
        let mut coded = Vec::new();
        let mut to = from;
        for _ in 0..samples {
            let mut read_or = |flag: u32, default| if flags & flag == 0 { default } else { fields.u32() };
            let duration = read_or(0x100, duration)?;
            let size = read_or(0x200, size)?;
            let flags_of_sample = read_or(0x400, first_flags.take().or(sample_flags))?;
            let offset = read_or(0x800, Some(0))?;
            let offset = if version == 0 { i64::from(offset) } else { i64::from(offset.cast_signed()) };
            let pts = dts.checked_add(offset)?.checked_sub(tracks[track].media_time)?;
            coded.push(CodedSample { pts, size, is_sync: flags_of_sample & FLAG_NOT_SYNC == 0 });
            dts = dts.checked_add(i64::from(duration))?;
            to = to.checked_add(u64::from(size))?;
        }
        all.push((track, coded, from..to));
    }
    Some(())
}

//! The serialized index: little-endian, with a layout and a checksum.
//!
//! ```text
//! "KINORAIX"   8 bytes
//! layout       4 bytes: which members the body has
//! checksum     8 bytes: the first of SHA-256 over the body
//! body         numbers of 7 bits a byte, length-prefixed byte strings, the packed sample tables
//! ```

mod overlay;

use std::{fmt, ops::Range};

use sha2::{Digest, Sha256};

use crate::bytes::{Reader, Writer};
use crate::index::{
    AUDIO_TRACKS_MAX, AudioTrack, Container, EDIT_POINTS_MAX, EditPoint, Index, NOT_COPIED_DETAIL_LEN_MAX,
    NotCopied, NotCopiedReason, OBJECTS_MAX, PARTS_MAX, Part, SKIPPED_TRACK_DETAIL_LEN_MAX,
    SKIPPED_TRACKS_MAX, SampleEntry, SampleObject, SampleObjectKind, SampleTable, Segment, SegmentPlan,
    SkippedTrack, Track, TrackLabel, TrackMedia, VideoTrack,
};

const MAGIC: &[u8; 8] = b"KINORAIX";
/// The newest layout, which can store every index. An index is written in the smallest layout that can store
/// it, so equal sources have equal bytes (D-0125). Unreleased versions wrote layouts 1 to 3.
const LAYOUT: u32 = 8;
/// One whole source with its own audio, all tracks played.
const LAYOUT_PLAIN: u32 = 4;
/// The same with replaced audio.
const LAYOUT_REPLACED_AUDIO: u32 = 5;
/// The newest layout for one whole source: with replaced audio or not, and a list of tracks that are not
/// played.
const LAYOUT_SINGLE_SOURCE: u32 = 6;
/// The newest layout without an overlay: of any parts and objects.
const LAYOUT_NO_OVERLAY: u32 = 7;
const CHECKSUM_LEN: usize = 8;
/// One video track and the audio tracks.
const TRACKS_MAX: usize = 1 + AUDIO_TRACKS_MAX;
/// Kinds of track.
const VIDEO: u8 = 0;
const AUDIO: u8 = 1;
/// Kinds of object.
const OBJECT_SOURCE: u8 = 0;
const OBJECT_REMUXED: u8 = 1;
const OBJECT_AUDIO: u8 = 2;
/// Kinds of sample entry.
const ISO: u8 = 0;
const MATROSKA: u8 = 1;
/// Bits of a label.
const ENABLED: u8 = 1;
const DESCRIBES_VIDEO: u8 = 2;

/// Why bytes are not a valid index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The magic number is missing.
    #[error("the bytes are not a sample index")]
    NotAnIndex,
    /// Another version of the code wrote it.
    #[error("the sample index has layout {0}; {LAYOUT_PLAIN} to {LAYOUT} are read")]
    UnknownLayout(u32),
    /// The checksum or the content is invalid.
    #[error("the sample index is damaged")]
    Damaged,
}

/// Identifies one index: 16 hexadecimal digits of the SHA-256 of its bytes. Part of every segment URL, so a
/// changed index has new URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId([u8; 8]);

impl IndexId {
    /// The id of an index with these stored bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        IndexId(sha256_prefix(bytes))
    }
}

impl fmt::Display for IndexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Index {
    /// Serializes to the bytes that [`Index::from_bytes`] reads. Equal indexes have equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let layout = match (SingleSourceObjects::of(self), &*self.left_out) {
            _ if self.overlay.is_some() => LAYOUT,
            (None, _) => LAYOUT_NO_OVERLAY,
            (Some(SingleSourceObjects { audio: None, .. }), []) => LAYOUT_PLAIN,
            (Some(_), []) => LAYOUT_REPLACED_AUDIO,
            _ => LAYOUT_SINGLE_SOURCE,
        };
        let mut body = Writer::default();
        write_index(self, layout, &mut body);
        let checksum = sha256_prefix(&body.bytes);
        [MAGIC, &layout.to_le_bytes()[..], &checksum, &body.bytes].concat()
    }

    /// Parses the bytes of [`Index::to_bytes`]. Other bytes are rejected without a panic. Every sample of a
    /// result is inside the source.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IndexError> {
        let (layout, rest) = layout(bytes).ok_or(IndexError::NotAnIndex)?;
        if !(LAYOUT_PLAIN..=LAYOUT).contains(&layout) {
            return Err(IndexError::UnknownLayout(layout));
        }
        let (checksum, body) = rest.split_first_chunk::<CHECKSUM_LEN>().ok_or(IndexError::Damaged)?;
        if *checksum != sha256_prefix(body) {
            return Err(IndexError::Damaged);
        }
        let mut reader = Reader::new(body);
        read_index(&mut reader, layout).filter(|_| reader.is_empty()).ok_or(IndexError::Damaged)
    }

    /// Whether a stored index that begins with these bytes (at least 12) has a layout of an unreleased
    /// version. It must be built again from its source.
    pub fn has_unreleased_layout(head: &[u8]) -> bool {
        layout(head).is_some_and(|(layout, _)| layout < LAYOUT_PLAIN)
    }

    /// The id of this index. Serializes it; for stored bytes use [`IndexId::of_bytes`].
    pub fn id(&self) -> IndexId {
        IndexId::of_bytes(&self.to_bytes())
    }
}

/// The layout of stored bytes, and the bytes after it. `None`: they are not an index.
fn layout(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (layout, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*layout), rest))
}

fn sha256_prefix(bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    std::array::from_fn(|n| digest[n])
}

fn write_index(index: &Index, layout: u32, writer: &mut Writer) {
    writer.varint(index.source_len);
    writer.bytes.extend_from_slice(&index.source_sha256);
    writer.u8(index.container.byte());
    match SingleSourceObjects::of(index).filter(|_| layout <= LAYOUT_SINGLE_SOURCE) {
        Some(objects) => objects.write(layout, writer),
        None => {
            write_objects(&index.objects, writer);
            write_parts(&index.parts, writer);
        }
    }
    writer.u8(index.is_truncated.into());
    if layout > LAYOUT_REPLACED_AUDIO {
        write_left_out(&index.left_out, writer);
    }
    writer.varint(index.tracks.len() as u64);
    for track in &index.tracks {
        write_track(track, layout, writer);
    }
    write_segments(&index.plan.video, writer);
    index.plan.audio.iter().for_each(|segments| write_segments(segments, writer));
    // Usually both renditions have the same segments.
    let is_alike = index.plan.encoded_video == index.plan.video;
    writer.u8(is_alike.into());
    if !is_alike {
        write_segments(&index.plan.encoded_video, writer);
    }
    index.plan.encoded_audio.iter().for_each(|cuts| write_cuts(cuts, writer));
    if let Some(overlay) = index.overlay.as_ref().filter(|_| layout > LAYOUT_NO_OVERLAY) {
        overlay::write(overlay, writer);
    }
}

fn read_index(reader: &mut Reader<'_>, layout: u32) -> Option<Index> {
    let source_len = reader.varint()?;
    let source_sha256 = reader.array()?;
    let container = Container::from_byte(reader.u8()?)?;
    let (objects, parts) = if layout > LAYOUT_SINGLE_SOURCE {
        (read_objects(reader)?, read_parts(reader)?)
    } else {
        (SingleSourceObjects::read(reader, layout, source_len)?.all(), Vec::new())
    };
    let is_truncated = read_bool(reader)?;
    let left_out = if layout > LAYOUT_REPLACED_AUDIO { read_left_out(reader)? } else { Vec::new() };
    let count = reader.varint().filter(|&count| count <= TRACKS_MAX as u64)?;
    let tracks = (0..count).map(|_| read_track(reader, layout, &objects)).collect::<Option<Vec<_>>>()?;
    let audio_tracks = tracks.iter().filter(|track| matches!(track.media, TrackMedia::Audio(_))).count();
    let video = read_segments(reader)?;
    let audio = (0..audio_tracks).map(|_| read_segments(reader)).collect::<Option<Vec<_>>>()?;
    let encoded_video = if read_bool(reader)? { video.clone() } else { read_segments(reader)? };
    let encoded_audio = (0..audio_tracks).map(|_| read_cuts(reader)).collect::<Option<Vec<_>>>()?;
    let plan = SegmentPlan { video, audio, encoded_video, encoded_audio };
    let overlay = if layout > LAYOUT_NO_OVERLAY { Some(overlay::read(reader)?) } else { None };
    Some(Index {
        source_len,
        source_sha256,
        container,
        objects,
        parts,
        is_truncated,
        left_out,
        tracks,
        overlay,
        plan,
    })
}

fn write_left_out(left_out: &[SkippedTrack], writer: &mut Writer) {
    writer.varint(left_out.len() as u64);
    for SkippedTrack { is_video, detail } in left_out {
        writer.u8((*is_video).into());
        writer.string(detail.as_bytes());
    }
}

fn read_left_out(reader: &mut Reader<'_>) -> Option<Vec<SkippedTrack>> {
    let count = reader.varint().filter(|&count| count <= SKIPPED_TRACKS_MAX as u64)?;
    let read = |_| {
        let is_video = read_bool(reader)?;
        let detail = read_text(reader).filter(|detail| detail.len() <= SKIPPED_TRACK_DETAIL_LEN_MAX)?;
        Some(SkippedTrack { is_video, detail })
    };
    (0..count).map(read).collect()
}

/// The objects of an index of one whole source, as layouts up to 6 store them.
#[derive(Debug, Clone, Copy)]
struct SingleSourceObjects {
    /// The object with the video, and with the source's own audio.
    main_object: SampleObject,
    /// The object with the audio that replaces it.
    audio: Option<SampleObject>,
}

impl SingleSourceObjects {
    /// `None` if the samples are in other objects, or there is more than one configuration.
    fn of(index: &Index) -> Option<Self> {
        let (main_object, audio) = match index.objects[..] {
            [own] => (own, None),
            [own, audio_object @ SampleObject { source: None, kind: SampleObjectKind::Audio { .. }, .. }] => {
                (own, Some(audio_object))
            }
            _ => return None,
        };
        let is_own = match main_object.kind {
            SampleObjectKind::Source => main_object.len == index.source_len,
            SampleObjectKind::Remuxed(_) => true,
            SampleObjectKind::Audio { .. } => false,
        };
        let is_plain = |track: &Track| {
            let object = u8::from(audio.is_some() && matches!(track.media, TrackMedia::Audio(_)));
            track.configurations.is_empty() && track.samples.is_in_object(object)
        };
        let is_whole = is_own && main_object.source.is_none() && index.parts.is_empty();
        (is_whole && index.tracks.iter().all(is_plain)).then_some(Self { main_object, audio })
    }

    fn all(self) -> Vec<SampleObject> {
        std::iter::once(self.main_object).chain(self.audio).collect()
    }

    fn write(self, layout: u32, writer: &mut Writer) {
        match self.main_object.kind {
            SampleObjectKind::Remuxed(container) => {
                writer.u8(1);
                writer.u8(container.byte());
                writer.varint(self.main_object.len);
            }
            _ => writer.u8(0),
        }
        if layout > LAYOUT_REPLACED_AUDIO {
            writer.u8(self.audio.is_some().into());
        }
        if let Some(SampleObject { kind: SampleObjectKind::Audio { sha256 }, len, .. }) = self.audio {
            writer.varint(len);
            writer.bytes.extend_from_slice(&sha256);
        }
    }

    fn read(reader: &mut Reader<'_>, layout: u32, source_len: u64) -> Option<Self> {
        let main_object = if read_bool(reader)? {
            let container = Container::from_byte(reader.u8()?)?;
            SampleObject::remuxed(container, reader.varint()?)
        } else {
            SampleObject::source(source_len)
        };
        let has_audio_object = match layout {
            ..=LAYOUT_PLAIN => false,
            LAYOUT_REPLACED_AUDIO => true,
            _ => read_bool(reader)?,
        };
        let audio = if has_audio_object {
            Some(SampleObject::audio(reader.varint()?, reader.array()?))
        } else {
            None
        };
        Some(Self { main_object, audio })
    }
}

fn write_objects(objects: &[SampleObject], writer: &mut Writer) {
    writer.varint(objects.len() as u64);
    for SampleObject { source, kind, len } in objects {
        writer.u8(source.is_some().into());
        writer.bytes.extend_from_slice(source.as_ref().map_or(&[], <[u8; 16]>::as_slice));
        match kind {
            SampleObjectKind::Source => writer.u8(OBJECT_SOURCE),
            SampleObjectKind::Remuxed(container) => {
                writer.u8(OBJECT_REMUXED);
                writer.u8(container.byte());
            }
            SampleObjectKind::Audio { sha256 } => {
                writer.u8(OBJECT_AUDIO);
                writer.bytes.extend_from_slice(sha256);
            }
        }
        writer.varint(*len);
    }
}

fn read_objects(reader: &mut Reader<'_>) -> Option<Vec<SampleObject>> {
    let count = reader.varint().filter(|&count| (1..=OBJECTS_MAX as u64).contains(&count))?;
    let read = |_| {
        let source = if read_bool(reader)? { Some(reader.array()?) } else { None };
        let kind = match reader.u8()? {
            OBJECT_SOURCE => SampleObjectKind::Source,
            OBJECT_REMUXED => SampleObjectKind::Remuxed(Container::from_byte(reader.u8()?)?),
            OBJECT_AUDIO => SampleObjectKind::Audio { sha256: reader.array()? },
            _ => return None,
        };
        Some(SampleObject { source, kind, len: reader.varint()? })
    };
    (0..count).map(read).collect()
}

fn write_parts(parts: &[Part], writer: &mut Writer) {
    writer.varint(parts.len() as u64);
    for Part { source, shown_us } in parts {
        writer.bytes.extend_from_slice(source);
        writer.varint(shown_us.start);
        writer.varint(shown_us.end);
    }
}

fn read_parts(reader: &mut Reader<'_>) -> Option<Vec<Part>> {
    let count = reader.varint().filter(|&count| count <= PARTS_MAX as u64)?;
    let read = |_| {
        let part = Part { source: reader.array()?, shown_us: reader.varint()?..reader.varint()? };
        (part.shown_us.start < part.shown_us.end).then_some(part)
    };
    (0..count).map(read).collect()
}

fn write_track(track: &Track, layout: u32, writer: &mut Writer) {
    writer.varint(track.source_track.into());
    writer.varint(track.timescale.into());
    writer.string(track.language.as_bytes());
    write_label(&track.label, writer);
    write_media(&track.media, writer);
    track.samples.write(writer);
    write_edit_points(&track.edit_points, layout, writer);
    if layout > LAYOUT_SINGLE_SOURCE {
        track.samples.write_objects(writer);
        writer.varint(track.configurations.len() as u64);
        track.configurations.iter().for_each(|media| write_media(media, writer));
    }
    writer.signed(track.shift);
    writer.signed(track.end);
    writer.varint(track.bitrate_average);
    writer.varint(track.bitrate_peak);
}

fn write_media(media: &TrackMedia, writer: &mut Writer) {
    match media {
        TrackMedia::Video(video) => {
            writer.u8(VIDEO);
            write_video(video, writer);
        }
        TrackMedia::Audio(audio) => {
            writer.u8(AUDIO);
            write_audio(audio, writer);
        }
    }
}

fn read_media(reader: &mut Reader<'_>) -> Option<TrackMedia> {
    match reader.u8()? {
        VIDEO => Some(TrackMedia::Video(read_video(reader)?)),
        AUDIO => Some(TrackMedia::Audio(read_audio(reader)?)),
        _ => None,
    }
}

fn read_track(reader: &mut Reader<'_>, layout: u32, objects: &[SampleObject]) -> Option<Track> {
    let source_track = reader.u32()?;
    let timescale = reader.u32().filter(|&timescale| timescale > 0)?;
    let language = read_text(reader)?;
    let label = read_label(reader)?;
    let media = read_media(reader)?;
    let lens: Vec<u64> = objects.iter().map(|object| object.len).collect();
    let has_sample_objects = layout > LAYOUT_SINGLE_SOURCE;
    // For one whole source, audio is in the last object, and video in the first.
    let object_index = if matches!(media, TrackMedia::Audio(_)) { lens.len().checked_sub(1)? } else { 0 };
    let samples =
        SampleTable::read(reader, if has_sample_objects { u64::MAX } else { *lens.get(object_index)? })?;
    let edit_points = read_edit_points(reader, layout, samples.len())?;
    let (samples, configurations) = if has_sample_objects {
        let samples = samples.read_objects(reader, &lens)?;
        (samples, read_configurations(reader, &media)?)
    } else {
        (samples.in_object(u8::try_from(object_index).ok()?), Vec::new())
    };
    if edit_points.iter().any(|point| configurations.len() < usize::from(point.configuration)) {
        return None;
    }
    Some(Track {
        source_track,
        timescale,
        language,
        label,
        media,
        configurations,
        samples,
        edit_points,
        shift: reader.signed()?,
        end: reader.signed()?,
        bitrate_average: reader.varint()?,
        bitrate_peak: reader.varint()?,
    })
}

/// The configurations from number 1 on, each of the same media type as the first.
fn read_configurations(reader: &mut Reader<'_>, first: &TrackMedia) -> Option<Vec<TrackMedia>> {
    let count = reader.varint().filter(|&count| count < PARTS_MAX as u64)?;
    let is_alike = |media: &TrackMedia| std::mem::discriminant(media) == std::mem::discriminant(first);
    (0..count).map(|_| read_media(reader).filter(is_alike)).collect()
}

/// Writes each edit point as the distance from the one before.
fn write_edit_points(edit_points: &[EditPoint], layout: u32, writer: &mut Writer) {
    writer.varint(edit_points.len() as u64);
    let mut before = EditPoint { sample: 0, pts: 0, configuration: 0 };
    for &point in edit_points {
        writer.varint(point.sample.wrapping_sub(before.sample).into());
        writer.signed(point.pts.wrapping_sub(before.pts));
        if layout > LAYOUT_SINGLE_SOURCE {
            writer.u8(point.configuration);
        }
        before = point;
    }
}

fn read_edit_points(reader: &mut Reader<'_>, layout: u32, samples: u32) -> Option<Vec<EditPoint>> {
    let count = reader.varint().filter(|&count| count <= EDIT_POINTS_MAX as u64)?;
    let mut edit_points: Vec<EditPoint> = Vec::new();
    for _ in 0..count {
        let before = edit_points.last().copied().unwrap_or(EditPoint { sample: 0, pts: 0, configuration: 0 });
        // Only a part of a presentation may have no samples.
        let may_be_empty = layout > LAYOUT_SINGLE_SOURCE;
        let distance = reader.u32().filter(|&distance| may_be_empty || 0 < distance)?;
        let is_inside = |&sample: &u32| sample < samples || (may_be_empty && sample == samples);
        let point = EditPoint {
            sample: before.sample.checked_add(distance).filter(is_inside)?,
            pts: before.pts.wrapping_add(reader.signed()?),
            configuration: if layout > LAYOUT_SINGLE_SOURCE { reader.u8()? } else { 0 },
        };
        if !edit_points.is_empty() && point.pts <= before.pts {
            return None;
        }
        edit_points.push(point);
    }
    Some(edit_points)
}

/// Writes the flags, then the title; empty means none.
fn write_label(label: &TrackLabel, writer: &mut Writer) {
    let enabled = if label.is_enabled { ENABLED } else { 0 };
    let describes_video = if label.describes_video { DESCRIBES_VIDEO } else { 0 };
    writer.u8(enabled | describes_video);
    writer.string(label.title.as_deref().unwrap_or_default().as_bytes());
}

fn read_label(reader: &mut Reader<'_>) -> Option<TrackLabel> {
    let bits = reader.u8().filter(|bits| bits & !(ENABLED | DESCRIBES_VIDEO) == 0)?;
    Some(TrackLabel {
        title: Some(read_text(reader)?).filter(|title| !title.is_empty()),
        is_enabled: bits & ENABLED != 0,
        describes_video: bits & DESCRIBES_VIDEO != 0,
    })
}

fn write_sample_entry(entry: &SampleEntry, writer: &mut Writer) {
    let (kind, bytes) = match entry {
        SampleEntry::Iso(bytes) => (ISO, bytes),
        SampleEntry::Matroska(bytes) => (MATROSKA, bytes),
    };
    writer.u8(kind);
    writer.string(bytes);
}

fn read_sample_entry(reader: &mut Reader<'_>) -> Option<SampleEntry> {
    let kind = reader.u8()?;
    let bytes = reader.string()?.to_vec();
    match kind {
        ISO => Some(SampleEntry::Iso(bytes)),
        MATROSKA => Some(SampleEntry::Matroska(bytes)),
        _ => None,
    }
}

/// Writes the reason; 0 means a copied track.
fn write_not_copied(not_copied: Option<&NotCopied>, writer: &mut Writer) {
    match not_copied {
        None => writer.u8(0),
        Some(NotCopied { reason, detail }) => {
            writer.u8(reason.byte());
            writer.string(detail.as_bytes());
        }
    }
}

#[expect(clippy::option_option, reason = "the outer one is damage, as everywhere here")]
fn read_not_copied(reader: &mut Reader<'_>) -> Option<Option<NotCopied>> {
    let byte = reader.u8()?;
    if byte == 0 {
        return Some(None);
    }
    let reason = NotCopiedReason::from_byte(byte)?;
    let detail = read_text(reader).filter(|detail| detail.len() <= NOT_COPIED_DETAIL_LEN_MAX)?;
    Some(Some(NotCopied { reason, detail }))
}

fn write_video(video: &VideoTrack, writer: &mut Writer) {
    write_sample_entry(&video.sample_entry, writer);
    write_not_copied(video.not_copied.as_ref(), writer);
    writer.u8(video.is_interlaced.into());
    writer.string(video.codec.as_bytes());
    for number in [video.width, video.height, video.pixel_aspect.0, video.pixel_aspect.1] {
        writer.varint(number.into());
    }
    for number in video.matrix {
        writer.signed(number.into());
    }
    writer.varint(video.rotation.into());
    // Encoding of absent values: transfer is stored plus one, and no rate is 0 of 0.
    writer.varint(video.transfer.map_or(0, |transfer| u64::from(transfer) + 1));
    let (frames, seconds) = video.frame_rate.unwrap_or((0, 0));
    writer.varint(frames.into());
    writer.varint(seconds.into());
    writer.signed(video.composition_shift);
}

fn read_video(reader: &mut Reader<'_>) -> Option<VideoTrack> {
    Some(VideoTrack {
        sample_entry: read_sample_entry(reader)?,
        not_copied: read_not_copied(reader)?,
        is_interlaced: read_bool(reader)?,
        codec: read_text(reader)?,
        width: reader.u32()?,
        height: reader.u32()?,
        pixel_aspect: (reader.u32()?, reader.u32()?),
        matrix: {
            let mut matrix = [0; 9];
            for number in &mut matrix {
                *number = reader.signed()?.try_into().ok()?;
            }
            matrix
        },
        rotation: reader.varint()?.try_into().ok()?,
        transfer: match reader.varint()? {
            0 => None,
            transfer => Some((transfer - 1).try_into().ok()?),
        },
        frame_rate: Some((reader.u32()?, reader.u32()?)).filter(|&rate| rate != (0, 0)),
        composition_shift: reader.signed()?,
    })
}

fn write_audio(audio: &AudioTrack, writer: &mut Writer) {
    write_sample_entry(&audio.sample_entry, writer);
    write_not_copied(audio.not_copied.as_ref(), writer);
    writer.string(audio.codec.as_bytes());
    for number in [audio.sample_rate, audio.channels, audio.packet_samples] {
        writer.varint(number.into());
    }
}

fn read_audio(reader: &mut Reader<'_>) -> Option<AudioTrack> {
    Some(AudioTrack {
        sample_entry: read_sample_entry(reader)?,
        not_copied: read_not_copied(reader)?,
        codec: read_text(reader)?,
        sample_rate: reader.u32()?,
        channels: reader.u32()?,
        packet_samples: reader.u32()?,
    })
}

/// Segments are contiguous, so each is written as its distance from the end of the one before.
fn write_segments(segments: &[Segment], writer: &mut Writer) {
    writer.varint(segments.len() as u64);
    let (mut sample, mut time) = (0, 0);
    for segment in segments {
        let Range { start, end } = segment.samples;
        writer.signed(i64::from(start) - i64::from(sample));
        writer.signed(i64::from(end) - i64::from(start));
        writer.signed(segment.start.wrapping_sub(time));
        writer.signed(segment.end.wrapping_sub(segment.start));
        (sample, time) = (end, segment.end);
    }
}

fn read_segments(reader: &mut Reader<'_>) -> Option<Vec<Segment>> {
    let count = reader.varint()?;
    let (mut sample, mut time) = (0u32, 0i64);
    let mut segments = Vec::new();
    for _ in 0..count {
        let first = offset_by(sample, reader.signed()?)?;
        let samples_end = offset_by(first, reader.signed()?)?;
        let start = time.wrapping_add(reader.signed()?);
        let end = start.wrapping_add(reader.signed()?);
        segments.push(Segment { samples: first..samples_end, start, end });
        (sample, time) = (samples_end, end);
    }
    Some(segments)
}

/// Cuts increase, so each is written as its distance from the one before.
fn write_cuts(cuts: &[u64], writer: &mut Writer) {
    writer.varint(cuts.len() as u64);
    let mut before = 0;
    for &cut in cuts {
        writer.varint(cut.wrapping_sub(before));
        before = cut;
    }
}

fn read_cuts(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = reader.varint()?;
    let mut cuts = Vec::new();
    let mut before = 0u64;
    for _ in 0..count {
        before = before.checked_add(reader.varint()?)?;
        cuts.push(before);
    }
    Some(cuts)
}

fn offset_by(number: u32, distance: i64) -> Option<u32> {
    i64::from(number).checked_add(distance)?.try_into().ok()
}

fn read_bool(reader: &mut Reader<'_>) -> Option<bool> {
    match reader.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn read_text(reader: &mut Reader<'_>) -> Option<String> {
    Some(std::str::from_utf8(reader.string()?).ok()?.to_owned())
}

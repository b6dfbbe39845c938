//! The sample index of one source: offset, times and decoder configuration of every sample.
//!
//! Built once while the bytes are received, stored as one object, immutable. Playlists and segments are a
//! pure function of it.
//!
//! Begin with [`Index`]. [`SampleTable`] packs the samples, [`Index::to_bytes`] is the stored form, and
//! [`Index::facts`] the data of the API.

mod column;
mod container;
mod edit_point;
mod facts;
mod not_copied;
mod objects;
mod overlay;
mod samples;
mod segments;
mod skipped_track;

pub use container::Container;
pub use edit_point::{EDIT_POINTS_MAX, EditPoint, EditSpan};
pub use facts::{AudioFacts, SourceFacts, VideoFacts};
pub use not_copied::{NOT_COPIED_DETAIL_LEN_MAX, NotCopied, NotCopiedReason};
pub use objects::{OBJECTS_MAX, PARTS_MAX, SampleObject, SampleObjectKind, SourceName};
pub use overlay::{OVERLAY_SIDE_MAX, Overlay, OverlayAlign, OverlayLength};
pub use samples::{SampleTable, SampleTableBuilder, Samples};
pub use segments::{
    ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_CODEC, ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Segment,
    SegmentPlan,
};
pub use skipped_track::{SKIPPED_TRACK_DETAIL_LEN_MAX, SKIPPED_TRACKS_MAX, SkippedTrack};

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// All data about one source that playback needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// Length of the source in bytes.
    pub source_len: u64,
    /// SHA-256 of the source, computed while its bytes were received.
    pub source_sha256: [u8; 32],
    /// Container format of the source.
    pub container: Container,
    /// The objects that contain the samples, by their numbers; at least one, at most [`OBJECTS_MAX`].
    pub objects: Vec<SampleObject>,
    /// The joined parts, in the order of the presentation; empty for the index of one whole source.
    pub parts: Vec<Part>,
    /// Set when bytes of samples at the end were missing and only the playable prefix is used.
    pub is_truncated: bool,
    /// Tracks of the source that cannot be played, at most [`SKIPPED_TRACKS_MAX`].
    pub left_out: Vec<SkippedTrack>,
    /// The chosen tracks: at most one video track, first, then audio tracks in the order of the source.
    ///
    /// No two have the same [`Track::source_track`].
    pub tracks: Vec<Track>,
    /// The image over the video, see [`Index::with_overlay`].
    pub overlay: Option<Overlay>,
    /// The segments of each track. Stored, so that URLs stay valid when the planning code changes.
    pub plan: SegmentPlan,
}

/// The range of one source that a presentation shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The source.
    pub source: SourceName,
    /// Start and end in microseconds of the common timeline of that source.
    pub shown_us: Range<u64>,
}

/// One elementary stream of the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// The track's number inside the source (`tkhd.track_ID`).
    pub source_track: u32,
    /// Ticks per second of all times below.
    pub timescale: u32,
    /// Language in the source: a BCP 47 tag if present, else an ISO 639-2/T code, `und` when unknown.
    pub language: String,
    /// Further metadata of the source for choosing among several tracks.
    pub label: TrackLabel,
    /// Codec and format. Configuration 0.
    pub media: TrackMedia,
    /// The configurations from number 1 on, for a track whose parts need different ones. [`EditPoint`]s
    /// define where each begins.
    #[serde(skip)]
    pub configurations: Vec<TrackMedia>,
    /// The samples in decode order.
    pub samples: SampleTable,
    /// Edit list jumps between keyframes, and boundaries between parts of a presentation. Times increase.
    /// Samples increase too, except that a part of a presentation may have none. Empty for nearly all
    /// tracks.
    pub edit_points: Vec<EditPoint>,
    /// Added to a sample's time in the source to get its time on the common timeline, in ticks.
    ///
    /// On the common timeline 0 is the earliest instant that any chosen track presents after its edit list,
    /// so the shift is `empty edit - media_time - origin`. Samples before 0 are decoded but not presented
    /// (priming, skipped by an edit).
    pub shift: i64,
    /// End of the presentation on the common timeline, in ticks: after trailing edits, else the end of the
    /// last sample.
    pub end: i64,
    /// Average bits per second over the whole track.
    pub bitrate_average: u64,
    /// Bits per second in the busiest window of one second.
    pub bitrate_peak: u64,
}

/// Metadata of a source for choosing among several tracks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackLabel {
    /// Title from the source: any text, see [`TITLE_LEN_MAX`].
    pub title: Option<String>,
    /// Plays by default. Files with alternatives disable all but one of them.
    pub is_enabled: bool,
    /// Audio description for blind viewers.
    pub describes_video: bool,
}

/// Longest stored title in bytes: menus show about 30 letters of up to 4 bytes each.
pub const TITLE_LEN_MAX: usize = 128;
/// Audio tracks per index; further ones are dropped, in the order of the source. Broadcast masters have 16.
pub const AUDIO_TRACKS_MAX: usize = 16;

/// Upper limit of sample times in ticks: edits cover up to half the range of times, and a track follows.
const TICKS_MAX: u64 = (1 << 62) + (1 << 58);

/// The media type of a track.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TrackMedia {
    /// Video.
    Video(VideoTrack),
    /// Audio.
    Audio(AudioTrack),
}

/// The decoder configuration of the samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleEntry {
    /// One complete sample entry box of ISO BMFF. Every copied track has one.
    Iso(Vec<u8>),
    /// One complete `TrackEntry` element of Matroska, for codecs whose configuration only a decoder needs.
    Matroska(Vec<u8>),
}

impl SampleEntry {
    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        let (Self::Iso(bytes) | Self::Matroska(bytes)) = self;
        bytes.len()
    }
}

/// A video track. H.264 and HEVC as length-prefixed NAL units, and AV1, can be copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VideoTrack {
    /// For a copied track: `avc1`, `hvc1` or `av01` with its children. As in the source, with these changes:
    /// data reference 1, no padding of QuickTime between boxes, `hvc1` instead of `hev1`, no boxes of Dolby
    /// Vision.
    pub sample_entry: SampleEntry,
    /// RFC 6381 string of a copied track, for instance `avc1.640028`, `hvc1.1.6.L93.B0` or `av01.0.04M.08`.
    /// Otherwise the codec name of the container, for instance `apcn` or `V_VP8`.
    pub codec: String,
    /// The reason why the track is not copied; `None` if it is.
    pub not_copied: Option<NotCopied>,
    /// Frames may consist of two fields: the source or its coded pictures say so.
    pub is_interlaced: bool,
    /// Width in pixels, after the cropping of the codec.
    pub width: u32,
    /// Height in pixels, after the cropping of the codec.
    pub height: u32,
    /// Pixel aspect ratio, horizontal : vertical.
    pub pixel_aspect: (u32, u32),
    /// The `tkhd` matrix, 16.16 and 2.30 fixed point.
    pub matrix: [i32; 9],
    /// Clockwise rotation that a player applies: 0, 90, 180 or 270 degrees.
    pub rotation: u16,
    /// Transfer characteristics (ISO/IEC 23091-2), if present. 16 is PQ, 18 HLG.
    pub transfer: Option<u16>,
    /// Frames per second as a fraction (average over the track); `None` with fewer than two samples.
    pub frame_rate: Option<(u32, u32)>,
    /// The constant D of the timestamp rule: added to every composition offset and subtracted again by the
    /// edit list.
    pub composition_shift: i64,
}

/// Most channels whose number alone defines the layout: 7.1.
pub const LAYOUT_CHANNELS_MAX: u32 = 8;

/// An audio track. AAC-LC and Opus can be copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AudioTrack {
    /// For a copied track: a plain `mp4a` (version 0, data reference 1) with the `esds` box of the source,
    /// or `Opus` with its `dOps`.
    pub sample_entry: SampleEntry,
    /// RFC 6381 string of a copied track, for instance `mp4a.40.2` or `Opus`. Otherwise the codec name of
    /// the container.
    pub codec: String,
    /// The reason why the track is not copied; `None` if it is.
    pub not_copied: Option<NotCopied>,
    /// Samples per second.
    pub sample_rate: u32,
    /// Number of channels, from the codec configuration.
    pub channels: u32,
    /// PCM samples that one packet decodes to (1024 for AAC-LC). For Opus, whose packets differ, the
    /// shortest one, 960 at most. 0 if unknown, which no copied track has.
    pub packet_samples: u32,
}

/// One coded sample: a video frame or an audio packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Decode time in the source, in ticks, before [`Track::shift`]. Increases from sample to sample, except
    /// at an [`EditPoint`].
    pub dts: i64,
    /// Presentation time in the source, in ticks, before [`Track::shift`].
    pub pts: i64,
    /// Ticks until the next sample is decoded.
    pub duration: u32,
    /// The number of the object that contains it.
    #[serde(skip)]
    pub object: u8,
    /// Offset of its first byte in that object.
    pub offset: u64,
    /// Length in bytes.
    pub size: u32,
    /// Sync sample: decoding can start here.
    pub is_sync: bool,
}

impl Index {
    /// The video track, if there is one.
    pub fn video(&self) -> Option<(&Track, &VideoTrack)> {
        self.tracks.iter().find_map(|track| match &track.media {
            TrackMedia::Video(video) => Some((track, video)),
            TrackMedia::Audio(_) => None,
        })
    }

    /// The default audio track: the first enabled one, else the first.
    pub fn audio(&self) -> Option<(&Track, &AudioTrack)> {
        let track = self.tracks.get(default_audio(&self.tracks)?)?;
        match &track.media {
            TrackMedia::Audio(audio) => Some((track, audio)),
            TrackMedia::Video(_) => None,
        }
    }

    /// The number of the track of [`audio`](Self::audio), counted from 0 in the order of the source.
    pub fn audio_number(&self) -> Option<u8> {
        let chosen = default_audio(&self.tracks)?;
        let is_audio = |track: &&Track| matches!(track.media, TrackMedia::Audio(_));
        u8::try_from(self.tracks.get(..chosen)?.iter().filter(is_audio).count()).ok()
    }

    /// All audio tracks, in the order of the source.
    pub fn audio_tracks(&self) -> impl Iterator<Item = (&Track, &AudioTrack)> {
        self.tracks.iter().filter_map(|track| match &track.media {
            TrackMedia::Audio(audio) => Some((track, audio)),
            TrackMedia::Video(_) => None,
        })
    }

    /// Length in bytes of the object with the source's own samples.
    pub fn samples_len(&self) -> u64 {
        self.objects.first().map_or(self.source_len, |object| object.len)
    }

    /// The segments of the copy of a track; empty if it is not copied, and for a track of another index.
    pub fn segments(&self, track: &Track) -> &[Segment] {
        let segments = match &track.media {
            TrackMedia::Video(_) => Some(&self.plan.video),
            TrackMedia::Audio(_) => self
                .audio_tracks()
                .position(|(audio_track, _)| audio_track.source_track == track.source_track)
                .and_then(|number| self.plan.audio.get(number)),
        };
        segments.map_or(&[], Vec::as_slice)
    }
}

impl Track {
    /// The same track without the samples that start a second or more after `end_us` (microseconds of the
    /// common timeline).
    pub fn truncated_at(self, end_us: u64) -> Self {
        let timescale = i128::from(self.timescale);
        let ticks = i128::from(end_us) * timescale / 1_000_000 + timescale - i128::from(self.shift);
        let first_dropped =
            i64::try_from(ticks).ok().and_then(|ticks| self.samples.first_at_or_after_pts(ticks));
        match first_dropped {
            Some(behind) => Self { samples: self.samples.range(0..behind).collect(), ..self },
            None => self,
        }
    }

    /// Sum of the sizes of all samples in bytes.
    pub fn samples_bytes(&self) -> u64 {
        self.samples.iter().fold(0, |sum, sample| sum.saturating_add(sample.size.into()))
    }

    /// The same track with its samples contiguous in an object of their own, and the length of that object
    /// in bytes: the result of writing all samples in decode order.
    pub fn repacked(self) -> (Self, u64) {
        let mut end = 0_u64;
        let samples = self.samples.iter().map(|sample| {
            let offset = end;
            end = end.saturating_add(sample.size.into());
            Sample { object: 0, offset, ..sample }
        });
        let samples = samples.collect();
        (Self { samples, ..self }, end)
    }

    /// The same track with all samples in the object with this number.
    pub fn in_object(self, object: u8) -> Self {
        Self { samples: self.samples.in_object(object), ..self }
    }

    /// Whether the sample arithmetic is safe for a track from a checkpoint.
    pub fn is_valid(&self) -> bool {
        let rises = self.edit_points.is_sorted_by(|a, b| a.sample < b.sample && a.pts < b.pts);
        let is_inside = self.edit_points.last().is_none_or(|last| last.sample < self.samples.len());
        let is_time = |ticks: i64| ticks.unsigned_abs() <= TICKS_MAX;
        0 < self.timescale
            && rises
            && is_inside
            && self.edit_points.len() <= EDIT_POINTS_MAX
            && self.samples.iter().all(|sample| is_time(sample.dts) && is_time(sample.pts))
    }
}

impl Sample {
    /// Offset of the first byte after it; `None` beyond 64 bits.
    pub fn end_offset(&self) -> Option<u64> {
        self.offset.checked_add(self.size.into())
    }
}

impl TrackMedia {
    /// The decoder configuration of the samples.
    pub fn sample_entry(&self) -> &SampleEntry {
        match self {
            Self::Video(video) => &video.sample_entry,
            Self::Audio(audio) => &audio.sample_entry,
        }
    }

    /// RFC 6381 string of a copied track, else the codec name of the container.
    pub fn codec(&self) -> &str {
        match self {
            Self::Video(video) => &video.codec,
            Self::Audio(audio) => &audio.codec,
        }
    }

    /// The reason why the track is not copied; `None` if it is.
    pub fn not_copied(&self) -> Option<&NotCopied> {
        match self {
            Self::Video(video) => video.not_copied.as_ref(),
            Self::Audio(audio) => audio.not_copied.as_ref(),
        }
    }
}

impl SampleEntry {
    /// The bytes of the ISO BMFF box, or `None` for another kind.
    pub fn iso(&self) -> Option<&[u8]> {
        match self {
            Self::Iso(bytes) => Some(bytes),
            Self::Matroska(_) => None,
        }
    }
}

/// The position of the default audio track: the first enabled one, else the first.
pub fn default_audio(tracks: &[Track]) -> Option<usize> {
    let is_audio = |track: &Track| matches!(track.media, TrackMedia::Audio(_));
    let enabled = tracks.iter().position(|track| is_audio(track) && track.label.is_enabled);
    enabled.or_else(|| tracks.iter().position(is_audio))
}

//! The sample index of one source: where every coded frame lies, when it is shown, and how it is decoded.
//!
//! Built once from the passing bytes, stored as one object, never changed. Playlists and segments are a pure
//! function of it.
//!
//! Begin with [`Index`]. [`SampleTable`] packs the samples, [`Index::to_bytes`] is what is stored,
//! [`Index::facts`] what people ask.

mod column;
mod container;
mod facts;
mod joint;
mod left_out;
mod not_copied;
mod objects;
mod samples;
mod segments;

pub use container::Container;
pub use facts::{AudioFacts, SourceFacts, VideoFacts};
pub use joint::{JOINTS_MAX, Joint, Stretch};
pub use left_out::{LEFT_OUT_DETAIL_LEN_MAX, LEFT_OUT_MAX, LeftOut};
pub use not_copied::{NOT_COPIED_DETAIL_LEN_MAX, NotCopied, NotCopiedReason};
pub use objects::{OBJECTS_MAX, PARTS_MAX, SampleObject, SampleObjectKind, SourceName};
pub use samples::{SampleTable, SampleTableBuilder, Samples};
pub use segments::{
    ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_CODEC, ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Segment,
    SegmentPlan,
};

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Everything known about one source that playback needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// Length of the source in bytes.
    pub source_len: u64,
    /// SHA-256 of the source, taken while its bytes passed.
    pub source_sha256: [u8; 32],
    /// What the bytes are packed in.
    pub container: Container,
    /// The objects in which the samples lie, by their numbers; at least one, at most [`OBJECTS_MAX`].
    pub objects: Vec<SampleObject>,
    /// What it was joined of, in the order of the presentation; empty for the index of one whole source.
    pub parts: Vec<Part>,
    /// Set when samples at the end had no bytes and the playable prefix was kept.
    pub is_truncated: bool,
    /// Tracks of the source that cannot be played, at most [`LEFT_OUT_MAX`].
    pub left_out: Vec<LeftOut>,
    /// The chosen tracks: at most one video track, in front, then audio tracks in the order of the source.
    ///
    /// No two have the same [`Track::source_track`].
    pub tracks: Vec<Track>,
    /// How each of the tracks is cut. Stored, so that addresses outlive a change of the code.
    pub plan: SegmentPlan,
}

/// What a presentation shows of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The source.
    pub source: SourceName,
    /// From when to when it is shown, in microseconds of the common timeline of that source.
    pub shown_us: Range<u64>,
}

/// One elementary stream of the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Track {
    /// The track's number inside the source (`tkhd.track_ID`).
    pub source_track: u32,
    /// Ticks per second of all times below.
    pub timescale: u32,
    /// Language of the source: a BCP 47 tag where it has one, else an ISO 639-2/T code, `und` when unknown.
    pub language: String,
    /// What else the source says of the track to whoever chooses among several.
    pub label: TrackLabel,
    /// What it is and how it is decoded. Configuration 0.
    pub media: TrackMedia,
    /// The configurations from number 1 on, of a track whose parts are not all decoded alike. [`Joint`]s say
    /// from where on each holds.
    #[serde(skip)]
    pub configurations: Vec<TrackMedia>,
    /// The samples in decode order.
    pub samples: SampleTable,
    /// Where an edit list jumps between keyframes, or one part of a presentation follows another, rising in
    /// both fields; empty for nearly all tracks.
    pub joints: Vec<Joint>,
    /// Added to a sample's time in the source to get its time on the common timeline, in ticks.
    ///
    /// On the common timeline 0 is the earliest instant any chosen track presents after its edit list, so the
    /// shift is `empty edit - media_time - origin`. Samples before 0 on it are decoded but not presented
    /// (priming, skipped by an edit).
    pub shift: i64,
    /// Where the presentation ends on the common timeline, in ticks: trailing edits trim, else the end of the
    /// last sample.
    pub end: i64,
    /// Bits a second over the whole track.
    pub bitrate_average: u64,
    /// Bits a second in the busiest window of one second.
    pub bitrate_peak: u64,
}

/// What a source says of a track to whoever chooses among several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrackLabel {
    /// Its name, as its author wrote it: any text, see [`TITLE_LEN_MAX`].
    pub title: Option<String>,
    /// Plays when nobody chose. Files with alternatives disable all but one of them.
    pub is_enabled: bool,
    /// Describes the pictures to people who cannot see them.
    pub describes_video: bool,
}

/// Bytes of the longest title that is kept: menus show some 30 letters, which take up to 4 bytes each.
pub const TITLE_LEN_MAX: usize = 128;
/// Audio tracks that are kept; more are left out, in the order of the source. Broadcast masters carry 16 of
/// them.
pub const AUDIO_TRACKS_MAX: usize = 16;

/// Ticks that no sample comes near: edits lead as far as half the range of times, and a track on from there.
const TICKS_MAX: u64 = (1 << 62) + (1 << 58);

/// What a track carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TrackMedia {
    /// Moving pictures.
    Video(VideoTrack),
    /// Sound.
    Audio(AudioTrack),
}

/// How a decoder is told what the samples are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleEntry {
    /// One whole sample entry box of an ISO base media file. Every track that is copied has one.
    Iso(Vec<u8>),
    /// One whole `TrackEntry` element of a Matroska file, for codecs whose sample entry nobody needs but a
    /// decoder.
    Matroska(Vec<u8>),
}

impl SampleEntry {
    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        let (Self::Iso(bytes) | Self::Matroska(bytes)) = self;
        bytes.len()
    }
}

/// A video track. H.264 and HEVC as length-prefixed NAL units, and AV1, may be copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VideoTrack {
    /// Of a track that is copied: `avc1`, `hvc1` or `av01` with its children. As the source has it, but with
    /// data reference 1, without the padding QuickTime leaves between boxes, `hvc1` where it was `hev1`, and
    /// without the boxes of Dolby Vision.
    pub sample_entry: SampleEntry,
    /// RFC 6381 string of a track that is copied, for instance `avc1.640028`, `hvc1.1.6.L93.B0` or
    /// `av01.0.04M.08`. Else what its container calls the codec, for instance `apcn` or `V_VP8`.
    pub codec: String,
    /// Why players do not get it as it is; `None` where they do.
    pub not_copied: Option<NotCopied>,
    /// Two fields may make one picture: the source says so, or each of its pictures does.
    pub is_interlaced: bool,
    /// Width in pixels, after the codec's own cropping.
    pub width: u32,
    /// Height in pixels, after the codec's own cropping.
    pub height: u32,
    /// Shape of one pixel, horizontal : vertical.
    pub pixel_aspect: (u32, u32),
    /// The `tkhd` matrix, 16.16 and 2.30 fixed point.
    pub matrix: [i32; 9],
    /// Clockwise rotation a player applies: 0, 90, 180 or 270 degrees.
    pub rotation: u16,
    /// Transfer characteristics (ISO/IEC 23091-2), when the source says them. 16 is PQ, 18 HLG.
    pub transfer: Option<u16>,
    /// Samples a second as a fraction (average over the track); `None` with fewer than two samples.
    pub frame_rate: Option<(u32, u32)>,
    /// The constant D of the timestamp rule: added to every composition offset and taken off again by the
    /// edit list.
    pub composition_shift: i64,
}

/// Most channels whose layout is known by their number: 7.1.
pub const LAYOUT_CHANNELS_MAX: u32 = 8;

/// An audio track. AAC-LC and Opus may be copied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AudioTrack {
    /// Of a track that is copied: a plain `mp4a` (version 0, data reference 1) with the `esds` box of the
    /// source, or `Opus` with its `dOps`.
    pub sample_entry: SampleEntry,
    /// RFC 6381 string of a track that is copied, for instance `mp4a.40.2` or `Opus`. Else what its container
    /// calls the codec.
    pub codec: String,
    /// Why players do not get it as it is; `None` where they do.
    pub not_copied: Option<NotCopied>,
    /// Samples a second.
    pub sample_rate: u32,
    /// Number of channels, from the codec configuration.
    pub channels: u32,
    /// PCM samples one packet decodes to (1024 for AAC-LC); for Opus, whose packets differ, the shortest one,
    /// 960 at most; 0 where unknown, which no track that is copied has.
    pub packet_samples: u32,
}

/// One coded frame or packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Decode time in the source, in ticks, before [`Track::shift`]. Rises from sample to sample, but for a
    /// [`Joint`].
    pub dts: i64,
    /// Presentation time in the source, in ticks, before [`Track::shift`].
    pub pts: i64,
    /// Ticks until the next sample is decoded.
    pub duration: u32,
    /// The number of the object that it lies in.
    #[serde(skip)]
    pub object: u8,
    /// First byte in that object.
    pub offset: u64,
    /// Length in bytes.
    pub size: u32,
    /// Decoding can start here.
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

    /// The audio track that plays when nobody chose: the first enabled one, else the first.
    pub fn audio(&self) -> Option<(&Track, &AudioTrack)> {
        let track = self.tracks.get(default_audio(&self.tracks)?)?;
        match &track.media {
            TrackMedia::Audio(audio) => Some((track, audio)),
            TrackMedia::Video(_) => None,
        }
    }

    /// Which of the audio tracks [`audio`](Self::audio) is, counted from 0 in the order of the source.
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

    /// Length of the object in which the samples lie that are the source's own.
    pub fn samples_len(&self) -> u64 {
        self.objects.first().map_or(self.source_len, |object| object.len)
    }

    /// The segments of the copy of one of these tracks; none where it is not copied, nor of a track of
    /// another index.
    pub fn segments(&self, track: &Track) -> &[Segment] {
        let segments = match &track.media {
            TrackMedia::Video(_) => Some(&self.plan.video),
            TrackMedia::Audio(_) => self
                .audio_tracks()
                .position(|(own, _)| own.source_track == track.source_track)
                .and_then(|number| self.plan.audio.get(number)),
        };
        segments.map_or(&[], Vec::as_slice)
    }
}

impl Track {
    /// The same track without the samples that sound a second or more behind an instant of the common
    /// timeline, in microseconds.
    pub fn until(self, end_us: u64) -> Self {
        let timescale = i128::from(self.timescale);
        let ticks = i128::from(end_us) * timescale / 1_000_000 + timescale - i128::from(self.shift);
        let behind = i64::try_from(ticks).ok().and_then(|ticks| self.samples.first_at_or_after_pts(ticks));
        match behind {
            Some(behind) => Self { samples: self.samples.range(0..behind).collect(), ..self },
            None => self,
        }
    }

    /// The bytes of all its samples together.
    pub fn samples_bytes(&self) -> u64 {
        self.samples.iter().fold(0, |sum, sample| sum.saturating_add(sample.size.into()))
    }

    /// The same track whose samples lie one behind the other in an object of their own, and the length of
    /// that object in bytes: what comes of writing the bytes of all samples in decode order.
    pub fn in_one_piece(self) -> (Self, u64) {
        let mut end = 0_u64;
        let samples = self.samples.iter().map(|sample| {
            let offset = end;
            end = end.saturating_add(sample.size.into());
            Sample { object: 0, offset, ..sample }
        });
        let samples = samples.collect();
        (Self { samples, ..self }, end)
    }

    /// The same track whose samples all lie in the object with this number.
    pub fn in_object(self, object: u8) -> Self {
        Self { samples: self.samples.in_object(object), ..self }
    }

    /// Whether the samples of what came back from a checkpoint can be reckoned with.
    pub fn is_sound(&self) -> bool {
        let rises = self.joints.is_sorted_by(|a, b| a.sample < b.sample && a.pts < b.pts);
        let is_inside = self.joints.last().is_none_or(|last| last.sample < self.samples.len());
        let is_time = |ticks: i64| ticks.unsigned_abs() <= TICKS_MAX;
        0 < self.timescale
            && rises
            && is_inside
            && self.joints.len() <= JOINTS_MAX
            && self.samples.iter().all(|sample| is_time(sample.dts) && is_time(sample.pts))
    }
}

impl Sample {
    /// First byte behind it; `None` beyond 64 bits.
    pub fn end_offset(&self) -> Option<u64> {
        self.offset.checked_add(self.size.into())
    }
}

impl TrackMedia {
    /// How a decoder is told what the samples are.
    pub fn sample_entry(&self) -> &SampleEntry {
        match self {
            Self::Video(video) => &video.sample_entry,
            Self::Audio(audio) => &audio.sample_entry,
        }
    }

    /// RFC 6381 string of a track that is copied, else what its container calls the codec.
    pub fn codec(&self) -> &str {
        match self {
            Self::Video(video) => &video.codec,
            Self::Audio(audio) => &audio.codec,
        }
    }

    /// Why players do not get the track as it is; `None` where they do.
    pub fn not_copied(&self) -> Option<&NotCopied> {
        match self {
            Self::Video(video) => video.not_copied.as_ref(),
            Self::Audio(audio) => audio.not_copied.as_ref(),
        }
    }
}

impl SampleEntry {
    /// The bytes of the box, or `None` where it is none.
    pub fn iso(&self) -> Option<&[u8]> {
        match self {
            Self::Iso(bytes) => Some(bytes),
            Self::Matroska(_) => None,
        }
    }
}

/// Which of these tracks is the audio that plays when nobody chose: the first enabled one, else the first.
pub fn default_audio(tracks: &[Track]) -> Option<usize> {
    let is_audio = |track: &Track| matches!(track.media, TrackMedia::Audio(_));
    let enabled = tracks.iter().position(|track| is_audio(track) && track.label.is_enabled);
    enabled.or_else(|| tracks.iter().position(is_audio))
}

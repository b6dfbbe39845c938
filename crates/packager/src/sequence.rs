//! Several sources that play in sequence: the multivariant playlist of all of them, and the media playlists.
//!
//! A player changes neither codec nor number of tracks where a source ends, so all sources come in H.264 and
//! AAC. Each one uses the rendition that fits the size best and its default audio. A source without video is
//! black, one without audio is silent. D-0073.

use std::sync::Arc;

use kinora_domain::{AudioGain, Resolution};
use kinora_formats::{BLACK_CODEC, Filler, encode::encoded_audio_times};
use kinora_hls::{
    AudioRendition, Bandwidth, ConcatPlaylist, MultivariantPlaylist, RungBandwidth, Variant, VideoRange,
    audio_renditions,
};
use kinora_index::{ENCODED_AUDIO_CODEC, ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Segment};

use crate::{EncodedAudio, Error, Packaged, Packager, Rendition};

/// Group id of the audio renditions.
const AUDIO_GROUP: &str = "audio";
/// Name of the audio rendition: sources in a row have no language in common.
const AUDIO_NAME: &str = "Audio";
/// Codec prefix of copied video that every player decodes.
const UNIVERSAL_CODEC_PREFIX: &str = "avc1.";
/// Most segments of a rendition; later sources are left out. 22 h of segments of 4 s, whose playlist has
/// about 2 MB.
const SEGMENTS_MAX: usize = 20_000;
/// Audio that exceeds the video by more than this is played over black; less is cut off. In microseconds.
const AUDIO_TAIL_MIN_US: u64 = 1_000_000;

/// A source of a sequence.
#[derive(Debug)]
pub struct SequenceItem {
    packaged: Arc<Packaged>,
    /// Prefix of the name of a rendition, with a slash at the end.
    base: String,
    /// Renditions in H.264, smallest first.
    video: Vec<SequenceVideo>,
    audio: Option<SequenceAudio>,
    ends: EndTimes,
}

/// A video rendition.
#[derive(Debug)]
struct SequenceVideo {
    rendition: Rendition,
    size: Resolution,
    rate: Bandwidth,
    codec: String,
    resolution: (u32, u32),
    frame_rate: Option<(u32, u32)>,
}

/// The default audio.
#[derive(Debug)]
pub(crate) struct SequenceAudio {
    pub(crate) rendition: Rendition,
    pub(crate) rate: Bandwidth,
    pub(crate) codec: String,
}

/// Sources that play in sequence.
#[derive(Debug, Default)]
pub struct Sequence {
    items: Vec<SequenceItem>,
    /// Sum over all sources.
    segment_count: usize,
}

impl Packager {
    /// A source for a sequence; `None` if it offers players nothing. `base` is the path of its renditions,
    /// nothing is larger than `max`, and withdrawn video is left out. `levels` has the gain of each audio
    /// track.
    pub async fn sequence_item(
        &self,
        packaged: Arc<Packaged>,
        base: String,
        max: Resolution,
        is_video_withdrawn: bool,
        levels: &[Option<AudioGain>],
    ) -> Result<Option<SequenceItem>, Error> {
        let broken = self.broken(packaged.presentation).await?;
        let is_offered = |rendition: Rendition| !broken.contains(&rendition);
        let mut videos = if is_video_withdrawn { Vec::new() } else { packaged.sequence_video(max) };
        videos.retain(|video| is_offered(video.rendition));
        let levels = self.playable_levels(&packaged, levels).await?;
        let audio = packaged.sequence_audio(&levels).filter(|audio| is_offered(audio.rendition));
        let is_empty = videos.is_empty() && audio.is_none();
        let ends = EndTimes::of(&packaged, videos.first(), audio.as_ref());
        Ok((!is_empty).then_some(SequenceItem { packaged, base, video: videos, audio, ends }))
    }
}

impl Packaged {
    /// The video renditions that every player decodes, smallest first.
    fn sequence_video(&self, max: Resolution) -> Vec<SequenceVideo> {
        let Some((_, video)) = self.index.video() else { return Vec::new() };
        let size_of = |(width, height)| Resolution::of_size(width, height);
        let mut videos: Vec<SequenceVideo> = Vec::new();
        let is_plain = VideoRange::of(video.transfer) == VideoRange::Sdr
            && video.codec.starts_with(UNIVERSAL_CODEC_PREFIX);
        if is_plain && self.is_video_copied(max) && !self.index.plan.video.is_empty() {
            videos.push(SequenceVideo {
                rendition: Rendition::Video,
                size: size_of(video.display_size()),
                rate: self.rates().video,
                codec: video.codec.clone(),
                resolution: video.display_size(),
                frame_rate: video.frame_rate,
            });
        }
        videos.extend(self.ladder(max).iter().map(|RungBandwidth { rung, rate }| SequenceVideo {
            rendition: Rendition::Rung(rung.name),
            size: size_of((rung.width, rung.height)),
            rate: *rate,
            codec: rung.codec.clone(),
            resolution: (rung.width, rung.height),
            frame_rate: rung.frame_rate,
        }));
        videos.sort_by_key(|candidate| candidate.size);
        videos
    }

    /// The rendition of the default audio track that plays everywhere, with its gain.
    pub(crate) fn sequence_audio(&self, levels: &[Option<AudioGain>]) -> Option<SequenceAudio> {
        let (default, _) = self.index.audio()?;
        let mut tracks = self.index.audio_tracks().enumerate();
        let (number, (_, audio)) =
            tracks.find(|(_, (track, _))| track.source_track == default.source_track)?;
        let audio_number = u8::try_from(number).ok()?;
        let audio_rendition = audio_renditions(&self.index, false).get(number).copied()?;
        let gain = levels.get(number).copied().flatten();
        if audio_rendition.is_encoded || gain.is_some() {
            let rendition = EncodedAudio { track: audio_number, gain }.rendition();
            return Some(SequenceAudio {
                rendition,
                rate: Bandwidth::ENCODED_AUDIO,
                codec: ENCODED_AUDIO_CODEC.to_owned(),
            });
        }
        // AAC: everything else is encoded, unless it is too long for that.
        (audio_rendition.is_copied && audio.codec.starts_with("mp4a.")).then(|| SequenceAudio {
            rendition: Rendition::Audio(audio_number),
            rate: self.rates().aac,
            codec: audio.codec.clone(),
        })
    }

    /// The segments of a rendition, and the timescale of their times.
    fn segments_of(&self, rendition: Rendition) -> (u32, Vec<Segment>) {
        let Ok(track) = self.track(rendition) else { return (1, Vec::new()) };
        match rendition {
            Rendition::Aac(number) | Rendition::Levelled { audio: number, .. } => {
                (ENCODED_AUDIO_RATE, encoded_audio_times(&self.index, usize::from(number)))
            }
            Rendition::Rung(_) => (track.timescale, self.index.plan.encoded_video.clone()),
            _ => (track.timescale, self.index.segments(track).to_vec()),
        }
    }
}

/// A time in a source, in frames of the grid of fillers, and in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EndTime {
    /// The first frame that begins at or after it.
    frame: u64,
    us: u64,
}

impl EndTime {
    const FRAME_US: (u64, u64) = (ENCODED_AUDIO_FRAME as u64 * 1_000_000, ENCODED_AUDIO_RATE as u64);

    fn of((timescale, segments): &(u32, Vec<Segment>)) -> Option<Self> {
        let ticks = u128::try_from(segments.last()?.end).ok()?;
        let timescale = u128::from(*timescale).max(1);
        let frame =
            (ticks * u128::from(ENCODED_AUDIO_RATE)).div_ceil(timescale * u128::from(ENCODED_AUDIO_FRAME));
        let us = (ticks * 2_000_000 + timescale) / (2 * timescale);
        Some(Self { frame: u64::try_from(frame).ok()?, us: u64::try_from(us).ok()? })
    }

    fn of_frame(frame: u64) -> Self {
        let (us, frames) = Self::FRAME_US;
        Self { frame, us: frame.saturating_mul(us) / frames }
    }
}

/// The duration of a source, and of each part of it.
#[derive(Debug, Clone, Copy)]
struct EndTimes {
    video: Option<EndTime>,
    audio: Option<EndTime>,
    whole: EndTime,
}

impl EndTimes {
    fn of(packaged: &Packaged, video: Option<&SequenceVideo>, audio: Option<&SequenceAudio>) -> Self {
        let video_end = video.and_then(|video| EndTime::of(&packaged.segments_of(video.rendition)));
        let audio_end = audio.and_then(|audio| EndTime::of(&packaged.segments_of(audio.rendition)));
        let whole = match (video_end, audio_end) {
            (Some(video), Some(audio)) if video.us + AUDIO_TAIL_MIN_US <= audio.us => {
                EndTime::of_frame(audio.frame)
            }
            (Some(video), _) => video,
            (None, end) => EndTime::of_frame(end.map_or(0, |audio| audio.frame)),
        };
        Self { video: video_end, audio: audio_end, whole }
    }
}

impl SequenceItem {
    /// The video rendition that fits a size best: the largest that is not larger, else the smallest.
    fn best_video(&self, size: Resolution) -> Option<&SequenceVideo> {
        self.video.iter().rev().find(|video| video.size <= size).or(self.video.first())
    }

    /// The number of segments of the rendition with most of them.
    fn segment_count(&self) -> usize {
        let video_renditions = self.video.iter().map(|video| video.rendition);
        let all = video_renditions.chain(self.audio.as_ref().map(|audio| audio.rendition));
        let fillers = Filler::segments(0, self.ends.whole.frame).len();
        all.map(|rendition| self.packaged.segments_of(rendition).1.len()).max().unwrap_or(0).max(fillers)
    }
}

impl Sequence {
    /// Appends a source. `false` if there are too many segments, and it is left out.
    pub fn push(&mut self, item: SequenceItem) -> bool {
        let count = self.segment_count.saturating_add(item.segment_count());
        let has_room = count <= SEGMENTS_MAX;
        if has_room {
            self.segment_count = count;
            self.items.push(item);
        }
        has_room
    }

    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The sizes that players choose from, smallest first; none if no source has video.
    pub fn sizes(&self) -> Vec<Resolution> {
        let all = self.items.iter().flat_map(|item| &item.video);
        let mut sizes: Vec<_> = all.map(|video| video.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn has_audio(&self) -> bool {
        self.items.iter().any(|item| item.audio.is_some())
    }

    /// The multivariant playlist. `uri` gives the address of the playlist of a size, or of the audio without
    /// one.
    pub fn multivariant(&self, uri: impl Fn(Option<Resolution>) -> String) -> String {
        let sizes = self.sizes();
        let audio_bandwidth = self.has_audio().then(|| self.audio_rate());
        let mut variants: Vec<Variant> =
            sizes.iter().rev().map(|size| self.variant(*size, audio_bandwidth, uri(Some(*size)))).collect();
        if variants.is_empty() {
            variants.push(Variant {
                uri: uri(None),
                rate: audio_bandwidth.unwrap_or_default(),
                codecs: self.codecs(None),
                resolution: None,
                frame_rate: None,
                video_range: None,
                audio: None,
            });
        }
        let has_group = !sizes.is_empty() && self.has_audio();
        let audio = has_group.then(|| AudioRendition {
            group: AUDIO_GROUP,
            uri: uri(None),
            codec: ENCODED_AUDIO_CODEC.to_owned(),
            language: None,
            name: AUDIO_NAME.to_owned(),
            channels: 2,
            is_default: true,
            is_autoselected: true,
            describes_video: false,
        });
        let copies = self
            .items
            .iter()
            .filter(|item| item.video.iter().any(|video| video.rendition == Rendition::Video));
        let has_open_segments = copies.into_iter().any(|item| item.packaged.rates().has_open_segments);
        MultivariantPlaylist {
            audio: audio.into_iter().collect(),
            subtitles: Vec::new(),
            variants,
            iframes: None,
            has_independent_segments: !has_open_segments,
        }
        .render()
    }

    fn variant(&self, size: Resolution, audio_bandwidth: Option<Bandwidth>, uri: String) -> Variant {
        let videos = || self.items.iter().filter_map(|item| item.best_video(size));
        let largest = videos().max_by_key(|video| {
            let (width, height) = video.resolution;
            u64::from(width) * u64::from(height)
        });
        let frame_rate_max = videos()
            .filter_map(|video| video.frame_rate)
            .max_by(|a, b| (u64::from(a.0) * u64::from(b.1)).cmp(&(u64::from(b.0) * u64::from(a.1))));
        let rate = self.rate(|item| item.best_video(size).map(|video| video.rate));
        Variant {
            uri,
            rate: audio_bandwidth.map_or(rate, |bandwidth| rate.plus(bandwidth)),
            codecs: self.codecs(Some(size)),
            resolution: largest.map(|video| video.resolution),
            frame_rate: frame_rate_max,
            video_range: Some(VideoRange::Sdr),
            audio: audio_bandwidth.map(|_| AUDIO_GROUP),
        }
    }

    fn audio_rate(&self) -> Bandwidth {
        self.rate(|item| item.audio.as_ref().map(|audio| audio.rate))
    }

    /// The peak rate of all sources, and the average over the total time; fillers add almost nothing.
    fn rate(&self, rate: impl Fn(&SequenceItem) -> Option<Bandwidth>) -> Bandwidth {
        let (mut peak, mut bits, mut us) = (0, 0_u128, 0_u128);
        for item in &self.items {
            let length = u128::from(item.ends.whole.us);
            us += length;
            if let Some(rate) = rate(item) {
                peak = rate.peak.max(peak);
                bits += u128::from(rate.average) * length;
            }
        }
        Bandwidth { peak, average: u64::try_from(bits.div_ceil(us.max(1))).unwrap_or(u64::MAX) }
    }

    /// RFC 6381 strings of all codecs in a variant, each once.
    fn codecs(&self, size: Option<Resolution>) -> Vec<String> {
        let mut codecs: Vec<String> = Vec::new();
        let mut add = |codec: &str| {
            if codecs.iter().all(|other| other != codec) {
                codecs.push(codec.to_owned());
            }
        };
        if let Some(size) = size {
            let videos = || self.items.iter().map(|item| item.best_video(size));
            // Players that read only the first codec see that of the largest size.
            let largest = videos().flatten().max_by_key(|video| video.size);
            largest.into_iter().chain(videos().flatten()).for_each(|video| add(&video.codec));
            if self.items.iter().any(SequenceItem::needs_black_video) {
                add(BLACK_CODEC);
            }
        }
        if self.has_audio() {
            let audio_tracks = self.items.iter().map(|item| item.audio.as_ref());
            audio_tracks
                .for_each(|audio| add(audio.map_or(ENCODED_AUDIO_CODEC, |track| track.codec.as_str())));
        }
        codecs
    }

    /// The media playlist of a size; `None` if it is not offered. `filler` gives the addresses of the files
    /// of fillers.
    pub fn video_playlist(
        &self,
        size: Resolution,
        filler: impl Fn(Filler, Option<&Segment>) -> String,
    ) -> Option<String> {
        if !self.sizes().contains(&size) {
            return None;
        }
        let mut playlist = ConcatPlaylist::default();
        for item in &self.items {
            playlist.begin();
            let EndTimes { video: video_end, whole, .. } = item.ends;
            if let Some(video) = item.best_video(size) {
                let until = if item.needs_black_video() { video_end.unwrap_or(whole) } else { whole };
                push_rendition(&mut playlist, item, video.rendition, until);
            }
            if item.needs_black_video() {
                let first = video_end.map_or(0, |end| end.frame);
                push_filler(&mut playlist, Filler::Black, first..whole.frame, whole, &filler);
            }
        }
        Some(playlist.render())
    }

    /// The media playlist of the audio; `None` without any.
    pub fn audio_playlist(&self, filler: impl Fn(Filler, Option<&Segment>) -> String) -> Option<String> {
        if !self.has_audio() {
            return None;
        }
        let mut playlist = ConcatPlaylist::default();
        for item in &self.items {
            playlist.begin();
            let EndTimes { audio: audio_end, whole, .. } = item.ends;
            let first = audio_end.map_or(0, |end| end.frame);
            // A gap of less than a whole frame is not audible.
            let is_filled = EndTime::of_frame(first + 1).us <= whole.us;
            if let Some(audio) = &item.audio {
                let until = if is_filled { audio_end.unwrap_or(whole) } else { whole };
                push_rendition(&mut playlist, item, audio.rendition, until);
            }
            if is_filled {
                push_filler(&mut playlist, Filler::Silence, first..whole.frame, whole, &filler);
            }
        }
        Some(playlist.render())
    }
}

impl SequenceItem {
    /// Whether it is longer than its video.
    fn needs_black_video(&self) -> bool {
        let EndTimes { video: video_end, whole, .. } = self.ends;
        video_end.is_none_or(|end| end.us < whole.us)
    }
}

fn push_rendition(playlist: &mut ConcatPlaylist, item: &SequenceItem, rendition: Rendition, until: EndTime) {
    let base = format!("{}{rendition}/", item.base);
    let (timescale, segments) = item.packaged.segments_of(rendition);
    playlist.push(&format!("{base}init.mp4"), (timescale, &segments), until.us, |text, number| {
        text.push_str(&format!("{base}{number}.m4s"));
    });
}

fn push_filler(
    playlist: &mut ConcatPlaylist,
    filler: Filler,
    frames: std::ops::Range<u64>,
    until: EndTime,
    uri: &impl Fn(Filler, Option<&Segment>) -> String,
) {
    let segments = Filler::segments(frames.start, frames.end);
    playlist.push(&uri(filler, None), (ENCODED_AUDIO_RATE, &segments), until.us, |text, number| {
        text.push_str(
            &segments.get(number as usize).map(|segment| uri(filler, Some(segment))).unwrap_or_default(),
        );
    });
}

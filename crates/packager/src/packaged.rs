//! One presentation for players: its index and the playlists and init segments derived from it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, Resolution, SourceId};
use kinora_engine::IMAGE_SIDE_MAX;
use kinora_formats::encode::{
    encoded_audio_init, encoded_audio_segment_count, encoded_audio_segment_samples, encoded_audio_times,
    ladder,
};
use kinora_hls::{
    Bandwidth, CopyBandwidths, Discontinuity, FileEncryption, MediaPlaylist, MediaPlaylistRef,
    MultivariantPlaylist, RungBandwidth, VariantInput, audio_renditions,
};
use kinora_index::{
    ENCODED_AUDIO_RATE, Index, IndexId, Rung, RungName, SampleObject, SampleObjectKind,
    Segment as PlannedSegment, Track,
};
use kinora_isobmff::write::{iframes, init_segment};

use crate::{Error, Rendition};

/// An index with everything derived from it. All of it is a pure function of the index, so it never becomes
/// stale.
#[derive(Debug)]
pub struct Packaged {
    pub(crate) presentation: PresentationId,
    pub(crate) index: Index,
    /// The objects of the index, by their numbers.
    pub(crate) objects: Arc<[ObjectKey]>,
    id: IndexId,
    stored_len: usize,
    /// Rates are bounds over every sample, so they are computed once.
    rates: OnceLock<CopyBandwidths>,
    video: RenditionCache,
    /// The keyframes of the copied video that the playlist lists.
    iframes: OnceLock<Vec<PlannedSegment>>,
    iframe_rate: OnceLock<Option<Bandwidth>>,
    /// The rungs for each [`Resolution::ALL`] as the upper limit.
    ladders: [OnceLock<Vec<RungBandwidth>>; Resolution::ALL.len()],
    iframe_playlist: OnceLock<Bytes>,
    /// The playlist of every rung; only their addresses differ.
    rung_playlist: OnceLock<Bytes>,
    /// One for each audio track.
    audio: Vec<RenditionCache>,
    /// The playlist of the encoded renditions of each audio track: a gain changes nothing in it.
    encoded_audio_playlists: Vec<OnceLock<Bytes>>,
}

#[derive(Debug, Default)]
struct RenditionCache {
    playlist: OnceLock<Bytes>,
    /// Init segment of the first configuration; those of others are made each time.
    init: OnceLock<Bytes>,
}

impl Packaged {
    pub(crate) fn read(presentation: PresentationId, bytes: &[u8]) -> Result<Self, Error> {
        let index = Index::from_bytes(bytes).map_err(|error| Error::Damaged(Box::new(error)))?;
        Ok(Self {
            presentation,
            objects: index.objects.iter().map(|object| object_key(object, presentation)).collect(),
            id: IndexId::of_bytes(bytes),
            stored_len: bytes.len(),
            rates: OnceLock::new(),
            video: RenditionCache::default(),
            iframes: OnceLock::new(),
            iframe_rate: OnceLock::new(),
            ladders: Default::default(),
            iframe_playlist: OnceLock::new(),
            rung_playlist: OnceLock::new(),
            audio: index.audio_tracks().map(|_| RenditionCache::default()).collect(),
            encoded_audio_playlists: index.audio_tracks().map(|_| OnceLock::new()).collect(),
            index,
        })
    }

    /// The index of the source.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Id of the index. Every address below a playback ID has it, so that a replaced source has new
    /// addresses.
    pub fn id(&self) -> IndexId {
        self.id
    }

    /// Bytes in memory: the index takes about as much as its stored form, the playlists some tens of KiB.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.stored_len.saturating_mul(2)).unwrap_or(u32::MAX)
    }

    /// The track that a rendition is made from. Errors: [`Error::NotListed`].
    pub(crate) fn track(&self, rendition: Rendition) -> Result<&Track, Error> {
        let track = match rendition {
            Rendition::Video | Rendition::IFrames | Rendition::Rung(_) => {
                self.index.video().map(|(track, _)| track)
            }
            Rendition::Audio(number) | Rendition::Aac(number) | Rendition::Levelled { audio: number, .. } => {
                self.index.audio_tracks().nth(number.into()).map(|(track, _)| track)
            }
        };
        track.ok_or(Error::NotListed)
    }

    /// The number of segments of the encoded rendition of an audio track.
    pub(crate) fn aac_segment_count(&self, audio: u8) -> u32 {
        encoded_audio_segment_count(&self.index, audio.into())
    }

    /// Default size of a thumbnail in pixels: the display size, with no side longer than
    /// [`IMAGE_SIDE_MAX`]. `None` for audio only.
    pub fn default_image_size(&self) -> Option<(u32, u32)> {
        let (width, height) = self.index.video()?.1.display_size();
        let longest = u64::from(width.max(height).max(IMAGE_SIDE_MAX));
        let side = |side: u32| u64::from(side) * u64::from(IMAGE_SIDE_MAX) / longest;
        let side = |length| u32::try_from(side(length)).unwrap_or(IMAGE_SIDE_MAX).max(1);
        if longest == u64::from(IMAGE_SIDE_MAX) {
            Some((width, height))
        } else {
            Some((side(width), side(height)))
        }
    }

    /// The end of the video on the common timeline, in milliseconds from 0. `None` for audio only.
    pub fn video_end_ms(&self) -> Option<u64> {
        let (track, _) = self.index.video()?;
        let end = u128::try_from(track.end).unwrap_or(0) * 1000 / u128::from(track.timescale.max(1));
        Some(u64::try_from(end).unwrap_or(u64::MAX))
    }

    /// Segments of each rung.
    pub(crate) fn rung_segment_count(&self) -> u32 {
        u32::try_from(self.index.plan.encoded_video.len()).unwrap_or(u32::MAX)
    }

    /// The number of segments of an encoded rendition; `None` for a copy.
    pub fn encoded_segment_count(&self, rendition: Rendition) -> Option<u32> {
        match rendition {
            Rendition::Rung(_) => Some(self.rung_segment_count()),
            Rendition::Aac(audio) | Rendition::Levelled { audio, .. } => Some(self.aac_segment_count(audio)),
            Rendition::Video | Rendition::IFrames | Rendition::Audio(_) => None,
        }
    }

    /// Whether the playlist of an encoded rendition lists segment `number`.
    pub fn is_listed(&self, rendition: Rendition, number: u32) -> bool {
        self.encoded_segment_count(rendition).is_some_and(|count| number < count)
    }

    /// Duration of a segment in microseconds. It is 0 for segments that no playlist lists, and for single
    /// keyframes, which are not played.
    pub fn segment_duration_us(&self, rendition: Rendition, number: u32) -> u64 {
        let Ok(track) = self.track(rendition) else { return 0 };
        let number = number as usize;
        let (ticks, timescale) = match rendition {
            Rendition::Video | Rendition::Audio(_) => {
                (self.index.segments(track).get(number).map(PlannedSegment::duration), track.timescale)
            }
            Rendition::Rung(_) => {
                (self.index.plan.encoded_video.get(number).map(PlannedSegment::duration), track.timescale)
            }
            Rendition::Aac(audio) | Rendition::Levelled { audio, .. } => {
                (encoded_audio_segment_samples(&self.index, audio.into(), number), ENCODED_AUDIO_RATE)
            }
            Rendition::IFrames => (None, track.timescale),
        };
        let us = u128::from(ticks.unwrap_or(0)) * 1_000_000 / u128::from(timescale.max(1));
        u64::try_from(us).unwrap_or(u64::MAX)
    }

    /// The rungs that players are offered up to `max`, largest first.
    pub fn rungs(&self, max: Resolution) -> Vec<Rung> {
        self.ladder(max).iter().map(|rated| rated.rung.clone()).collect()
    }

    /// As [`Packaged::rungs`], each with its rate.
    pub(crate) fn ladder(&self, max: Resolution) -> &[RungBandwidth] {
        self.ladders[max as usize].get_or_init(|| {
            if self.index.plan.encoded_video.is_empty() {
                return Vec::new();
            }
            let rungs = ladder(&self.index, max.lines()).into_iter();
            rungs.map(|rung| RungBandwidth::new(&self.index, rung)).collect()
        })
    }

    /// The rung of this name. Errors: [`Error::NotListed`] for one that is not offered.
    pub fn rung(&self, name: RungName, max: Resolution) -> Result<Rung, Error> {
        let rated = self.ladder(max).iter().find(|rated| rated.rung.name == name).ok_or(Error::NotListed)?;
        Ok(rated.rung.clone())
    }

    /// The rung that players begin with; `None` where they begin with the copy, and without rungs.
    pub fn start_rung(&self, max: Resolution) -> Option<Rung> {
        let rungs: Vec<&RungBandwidth> = self.ladder(max).iter().collect();
        let input = VariantInput {
            rates: self.rates(),
            copies_video: self.is_video_copied(max),
            rungs: &rungs,
            encodes_audio: true,
            ..VariantInput::default()
        };
        let MediaPlaylistRef::Rung(name) = MultivariantPlaylist::start_rendition(&self.index, &input)? else {
            return None;
        };
        self.rung(name, max).ok()
    }

    /// Whether players are offered a copy of the video up to `max`. C-32.
    pub fn is_video_copied(&self, max: Resolution) -> bool {
        self.index.video().is_some_and(|(_, video)| {
            let (width, height) = video.display_size();
            video.not_copied.is_none() && Resolution::of_size(width, height) <= max
        })
    }

    /// Whether one decoder configuration serves all of a copied rendition. Files in one piece have one
    /// sample entry, so they need such a rendition.
    pub(crate) fn has_one_configuration(&self, rendition: Rendition) -> bool {
        self.track(rendition)
            .is_ok_and(|track| track.configurations.is_empty() && track.edit_points.is_empty())
    }

    /// Whether players are offered this audio track encoded, because its copy does not play everywhere.
    pub fn is_audio_encoded(&self, number: u8) -> bool {
        audio_renditions(&self.index, false).get(usize::from(number)).is_some_and(|audio| audio.is_encoded)
    }

    pub(crate) fn rates(&self) -> CopyBandwidths {
        *self.rates.get_or_init(|| CopyBandwidths::of(&self.index))
    }

    /// The keyframes of the copied video that the playlist lists; none without a copy.
    pub(crate) fn iframes(&self) -> &[PlannedSegment] {
        self.iframes.get_or_init(|| iframes(&self.index))
    }

    /// Rates of these keyframes alone; `None` without them.
    pub(crate) fn iframe_rate(&self) -> Option<Bandwidth> {
        *self.iframe_rate.get_or_init(|| {
            let (track, _) = self.index.video().filter(|_| !self.iframes().is_empty())?;
            Some(Bandwidth::of(track, self.iframes()))
        })
    }

    /// The media playlist of a rendition, with addresses relative to it: `init.mp4`, `0.m4s`.
    ///
    /// Errors: [`Error::NotListed`] for a rendition the source does not have.
    pub fn playlist(&self, rendition: Rendition) -> Result<Bytes, Error> {
        let text = match rendition {
            Rendition::Rung(_) => &self.rung_playlist,
            Rendition::IFrames => &self.iframe_playlist,
            Rendition::Aac(audio) | Rendition::Levelled { audio, .. } => {
                self.encoded_audio_playlists.get(usize::from(audio)).ok_or(Error::NotListed)?
            }
            Rendition::Video | Rendition::Audio(_) => &self.rendition_cache(rendition)?.playlist,
        };
        if let Some(text) = text.get() {
            return Ok(text.clone());
        }
        let (timescale, segments) = self.listed_segments(rendition)?;
        let discontinuities = self.discontinuities(rendition, &segments);
        let playlist = MediaPlaylist {
            timescale,
            segments: &segments,
            init_uri: INIT_URI,
            discontinuities: &discontinuities,
        };
        let rendered = match rendition {
            Rendition::IFrames => playlist.render_iframes(segment_uri),
            _ => playlist.render(segment_uri),
        };
        Ok(text.get_or_init(|| Bytes::from(rendered)).clone())
    }

    /// As [`Self::playlist`], for encrypted segments. Made each time, because it differs for each key.
    pub fn encrypted_playlist(
        &self,
        rendition: Rendition,
        encryption: FileEncryption<'_>,
    ) -> Result<Bytes, Error> {
        let (timescale, segments) = self.listed_segments(rendition)?;
        let discontinuities = self.discontinuities(rendition, &segments);
        let playlist = MediaPlaylist {
            timescale,
            segments: &segments,
            init_uri: INIT_URI,
            discontinuities: &discontinuities,
        };
        Ok(Bytes::from(match rendition {
            Rendition::IFrames => playlist.render_encrypted_iframes(encryption, segment_uri),
            _ => playlist.render_encrypted(encryption, segment_uri),
        }))
    }

    /// The discontinuities among the segments of a rendition. Encoded renditions have none.
    fn discontinuities(&self, rendition: Rendition, segments: &[PlannedSegment]) -> Vec<Discontinuity> {
        let track = if rendition.is_encoded() { None } else { self.track(rendition).ok() };
        let mut last_configuration = 0;
        let starts = track.map_or_else(Vec::new, |track| track.part_starts(segments));
        let discontinuities = starts.into_iter().map(|(segment, configuration)| {
            let is_changed = std::mem::replace(&mut last_configuration, configuration) != configuration;
            Discontinuity { segment, init_uri: is_changed.then(|| init_name(configuration)) }
        });
        discontinuities.collect()
    }

    /// The segments that the playlist of a rendition lists, at least one, and the timescale of their times.
    fn listed_segments(&self, rendition: Rendition) -> Result<(u32, Cow<'_, [PlannedSegment]>), Error> {
        let track = self.track(rendition)?;
        let (timescale, segments) = match rendition {
            Rendition::Aac(audio) | Rendition::Levelled { audio, .. } => {
                (ENCODED_AUDIO_RATE, Cow::Owned(encoded_audio_times(&self.index, audio.into())))
            }
            Rendition::Rung(_) => (track.timescale, Cow::Borrowed(self.index.plan.encoded_video.as_slice())),
            Rendition::IFrames => (track.timescale, Cow::Borrowed(self.iframes())),
            Rendition::Video | Rendition::Audio(_) => {
                (track.timescale, Cow::Borrowed(self.index.segments(track)))
            }
        };
        if segments.is_empty() { Err(Error::NotListed) } else { Ok((timescale, segments)) }
    }

    /// The init segment of a configuration of a copied rendition, or of encoded audio, which has one.
    ///
    /// Errors: [`Error::NotListed`] for an init segment that no playlist names.
    pub fn init(&self, rendition: Rendition, configuration: u8) -> Result<Bytes, Error> {
        if let Rendition::Aac(audio) | Rendition::Levelled { audio, .. } = rendition {
            let init = encoded_audio_init(&self.index, audio.into());
            return init
                .filter(|_| self.aac_segment_count(audio) > 0 && configuration == 0)
                .map(Bytes::from)
                .ok_or(Error::NotListed);
        }
        let track = self.track(rendition)?;
        let cache = self.rendition_cache(rendition)?;
        if track.configurations.len() < usize::from(configuration) {
            return Err(Error::NotListed);
        }
        if let Some(bytes) = cache.init.get().filter(|_| configuration == 0) {
            return Ok(bytes.clone());
        }
        let bytes = init_segment(&self.index, track, configuration);
        let bytes = bytes.map_err(|error| Error::Damaged(Box::new(error)))?;
        if configuration != 0 {
            return Ok(Bytes::from(bytes));
        }
        Ok(cache.init.get_or_init(|| Bytes::from(bytes)).clone())
    }

    fn rendition_cache(&self, rendition: Rendition) -> Result<&RenditionCache, Error> {
        match rendition {
            // A single keyframe is decoded like any other.
            Rendition::Video | Rendition::IFrames => Ok(&self.video),
            Rendition::Audio(number) => self.audio.get(usize::from(number)).ok_or(Error::NotListed),
            Rendition::Rung(_) | Rendition::Aac(_) | Rendition::Levelled { .. } => Err(Error::NotListed),
        }
    }
}

/// The object that an index of this presentation names.
pub fn object_key(object: &SampleObject, presentation: PresentationId) -> ObjectKey {
    let named = object.source.map(SourceId::from_bytes);
    let source = named.unwrap_or(presentation.whole_source());
    match object.kind {
        SampleObjectKind::Source => ObjectKey::Source(source),
        SampleObjectKind::Remuxed(_) => ObjectKey::Normalised(source),
        SampleObjectKind::Audio { .. } => ObjectKey::Audio(source),
    }
}

/// Relative to the playlist.
const INIT_URI: &str = "init.mp4";

/// The file name of the init segment of a configuration of a track, counted from 0.
pub fn init_name(configuration: u8) -> String {
    if configuration == 0 { INIT_URI.to_owned() } else { format!("init-{configuration}.mp4") }
}

/// Parses the file name of an init segment to its configuration. Each has one spelling.
pub fn init_from_name(name: &str) -> Option<u8> {
    if name == INIT_URI {
        return Some(0);
    }
    let configuration = name.strip_prefix("init-")?.strip_suffix(".mp4")?.parse().ok()?;
    (init_name(configuration) == name).then_some(configuration)
}

fn segment_uri(text: &mut String, number: u32) {
    // Writing to a String cannot fail.
    let _ = write!(text, "{number}.m4s");
}

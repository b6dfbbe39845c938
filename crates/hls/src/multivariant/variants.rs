//! Selection and order of the renditions of a multivariant playlist.

use kinora_index::{Index, RungName, TrackMedia, VideoTrack, rung_name_of_size};

use super::{
    IFrameVariant, MultivariantPlaylist, Variant, VideoRange,
    audio_groups::{AUDIO_GROUP, AudioGroupBuilder, AudioRendition, COPIES_GROUP},
};
use crate::{
    rate::{Bandwidth, CopyBandwidths},
    rung_bandwidth::RungBandwidth,
};

/// The highest BANDWIDTH of a variant that players begin with, in bits a second.
///
/// hls.js 1.7 starts with an estimate of the rate of the first variant, and at most this one
/// (`abrEwmaDefaultEstimateMax`). It begins with the largest variant within it (D-0119).
const START_BANDWIDTH_MAX: u64 = 5_000_000;
/// The smallest rung that a busy server still encodes: smaller ones serve few viewers.
const BUSY_RUNG_MIN: RungName = RungName::P360;

/// The available renditions of a source, and the selection of the viewer.
#[derive(Debug, Clone, Copy, Default)]
pub struct VariantInput<'a> {
    /// Rates of the copies of the same index.
    pub rates: CopyBandwidths,
    /// The copied video may be listed: it decodes, and is within the limits.
    pub copies_video: bool,
    /// Encoded renditions of the video, largest first.
    pub rungs: &'a [&'a RungBandwidth],
    /// Audio can be encoded: audio that does not play everywhere is listed as AAC.
    pub encodes_audio: bool,
    /// Audio tracks, counted from 0 in the order of the index, whose encoded rendition cannot be made.
    pub unencodable_audio: &'a [usize],
    /// Audio tracks whose loudness is changed: they are listed encoded, and never as a copy. Their encoded
    /// rendition can be made.
    pub levelled_audio: &'a [usize],
    /// Audio from files of its own, listed after that of the source.
    pub added_audio: &'a [AddedAudio],
    /// Rates of the keyframes of the copy, if they have a playlist.
    pub iframes: Option<Bandwidth>,
    /// Selection of the viewer.
    pub filter: VariantFilter,
    /// Encodes as little as possible: lists the copy and one rung.
    pub is_busy: bool,
}

/// Audio that was added to a media and is not part of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedAudio {
    /// BCP 47 tag, as a client wrote it.
    pub language_code: String,
    /// Name that a client gave.
    pub name: String,
    /// Address of the playlist, without quotes or line ends.
    pub uri: String,
    /// RFC 6381 string.
    pub codec: String,
    /// Number of channels.
    pub channels: u32,
    /// Bit rate.
    pub rate: Bandwidth,
}

/// Selection of the viewer: the query of a playback address. C-176.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VariantFilter {
    /// Lower limit of the p-number.
    pub min_p: Option<u32>,
    /// Upper limit of the p-number.
    pub max_p: Option<u32>,
    /// This p-number only.
    pub only_p: Option<u32>,
    /// Order by size; `None`: the best one for players, which begin with the first.
    pub order: Option<SizeOrder>,
}

/// By rising or falling size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeOrder {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

/// A media playlist whose address is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaPlaylistRef {
    /// The copied video.
    Video,
    /// The keyframes of the copied video.
    IFrames,
    /// An encoded rendition of the video.
    Rung(RungName),
    /// The copy of an audio track, by its position among those of the index.
    Audio(usize),
    /// The encoded rendition of an audio track.
    EncodedAudio(usize),
}

/// A variant before the final order.
struct Candidate {
    variant: Variant,
    media_playlist: MediaPlaylistRef,
    /// Its p-number.
    lines: u32,
    /// Its rung; `None` for copies.
    rung: Option<RungName>,
}

impl MultivariantPlaylist {
    /// The playlist of a source. `uri` gives addresses, absolute or relative to this playlist, without
    /// quotes or line ends.
    ///
    /// Same arguments, same text. It has no variants if the selection matches none.
    pub fn build(index: &Index, input: &VariantInput<'_>, uri: &dyn Fn(MediaPlaylistRef) -> String) -> Self {
        let Some((_, video)) = index.video() else { return Self::build_audio(index, input, uri) };
        let main_group = AudioGroupBuilder::playable_everywhere(index, input, uri);
        let is_copied = input.can_list_copy(index, video);
        let copies = if is_copied { AudioGroupBuilder::copies(index, input, uri) } else { None };
        let candidates = candidates(index, input, video, &main_group, copies.as_ref(), uri);

        let lists_copy = candidates.iter().any(|candidate| candidate.rung.is_none());
        let lists_copies = candidates.iter().any(|candidate| candidate.variant.audio == Some(COPIES_GROUP));
        let copies = copies.filter(|_| lists_copies).map_or_else(Vec::new, |group| group.renditions);
        let iframes = input.iframes.filter(|_| lists_copy).map(|rate| IFrameVariant {
            uri: uri(MediaPlaylistRef::IFrames),
            rate,
            codec: video.codec.clone(),
            resolution: video.display_size(),
            video_range: VideoRange::of(video.transfer),
        });
        Self {
            audio: [main_group.renditions, copies].concat(),
            subtitles: Vec::new(),
            variants: candidates.into_iter().map(|candidate| candidate.variant).collect(),
            iframes,
            has_independent_segments: !(lists_copy && input.rates.has_open_segments),
        }
    }

    /// The rendition that players begin with: that of the first variant. `None` without a video, and if the
    /// selection matches none.
    pub fn start_rendition(index: &Index, input: &VariantInput<'_>) -> Option<MediaPlaylistRef> {
        let (_, video) = index.video()?;
        let uri = |_| String::new();
        let main_group = AudioGroupBuilder::playable_everywhere(index, input, &uri);
        let copies = input
            .can_list_copy(index, video)
            .then(|| AudioGroupBuilder::copies(index, input, &uri))
            .flatten();
        let listed = candidates(index, input, video, &main_group, copies.as_ref(), &uri);
        listed.first().map(|candidate| candidate.media_playlist)
    }

    /// The audio of a source as if it had no video; nothing without audio.
    ///
    /// The variant is the default track. If there are several, it refers to a group of all.
    pub fn build_audio(
        index: &Index,
        input: &VariantInput<'_>,
        uri: &dyn Fn(MediaPlaylistRef) -> String,
    ) -> Self {
        let group = AudioGroupBuilder::playable_everywhere(index, input, uri);
        let codecs = group.codecs(None);
        let chosen = group.renditions.iter().find(|rendition| rendition.is_default);
        let is_choice = 1 < group.renditions.len();
        let variants = chosen.map(|rendition: &AudioRendition| Variant {
            uri: rendition.uri.clone(),
            rate: group.rate,
            codecs,
            resolution: None,
            frame_rate: None,
            video_range: None,
            audio: is_choice.then_some(AUDIO_GROUP),
        });
        Self {
            variants: variants.into_iter().collect(),
            audio: if is_choice { group.renditions } else { Vec::new() },
            subtitles: Vec::new(),
            iframes: None,
            has_independent_segments: true,
        }
    }
}

/// Every listed variant of the video, in the order of the playlist.
fn candidates(
    index: &Index,
    input: &VariantInput<'_>,
    video: &VideoTrack,
    main_group: &AudioGroupBuilder,
    copies: Option<&AudioGroupBuilder>,
    uri: &dyn Fn(MediaPlaylistRef) -> String,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    if input.can_list_copy(index, video) {
        let further = index.video().map_or(&[][..], |(track, _)| &track.configurations);
        let copy = |group: &AudioGroupBuilder, name| {
            copy_candidate((video, further), input, group, name, uri(MediaPlaylistRef::Video))
        };
        candidates.push(copy(main_group, AUDIO_GROUP));
        candidates.extend(copies.map(|group| copy(group, COPIES_GROUP)));
    }
    let rung = |rated: &&RungBandwidth| {
        rung_candidate(rated, main_group, uri(MediaPlaylistRef::Rung(rated.rung.name)))
    };
    candidates.extend(input.rungs.iter().map(rung));
    candidates.retain(|candidate| input.filter.allows(candidate.lines));
    if input.is_busy {
        retain_one_rung(&mut candidates);
    }
    match input.filter.order {
        Some(order) => sort(&mut candidates, order),
        None => move_start_variant_first(&mut candidates),
    }
    candidates
}

/// `further` are the configurations of parts with another decoder configuration.
fn copy_candidate(
    (video, further): (&VideoTrack, &[TrackMedia]),
    input: &VariantInput<'_>,
    group: &AudioGroupBuilder,
    name: &'static str,
    uri: String,
) -> Candidate {
    let (width, height) = video.display_size();
    let mut codecs = group.codecs(Some(&video.codec));
    for media in further {
        if !codecs.iter().any(|codec| codec == media.codec()) {
            codecs.insert(1, media.codec().to_owned());
        }
    }
    let variant = Variant {
        uri,
        rate: input.rates.video.plus(group.rate),
        codecs,
        resolution: Some((width, height)),
        frame_rate: video.frame_rate,
        video_range: Some(VideoRange::of(video.transfer)),
        audio: (!group.renditions.is_empty()).then_some(name),
    };
    let lines = rung_name_of_size(width, height).map_or(u32::MAX, RungName::lines);
    Candidate { variant, media_playlist: MediaPlaylistRef::Video, lines, rung: None }
}

fn rung_candidate(
    RungBandwidth { rung, rate }: &RungBandwidth,
    group: &AudioGroupBuilder,
    uri: String,
) -> Candidate {
    let variant = Variant {
        uri,
        rate: rate.plus(group.rate),
        codecs: group.codecs(Some(&rung.codec)),
        resolution: Some((rung.width, rung.height)),
        frame_rate: rung.frame_rate,
        video_range: Some(VideoRange::Sdr),
        audio: (!group.renditions.is_empty()).then_some(AUDIO_GROUP),
    };
    Candidate {
        variant,
        media_playlist: MediaPlaylistRef::Rung(rung.name),
        lines: rung.name.lines(),
        rung: Some(rung.name),
    }
}

impl VariantInput<'_> {
    fn can_list_copy(&self, index: &Index, video: &VideoTrack) -> bool {
        self.copies_video && video.not_copied.is_none() && !index.plan.video.is_empty()
    }
}

impl VariantFilter {
    fn allows(&self, lines: u32) -> bool {
        self.min_p.is_none_or(|min| min <= lines)
            && self.max_p.is_none_or(|max| lines <= max)
            && self.only_p.is_none_or(|only| lines == only)
    }
}

/// Removes all rungs except the cheapest one that serves most viewers. Copies stay.
fn retain_one_rung(candidates: &mut Vec<Candidate>) {
    let names = || candidates.iter().filter_map(|candidate| candidate.rung);
    let retained = names().filter(|name| BUSY_RUNG_MIN <= *name).min().or_else(|| names().max());
    candidates.retain(|candidate| candidate.rung.is_none_or(|name| Some(name) == retained));
}

fn sort(candidates: &mut [Candidate], order: SizeOrder) {
    candidates.sort_by_key(|candidate| (candidate.lines, candidate.variant.rate.peak));
    if order == SizeOrder::Descending {
        candidates.reverse();
    }
}

/// Order: copies, then rungs from the largest on. The variant that players begin with moves to the front: the
/// copy if its BANDWIDTH is at most [`START_BANDWIDTH_MAX`], else the largest such rung, else the smallest
/// variant.
fn move_start_variant_first(candidates: &mut [Candidate]) {
    let peak = |candidate: &Candidate| candidate.variant.rate.peak;
    let key = |candidate: &Candidate| {
        if START_BANDWIDTH_MAX < peak(candidate) {
            (false, false, peak(candidate).wrapping_neg())
        } else {
            // The first copy wins: it has the audio that plays everywhere.
            (true, candidate.rung.is_none(), candidate.rung.map_or(0, |_| peak(candidate)))
        }
    };
    // The first one of equal candidates.
    let best = (0..candidates.len()).rev().max_by_key(|index| key(&candidates[*index]));
    if let Some(best) = best {
        candidates[..=best].rotate_right(1);
    }
}

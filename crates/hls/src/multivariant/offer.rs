//! Which renditions a multivariant playlist lists, and in which order.

use kinora_index::{Index, RungName, TrackMedia, VideoTrack, name_of_picture};

use super::{
    IFrameVariant, MultivariantPlaylist, Variant, VideoRange,
    audio_groups::{AUDIO_GROUP, AudioGroup, COPIES_GROUP, Group},
};
use crate::{
    rate::{CopyRates, Rate},
    rung_rate::RatedRung,
};

/// The highest BANDWIDTH of a variant that players begin with, in bits a second.
///
/// hls.js 1.7 estimates at the start what the first variant takes, and at most this
/// (`abrEwmaDefaultEstimateMax`). It begins with the largest variant that takes no more (D-0119).
const START_BANDWIDTH_MAX: u64 = 5_000_000;
/// The smallest rung that a busy server would rather make than none: smaller ones serve few.
const BUSY_RUNG_MIN: RungName = RungName::P360;

/// What there is of a source, and what of it somebody wants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offer<'a> {
    /// Rates of the copies of the same index.
    pub rates: CopyRates,
    /// The copied video may be listed: it decodes, and is within the caps.
    pub copies_video: bool,
    /// Encoded renditions of the video, largest first.
    pub rungs: &'a [&'a RatedRung],
    /// Somebody encodes audio: what does not play everywhere is listed as AAC.
    pub encodes_audio: bool,
    /// Audio tracks, counted from 0 in the order of the index, of which the encoded rendition cannot be made.
    pub broken_audio: &'a [usize],
    /// Sound from files of its own, behind that of the source.
    pub added: &'a [AddedSound],
    /// Rates of the keyframes of the copy, where they have a playlist.
    pub iframes: Option<Rate>,
    /// What a viewer asked for.
    pub choice: Choice,
    /// No more is encoded than must be: the copy and one rung.
    pub is_busy: bool,
}

/// Sound that stands beside a source and is no part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedSound {
    /// BCP 47 tag, as a client wrote it.
    pub language_code: String,
    /// What a client calls it.
    pub name: String,
    /// Address of the playlist, without quotes or line ends.
    pub uri: String,
    /// RFC 6381 string.
    pub codec: String,
    /// Number of channels.
    pub channels: u32,
    /// What it takes.
    pub rate: Rate,
}

/// What a viewer asks for: the query of a playback address. C-176.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Nothing with a smaller p-number.
    pub min_p: Option<u32>,
    /// Nothing with a larger p-number.
    pub max_p: Option<u32>,
    /// Nothing with another p-number.
    pub only_p: Option<u32>,
    /// By size; `None`: as it is best for players, which begin with the first.
    pub order: Option<Order>,
}

/// By rising or falling size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

/// A media playlist that needs an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Of the copied video.
    Video,
    /// Of the keyframes of the copied video.
    IFrames,
    /// Of an encoded rendition of the video.
    Rung(RungName),
    /// Of the copy of an audio track, by its place among those of the index.
    Audio(usize),
    /// Of the encoded rendition of an audio track.
    EncodedAudio(usize),
}

/// A variant before it is known where it stands.
struct Candidate {
    variant: Variant,
    address: Address,
    /// Its p-number.
    lines: u32,
    /// The rung it is of; none for copies.
    rung: Option<RungName>,
}

impl MultivariantPlaylist {
    /// What is offered of a source. `uri` gives addresses, absolute or relative to this playlist, without
    /// quotes or line ends.
    ///
    /// Same arguments, same text. No variants where the choice leaves none.
    pub fn offered(index: &Index, offer: &Offer<'_>, uri: &dyn Fn(Address) -> String) -> Self {
        let Some((_, video)) = index.video() else { return Self::offered_audio(index, offer, uri) };
        let everywhere = Group::everywhere(index, offer, uri);
        let is_copied = offer.copies(index, video);
        let copies = if is_copied { Group::copies(index, offer, uri) } else { None };
        let candidates = candidates(index, offer, video, &everywhere, copies.as_ref(), uri);

        let lists_copy = candidates.iter().any(|candidate| candidate.rung.is_none());
        let lists_copies = candidates.iter().any(|candidate| candidate.variant.audio == Some(COPIES_GROUP));
        let copies = copies.filter(|_| lists_copies).map_or_else(Vec::new, |group| group.renditions);
        let iframes = offer.iframes.filter(|_| lists_copy).map(|rate| IFrameVariant {
            uri: uri(Address::IFrames),
            rate,
            codec: video.codec.clone(),
            resolution: video.display_size(),
            video_range: VideoRange::of(video.transfer),
        });
        Self {
            audio: [everywhere.renditions, copies].concat(),
            subtitles: Vec::new(),
            variants: candidates.into_iter().map(|candidate| candidate.variant).collect(),
            iframes,
            has_independent_segments: !(lists_copy && offer.rates.has_open_segments),
        }
    }

    /// The rendition that players begin with: that of the first variant. `None` without a video, and where
    /// the choice leaves none.
    pub fn start(index: &Index, offer: &Offer<'_>) -> Option<Address> {
        let (_, video) = index.video()?;
        let uri = |_| String::new();
        let everywhere = Group::everywhere(index, offer, &uri);
        let copies = offer.copies(index, video).then(|| Group::copies(index, offer, &uri)).flatten();
        let listed = candidates(index, offer, video, &everywhere, copies.as_ref(), &uri);
        listed.first().map(|candidate| candidate.address)
    }

    /// The audio of a source as if it had no video; nothing without audio.
    ///
    /// The variant is the track that plays when nobody chose; a group of all stands beside it where there are
    /// several.
    pub fn offered_audio(index: &Index, offer: &Offer<'_>, uri: &dyn Fn(Address) -> String) -> Self {
        let group = Group::everywhere(index, offer, uri);
        let codecs = group.codecs(None);
        let chosen = group.renditions.iter().find(|rendition| rendition.is_default);
        let is_choice = 1 < group.renditions.len();
        let variants = chosen.map(|rendition: &AudioGroup| Variant {
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

/// Every variant of the video that is listed, in its order.
fn candidates(
    index: &Index,
    offer: &Offer<'_>,
    video: &VideoTrack,
    everywhere: &Group,
    copies: Option<&Group>,
    uri: &dyn Fn(Address) -> String,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    if offer.copies(index, video) {
        let further = index.video().map_or(&[][..], |(track, _)| &track.configurations);
        let copy = |group: &Group, name| copy((video, further), offer, group, name, uri(Address::Video));
        candidates.push(copy(everywhere, AUDIO_GROUP));
        candidates.extend(copies.map(|group| copy(group, COPIES_GROUP)));
    }
    let rung = |rated: &&RatedRung| encoded(rated, everywhere, uri(Address::Rung(rated.rung.name)));
    candidates.extend(offer.rungs.iter().map(rung));
    candidates.retain(|candidate| offer.choice.wants(candidate.lines));
    if offer.is_busy {
        keep_one_rung(&mut candidates);
    }
    match offer.choice.order {
        Some(order) => sort(&mut candidates, order),
        None => begin_with_the_best(&mut candidates),
    }
    candidates
}

/// `further` are the configurations of parts that are decoded otherwise.
fn copy(
    (video, further): (&VideoTrack, &[TrackMedia]),
    offer: &Offer<'_>,
    group: &Group,
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
        rate: offer.rates.video.with(group.rate),
        codecs,
        resolution: Some((width, height)),
        frame_rate: video.frame_rate,
        video_range: Some(VideoRange::of(video.transfer)),
        audio: (!group.renditions.is_empty()).then_some(name),
    };
    let lines = name_of_picture(width, height).map_or(u32::MAX, RungName::lines);
    Candidate { variant, address: Address::Video, lines, rung: None }
}

fn encoded(RatedRung { rung, rate }: &RatedRung, group: &Group, uri: String) -> Candidate {
    let variant = Variant {
        uri,
        rate: rate.with(group.rate),
        codecs: group.codecs(Some(&rung.codec)),
        resolution: Some((rung.width, rung.height)),
        frame_rate: rung.frame_rate,
        video_range: Some(VideoRange::Sdr),
        audio: (!group.renditions.is_empty()).then_some(AUDIO_GROUP),
    };
    Candidate { variant, address: Address::Rung(rung.name), lines: rung.name.lines(), rung: Some(rung.name) }
}

impl Offer<'_> {
    fn copies(&self, index: &Index, video: &VideoTrack) -> bool {
        self.copies_video && video.not_copied.is_none() && !index.plan.video.is_empty()
    }
}

impl Choice {
    fn wants(&self, lines: u32) -> bool {
        self.min_p.is_none_or(|min| min <= lines)
            && self.max_p.is_none_or(|max| lines <= max)
            && self.only_p.is_none_or(|only| lines == only)
    }
}

/// Copies, and of the rungs the cheapest that serves most viewers.
fn keep_one_rung(candidates: &mut Vec<Candidate>) {
    let names = || candidates.iter().filter_map(|candidate| candidate.rung);
    let kept = names().filter(|name| BUSY_RUNG_MIN <= *name).min().or_else(|| names().max());
    candidates.retain(|candidate| candidate.rung.is_none_or(|name| Some(name) == kept));
}

fn sort(candidates: &mut [Candidate], order: Order) {
    candidates.sort_by_key(|candidate| (candidate.lines, candidate.variant.rate.peak));
    if order == Order::Descending {
        candidates.reverse();
    }
}

/// Order: copies, then rungs from the largest on. The variant that players begin with moves to the front: the
/// copy if its BANDWIDTH is at most [`START_BANDWIDTH_MAX`], else the largest such rung, else the smallest
/// variant.
fn begin_with_the_best(candidates: &mut [Candidate]) {
    let peak = |candidate: &Candidate| candidate.variant.rate.peak;
    let key = |candidate: &Candidate| {
        if START_BANDWIDTH_MAX < peak(candidate) {
            (false, false, peak(candidate).wrapping_neg())
        } else {
            // Of copies the first one: it has the sound that plays everywhere.
            (true, candidate.rung.is_none(), candidate.rung.map_or(0, |_| peak(candidate)))
        }
    };
    // The first one of those that are equal.
    let best = (0..candidates.len()).rev().max_by_key(|place| key(&candidates[*place]));
    if let Some(best) = best {
        candidates[..=best].rotate_right(1);
    }
}

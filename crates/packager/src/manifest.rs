//! Multivariant playlists: the copy, the rungs, or audio only.

use std::collections::HashSet;

use kinora_domain::{AudioGain, Resolution};
use kinora_hls::{
    AddedAudio, MediaPlaylistRef, MultivariantPlaylist, RungBandwidth, VariantFilter, VariantInput,
};

use crate::{
    AddedAudioSource, AddedSubtitlesSource, EncodedAudio, Error, Packaged, Packager, Rendition, subtitles,
};

/// The renditions that a viewer selects. C-176.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenditionFilter {
    /// Lower limit of the resolution.
    pub min: Option<Resolution>,
    /// Upper limit of the resolution.
    pub max: Option<Resolution>,
    /// This resolution only.
    pub only: Option<Resolution>,
    /// Order of the renditions; `None`: the one to begin with first, then from large to small.
    pub order: Option<RenditionOrder>,
}

/// Subtitles and audio that were added to a media and go with each of its renditions.
#[derive(Debug, Clone, Copy, Default)]
pub struct AddedTracks<'a> {
    /// Added subtitles.
    pub subtitles: &'a [AddedSubtitlesSource],
    /// Added audio, each from a file of its own.
    pub audio: &'a [AddedAudioSource],
}

/// The added subtitles and audio, as a manifest lists them, and the gains of the audio of the presentation.
struct ListedTracks<'a> {
    subtitles: &'a [AddedSubtitlesSource],
    audio: Vec<AddedAudio>,
    levels: Vec<Option<AudioGain>>,
}

/// The order of the renditions of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenditionOrder {
    /// Small ones first.
    Ascending,
    /// Large ones first.
    Descending,
}

impl Packager {
    /// The multivariant playlist. `base` is the prefix of `video/playlist.m3u8`, `720p/playlist.m3u8` and so
    /// on. Nothing is larger than `max`, and `added` goes with every variant. `levels` has the gain of each
    /// audio track of the presentation; a shorter list has none for the others. A busy server offers one
    /// rung next to the copy. `None` if no selected rendition is left.
    pub async fn multivariant(
        &self,
        packaged: &Packaged,
        base: &str,
        max: Resolution,
        filter: RenditionFilter,
        added: AddedTracks<'_>,
        levels: &[Option<AudioGain>],
    ) -> Result<Option<String>, Error> {
        let broken = self.broken(packaged.presentation).await?;
        let levels = packaged.playable_levels(levels, &broken);
        let listed = self.listed_tracks(base, added, levels).await?;
        let load = self.engine.load();
        // As many runs wait as can run at once. A new viewer of a rung that is not encoded would wait for
        // two segments.
        let is_busy = load.slots <= load.waiting;
        Ok(packaged.multivariant(base, max, filter, &listed, &broken, is_busy))
    }

    /// The manifest of the audio alone, for a video that turned out not to decode; `None` without audio.
    pub async fn audio_only(
        &self,
        packaged: &Packaged,
        base: &str,
        added: AddedTracks<'_>,
        levels: &[Option<AudioGain>],
    ) -> Result<Option<String>, Error> {
        let broken = self.broken(packaged.presentation).await?;
        let levels = packaged.playable_levels(levels, &broken);
        let listed = self.listed_tracks(base, added, levels).await?;
        Ok(packaged.audio_only(base, &listed, &broken))
    }

    /// The gains that can be offered: those of renditions that are not known to be broken. The other tracks
    /// are offered as without a gain.
    pub async fn playable_levels(
        &self,
        packaged: &Packaged,
        levels: &[Option<AudioGain>],
    ) -> Result<Vec<Option<AudioGain>>, Error> {
        let broken = self.broken(packaged.presentation).await?;
        Ok(packaged.playable_levels(levels, &broken))
    }

    async fn listed_tracks<'a>(
        &self,
        base: &str,
        added: AddedTracks<'a>,
        levels: Vec<Option<AudioGain>>,
    ) -> Result<ListedTracks<'a>, Error> {
        let audio = self.added_audio(base, added.audio).await?;
        Ok(ListedTracks { subtitles: added.subtitles, audio, levels })
    }
}

impl Packaged {
    /// As [`Packager::playable_levels`]. A track that is too long to be encoded has no gain either.
    fn playable_levels(
        &self,
        levels: &[Option<AudioGain>],
        broken: &HashSet<Rendition>,
    ) -> Vec<Option<AudioGain>> {
        let playable = |(audio, gain): (u8, &Option<AudioGain>)| {
            let is_playable = |gain: &AudioGain| {
                0 < self.aac_segment_count(audio)
                    && !broken.contains(&Rendition::Levelled { audio, gain: *gain })
            };
            gain.filter(is_playable)
        };
        (0..).zip(levels).map(playable).collect()
    }

    /// As [`Packager::multivariant`].
    fn multivariant(
        &self,
        base: &str,
        max: Resolution,
        filter: RenditionFilter,
        listed: &ListedTracks<'_>,
        broken: &HashSet<Rendition>,
        is_busy: bool,
    ) -> Option<String> {
        let is_broken = |rated: &&RungBandwidth| broken.contains(&Rendition::Rung(rated.rung.name));
        let rungs: Vec<&RungBandwidth> = self.ladder(max).iter().filter(|rated| !is_broken(rated)).collect();
        let (broken_audio, levelled_audio) = (broken_audio(broken), listed.levelled_audio());
        let input = VariantInput {
            rates: self.rates(),
            copies_video: self.is_video_copied(max),
            rungs: &rungs,
            encodes_audio: true,
            unencodable_audio: &broken_audio,
            levelled_audio: &levelled_audio,
            added_audio: &listed.audio,
            iframes: self.iframe_rate(),
            filter: filter.variants(),
            is_busy,
        };
        let mut playlist = MultivariantPlaylist::build(self.index(), &input, &|address| {
            playlist_uri(base, address, &listed.levels)
        });
        if playlist.variants.is_empty() && filter == RenditionFilter::default() {
            return self.audio_only(base, listed, broken);
        }
        playlist.subtitles = subtitles::renditions(base, listed.subtitles);
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }

    /// As [`Packager::audio_only`].
    fn audio_only(
        &self,
        base: &str,
        listed: &ListedTracks<'_>,
        broken: &HashSet<Rendition>,
    ) -> Option<String> {
        let (broken_audio, levelled_audio) = (broken_audio(broken), listed.levelled_audio());
        let input = VariantInput {
            rates: self.rates(),
            encodes_audio: true,
            unencodable_audio: &broken_audio,
            levelled_audio: &levelled_audio,
            added_audio: &listed.audio,
            ..VariantInput::default()
        };
        let mut playlist = MultivariantPlaylist::build_audio(self.index(), &input, &|address| {
            playlist_uri(base, address, &listed.levels)
        });
        playlist.subtitles = subtitles::renditions(base, listed.subtitles);
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }
}

impl ListedTracks<'_> {
    /// The numbers of the tracks with a gain.
    fn levelled_audio(&self) -> Vec<usize> {
        let levels = self.levels.iter().enumerate();
        levels.filter_map(|(number, gain)| gain.map(|_| number)).collect()
    }
}

impl RenditionFilter {
    fn variants(&self) -> VariantFilter {
        let lines = |resolution: Option<Resolution>| resolution.map(Resolution::lines);
        VariantFilter {
            min_p: lines(self.min),
            max_p: lines(self.max),
            only_p: lines(self.only),
            order: self.order.map(|order| match order {
                RenditionOrder::Ascending => kinora_hls::SizeOrder::Ascending,
                RenditionOrder::Descending => kinora_hls::SizeOrder::Descending,
            }),
        }
    }
}

/// The audio tracks whose encoded rendition is in the set.
fn broken_audio(broken: &HashSet<Rendition>) -> Vec<usize> {
    let number = |rendition: &Rendition| match rendition {
        Rendition::Aac(number) => Some(usize::from(*number)),
        _ => None,
    };
    broken.iter().filter_map(number).collect()
}

/// The address of the playlist of a rendition. Encoded audio has the gain of its track.
fn playlist_uri(base: &str, address: MediaPlaylistRef, levels: &[Option<AudioGain>]) -> String {
    let track_number = |number: usize| u8::try_from(number).expect("an index has far fewer tracks");
    let rendition = match address {
        MediaPlaylistRef::Video => Rendition::Video,
        MediaPlaylistRef::IFrames => Rendition::IFrames,
        MediaPlaylistRef::Rung(name) => Rendition::Rung(name),
        MediaPlaylistRef::Audio(number) => Rendition::Audio(track_number(number)),
        MediaPlaylistRef::EncodedAudio(number) => {
            let (track, gain) = (track_number(number), levels.get(number).copied().flatten());
            EncodedAudio { track, gain }.rendition()
        }
    };
    format!("{base}{rendition}/playlist.m3u8")
}

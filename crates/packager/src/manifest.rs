//! What a player is offered: the copy, the rungs, or the sound alone.

use std::collections::HashSet;

use kinora_domain::Resolution;
use kinora_hls::{AddedSound, Address, Choice, MultivariantPlaylist, Offer, RatedRung};

use crate::{Error, OfferedSound, OfferedSubtitles, Packaged, Packager, Rendition, subtitles};

/// Which renditions a viewer wants to choose from. C-176.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// None that is smaller.
    pub min: Option<Resolution>,
    /// None that is larger.
    pub max: Option<Resolution>,
    /// This one alone.
    pub only: Option<Resolution>,
    /// In which order; `None`: the one to begin with first, then from large to small.
    pub order: Option<Order>,
}

/// What was added to a media, and stands beside every rendition of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Added<'a> {
    /// Text that is shown.
    pub subtitles: &'a [OfferedSubtitles],
    /// Sound from files of its own.
    pub sounds: &'a [OfferedSound],
}

/// The same as a manifest lists it.
struct Listed<'a> {
    subtitles: &'a [OfferedSubtitles],
    sounds: Vec<AddedSound>,
}

/// The order of the renditions of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Small ones first.
    Ascending,
    /// Large ones first.
    Descending,
}

impl Packager {
    /// What a player reads first. `base` is put in front of `video/playlist.m3u8`, `720p/playlist.m3u8` and
    /// so on; nothing is larger than `max`; what was added stands beside every one. A busy server offers one
    /// rung beside the copy. `None` where nothing is left that was wanted.
    pub async fn multivariant(
        &self,
        packaged: &Packaged,
        base: &str,
        max: Resolution,
        wanted: Wanted,
        added: Added<'_>,
    ) -> Result<Option<String>, Error> {
        let listed = self.listed(base, added).await?;
        let broken = self.broken(packaged.presentation).await?;
        let load = self.engine.load();
        // As many wait as can run: a new viewer of a cold rung would wait for two segments in front.
        let is_busy = load.places <= load.waiting;
        Ok(packaged.multivariant(base, max, wanted, &listed, &broken, is_busy))
    }

    /// The sound alone, for a video that turned out not to decode; `None` when there is none.
    pub async fn audio_only(
        &self,
        packaged: &Packaged,
        base: &str,
        added: Added<'_>,
    ) -> Result<Option<String>, Error> {
        let listed = self.listed(base, added).await?;
        let broken = self.broken(packaged.presentation).await?;
        Ok(packaged.audio_only(base, &listed, &broken))
    }

    async fn listed<'a>(&self, base: &str, added: Added<'a>) -> Result<Listed<'a>, Error> {
        let sounds = self.added_sounds(base, added.sounds).await?;
        Ok(Listed { subtitles: added.subtitles, sounds })
    }
}

impl Packaged {
    /// As [`Packager::multivariant`].
    fn multivariant(
        &self,
        base: &str,
        max: Resolution,
        wanted: Wanted,
        listed: &Listed<'_>,
        broken: &HashSet<Rendition>,
        is_busy: bool,
    ) -> Option<String> {
        let is_broken = |rated: &&RatedRung| broken.contains(&Rendition::Rung(rated.rung.name));
        let rungs: Vec<&RatedRung> = self.ladder(max).iter().filter(|rated| !is_broken(rated)).collect();
        let broken_audio = broken_audio(broken);
        let offer = Offer {
            rates: self.rates(),
            copies_video: self.is_video_copied(max),
            rungs: &rungs,
            encodes_audio: true,
            broken_audio: &broken_audio,
            added: &listed.sounds,
            iframes: self.iframe_rate(),
            choice: wanted.choice(),
            is_busy,
        };
        let mut playlist = MultivariantPlaylist::offered(self.index(), &offer, &|address| uri(base, address));
        if playlist.variants.is_empty() && wanted == Wanted::default() {
            return self.audio_only(base, listed, broken);
        }
        playlist.subtitles = subtitles::renditions(base, listed.subtitles);
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }

    /// As [`Packager::audio_only`].
    fn audio_only(&self, base: &str, listed: &Listed<'_>, broken: &HashSet<Rendition>) -> Option<String> {
        let broken_audio = broken_audio(broken);
        let offer = Offer {
            rates: self.rates(),
            encodes_audio: true,
            broken_audio: &broken_audio,
            added: &listed.sounds,
            ..Offer::default()
        };
        let mut playlist =
            MultivariantPlaylist::offered_audio(self.index(), &offer, &|address| uri(base, address));
        playlist.subtitles = subtitles::renditions(base, listed.subtitles);
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }
}

impl Wanted {
    fn choice(&self) -> Choice {
        let lines = |resolution: Option<Resolution>| resolution.map(Resolution::lines);
        Choice {
            min_p: lines(self.min),
            max_p: lines(self.max),
            only_p: lines(self.only),
            order: self.order.map(|order| match order {
                Order::Ascending => kinora_hls::Order::Ascending,
                Order::Descending => kinora_hls::Order::Descending,
            }),
        }
    }
}

/// The audio tracks whose encoded rendition is among these.
fn broken_audio(broken: &HashSet<Rendition>) -> Vec<usize> {
    let number = |rendition: &Rendition| match rendition {
        Rendition::Aac(number) => Some(usize::from(*number)),
        _ => None,
    };
    broken.iter().filter_map(number).collect()
}

/// Where the playlist of a rendition is.
fn uri(base: &str, address: Address) -> String {
    let counted = |number: usize| u8::try_from(number).expect("an index has far fewer tracks");
    let rendition = match address {
        Address::Video => Rendition::Video,
        Address::IFrames => Rendition::IFrames,
        Address::Rung(name) => Rendition::Rung(name),
        Address::Audio(number) => Rendition::Audio(counted(number)),
        Address::EncodedAudio(number) => Rendition::Aac(counted(number)),
    };
    format!("{base}{rendition}/playlist.m3u8")
}

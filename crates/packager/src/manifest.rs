//! What a player is offered: the copy, the rungs, or the sound alone.

use std::collections::BTreeSet;

use kinora_domain::Resolution;
use kinora_formats::encode::{Rung, RungName, rate_of_rung};
use kinora_formats::hls::{MultivariantPlaylist, MultivariantUris, Variant, VideoRange};

use crate::{Error, Packaged, Packager, Rendition};

/// A copy of less is what players begin with; they take the first variant. Pipeline, 8.
const FIRST_COPY_RATE_MAX: u64 = 6_000_000;
/// Else they begin with the rung whose average is nearest to this: the middle of 2 to 5 Mb/s.
const FIRST_RUNG_RATE: u64 = 3_500_000;

/// Which renditions a viewer wants to choose from. Contract 4.2.
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

/// The order of the renditions of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Small ones first.
    Ascending,
    /// Large ones first.
    Descending,
}

impl Packager {
    /// What a player reads first. `base` is put in front of `video/playlist.m3u8`, `720p/playlist.m3u8` and so on; nothing is larger
    /// than `max`. A busy server offers one rung beside the copy. `None` where nothing is left that was wanted.
    pub async fn multivariant(
        &self,
        packaged: &Packaged,
        base: &str,
        max: Resolution,
        wanted: Wanted,
    ) -> Result<Option<String>, Error> {
        let broken = self.broken_rungs(packaged.source).await?;
        let load = self.engine.load();
        // As many wait as can run: a new viewer of a cold rung would wait for two segments in front.
        let is_busy = load.places <= load.waiting;
        Ok(packaged.multivariant(base, max, wanted, &broken, is_busy))
    }
}

impl Packaged {
    /// As [`Packager::multivariant`].
    fn multivariant(
        &self,
        base: &str,
        max: Resolution,
        wanted: Wanted,
        broken: &BTreeSet<RungName>,
        is_busy: bool,
    ) -> Option<String> {
        let Some((_, video)) = self.index().video() else { return self.audio_only(base) };
        let (copy_uri, audio) = (uri(base, Rendition::Video), self.audio_uris(base));
        let uris = MultivariantUris { video: &copy_uri, audio: &audio };
        let mut playlist = MultivariantPlaylist::with_rates(self.index(), self.rates(), uris);
        let audio_codecs: Vec<_> =
            playlist.variants.iter().flat_map(|variant| variant.codecs.iter().skip(1).cloned()).collect();

        let (width, height) = video.display_size();
        let copied = self.is_video_copied(max);
        let copy = playlist.variants.drain(..).filter(|_| copied);
        let mut variants: Vec<_> =
            copy.map(|variant| (Resolution::of_picture(width, height), variant)).collect();
        let mut rungs = self.rungs(max);
        rungs.retain(|rung| !broken.contains(&rung.name));
        if is_busy {
            // The smallest takes the least, and every line carries it.
            rungs.drain(..rungs.len().saturating_sub(1));
        }
        variants.extend(
            rungs.iter().map(|rung| (resolution(rung.name), self.variant(base, rung, &audio_codecs))),
        );
        if variants.is_empty() && wanted == Wanted::default() {
            return self.audio_only(base);
        }
        variants.retain(|(resolution, _)| wanted.lets(*resolution));
        sort(&mut variants, wanted.order);
        playlist.variants = variants.into_iter().map(|(_, variant)| variant).collect();
        // Encoded segments begin with a keyframe, so what holds for the copy holds for all.
        playlist.has_independent_segments |= !copied;
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }

    /// The sound alone, for a video that turned out not to decode; `None` when there is none.
    pub fn audio_only(&self, base: &str) -> Option<String> {
        let uris = self.audio_uris(base);
        let playlist = MultivariantPlaylist::audio_only(self.index(), self.rates(), &uris);
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }

    fn variant(&self, base: &str, rung: &Rung, audio_codecs: &[String]) -> Variant {
        Variant {
            uri: uri(base, Rendition::Rung(rung.name)),
            rate: rate_of_rung(self.index(), rung).with(self.rates().audio),
            codecs: [std::slice::from_ref(&rung.codec), audio_codecs].concat(),
            resolution: Some((rung.width, rung.height)),
            frame_rate: rung.frame_rate,
            video_range: Some(VideoRange::Sdr),
        }
    }

    fn audio_uris(&self, base: &str) -> Vec<String> {
        let numbers = (0..).zip(self.index().audio_tracks()).map(|(number, _)| number);
        numbers.map(|number| uri(base, Rendition::Audio(number))).collect()
    }
}

impl Wanted {
    fn lets(&self, resolution: Resolution) -> bool {
        self.min.is_none_or(|min| min <= resolution)
            && self.max.is_none_or(|max| resolution <= max)
            && self.only.is_none_or(|only| resolution == only)
    }
}

/// Largest first, as they are given; then as it is wanted.
fn sort(variants: &mut [(Resolution, Variant)], order: Option<Order>) {
    match order {
        Some(Order::Descending) => {}
        Some(Order::Ascending) => variants.reverse(),
        None => {
            let is_light = |variant: &Variant| variant.rate.average < FIRST_COPY_RATE_MAX;
            let distance = |variant: &Variant| variant.rate.average.abs_diff(FIRST_RUNG_RATE);
            let first = match variants.first() {
                Some((_, largest)) if is_light(largest) => return,
                Some(_) => (0..variants.len()).min_by_key(|place| distance(&variants[*place].1)),
                None => None,
            };
            if let Some(first) = first {
                variants[..=first].rotate_right(1);
            }
        }
    }
}

/// Where the playlist of a rendition is.
fn uri(base: &str, rendition: Rendition) -> String {
    format!("{base}{rendition}/playlist.m3u8")
}

fn resolution(name: RungName) -> Resolution {
    match name {
        RungName::P240 => Resolution::P240,
        RungName::P360 => Resolution::P360,
        RungName::P480 => Resolution::P480,
        RungName::P720 => Resolution::P720,
        RungName::P1080 => Resolution::P1080,
        RungName::P1440 => Resolution::P1440,
        RungName::P2160 => Resolution::P2160,
    }
}

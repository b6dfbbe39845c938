use std::collections::BTreeSet;

use bytes::Bytes;
use m3u8_rs::{MasterPlaylist, MediaPlaylist, VariantStream};

use super::boxes::{Fragment, fragment, skipped, timescale};
use crate::support::TestApp;

/// A media as a player reads it: its manifest and everything below it, fetched.
pub(super) struct Stream {
    /// `CODECS` of the copied variant, or of the only audio variant.
    pub(super) codecs: String,
    pub(super) resolution: Option<(u64, u64)>,
    pub(super) frame_rate: Option<f64>,
    pub(super) range: Option<String>,
    pub(super) has_independent_segments: bool,
    pub(super) channels: Option<String>,
    pub(super) video: Option<Rendition>,
    pub(super) audio: Option<Rendition>,
}

/// A playlist and the segments it lists.
pub(super) struct Rendition {
    /// Path of the playlist, without its last segment.
    pub(super) folder: String,
    pub(super) timescale: u32,
    /// Ticks of audio that a decoder needs before the first audible sample.
    priming: u32,
    pub(super) fragments: Vec<Fragment>,
    pub(super) segments: Vec<Bytes>,
    /// Segment durations in the playlist, in seconds.
    pub(super) extinf: Vec<f32>,
}

impl Stream {
    pub(super) async fn fetch(app: &TestApp, playback: &str) -> Self {
        let answer = app.fetch(&format!("/{playback}.m3u8")).await;
        let manifest: MasterPlaylist =
            m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it");
        let is_copy = |variant: &&VariantStream| !variant.is_i_frame && variant.uri.contains("/video/");
        // The last copied variant has the copied audio.
        let variant = manifest.variants.iter().rfind(is_copy).or(manifest.variants.first());
        let variant = variant.unwrap_or_else(|| panic!("a variant: {manifest:?}"));
        let is_video = variant.resolution.is_some();
        let group = variant.audio.as_deref();
        let alternative = manifest.alternatives.iter().find(|one| Some(one.group_id.as_str()) == group);
        let audio = match alternative {
            Some(alternative) => Some(alternative.uri.clone().expect("the audio has a playlist of its own")),
            None => (!is_video).then(|| variant.uri.clone()),
        };
        let video = is_video.then(|| variant.uri.clone());
        let fetch = async |uri: Option<String>| match uri {
            Some(uri) => Some(Rendition::fetch(app, &format!("/{uri}")).await),
            None => None,
        };
        Self {
            codecs: variant.codecs.clone().expect("players choose by it"),
            resolution: variant.resolution.map(|size| (size.width, size.height)),
            frame_rate: variant.frame_rate,
            range: variant
                .other_attributes
                .as_ref()
                .and_then(|all| Some(all.get("VIDEO-RANGE")?.to_string())),
            has_independent_segments: manifest.independent_segments,
            channels: alternative.and_then(|alternative| alternative.channels.clone()),
            video: fetch(video).await,
            audio: fetch(audio).await,
        }
    }

    pub(super) fn renditions(&self) -> impl Iterator<Item = &Rendition> {
        self.video.iter().chain(&self.audio)
    }
}

/// The bytes at a URL; retries until they are made.
async fn fetch_ok(app: &TestApp, address: &str) -> Bytes {
    let answer = app.fetch_made(address).await;
    assert_eq!(answer.status, 200, "{address}: {answer:?}");
    answer.body
}

impl Rendition {
    pub(super) async fn fetch(app: &TestApp, playlist: &str) -> Self {
        let answer = app.fetch(playlist).await;
        let parsed: MediaPlaylist =
            m3u8_rs::parse_media_playlist_res(&answer.body).expect("m3u8-rs reads it");
        assert!(parsed.end_list, "all of it is there");
        let folder = playlist.strip_suffix("playlist.m3u8").expect("its name").to_owned();
        let inits: BTreeSet<String> = parsed
            .segments
            .iter()
            .filter_map(|segment| segment.map.as_ref())
            .map(|map| map.uri.clone())
            .collect();
        assert_eq!(inits, BTreeSet::from(["init.mp4".to_owned()]), "one init segment for all");
        let init = fetch_ok(app, &format!("{folder}init.mp4")).await;
        let (mut segments, mut extinf) = (Vec::new(), Vec::new());
        for listed in &parsed.segments {
            assert!(!listed.discontinuity);
            assert!(listed.duration.round() as u64 <= parsed.target_duration, "RFC 8216, 4.3.3.1");
            extinf.push(listed.duration);
            segments.push(fetch_ok(app, &format!("{folder}{}", listed.uri)).await);
        }
        // The edit of video equals its delay; audio starts before its edit.
        let is_audio = folder.rsplit('/').nth(1).is_some_and(|name| name.starts_with('a'));
        let priming = if is_audio { skipped(&init) } else { 0 };
        let fragments: Vec<Fragment> = segments.iter().map(|segment| fragment(segment)).collect();
        for pair in fragments.windows(2) {
            assert_eq!(pair[1].decode_time, pair[0].end(), "each begins where the one before ends");
        }
        Self { folder, timescale: timescale(&init), priming, fragments, segments, extinf }
    }

    /// The number of samples in all segments.
    pub(super) fn samples(&self) -> usize {
        self.fragments.iter().map(|fragment| fragment.durations.len()).sum()
    }

    /// Seconds from the start of the media to the end of the last sample.
    pub(super) fn seconds(&self) -> f64 {
        let end = self.fragments.last().map_or(0, Fragment::end);
        (end - u64::from(self.priming)) as f64 / f64::from(self.timescale)
    }

    /// The sum of the segment durations in the playlist, in seconds.
    pub(super) fn announced(&self) -> f64 {
        self.extinf.iter().map(|seconds| f64::from(*seconds)).sum()
    }
}

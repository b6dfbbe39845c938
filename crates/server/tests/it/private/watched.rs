//! A media with every playable resource, and the URLs of all of them.

use std::collections::BTreeSet;

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::signer::Signer;
use crate::api::{Ids, Tracks, listed};
use crate::media::loudness::measured;
use crate::support::{Answer, TestApp, text};

/// A media with several playback IDs.
pub(crate) struct Watched {
    pub(crate) media: Value,
    /// The id of its subtitle track.
    pub(crate) track: String,
}

impl Watched {
    /// With subtitles, all files, and access to the original.
    pub(crate) async fn new(app: &TestApp) -> Self {
        Self::with(app, json!({})).await
    }

    /// The same, with levelled audio.
    pub(crate) async fn levelled(app: &TestApp) -> Self {
        let Self { media, track } = Self::with(app, json!({"optimizeAudio": true})).await;
        Self { media: measured(app, &media).await, track }
    }

    async fn with(app: &TestApp, fields: Value) -> Self {
        let mut settings =
            json!({"title": "Hush", "sourceAccess": true, "mp4Support": "audioOnly,capped_4k"});
        settings.as_object_mut().expect("it is one").extend(fields.as_object().expect("it is one").clone());
        let media = app.ready_with("/a.mp4", fixture::two_seconds(), settings).await;
        let url = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,500\nHello\n"));
        let track = Tracks::of(app, &media).added(&url, "en", "English").await;
        Self { media, track }
    }

    /// Creates another playback ID.
    pub(crate) async fn playback(&self, app: &TestApp, body: Value) -> String {
        Ids::of(app, &self.media).made(&body).await
    }

    /// Two private playback IDs: one in clear, and one encrypted.
    pub(crate) async fn private(&self, app: &TestApp) -> [String; 2] {
        let clear = self.playback(app, json!({"accessPolicy": "private"})).await;
        [clear, self.playback(app, json!({"accessPolicy": "private", "encryption": "aes-128"})).await]
    }

    /// The URLs below both playback IDs that take a token, with this token.
    ///
    /// `token` gets the playback ID. An encrypted playback ID has no whole files.
    pub(crate) fn urls_with_token(
        &self,
        [clear, encrypted]: &[String; 2],
        token: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let files = ["source", "capped-4k.mp4", "audio.m4a"].map(|file| format!("/{encrypted}/{file}"));
        let all = self.token_urls(clear).into_iter().map(|address| with_token(&address, &token(clear)));
        let encrypted_ones =
            self.token_urls(encrypted).into_iter().filter(|address| !files.contains(address));
        all.chain(encrypted_ones.map(|address| with_token(&address, &token(encrypted)))).collect()
    }

    /// The same, and the oEmbed URL of each page, requested with this token in the URL of the page.
    pub(crate) fn urls_and_oembed_with_token(
        &self,
        app: &TestApp,
        playbacks: &[String; 2],
        token: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let oembed_urls =
            playbacks.iter().map(|playback| oembed(app, playback, &with_token("", &token(playback))));
        let pasted: Vec<_> = oembed_urls.collect();
        self.urls_with_token(playbacks, token).into_iter().chain(pasted).collect()
    }

    /// The URLs below a playback ID that take a token.
    pub(crate) fn token_urls(&self, playback: &str) -> Vec<String> {
        let files = [
            "source",
            "capped-4k.mp4",
            "audio.m4a",
            "thumbnail.jpg",
            "thumbnail.png",
            "thumbnail.webp",
            "clip.gif",
            "clip.webp",
            "spritesheet.jpg",
            "spritesheet.json",
            "advanced-spritesheet.jpg",
            "advanced-spritesheet.json",
            "storyboard.vtt",
        ];
        let files = files.map(|file| format!("/{playback}/{file}"));
        let subtitles = format!("/{playback}/subtitles/{}.vtt", self.track);
        let others = [format!("/{playback}.m3u8"), format!("/embed/{playback}"), subtitles];
        others.into_iter().chain(files).collect()
    }
}

/// The URLs in a manifest and in its playlists, in this order, and the key URLs of encrypted playback.
pub(crate) async fn children(
    app: &TestApp,
    manifest: &str,
    request_for: impl Fn(&str) -> RequestSpec,
) -> Vec<String> {
    let (mut found, mut keys) = (Vec::new(), BTreeSet::new());
    let text = request_for(manifest).get(app).await;
    assert_eq!(text.status, 200, "{text:?}");
    for playlist in listed(&text.text()) {
        let playlist = format!("/{playlist}");
        let folder = playlist.rsplit_once('/').expect("a playlist lies in a folder").0.to_owned();
        let text = request_for(&playlist).get(app).await;
        assert_eq!(text.status, 200, "{playlist}: {text:?}");
        found.push(playlist.clone());
        for file in listed(&text.text()) {
            match file.strip_prefix("../") {
                None => found.push(format!("{folder}/{file}")),
                // Each playlist repeats the key.
                Some(key) => {
                    let (parent, _) = folder.rsplit_once('/').expect("renditions lie in one folder");
                    keys.insert(format!("{parent}/{key}"));
                }
            }
        }
    }
    found.extend(keys);
    assert!(found.len() > 5, "{found:?}");
    found
}

/// A request before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct RequestSpec {
    pub(crate) address: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// A request without headers.
pub(crate) fn plain(address: &str) -> RequestSpec {
    RequestSpec { address: address.to_owned(), headers: Vec::new() }
}

impl RequestSpec {
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) async fn get(&self, app: &TestApp) -> Answer {
        let request = app.request("GET", &self.address);
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send().await
    }
}

/// The URL with a token.
pub(crate) fn with_token(address: &str, token: &str) -> String {
    format!("{address}?token={token}")
}

/// The oEmbed URL of a playback ID's page, where the URL of the page has this query.
pub(crate) fn oembed(app: &TestApp, playback: &str, query: &str) -> String {
    let oembed_urls = app.url(&format!("/embed/{playback}{query}"));
    let mut address = url::form_urlencoded::Serializer::for_suffix("/oembed?".to_owned(), "/oembed?".len());
    address.append_pair("url", &oembed_urls).finish()
}

/// The route of the router that a URL belongs to.
pub(crate) fn route_of(address: &str) -> String {
    let parts: Vec<_> = address.split('?').next().unwrap_or_default().split('/').skip(1).collect();
    match parts.as_slice() {
        ["embed", _] => "/embed/{playbackId}".to_owned(),
        [_] => "/{file}".to_owned(),
        [_, file] => format!("/{{playbackId}}/{file}"),
        [_, "subtitles", _] => "/{playbackId}/subtitles/{file}".to_owned(),
        [_, _, "aes-128", "key"] => "/{playbackId}/{indexId}/aes-128/key".to_owned(),
        [_, _, _, "aes-128", "key"] => "/{playbackId}/{signed}/{indexId}/aes-128/key".to_owned(),
        [_, _, _, _] => "/{playbackId}/{indexId}/{rendition}/{file}".to_owned(),
        [_, _, _, _, _] => "/{playbackId}/{signed}/{indexId}/{rendition}/{file}".to_owned(),
        _ => panic!("{address} is none of ours"),
    }
}

/// The URLs that a manifest lists for a client with this key.
pub(crate) async fn signed_children(app: &TestApp, signer: &Signer, playback: &str) -> Vec<String> {
    let manifest = with_token(&format!("/{playback}.m3u8"), &signer.token(playback));
    children(app, &manifest, plain).await
}

/// Status and description of an error.
pub(crate) fn refused(answer: &Answer) -> (u16, String) {
    let (status, _) = answer.refusal();
    (status, text(&answer.json()["error"]["description"]).to_owned())
}

/// The number of refusals for this reason in `/metrics`: of all tests of this process.
pub(crate) fn refusals(metrics: &str, reason: &str) -> u64 {
    let name = format!("kinora_playback_refused_total{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

//! A media with everything that can be watched of it, and the addresses of all of that.

use std::collections::BTreeSet;

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::signer::Signer;
use crate::api::{Ids, Tracks, listed};
use crate::support::{Answer, TestApp, text};

/// A media that is watched through several playback IDs.
pub(crate) struct Watched {
    pub(crate) media: Value,
    /// The track of its subtitles.
    pub(crate) track: String,
}

impl Watched {
    /// With subtitles, all files, and the original open.
    pub(crate) async fn new(app: &TestApp) -> Self {
        let wishes = json!({"title": "Hush", "sourceAccess": true, "mp4Support": "audioOnly,capped_4k"});
        let media = app.ready_with("/a.mp4", fixture::two_seconds(), wishes).await;
        let url = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,500\nHello\n"));
        let track = Tracks::of(app, &media).added(&url, "en", "English").await;
        Self { media, track }
    }

    /// A further playback ID.
    pub(crate) async fn playback(&self, app: &TestApp, body: Value) -> String {
        Ids::of(app, &self.media).made(&body).await
    }

    /// Two private playback IDs: one that plays in clear, and one that plays encrypted.
    pub(crate) async fn private(&self, app: &TestApp) -> [String; 2] {
        let clear = self.playback(app, json!({"accessPolicy": "private"})).await;
        [clear, self.playback(app, json!({"accessPolicy": "private", "encryption": "aes-128"})).await]
    }

    /// The addresses below both of these that take a token, with this one, which stands in the place of a
    /// playback ID. Files in one piece are only in clear.
    pub(crate) fn tokened_by(
        &self,
        [clear, encrypted]: &[String; 2],
        token: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let files = ["source", "capped-4k.mp4", "audio.m4a"].map(|file| format!("/{encrypted}/{file}"));
        let all = self.tokened(clear).into_iter().map(|address| with_token(&address, &token(clear)));
        let encrypted_ones = self.tokened(encrypted).into_iter().filter(|address| !files.contains(address));
        all.chain(encrypted_ones.map(|address| with_token(&address, &token(encrypted)))).collect()
    }

    /// The same, and what tells how each page is embedded, of whoever pastes its address with this token.
    pub(crate) fn asked_by(
        &self,
        app: &TestApp,
        playbacks: &[String; 2],
        token: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let pasted =
            playbacks.iter().map(|playback| oembed(app, playback, &with_token("", &token(playback))));
        let pasted: Vec<_> = pasted.collect();
        self.tokened_by(playbacks, token).into_iter().chain(pasted).collect()
    }

    /// The addresses below a playback ID that take a token.
    pub(crate) fn tokened(&self, playback: &str) -> Vec<String> {
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

/// The addresses that a manifest lists, and what those list, in this order, and the key of what is encrypted.
pub(crate) async fn children(app: &TestApp, manifest: &str, dressed: impl Fn(&str) -> Asked) -> Vec<String> {
    let (mut found, mut keys) = (Vec::new(), BTreeSet::new());
    let text = dressed(manifest).get(app).await;
    assert_eq!(text.status, 200, "{text:?}");
    for playlist in listed(&text.text()) {
        let playlist = format!("/{playlist}");
        let folder = playlist.rsplit_once('/').expect("a playlist lies in a folder").0.to_owned();
        let text = dressed(&playlist).get(app).await;
        assert_eq!(text.status, 200, "{playlist}: {text:?}");
        found.push(playlist.clone());
        for file in listed(&text.text()) {
            match file.strip_prefix("../") {
                None => found.push(format!("{folder}/{file}")),
                // Each names it again.
                Some(key) => {
                    let (beside, _) = folder.rsplit_once('/').expect("renditions lie in one folder");
                    keys.insert(format!("{beside}/{key}"));
                }
            }
        }
    }
    found.extend(keys);
    assert!(found.len() > 5, "{found:?}");
    found
}

/// A request that is about to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) address: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// A request without anything.
pub(crate) fn plain(address: &str) -> Asked {
    Asked { address: address.to_owned(), headers: Vec::new() }
}

impl Asked {
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) async fn get(&self, app: &TestApp) -> Answer {
        let request = app.request("GET", &self.address);
        self.headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send().await
    }
}

/// The address with a token.
pub(crate) fn with_token(address: &str, token: &str) -> String {
    format!("{address}?token={token}")
}

/// The address that tells how the page of a playback ID is embedded, for whoever pastes the page's with this
/// query.
pub(crate) fn oembed(app: &TestApp, playback: &str, query: &str) -> String {
    let pasted = app.url(&format!("/embed/{playback}{query}"));
    let mut address = url::form_urlencoded::Serializer::for_suffix("/oembed?".to_owned(), "/oembed?".len());
    address.append_pair("url", &pasted).finish()
}

/// The path of the router that an address belongs to.
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

/// The addresses that a manifest lists for whoever has this key.
pub(crate) async fn signed_children(app: &TestApp, signer: &Signer, playback: &str) -> Vec<String> {
    let manifest = with_token(&format!("/{playback}.m3u8"), &signer.token(playback));
    children(app, &manifest, plain).await
}

/// Status and description of a refusal.
pub(crate) fn refused(answer: &Answer) -> (u16, String) {
    let (status, _) = answer.refusal();
    (status, text(&answer.json()["error"]["description"]).to_owned())
}

/// How many refusals were counted for this reason, as `/metrics` says: of all tests of this process.
pub(crate) fn refusals(metrics: &str, reason: &str) -> u64 {
    let name = format!("kinora_playback_refused_total{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

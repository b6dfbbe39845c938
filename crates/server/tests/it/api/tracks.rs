//! `/on-demand/{mediaId}/tracks`: subtitles are added, replaced and deleted, emit events, and are offered to
//! players.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::permission::UNKNOWN;
use super::update::events_of_type;
use crate::support::{Answer, DEADLINE, Golden, TestApp, text, until};

const UPDATED: &str = "video.media.updated";
/// The most added tracks of a media (D-0071).
const TRACKS_MAX: usize = 100;
/// The most inputs of a creation.
const INPUTS_MAX: usize = 64;
/// The most bytes of a subtitle file (D-0071).
const BYTES_MAX: usize = 10 << 20;

const SRT: &str =
    "1\n00:00:00,000 --> 00:00:01,500\nHello <i>there</i>\n\n2\n00:00:01,000 --> 00:00:02,000\nR&B\n";
const VTT: &str = "WEBVTT\n\nSTYLE\n::cue { color: red }\n\n00:00.500 --> 00:01.500 line:0\nGrüße\n";

/// The tracks of a media, as its owner uses them.
pub(crate) struct Tracks<'a> {
    app: &'a TestApp,
    pub(crate) media: &'a str,
    /// The type of added tracks.
    kind: &'static str,
}

impl<'a> Tracks<'a> {
    pub(crate) fn of(app: &'a TestApp, media: &'a Value) -> Self {
        Self { app, media: text(&media["id"]), kind: "subtitle" }
    }

    /// The same for added audio.
    pub(crate) fn of_audio(app: &'a TestApp, media: &'a Value) -> Self {
        Self { kind: "audio", ..Self::of(app, media) }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/on-demand/{}/tracks{rest}", self.media)
    }

    /// `POST`, any response.
    pub(crate) async fn add(&self, url: &str, code: &str, name: &str) -> Answer {
        self.app.call("POST", &self.path("")).json(&track(self.kind, url, code, name)).send().await
    }

    /// Adds a track, waits until it is available, and returns its id.
    pub(crate) async fn added(&self, url: &str, code: &str, name: &str) -> String {
        let answer = self.add(url, code, name).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = text(&answer.data()["id"]).to_owned();
        assert_eq!(self.settled(&id).await["status"], "available");
        id
    }

    /// `PATCH`, any response.
    pub(crate) async fn update(&self, id: &str, body: &Value) -> Answer {
        self.app.call("PATCH", &self.path(&format!("/{id}"))).json(body).send().await
    }

    pub(crate) async fn delete(&self, id: &str) -> Answer {
        self.app.call("DELETE", &self.path(&format!("/{id}"))).send().await
    }

    /// The track as the media shows it.
    pub(crate) async fn shown(&self, id: &str) -> Option<Value> {
        let media = self.app.get(self.media).await.data();
        let tracks = media["tracks"].as_array().expect("a list").clone();
        tracks.into_iter().find(|track| track["id"] == id)
    }

    /// The same, once it is available or failed.
    pub(crate) async fn settled(&self, id: &str) -> Value {
        until("the track is available or failed", async || {
            self.shown(id).await.filter(|track| track["status"] != "preparing")
        })
        .await
    }
}

pub(super) fn track(kind: &str, url: &str, code: &str, name: &str) -> Value {
    json!({"tracks": {"url": url, "type": kind, "languageCode": code, "languageName": name}})
}

fn subtitle(url: &str, code: &str, name: &str) -> Value {
    track("subtitle", url, code, name)
}

/// The events in the order of their creation: a slow delivery may be overtaken.
pub(super) fn in_order(mut events: Vec<Value>) -> Vec<Value> {
    events.sort_by_key(|event| text(&event["createdAt"]).to_owned());
    events
}

pub(crate) async fn manifest(app: &TestApp, media: &Value) -> String {
    let answer = app.fetch(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text()
}

/// The URLs of the subtitle playlists in a manifest.
fn playlists(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().filter(|line| line.contains("TYPE=SUBTITLES"));
    lines.map(|line| format!("/{}", line.split("URI=\"").nth(1).unwrap().trim_end_matches('"'))).collect()
}

#[tokio::test]
async fn subtitle_add_replace_and_delete_emit_events() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let plain = manifest(&app, &media).await;
    assert!(!plain.contains("SUBTITLES"), "{plain}");
    let tracks = Tracks::of(&app, &media);
    let mut golden = app.golden();

    let srt = app.serve("/a.srt", Source::of(SRT));
    let answer = tracks.add(&srt, "en-US", "English").await;
    let mut transcript = golden.answer(&answer);
    let id = text(&answer.data()["id"]).to_owned();
    assert_eq!(tracks.settled(&id).await["status"], "available");
    transcript += &golden.answer(&app.get(tracks.media).await);

    let vtt = app.serve("/b.vtt", Source::of(VTT));
    let answer =
        tracks.update(&id, &json!({"url": vtt, "languageCode": "de", "languageName": "Deutsch"})).await;
    transcript += &golden.answer(&answer);
    assert_eq!(tracks.settled(&id).await["languageName"], "Deutsch");
    assert!(manifest(&app, &media).await.contains("LANGUAGE=\"de\",NAME=\"Deutsch\""));
    // Python sends no URL: the file stays, and is ready at once.
    let answer =
        tracks.update(&id, &json!({"languageCode": "de-AT", "languageName": "Deutsch", "title": "x"})).await;
    transcript += &golden.answer(&answer);
    assert_eq!(tracks.shown(&id).await.unwrap()["status"], "available");
    assert_eq!(app.sources.requests("/b.vtt").len(), 1);
    // A change without effect emits no event; missing fields keep their value.
    for same in [
        json!({"languageCode": "de-AT", "languageName": "Deutsch"}),
        json!({"languageCode": "de-AT"}),
        json!({"languageName": "Deutsch", "languageCode": null}),
        json!({"title": "y"}),
        json!({}),
    ] {
        let again = tracks.update(&id, &same).await;
        assert_eq!((again.status, &again.body), (200, &answer.body), "{same}");
    }

    transcript += &golden.answer(&tracks.delete(&id).await);
    assert_eq!(tracks.delete(&id).await.refusal(), (404, "track not found".to_owned()));
    let now = app.get(tracks.media).await.data();
    assert_eq!((&now["tracks"], &now["subtitleAvailable"]), (&media["tracks"], &json!(false)));
    assert_eq!(manifest(&app, &media).await, plain, "as if there had never been any");
    insta::assert_snapshot!("answers", transcript);

    insta::assert_snapshot!("events", events_of_scenario(&app, &mut golden, &id).await);
}

/// The events of a track that was added, got another file and another language, and was deleted.
///
/// Each type is in its own order.
pub(super) async fn events_of_scenario(app: &TestApp, golden: &mut Golden, id: &str) -> String {
    app.all_delivered().await;
    let mut events: Vec<Value> = Vec::new();
    for what in ["created", "ready", "updated", "deleted"] {
        events.extend(in_order(events_of_type(app, &format!("video.media.track.{what}")).await));
    }
    let mut bodies = String::new();
    for event in &events {
        assert_eq!(event["object"], json!({"type": "track", "id": id}));
        bodies += &golden.json(event);
        bodies += "\n";
    }
    assert_eq!(events.len(), 1 + 3 + 2 + 1, "created, ready three times, updated twice, deleted");
    // The second update did not change the file, so the track is ready at once.
    let (updated, ready) = (&events[5], &events[3]);
    assert_eq!(
        (text(&updated["type"]), text(&ready["type"])),
        ("video.media.track.updated", "video.media.track.ready")
    );
    assert_eq!(updated["data"], ready["data"], "one commit");
    let times = [updated, ready].map(|event| text(&event["createdAt"]).parse::<jiff::Timestamp>().unwrap());
    assert_eq!((times[1] - times[0]).get_microseconds(), 1, "and in order: {times:?}");
    assert_eq!(
        events_of_type(app, UPDATED).await.len(),
        events.len() - 1,
        "each change with the media behind it"
    );
    assert_eq!(events_of_type(app, "video.media.track.failed").await.len(), 0);
    bodies
}

#[tokio::test]
async fn subtitles_are_served_whole_and_in_segments() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let tracks = Tracks::of(&app, &media);
    let long =
        format!("{SRT}\n3\n00:00:01,900 --> 01:00:00,000\nlong\n\n4\n00:00:40,000 --> 00:00:50,000\nnever\n");
    let english = tracks.added(&app.serve("/a.srt", Source::of(long)), "en-US", "English").await;
    let german = tracks.added(&app.serve("/b.vtt", Source::of(VTT)), "de", "Deutsch").await;

    let text_of = manifest(&app, &media).await;
    let mut golden = app.golden();
    insta::assert_snapshot!("manifest", golden.text(&text_of));
    let playlists = playlists(&text_of);
    assert_eq!(playlists.len(), 2);
    let mut transcript = String::new();
    for (playlist, track) in playlists.iter().zip([&english, &german]) {
        let full = app.fetch(&format!("/{playback}/subtitles/{track}.vtt")).await;
        assert_eq!(full.header("content-type"), Some("text/vtt"));
        assert_eq!(full.header("cache-control"), Some("public, max-age=2"));
        let listed = app.fetch(playlist).await;
        assert_eq!(listed.header("content-type"), Some("application/vnd.apple.mpegurl"));
        let segment = app.fetch(&playlist.replace("playlist.m3u8", "0.vtt")).await;
        assert_eq!(segment.header("content-type"), Some("text/vtt"));
        for answer in [&full, &listed, &segment] {
            assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")));
            transcript += &format!("{}---\n", answer.text());
        }
        for (answer, address) in
            [(&listed, playlist.clone()), (&segment, playlist.replace("playlist.m3u8", "0.vtt"))]
        {
            assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
            let tag = answer.header("etag").expect("it has one");
            let revalidated = app.request("GET", &address).header("If-None-Match", tag).send().await;
            assert_eq!(revalidated.status, 304, "{address}");
        }
    }
    insta::assert_snapshot!("files", transcript);
    let part = app
        .request("GET", &format!("/{playback}/subtitles/{german}.vtt"))
        .header("Range", "bytes=0-5")
        .send()
        .await;
    assert_eq!((part.status, &*part.text()), (206, "WEBVTT"));

    for nowhere in [
        format!("/{playback}/subtitles/{UNKNOWN}.vtt"),
        format!("/{playback}/subtitles/{english}.srt"),
        format!("/{playback}/subtitles/{english}"),
        format!("/{playback}/subtitles/{}.vtt", english.to_uppercase()),
        playlists[0].replace("playlist.m3u8", "1.vtt"),
        playlists[0].replace("playlist.m3u8", "00.vtt"),
        playlists[0].replace("playlist.m3u8", "init.mp4"),
        playlists[0].replace("/subtitles-", &format!("/subtitles-{UNKNOWN}/")),
    ] {
        assert_eq!(app.fetch(&nowhere).await.refusal().0, 404, "{nowhere}");
    }
    let wrong = app.request("POST", &format!("/{playback}/subtitles/{english}.vtt")).send().await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET,HEAD")));
}

#[tokio::test]
async fn subtitle_character_encoding_is_detected() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let line = "Où est l’été ? Ça ira, garçon.";
    let file = format!("1\r\n00:00:00,000 --> 00:00:02,000\r\n{line}\r\n");
    let latin = |letter: char| if letter == '’' { 0x92 } else { u8::try_from(u32::from(letter)).unwrap() };
    let utf16 = |to_bytes: fn(u16) -> [u8; 2]| file.encode_utf16().flat_map(to_bytes).collect::<Vec<u8>>();
    let files = [
        ("utf-8", file.as_bytes().to_vec()),
        ("marked utf-8", [b"\xef\xbb\xbf", file.as_bytes()].concat()),
        ("utf-16le", [b"\xff\xfe", &*utf16(u16::to_le_bytes)].concat()),
        ("utf-16be", [b"\xfe\xff", &*utf16(u16::to_be_bytes)].concat()),
        ("windows-1252", file.chars().map(latin).collect()),
    ];
    for (name, bytes) in files {
        // A name without an extension and a wrong content type: the bytes decide.
        let url = app.serve("/file", Source::of(bytes).content_type("video/mp4"));
        let id = tracks.added(&url, "fr", name).await;
        let shown = app.fetch(&format!("/{}/subtitles/{id}.vtt", text(&media["playbackIds"][0]["id"]))).await;
        assert_eq!(shown.text(), format!("WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n{line}\n\n"), "{name}");
    }
}

#[tokio::test]
async fn failed_track_reports_reason_media_unchanged() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let plain = manifest(&app, &media).await;
    let tracks = Tracks::of(&app, &media);
    let too_large = format!("WEBVTT\n\n{}", "x".repeat(BYTES_MAX));
    let largest = format!("WEBVTT\n\n{}", "x".repeat(BYTES_MAX - 8));
    let many = "00:00,0 --> 00:01,0\na\n".repeat(50_001);
    let cases = [
        (
            "none",
            app.sources.url("/none.srt"),
            "source_not_found",
            "the source server responded with status 404",
        ),
        (
            "private",
            "http://10.0.0.1/a.srt".to_owned(),
            "source_forbidden_address",
            "the source URL, or one it redirects to, is not on the public internet",
        ),
        (
            "video",
            app.serve("/v.srt", Source::of(fixture::two_seconds())),
            "not_subtitles",
            "the file is neither WebVTT nor SRT: it has no cue times",
        ),
        (
            "page",
            app.serve("/p.vtt", Source::of("<html>not found</html>")),
            "not_subtitles",
            "the file is neither WebVTT nor SRT: it has no cue times",
        ),
        ("many", app.serve("/m.srt", Source::of(many)), "not_subtitles", "the file has more than 50000 cues"),
        (
            "large",
            app.serve("/l.vtt", Source::of(too_large)),
            "source_too_large",
            "the subtitle file is larger than 10485760 bytes",
        ),
    ];
    for (name, url, code, sentence) in cases {
        let answer = tracks.add(&url, "en", name).await;
        let track = tracks.settled(text(&answer.data()["id"])).await;
        assert_eq!(
            (&track["status"], &track["error"]),
            (&json!("failed"), &json!({"code": code, "message": sentence}))
        );
    }
    tracks.added(&app.serve("/largest.vtt", Source::of(largest)), "en", "largest").await;
    let now = app.get(tracks.media).await.data();
    assert_eq!((&now["status"], &now["playbackReport"]), (&json!("Ready"), &media["playbackReport"]));
    assert_eq!(manifest(&app, &media).await.matches("TYPE=SUBTITLES").count(), 1);
    let failed = in_order(events_of_type(&app, "video.media.track.failed").await);
    assert_eq!(failed.len(), 6);
    assert_eq!(failed[0]["data"]["tracks"][2]["error"]["code"], "source_not_found");
    insta::assert_snapshot!("failed", app.golden().json(&failed[0]));

    // A failed track gets another URL, and plays.
    let id = text(&failed[0]["object"]["id"]);
    let url = app.serve("/none.srt", Source::of(SRT));
    assert_eq!(
        tracks.update(id, &json!({"url": url, "languageCode": "en", "languageName": "none"})).await.status,
        200
    );
    let track = tracks.settled(id).await;
    assert_eq!((&track["status"], &track["error"]), (&json!("available"), &Value::Null));
    assert_ne!(manifest(&app, &media).await, plain);
}

#[tokio::test]
async fn invalid_tracks_are_rejected_and_change_nothing() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let url = "https://example.com/a.srt";
    let mut transcript = String::new();
    for body in [
        json!([]),
        json!({"tracks": []}),
        json!({"tracks": {}}),
        json!({"tracks": {"url": "a.srt", "type": "video", "languageCode": "en_US", "languageName": " "}}),
        json!({"tracks": {"url": url, "type": "text", "languageCode": "en", "languageName": "English"}}),
    ] {
        let refused = app.call("POST", &tracks.path("")).json(&body).send().await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{body}");
        transcript += &format!("{}\n", refused.text());
    }
    let own = text(&media["tracks"][0]["id"]);
    let change = json!({"url": url, "languageCode": "en", "languageName": "English"});
    let wrong = json!({"url": 1, "languageCode": "English", "languageName": ""});
    transcript += &format!("{}\n", tracks.update(own, &wrong).await.text());
    assert_eq!(tracks.update(own, &json!({})).await.refusal().0, 400, "it is none that was added");
    transcript += &format!("{}\n", tracks.update(own, &change).await.text());
    transcript += &format!("{}\n", tracks.delete(own).await.text());
    transcript += &format!("{}\n", tracks.update(UNKNOWN, &change).await.text());
    transcript += &format!("{}\n", tracks.delete("7").await.text());
    assert_eq!(app.get(tracks.media).await.data(), media);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 0);

    let gated_url = app.serve("/held.srt", Source::of(SRT).gate_last_byte());
    let first = tracks.add(&gated_url, "en", "English").await.data();
    let duplicate = tracks.add(&gated_url, "de", "English").await;
    assert_eq!(duplicate.refusal(), (400, "duplicate language name".to_owned()));
    transcript += &format!("{}\n", duplicate.text());
    let second = tracks.add(&gated_url, "en", "English (2)").await.data();
    let taken = tracks.update(text(&second["id"]), &change).await;
    assert_eq!(taken.refusal(), (400, "duplicate language name".to_owned()));
    let alone = tracks.update(text(&second["id"]), &json!({"languageName": "English"})).await;
    assert_eq!(alone.refusal(), (400, "duplicate language name".to_owned()));
    assert_eq!(
        tracks
            .update(text(&first["id"]), &json!({"languageCode": "en", "languageName": "English"}))
            .await
            .status,
        200
    );
    insta::assert_snapshot!(transcript);
    app.sources.release("/held.srt");
}

#[tokio::test]
async fn track_limit_per_media_is_enforced() {
    let app = TestApp::options().without_webhook().start().await;
    // The most inputs that a creation accepts with its video; that they fail at once does not matter.
    let nowhere = app.sources.url("/none.srt");
    let input = |number: usize| json!({"type": "subtitle", "url": nowhere, "languageCode": "en", "languageName": number.to_string()});
    let video = json!({"type": "video", "url": app.sources.url("/none.mp4")});
    let inputs: Vec<Value> = (0..INPUTS_MAX - 1).map(input).chain([video]).collect();
    let created = app.call("POST", "/v1/on-demand").json(&json!({"inputs": inputs})).send().await;
    assert_eq!(created.status, 201, "{created:?}");
    let media = created.data();
    let tracks = Tracks::of(&app, &media);
    until("all of them have failed", async || {
        let shown = app.get(tracks.media).await.data();
        let list = shown["tracks"].as_array().expect("a list");
        assert_eq!(list.len(), INPUTS_MAX - 1);
        list.iter().all(|track| track["status"] == "failed").then_some(())
    })
    .await;
    let mut last = String::new();
    for number in INPUTS_MAX - 1..TRACKS_MAX {
        let added = tracks.add(&nowhere, "en", &number.to_string()).await;
        assert_eq!(added.status, 201, "{added:?}");
        last = text(&added.data()["id"]).to_owned();
    }
    let refused = tracks.add(&nowhere, "en", "one too many").await;
    insta::assert_snapshot!("too_many", app.golden().answer(&refused));
    assert_eq!(tracks.delete(&last).await.status, 200);
    assert_eq!(tracks.add(&nowhere, "en", "one more").await.status, 201);
}

#[tokio::test]
async fn changes_need_a_read_write_token_of_the_workspace() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let id = tracks.added(&app.serve("/a.srt", Source::of(SRT)), "en", "English").await;
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let before = app.get(tracks.media).await.data();
    let events = events_of_type(&app, UPDATED).await.len();
    let change = json!({"languageCode": "en", "languageName": "Else"});
    for prefix in ["", "/v1"] {
        let all = format!("{prefix}/on-demand/{}/tracks", tracks.media);
        for (method, path, body) in [
            ("POST", all.clone(), subtitle("https://example.com/a.srt", "en", "Else")),
            ("PATCH", format!("{all}/{id}"), change.clone()),
            ("DELETE", format!("{all}/{id}"), json!({})),
        ] {
            let call = |path: &str| app.request(method, path).json(&body);
            assert_eq!(call(&path).send().await.refusal().0, 401, "{path}");
            assert_eq!(call(&path).token(&reader).send().await.refusal(), (403, "forbidden".to_owned()));
            let foreign = call(&path).token(&other_token).send().await;
            assert_eq!(
                foreign.refusal(),
                (404, "media workspace relation not found".to_owned()),
                "{method} {path}"
            );
            let unknown = call(&path.replace(tracks.media, UNKNOWN)).token(&app.token).send().await;
            assert_eq!(foreign.body, unknown.body, "a stranger learns nothing");
            let bad = call(&path.replace(tracks.media, "7")).token(&app.token).send().await;
            assert_eq!(bad.refusal().0, 422, "{path}");
        }
        let wrong = app.call("GET", &all).send().await;
        assert_eq!((wrong.refusal().0, wrong.header("allow")), (405, Some("POST")));
        let wrong = app.call("PUT", &format!("{all}/{id}")).send().await;
        assert_eq!((wrong.refusal().0, wrong.header("allow")), (405, Some("PATCH,DELETE")));
    }
    assert_eq!(app.get(tracks.media).await.data(), before);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), events);
}

#[tokio::test]
async fn restricted_playback_id_rejects_subtitles() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = Tracks::of(&app, &media).added(&app.serve("/a.srt", Source::of(SRT)), "en", "English").await;
    let first = text(&media["playbackIds"][0]["id"]);
    let playlist = playlists(&manifest(&app, &media).await).remove(0);
    let addresses = [
        format!("/{first}/subtitles/{id}.vtt"),
        playlist.clone(),
        playlist.replace("playlist.m3u8", "0.vtt"),
    ];
    let ids = format!("/v1/on-demand/{}/playback-ids", text(&media["id"]));
    let make = async |body: Value| {
        let made = app.call("POST", &ids).json(&body).send().await.data();
        text(&made["id"]).to_owned()
    };
    let private = make(json!({"accessPolicy": "private"})).await;
    let limited = make(json!({"accessRestrictions": {"domains": {"defaultPolicy": "deny"}}})).await;
    let other = make(json!({"accessPolicy": "public"})).await;
    for address in &addresses {
        // URLs of a manifest need a signature for this playback ID.
        let kept_out = if address.contains("/subtitles/") { 403 } else { 401 };
        for (playback, status) in
            [(first, 200), (&other, 200), (&private, 401), (&limited, kept_out), (UNKNOWN, 404)]
        {
            let answer = app.fetch(&address.replace(first, playback)).await;
            assert_eq!(answer.status, status, "{address} {playback}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        }
    }
    // Subtitles of another media are not found here.
    let other_media = app.ready("/b.mp4", fixture::two_seconds()).await;
    let other_playback = text(&other_media["playbackIds"][0]["id"]);
    for address in &addresses {
        assert_eq!(app.fetch(&address.replace(first, other_playback)).await.status, 404, "{address}");
    }
}

#[tokio::test]
async fn track_update_without_url_is_ready_with_its_file() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let gated_url = app.serve("/held.srt", Source::of(SRT).gate_last_byte());
    let id = text(&tracks.add(&gated_url, "en", "English").await.data()["id"]).to_owned();
    let names = async || {
        app.all_delivered().await;
        let ready_count = app.receiver.distinct_events("video.media.track.ready").len();
        (ready_count, app.receiver.distinct_events("video.media.track.updated").len())
    };
    // It is still being fetched, and becomes ready once.
    let renamed = tracks.update(&id, &json!({"languageName": "British"})).await;
    assert_eq!(
        (&renamed.data()["languageName"], &renamed.data()["languageCode"]),
        (&json!("British"), &json!("en"))
    );
    assert_eq!(tracks.shown(&id).await.unwrap()["status"], "preparing");
    assert_eq!(names().await, (0, 1));
    app.sources.release("/held.srt");
    assert_eq!(tracks.settled(&id).await["languageName"], "British");
    assert_eq!(names().await, (1, 1));

    let renamed = tracks.update(&id, &json!({"languageCode": "en-GB"})).await;
    assert_eq!(
        (&renamed.data()["languageName"], &renamed.data()["languageCode"]),
        (&json!("British"), &json!("en-GB"))
    );
    assert_eq!(names().await, (2, 2));
    assert_eq!(app.sources.requests("/held.srt").len(), 1, "the file stays");
    assert!(manifest(&app, &media).await.contains("LANGUAGE=\"en-GB\",NAME=\"British\""));

    // A failed track stays failed under another name.
    let lost = text(&tracks.add(&app.sources.url("/none.srt"), "fr", "Lost").await.data()["id"]).to_owned();
    assert_eq!(tracks.settled(&lost).await["status"], "failed");
    assert_eq!(tracks.update(&lost, &json!({"languageName": "Gone"})).await.status, 200);
    assert_eq!(names().await, (2, 3));
}

#[tokio::test]
async fn webvtt_arrow_in_cue_text_is_escaped() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let file = "00:00:00,500 --> 00:00:01,000\nHello a --> b\n\n00:00:01,000 --> 00:00:02,000\nnext\n";
    let tracks = Tracks::of(&app, &media);
    let id = tracks.added(&app.serve("/a.srt", Source::of(file)), "en", "English").await;
    let shown = app.fetch(&format!("/{}/subtitles/{id}.vtt", text(&media["playbackIds"][0]["id"]))).await;
    assert_eq!(
        shown.text(),
        "WEBVTT\n\n00:00:00.500 --> 00:00:01.000\nHello a --&gt; b\n\n00:00:01.000 --> 00:00:02.000\nnext\n\n"
    );
}

#[tokio::test]
async fn replaced_subtitles_have_new_urls() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let url = app.serve("/a.srt", Source::of(SRT));
    let id = tracks.added(&url, "en", "English").await;
    let before = playlists(&manifest(&app, &media).await).remove(0);
    let full_path = format!("/{}/subtitles/{id}.vtt", text(&media["playbackIds"][0]["id"]));
    let tag = app.fetch(&full_path).await.header("etag").unwrap().to_owned();

    // The same URL with another file.
    app.serve("/a.srt", Source::of(SRT.replace("Hello", "Goodbye")).gate_last_byte());
    let change = json!({"url": url, "languageCode": "en", "languageName": "English"});
    assert_eq!(tracks.update(&id, &change).await.status, 200);
    app.sources.wait_until_held("/a.srt", DEADLINE).await;
    assert_eq!(tracks.shown(&id).await.unwrap()["status"], "preparing");
    assert_eq!(app.fetch(&before).await.status, 404, "the replaced file is 404");
    assert_eq!(playlists(&manifest(&app, &media).await), [""; 0]);
    app.sources.release("/a.srt");
    assert_eq!(tracks.settled(&id).await["status"], "available");
    let after = playlists(&manifest(&app, &media).await).remove(0);
    assert_ne!(before, after);
    let now = app.request("GET", &full_path).header("If-None-Match", &tag).send().await;
    assert!(now.status == 200 && now.text().contains("Goodbye"), "{now:?}");
    until("the old file is removed", async || {
        let objects = app.objects().await;
        (objects.iter().filter(|path| path.starts_with("subtitle/")).count() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn subtitles_at_creation_download_while_the_media_does() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let input = |path: &str, name: &str| json!({"type": "subtitle", "url": app.sources.url(path), "languageCode": "en-US", "languageName": name});
    app.serve("/a.srt", Source::of(SRT));
    let body = json!({"inputs": [{"type": "video", "url": url}, input("/a.srt", "English"), input("/none.srt", "Lost")]});
    let created = app.call("POST", "/v1/on-demand").json(&body).send().await;
    let mut golden = app.golden();
    insta::assert_snapshot!("created", golden.answer(&created));
    let media = created.data();
    let tracks = Tracks::of(&app, &media);
    let shown = until("both tracks are settled", async || {
        let shown = app.get(tracks.media).await.data();
        let tracks = shown["tracks"].as_array().expect("a list");
        tracks.iter().all(|track| track["status"] != "preparing").then(|| shown.clone())
    })
    .await;
    assert_ne!(shown["status"], "Ready");
    assert_eq!(shown["tracks"][0]["status"], "available");
    assert_eq!(
        (&shown["tracks"][1]["status"], &shown["subtitleAvailable"]),
        (&json!("failed"), &json!(true))
    );
    let playback = text(&media["playbackIds"][0]["id"]);
    let early = format!("/{playback}/subtitles/{}.vtt", text(&shown["tracks"][0]["id"]));
    assert_eq!(app.fetch(&early).await.refusal().1, "media is not ready");
    // One more while the media is still downloading.
    tracks.added(&app.serve("/b.vtt", Source::of(VTT)), "de", "Deutsch").await;

    app.sources.release("/a.mp4");
    let ready = app.wait_settled(tracks.media).await;
    assert_eq!(ready["status"], "Ready", "a subtitle that failed fails no media");
    assert_eq!(ready["tracks"].as_array().map(Vec::len), Some(2 + 3));
    assert_eq!(app.fetch(&early).await.status, 200);
    assert_eq!(playlists(&manifest(&app, &media).await).len(), 2);
    let ready_event = app.event("video.media.ready").await;
    let ids =
        |list: &Value| list.as_array().unwrap().iter().map(|track| track["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&ready_event["data"]["tracks"]), ids(&ready["tracks"]));
    assert_eq!(events_of_type(&app, "video.media.track.created").await.len(), 3);
    let created = events_of_type(&app, "video.media.created").await;
    insta::assert_snapshot!("created_event", golden.json(&created[0]));
}

#[tokio::test]
async fn subtitles_of_an_upload_start_at_its_first_byte() {
    let app = TestApp::start().await;
    app.serve("/a.srt", Source::of(SRT));
    let subtitle = json!({"type": "subtitle", "url": app.sources.url("/a.srt"), "languageCode": "en-US", "languageName": "English"});
    let body = json!({"corsOrigin": "*", "pushMediaSettings": {"accessPolicy": "public", "inputs": [{"type": "video"}, subtitle]}});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await;
    assert_eq!(upload.status, 201, "{upload:?}");
    let upload = upload.data();
    assert_eq!(app.sources.requests("/a.srt").len(), 0, "there is no media yet");
    let address =
        text(&upload["url"]).strip_prefix(&app.url("")).expect("an address of this server").to_owned();
    let sent = app.request("PUT", &address).body(fixture::two_seconds()).send().await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let media = app.wait_settled(text(&upload["uploadId"])).await;
    let id = text(&media["tracks"][2]["id"]).to_owned();
    let track = Tracks::of(&app, &media).settled(&id).await;
    assert_eq!((&track["type"], &track["status"]), (&json!("subtitle"), &json!("available")));
    assert_eq!(events_of_type(&app, "video.media.track.created").await.len(), 1);
    assert_eq!(playlists(&manifest(&app, &media).await).len(), 1);
}

#[tokio::test]
async fn tracks_added_at_the_same_time_are_all_there() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let url = app.serve("/a.srt", Source::of(SRT));
    let added = tokio::join!(
        tracks.added(&url, "en", "a"),
        tracks.added(&url, "en", "b"),
        tracks.added(&url, "en", "c"),
        tracks.added(&url, "en", "d"),
    );
    let now = app.get(tracks.media).await.data();
    for id in [added.0, added.1, added.2, added.3] {
        assert!(now["tracks"].as_array().unwrap().iter().any(|track| track["id"] == *id), "{id}");
    }
    assert_eq!(events_of_type(&app, "video.media.track.ready").await.len(), 4);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 8);
}

//! What one workspace does holds no other one up.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinora_blob::{FaultAction, ObjectKey, WriteKind, WriteOp};
use kinora_domain::{PRODUCTION, Permission};
use kinora_engine::{Engine, Settings};
use kinora_fetch::Limits;
use kinora_testkit::fixture::packed;
use kinora_testkit::{LentFfmpeg, Source, fixture};
use serde_json::{Value, json};

use crate::api::tracks::Tracks;
use crate::support::{Faults, TestApp, Token, limits, text, until};

/// More than fetch subtitles at once.
const HANGING: usize = 20;
/// More uploads than are ingested at once.
const SOUNDS: usize = 12;
/// Sources that must be repacked: more than are repacked at once.
const FOREIGN: usize = 12;
/// Nothing but another workspace's place can end a test before this.
const HOUR: Duration = Duration::from_secs(3600);

/// Another workspace, as its owner sees it.
struct Other<'a> {
    app: &'a TestApp,
    token: Token,
}

impl<'a> Other<'a> {
    async fn new(app: &'a TestApp) -> Self {
        Self { app, token: app.new_token(PRODUCTION, Permission::ReadWrite).await }
    }

    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let request = self.app.request(method, path).token(&self.token);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await;
        assert!(matches!(answer.status, 200 | 201), "{method} {path}: {answer:?}");
        answer.data()
    }

    /// Creates a media. Returns its path.
    async fn create(&self, url: &str) -> String {
        let body = json!({"inputs": [{"type": "video", "url": url}]});
        let media = self.call("POST", "/v1/on-demand", Some(&body)).await;
        format!("/v1/on-demand/{}", text(&media["id"]))
    }

    async fn wait_ready(&self, path: &str) {
        until("the media of the other workspace is ready", async || {
            (self.call("GET", path, None).await["status"] == "Ready").then_some(())
        })
        .await;
    }

    /// Creates a media and waits until it is ready.
    async fn ready(&self, url: &str) -> String {
        let path = self.create(url).await;
        self.wait_ready(&path).await;
        path
    }
}

fn unhurried_limits() -> Limits {
    Limits { connect: HOUR, headers: HOUR, stall: HOUR, ..limits() }
}

#[tokio::test]
async fn hanging_sources_of_one_workspace_hold_no_other_up() {
    let app = TestApp::options().without_webhook().limits(unhurried_limits()).downloads_max(8).start().await;
    let hanging = app.serve("/hanging", Source::silent());
    for _ in 0..HANGING {
        app.create(&hanging).await;
    }
    let asked = || app.sources.requests("/hanging").len();
    until("most places are taken", async || (asked() >= 7).then_some(())).await;
    Other::new(&app).await.ready(&app.serve("/b.mp4", Source::of(fixture::two_seconds()))).await;
    assert_eq!(asked(), 7, "a lone workspace leaves one place");
}

#[tokio::test]
async fn hanging_subtitles_of_one_workspace_hold_no_other_up() {
    let app = TestApp::options().without_webhook().limits(unhurried_limits()).start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let hanging = app.serve("/hanging", Source::silent());
    for n in 0..HANGING {
        let answer = Tracks::of(&app, &media).add(&hanging, "en", &format!("English {n}")).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    until("many are asked for", async || (app.sources.requests("/hanging").len() >= 15).then_some(())).await;

    let other = Other::new(&app).await;
    let path = other.ready(&app.serve("/b.mp4", Source::of(fixture::two_seconds()))).await;
    let srt = app.serve("/b.srt", Source::of("1\n00:00:00,000 --> 00:00:01,000\nHello\n"));
    let track =
        json!({"tracks": {"url": srt, "type": "subtitle", "languageCode": "en", "languageName": "English"}});
    other.call("POST", &format!("{path}/tracks"), Some(&track)).await;
    until("the subtitles of the other workspace are available", async || {
        let media = other.call("GET", &path, None).await;
        let tracks = media["tracks"].as_array()?.iter();
        tracks
            .clone()
            .any(|track| track["type"] == "subtitle" && track["status"] == "available")
            .then_some(())
    })
    .await;
}

/// A source that was cut and waits for its next attempt holds no place: others of the same workspace go on.
#[tokio::test]
async fn subtitles_that_wait_for_their_next_attempt_hold_no_place() {
    let limits = Limits { retry_delays: vec![HOUR; 2], ..unhurried_limits() };
    let app = TestApp::options().without_webhook().limits(limits).start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let broken = app.serve("/broken", Source::refused(500));
    for n in 0..HANGING {
        assert_eq!(tracks.add(&broken, "en", &format!("English {n}")).await.status, 201);
    }
    let srt = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,000\nHello\n"));
    tracks.added(&srt, "de", "Deutsch").await;
    assert_eq!(app.sources.requests("/broken").len(), HANGING);
}

/// Uploads a file whose audio another file replaces. Returns the id of the media.
async fn upload_with_sound(app: &TestApp, token: &Token, sound: &str) -> String {
    let inputs = json!([{"type": "video"}, {"type": "audio", "swapTrackUrl": sound}]);
    let body = json!({"corsOrigin": "*", "pushMediaSettings": {"inputs": inputs}});
    let upload = app.request("POST", "/v1/on-demand/upload").token(token).json(&body).send().await;
    assert_eq!(upload.status, 201, "{upload:?}");
    let upload = upload.data();
    let path = text(&upload["url"]).strip_prefix(&app.url("")).expect("an address of this server").to_owned();
    let sent = app.request("PUT", &path).body(fixture::two_seconds()).send().await;
    assert_eq!(sent.status, 200, "{sent:?}");
    text(&upload["uploadId"]).to_owned()
}

/// A file of audio that is asked for again has a limit: the parked places, then the places of its lane.
#[tokio::test]
async fn paused_audio_downloads_without_a_parked_place_stay_in_the_lane() {
    let limits = Limits { retry_delays: vec![HOUR; 2], ..unhurried_limits() };
    let app = TestApp::options().without_webhook().limits(limits).parked_max(2).start().await;
    let broken = app.serve("/broken", Source::refused(503));
    for _ in 0..SOUNDS {
        upload_with_sound(&app, &app.token, &broken).await;
    }
    // A lone workspace has 7 of the 8 places of the lane, and both parked places.
    let asked = || app.sources.requests("/broken").len();
    until("all places are taken", async || (asked() >= 9).then_some(())).await;

    let other = Other::new(&app).await;
    let sound = app.serve("/sound", Source::of(fixture::two_seconds()));
    let path = format!("/v1/on-demand/{}", upload_with_sound(&app, &other.token, &sound).await);
    other.wait_ready(&path).await;
    assert_eq!(asked(), 9);
}

/// The engine serves its queue in the order of asking, so most sources of a workspace wait in front of it.
#[tokio::test]
async fn repacked_sources_share_the_engine_by_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = LentFfmpeg::new(folder.path());
    let program = Some(ffmpeg.path().to_owned());
    let settings = Settings { program, jobs_max: NonZeroUsize::new(2), ..Settings::default() };
    let engine = Engine::find(settings).await.expect("it is an ffmpeg");
    let repacked = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&repacked);
    let note = move |write: WriteOp| {
        if let (WriteKind::Create, ObjectKey::Normalised(source)) = (write.kind, write.key) {
            seen.lock().unwrap().insert(source);
        }
        FaultAction::Proceed
    };
    let faults = Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(note))));
    let app = TestApp::options().without_webhook().engine(engine).faults(faults).start().await;
    let url = app.serve("/a.ts", Source::of(packed::transport_stream()));

    ffmpeg.take_away();
    let mut media = Vec::new();
    for _ in 0..FOREIGN {
        media.push(text(&app.create(&url).await["id"]).to_owned());
    }
    let arrived = async || app.objects().await.iter().filter(|path| path.starts_with("source/")).count();
    until("all sources are there", async || (arrived().await == FOREIGN).then_some(())).await;
    let other = Other::new(&app).await;
    let path = other.create(&url).await;
    until("that of the other workspace is, too", async || (arrived().await > FOREIGN).then_some(())).await;
    let repacks = || repacked.lock().unwrap().len();
    until("all places are taken", async || (repacks() >= 4).then_some(())).await;
    assert_eq!(repacks(), 4, "of four places a lone workspace has three");

    ffmpeg.bring_back();
    other.wait_ready(&path).await;
    for id in media {
        assert_eq!(app.wait_settled(&id).await["status"], "Ready");
    }
}

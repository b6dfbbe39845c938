//! The load of one workspace delays no other workspace.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinora_blob::{FaultAction, ObjectKey, WriteKind, WriteOp};
use kinora_domain::{PRODUCTION, Permission};
use kinora_engine::{Engine, Settings};
use kinora_fetch::Limits;
use kinora_testkit::fixture::containers;
use kinora_testkit::{RemovableFfmpeg, Source, fixture};
use serde_json::{Value, json};

use crate::api::tracks::Tracks;
use crate::support::{Faults, TestApp, Token, limits, text, until};

/// More than the concurrent fetches of subtitles.
const HANGING_SOURCES: usize = 20;
/// More uploads than are ingested concurrently.
const AUDIO_UPLOADS: usize = 12;
/// Sources that must be repacked: more than the concurrent repacks.
const REPACKED_SOURCES: usize = 12;
/// Only a slot for another workspace can end a test before this.
const HOUR: Duration = Duration::from_secs(3600);

/// Another workspace, as its owner uses it.
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

fn hour_limits() -> Limits {
    Limits { connect_timeout: HOUR, headers_timeout: HOUR, stall_window: HOUR, ..limits() }
}

#[tokio::test]
async fn hanging_downloads_do_not_block_other_workspaces() {
    let app = TestApp::options().without_webhook().limits(hour_limits()).downloads_max(8).start().await;
    let hanging = app.serve("/hanging", Source::silent());
    for _ in 0..HANGING_SOURCES {
        app.create(&hanging).await;
    }
    let request_count = || app.sources.requests("/hanging").len();
    until("most places are taken", async || (request_count() >= 7).then_some(())).await;
    Other::new(&app).await.ready(&app.serve("/b.mp4", Source::of(fixture::two_seconds()))).await;
    assert_eq!(request_count(), 7, "a lone workspace leaves one place");
}

#[tokio::test]
async fn hanging_subtitles_of_one_workspace_block_no_other() {
    let app = TestApp::options().without_webhook().limits(hour_limits()).start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let hanging = app.serve("/hanging", Source::silent());
    for n in 0..HANGING_SOURCES {
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

/// A failed source that waits for its next attempt holds no slot, so others of the same workspace continue.
#[tokio::test]
async fn subtitle_retry_frees_its_queue_slot() {
    let limits = Limits { retry_delays: vec![HOUR; 2], ..hour_limits() };
    let app = TestApp::options().without_webhook().limits(limits).start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of(&app, &media);
    let broken = app.serve("/broken", Source::refused(500));
    for n in 0..HANGING_SOURCES {
        assert_eq!(tracks.add(&broken, "en", &format!("English {n}")).await.status, 201);
    }
    let srt = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,000\nHello\n"));
    tracks.added(&srt, "de", "Deutsch").await;
    assert_eq!(app.sources.requests("/broken").len(), HANGING_SOURCES);
}

/// Creates an upload whose audio is replaced by another file. Returns the id of the media.
async fn upload_with_audio(app: &TestApp, token: &Token, audio_url: &str) -> String {
    let inputs = json!([{"type": "video"}, {"type": "audio", "swapTrackUrl": audio_url}]);
    let body = json!({"corsOrigin": "*", "pushMediaSettings": {"inputs": inputs}});
    let upload = app.request("POST", "/v1/on-demand/upload").token(token).json(&body).send().await;
    assert_eq!(upload.status, 201, "{upload:?}");
    let upload = upload.data();
    let path = text(&upload["url"]).strip_prefix(&app.url("")).expect("an address of this server").to_owned();
    let sent = app.request("PUT", &path).body(fixture::two_seconds()).send().await;
    assert_eq!(sent.status, 200, "{sent:?}");
    text(&upload["uploadId"]).to_owned()
}

/// Paused downloads of audio files are limited. Those above the limit occupy slots of the worker pool.
#[tokio::test]
async fn paused_audio_downloads_above_limit_occupy_worker_slots() {
    let limits = Limits { retry_delays: vec![HOUR; 2], ..hour_limits() };
    let app = TestApp::options().without_webhook().limits(limits).paused_downloads_max(2).start().await;
    let broken = app.serve("/broken", Source::refused(503));
    for _ in 0..AUDIO_UPLOADS {
        upload_with_audio(&app, &app.token, &broken).await;
    }
    // A single workspace has 7 of the 8 slots of the worker pool, and both slots of paused downloads.
    let request_count = || app.sources.requests("/broken").len();
    until("all places are taken", async || (request_count() >= 9).then_some(())).await;

    let other = Other::new(&app).await;
    let audio_url = app.serve("/audio", Source::of(fixture::two_seconds()));
    let path = format!("/v1/on-demand/{}", upload_with_audio(&app, &other.token, &audio_url).await);
    other.wait_ready(&path).await;
    assert_eq!(request_count(), 9);
}

/// The engine queue is first in, first out, so most sources of a workspace wait before that queue.
#[tokio::test]
async fn repacked_sources_share_the_engine_by_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = RemovableFfmpeg::new(folder.path());
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
    let url = app.serve("/a.ts", Source::of(containers::transport_stream()));

    ffmpeg.remove();
    let mut media = Vec::new();
    for _ in 0..REPACKED_SOURCES {
        media.push(text(&app.create(&url).await["id"]).to_owned());
    }
    let arrived = async || app.objects().await.iter().filter(|path| path.starts_with("source/")).count();
    until("all sources are there", async || (arrived().await == REPACKED_SOURCES).then_some(())).await;
    let other = Other::new(&app).await;
    let path = other.create(&url).await;
    until("that of the other workspace is, too", async || (arrived().await > REPACKED_SOURCES).then_some(()))
        .await;
    let repacks = || repacked.lock().unwrap().len();
    until("all places are taken", async || (repacks() >= 4).then_some(())).await;
    assert_eq!(repacks(), 4, "of four places a lone workspace has three");

    ffmpeg.restore();
    other.wait_ready(&path).await;
    for id in media {
        assert_eq!(app.wait_settled(&id).await["status"], "Ready");
    }
}

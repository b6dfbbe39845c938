use std::sync::Arc;
use std::time::Duration;

use kinora_testkit::{CrashPlan, Source, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::drain::{drain, objects_of, objects_without_images, sweep};
use super::events;
use crate::support::{Answer, Faults, TestApp, text, until};

/// A media from its creation to its deletion: created, fetched, ready, notified, played, deleted.
///
/// The client continues after any fault: it retries rejected requests, and starts a crashed server again on
/// the same data.
pub(super) struct CrashScenario {
    pub(super) app: TestApp,
    pub(super) clock: TestClock,
    /// Counts the writes and decides when the server crashes; it crashes once.
    plan: Arc<CrashPlan>,
    has_restarted: bool,
}

/// A lease has expired after this time.
pub(super) const LEASE: Duration = Duration::from_secs(31);

/// How strictly the order of events is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EventOrder {
    /// Events arrive in the order of the changes.
    Strict,
    /// A first attempt that takes longer than a second no longer delays later events, and may be overtaken.
    ///
    /// With a fast clock that happens soon.
    Loose,
}

impl CrashScenario {
    /// An idle server after `prepare`, with these faults from now on.
    pub(super) async fn begin_after<T>(
        clock: TestClock,
        plan: Arc<CrashPlan>,
        faults: Faults,
        prepare: impl AsyncFnOnce(&TestApp) -> T,
    ) -> (Self, T) {
        let mut app = TestApp::options().clock(clock.clone()).start().await;
        let prepared = prepare(&app).await;
        // The first sweep and the jobs of `prepare` are complete before writes are counted.
        drain(&app, &clock).await;
        app.restart_with(faults).await;
        (Self { app, clock, plan, has_restarted: false }, prepared)
    }

    /// Runs the scenario and checks every guarantee.
    pub(super) async fn run(&mut self, event_order: EventOrder) {
        let url = self.app.serve("/source.mp4", Source::of(fixture::two_seconds()));
        let body = json!({"inputs": [{"type": "video", "url": url}]});
        let media = self
            .retry_until("the media is accepted", async |app| {
                let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
                (created.status == 201).then(|| created.data())
            })
            .await;
        let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
        self.retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
        self.retry_until("the media plays", async |app| plays(app, playback).await).await;
        self.settle_at_each_write().await;

        // A client whose connection broke retries, and may have created two.
        let accepted = self.accepted().await;
        assert!(accepted.iter().any(|accepted| accepted == id));
        let mut named = Vec::new();
        for media in &accepted {
            let objects = objects_of(&self.app, media).await;
            assert_eq!(objects.len(), 2, "a ready media names its source and its index");
            named.extend(objects);
        }
        named.sort();
        assert_eq!(
            objects_without_images(&self.app).await,
            named,
            "the objects that the database names exist, and no others"
        );

        for media in &accepted {
            self.retry_until("the media is deleted", async |app| {
                let answer = answered(app, "DELETE", &format!("/v1/on-demand/{media}"), None).await?;
                matches!(answer.status, 200 | 404).then_some(())
            })
            .await;
        }
        self.settle_at_each_write().await;
        assert_eq!(self.app.objects().await, [""; 0], "no object of a deleted media remains");

        let events_by_media = events::by_media(&self.app.receiver);
        assert_eq!(events_by_media.keys().collect::<Vec<_>>(), accepted.iter().collect::<Vec<_>>());
        // The clock was moved forward, so no event delays later ones any more.
        let is_loose =
            event_order == EventOrder::Loose || (self.has_restarted && self.app.ground.is_shared());
        for mut types in events_by_media.into_values() {
            if is_loose {
                types.sort_by_key(|event| EVENTS.iter().position(|event_type| event_type == event));
            }
            assert_eq!(types, EVENTS);
        }
    }

    /// Retries until it succeeds. A crashed server is started again.
    pub(super) async fn retry_until<T>(
        &mut self,
        what: &str,
        step: impl AsyncFn(&TestApp) -> Option<T>,
    ) -> T {
        self.plan.pause(false);
        loop {
            self.restart_if_crashed().await;
            let (app, plan) = (&self.app, &self.plan);
            let may_die = !self.has_restarted;
            // `None`: the server has crashed meanwhile.
            let tried = until(what, async || match step(app).await {
                Some(done) => Some(Some(done)),
                None if may_die && plan.has_crashed() => Some(None),
                None => None,
            });
            if let Some(done) = tried.await {
                return done;
            }
        }
    }

    /// Retries until the response has one of these statuses, as a client does that lost a response.
    ///
    /// A null body means no body.
    pub(super) async fn ask(&mut self, method: &str, target: &str, body: &Value, expected: &[u16]) -> Answer {
        let body = Some(body).filter(|body| !body.is_null());
        self.retry_until(&format!("{method} {target}"), async |app| {
            answered(app, method, target, body).await.filter(|answer| expected.contains(&answer.status))
        })
        .await
    }

    /// Waits until no work is left and unreferenced objects are removed.
    ///
    /// Crashes count up to the sweep. The writes of the sweep are the same in every scenario; one scenario
    /// crashes at each of them.
    pub(super) async fn settle(&mut self) {
        self.settle_with(async |app, clock| drain(app, clock).await).await;
        sweep(&self.app, &self.clock).await;
    }

    /// Waits until no object of a deleted media remains. An encode that had begun before its media was
    /// deleted has a temporary object until it ends.
    pub(super) async fn until_no_object_remains(&self) {
        until("no object of a deleted media remains", async || {
            sweep(&self.app, &self.clock).await;
            self.app.objects().await.is_empty().then_some(())
        })
        .await;
    }

    /// The same, where the writes of the sweep count too.
    pub(super) async fn settle_at_each_write(&mut self) {
        self.settle_with(async |app, clock| {
            drain(app, clock).await;
            sweep(app, clock).await;
        })
        .await;
    }

    /// Runs `rest`; then writes do not count until the next step.
    ///
    /// The server writes counts of usage in real time, and would crash in a test that only reads.
    async fn settle_with(&mut self, rest: impl AsyncFn(&TestApp, &TestClock)) {
        self.plan.pause(false);
        loop {
            self.restart_if_crashed().await;
            let died = until_or_never(&self.plan, !self.has_restarted);
            tokio::select! {
                () = rest(&self.app, &self.clock) => {}
                () = died => {}
            }
            // It may have crashed in its last step.
            if self.has_restarted || !self.plan.has_crashed() {
                break;
            }
        }
        self.plan.pause(true);
        // It may have crashed just now.
        self.restart_if_crashed().await;
    }

    async fn restart_if_crashed(&mut self) {
        if self.plan.has_crashed() && !self.has_restarted {
            self.has_restarted = true;
            self.app.kill().await;
            if self.app.ground.is_shared() {
                // The leases of the crashed process expire before the next one acquires any.
                self.clock.advance(LEASE);
            }
            self.app.restart().await;
        }
    }

    /// The ids of all media, in the order of creation.
    pub(super) async fn accepted(&self) -> Vec<String> {
        let list = self.app.call("GET", "/v1/on-demand?limit=50&orderBy=asc").send().await.data();
        let media = list.as_array().expect("a list");
        media.iter().map(|media| text(&media["id"]).to_owned()).collect()
    }
}

/// All events of a media without failures.
pub(super) const EVENTS: [&str; 3] = ["video.media.created", "video.media.ready", "video.media.deleted"];

/// Waits for the crash, forever if there is none.
async fn until_or_never(plan: &CrashPlan, may_come: bool) {
    let mut poll = tokio::time::interval(Duration::from_millis(10));
    loop {
        poll.tick().await;
        if may_come && plan.has_crashed() {
            return;
        }
    }
}

/// The response of the server; `None` when it does not respond or reports a fault of its own.
pub(super) async fn answered(
    app: &TestApp,
    method: &str,
    target: &str,
    body: Option<&Value>,
) -> Option<Answer> {
    let request = app.call(method, target);
    let request = if let Some(body) = body { request.json(body) } else { request };
    request.try_send().await.ok().filter(|answer| answer.status < 500)
}

/// Fetches manifest, playlist, segments and a thumbnail.
async fn plays(app: &TestApp, playback: &str) -> Option<()> {
    let get = async |target: String| {
        let answer = app.request("GET", &target).try_send().await.ok()?;
        (answer.status == 200).then_some(answer)
    };
    let manifest = get(format!("/{playback}.m3u8")).await?.text();
    let playlist =
        manifest.lines().find(|line| line.ends_with("video/playlist.m3u8")).expect("a copy of the video");
    let folder = playlist.strip_suffix("playlist.m3u8").expect("it ends so");
    for file in ["playlist.m3u8", "init.mp4", "0.m4s"] {
        get(format!("/{folder}{file}")).await?;
    }
    get(format!("/{playback}/thumbnail.jpg")).await.map(drop)
}

/// Prints a line that is shown when the test fails.
#[expect(clippy::print_stderr, reason = "the output names the write of a failure")]
pub(super) fn say(line: &str) {
    eprintln!("{line}");
}

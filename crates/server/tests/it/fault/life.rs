use std::sync::Arc;
use std::time::Duration;

use kinora_testkit::{CrashPlan, Source, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::drain::{drain, objects_but_pictures, objects_of, sweep};
use super::events;
use crate::support::{Answer, Faults, TestApp, text, until};

/// A media from its first request to its last: created, fetched, ready, told, played, deleted. The client
/// goes on whatever happens: what is refused it asks for again, and a server that has died is started again
/// on the same data.
pub(super) struct Life {
    pub(super) app: TestApp,
    pub(super) clock: TestClock,
    /// What counts the writes, and when it is that the server is to die; it does so once.
    plan: Arc<CrashPlan>,
    has_restarted: bool,
}

/// A lease is over after that.
pub(super) const LEASE: Duration = Duration::from_secs(31);

/// How strictly the order of events is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// They come as they happened.
    Strict,
    /// A first attempt that takes longer than the second it may hold others back is overtaken: with a clock
    /// that runs fast that is soon.
    Loose,
}

impl Life {
    /// A server that has nothing to do after something that went well, and goes wrong from now on.
    pub(super) async fn begin_after<T>(
        clock: TestClock,
        plan: Arc<CrashPlan>,
        faults: Faults,
        prepare: impl AsyncFnOnce(&TestApp) -> T,
    ) -> (Self, T) {
        let mut app = TestApp::options().clock(clock.clone()).start().await;
        let prepared = prepare(&app).await;
        // The first sweep, and what `prepare` caused, is over before writes are counted.
        drain(&app, &clock).await;
        app.restart_with(faults).await;
        (Self { app, clock, plan, has_restarted: false }, prepared)
    }

    /// Lives it, and looks at everything that must hold.
    pub(super) async fn live(&mut self, order: Order) {
        let url = self.app.serve("/source.mp4", Source::of(fixture::two_seconds()));
        let body = json!({"inputs": [{"type": "video", "url": url}]});
        let media = self
            .insist("the media is accepted", async |app| {
                let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
                (created.status == 201).then(|| created.data())
            })
            .await;
        let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
        self.insist("the media is ready", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
        self.insist("the media plays", async |app| plays(app, playback).await).await;
        self.settle_at_each_write().await;

        // A client whose request broke off asks again, and may have made two.
        let accepted = self.accepted().await;
        assert!(accepted.iter().any(|accepted| accepted == id));
        let mut named = Vec::new();
        for media in &accepted {
            let objects = objects_of(&self.app, media).await;
            assert_eq!(objects.len(), 2, "a ready media names its source and its index");
            named.extend(objects);
        }
        named.sort();
        assert_eq!(objects_but_pictures(&self.app).await, named, "what is named is there, and nothing else");

        for media in &accepted {
            self.insist("the media is deleted", async |app| {
                let answer = answered(app, "DELETE", &format!("/v1/on-demand/{media}"), None).await?;
                matches!(answer.status, 200 | 404).then_some(())
            })
            .await;
        }
        self.settle_at_each_write().await;
        assert_eq!(self.app.objects().await, [""; 0], "nothing is left of what was deleted");

        let told = events::by_media(&self.app.receiver);
        assert_eq!(told.keys().collect::<Vec<_>>(), accepted.iter().collect::<Vec<_>>());
        // Time that was passed over holds no event back any more.
        let is_loose = order == Order::Loose || (self.has_restarted && self.app.ground.is_shared());
        for mut types in told.into_values() {
            if is_loose {
                types.sort_by_key(|event| EVENTS.iter().position(|known| known == event));
            }
            assert_eq!(types, EVENTS);
        }
    }

    /// Tries until it works. A server that has died is started again.
    pub(super) async fn insist<T>(&mut self, what: &str, step: impl AsyncFn(&TestApp) -> Option<T>) -> T {
        self.plan.pause(false);
        loop {
            self.revive().await;
            let (app, plan) = (&self.app, &self.plan);
            let may_die = !self.has_restarted;
            // `None`: it has died meanwhile.
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

    /// Asks until the answer has one of these statuses, as a client does whose answer was lost. A body of
    /// null is none.
    pub(super) async fn ask(&mut self, method: &str, target: &str, body: &Value, wanted: &[u16]) -> Answer {
        let body = Some(body).filter(|body| !body.is_null());
        self.insist(&format!("{method} {target}"), async |app| {
            answered(app, method, target, body).await.filter(|answer| wanted.contains(&answer.status))
        })
        .await
    }

    /// Everything is done that can be, and what nobody needs is gone. A crash before the sweep is part of it;
    /// the writes of that are the same in every life, and one of them crashes at each.
    pub(super) async fn settle(&mut self) {
        self.come_to_rest(async |app, clock| drain(app, clock).await).await;
        sweep(&self.app, &self.clock).await;
    }

    /// The same with each write of the sweep.
    pub(super) async fn settle_at_each_write(&mut self) {
        self.come_to_rest(async |app, clock| {
            drain(app, clock).await;
            sweep(app, clock).await;
        })
        .await;
    }

    /// No write counts from then on until the life goes on: what the server writes by real time, as counts of
    /// usage, would let it die under a test that only reads.
    async fn come_to_rest(&mut self, rest: impl AsyncFn(&TestApp, &TestClock)) {
        self.plan.pause(false);
        loop {
            self.revive().await;
            let died = until_or_never(&self.plan, !self.has_restarted);
            tokio::select! {
                () = rest(&self.app, &self.clock) => {}
                () = died => {}
            }
            // It may have died in its very last step.
            if self.has_restarted || !self.plan.has_crashed() {
                break;
            }
        }
        self.plan.pause(true);
        // It may have died just now.
        self.revive().await;
    }

    async fn revive(&mut self) {
        if self.plan.has_crashed() && !self.has_restarted {
            self.has_restarted = true;
            self.app.kill().await;
            if self.app.ground.is_shared() {
                // The leases of the dead process run out before the next one takes any.
                self.clock.advance(LEASE);
            }
            self.app.restart().await;
        }
    }

    /// The ids of all media there are, in the order of their creation.
    pub(super) async fn accepted(&self) -> Vec<String> {
        let list = self.app.call("GET", "/v1/on-demand?limit=50&orderBy=asc").send().await.data();
        let media = list.as_array().expect("a list");
        media.iter().map(|media| text(&media["id"]).to_owned()).collect()
    }
}

/// All that is told of a media that goes well.
pub(super) const EVENTS: [&str; 3] = ["video.media.created", "video.media.ready", "video.media.deleted"];

/// Waits for the crash, for ever if there is none.
async fn until_or_never(plan: &CrashPlan, may_come: bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    loop {
        looks.tick().await;
        if may_come && plan.has_crashed() {
            return;
        }
    }
}

/// What the server answers; `None` when it does not, or that something of its own is in the way.
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

/// Manifest, playlist, segments and a picture.
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

/// A line that is shown when the test fails.
#[expect(clippy::print_stderr, reason = "whoever reads the failure must know which write it was")]
pub(super) fn say(line: &str) {
    eprintln!("{line}");
}

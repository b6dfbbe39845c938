//! `kill -9` and SIGTERM of the real binary while segments are encoded.

use std::ffi::OsStr;
use std::time::Duration;

use kinora_testkit::{Source, SourceServer, fixture};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::binary::{Binary, Serving};
use super::crash_scenario::say;
use super::events;
use super::watched::Watched;
use crate::media::probe::decoded;
use crate::support::{Child, DEADLINE, until};

/// Concurrent viewers: more than the concurrent encodes.
const VIEWERS: usize = 4;
/// Frames in both sources.
const FRAMES: u64 = 300;

/// When the server is killed, counted from the first requests of the viewers.
#[derive(Debug, Clone, Copy)]
enum KillPoint {
    /// An encoder has begun.
    Encoder,
    /// This many more segments are stored.
    Stored(usize),
    /// A temporary object is being written; on S3, where it is not visible, one more segment is stored.
    Unnamed,
    /// This many more viewers have received their response.
    Served(usize),
}

const KILL_POINTS: [KillPoint; 7] = [
    KillPoint::Encoder,
    KillPoint::Stored(1),
    KillPoint::Unnamed,
    KillPoint::Served(1),
    KillPoint::Encoder,
    KillPoint::Stored(2),
    KillPoint::Served(2),
];

/// Polls at a short interval: the state lasts briefly.
async fn poll_until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let mut poll = interval(Duration::from_millis(1));
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reached = async {
        while !is_so().await {
            poll.tick().await;
        }
    };
    timeout(DEADLINE, reached).await.unwrap_or_else(|_| panic!("after {DEADLINE:?} still not: {what}"));
}

impl KillPoint {
    /// Waits for it, or until the viewers have received everything.
    async fn wait(self, binary: &Binary, server: &Serving, watched: &Watched, viewers: &mut JoinSet<()>) {
        let segment_count = async || count(&binary.objects().await, "segment/");
        let (before, served) = (segment_count().await, watched.count());
        let reached = poll_until("the moment comes", async || match self {
            Self::Encoder => !server.children().is_empty(),
            Self::Stored(more) => segment_count().await >= before + more,
            Self::Unnamed => {
                let objects = binary.objects().await;
                count(&objects, "temporary/") > 0 || count(&objects, "segment/") > before
            }
            Self::Served(more) => watched.count() >= served + more,
        });
        let ended = async {
            while let Some(viewer) = viewers.join_next().await {
                viewer.expect("viewers do not panic");
            }
        };
        tokio::select! {
            () = reached => {}
            () = ended => {}
        }
    }
}

fn count(paths: &[String], folder: &str) -> usize {
    paths.iter().filter(|path| path.starts_with(folder)).count()
}

/// Kills a server as SIGKILL does. Returns how many child processes ended with it.
async fn kill(server: Serving) -> usize {
    let children = server.kill_with_children().await;
    until("its processes are gone, too", async || gone(&children)).await;
    children.len()
}

fn gone(children: &[Child]) -> Option<()> {
    children.iter().all(|child| !child.is_alive()).then_some(())
}

/// A media with a rung below its copy, and one whose renditions are all encoded.
async fn create_two(sources: &SourceServer, binary: &Binary) -> [String; 2] {
    [
        binary.create(&sources.serve("/copied.mp4", Source::of(fixture::large_two_tracks()))).await,
        binary.create(&sources.serve("/encoded.mkv", Source::of(fixture::not_copied()))).await,
    ]
}

/// Their renditions to watch, once both are ready.
async fn ready(binary: &Binary, [copied, encoded]: &[String; 2]) -> Watched {
    let mut watched = Watched::new();
    for (id, renditions) in [(copied, &["240p"][..]), (encoded, &["360p", "240p", "aac"])] {
        let media = until("the media is settled", async || binary.settled(id).await).await;
        assert_eq!(media["status"], "Ready", "{media}");
        watched.add(binary, &media, renditions).await;
    }
    watched
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_during_encode_leaves_whole_segments() {
    let (sources, binary) = (SourceServer::start().await, Binary::new().await);
    let mut server = binary.serve().await;
    let media = create_two(&sources, &binary).await;
    // The first segment of one of them is encoded before it is ready.
    poll_until("the beginning is being made", async || !server.children().is_empty()).await;
    let mut died = kill(server).await;
    server = binary.serve().await;
    let watched = ready(&binary, &media).await;
    for kill_point in KILL_POINTS {
        if watched.is_served() {
            break;
        }
        let mut viewers = watched.viewers(&binary, VIEWERS);
        kill_point.wait(&binary, &server, &watched, &mut viewers).await;
        let with_it = kill(server).await;
        say(&format!(
            "killed at {kill_point:?}, and {with_it} processes with it; {} files were served",
            watched.count()
        ));
        died += with_it;
        while let Some(viewer) = viewers.join_next().await {
            viewer.expect("viewers do not panic");
        }
        server = binary.serve().await;
        let remaining = binary.objects().await;
        assert_eq!(
            count(&remaining, "temporary/"),
            0,
            "after {kill_point:?} something half is left: {remaining:?}"
        );
        watched.check(&binary).await;
    }
    assert!(died > 0, "no encoder was running when a server was killed");

    watched.fetch_rest(&binary).await;
    watched.check(&binary).await;
    for playlist in watched.playlists() {
        let url = binary.url(playlist);
        let is_audio = playlist.contains("/aac/");
        let played = decoded(OsStr::new(&url), if is_audio { "a:0" } else { "v:0" }).await.expect("it plays");
        assert!(if is_audio { played.frames > 0 } else { played.frames == FRAMES }, "{playlist}: {played:?}");
    }
    server.end().await;
    for (id, event_types) in events::by_media(&binary.receiver) {
        assert_eq!(event_types, ["video.media.created", "video.media.ready"], "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_kills_hanging_encoders() {
    let (sources, binary) = (SourceServer::start().await, Binary::new().await);
    let server = binary.serve().await;
    let watched = ready(&binary, &create_two(&sources, &binary).await).await;
    // All viewers disconnect. Their encode continues, but hangs.
    let viewers = watched.viewers(&binary, VIEWERS);
    let mut children = Vec::new();
    poll_until("an encoder has begun", async || {
        children = server.children();
        children.iter().for_each(|child| child.suspend());
        !children.is_empty()
    })
    .await;
    drop(viewers);
    let log = server.end().await;
    assert!(log.contains("stopped"), "{log}");
    assert!(
        !log.contains("the engine was too slow"),
        "it waited until an encoder had been silent for too long: {log}"
    );
    until("its encoders are gone, too", async || gone(&children)).await;
    let remaining = binary.objects().await;
    assert_eq!(count(&remaining, "temporary/"), 0, "{remaining:?}");

    let server = binary.serve().await;
    watched.check(&binary).await;
    watched.fetch_rest(&binary).await;
    server.end().await;
}

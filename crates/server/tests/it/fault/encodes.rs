//! `kill -9`, and a polite end, of the real binary while segments are encoded.

use std::ffi::OsStr;
use std::time::Duration;

use kinora_testkit::{Source, SourceServer, fixture};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::binary::{Binary, Serving};
use super::events;
use super::life::say;
use super::watched::Watched;
use crate::media::probe::decoded;
use crate::support::{Child, DEADLINE, until};

/// Viewers at once: more than can be encoded for at once.
const VIEWERS: usize = 4;
/// Pictures in both sources.
const PICTURES: u64 = 300;

/// When the server is killed, counted from the moment in which viewers begin to ask.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// An encoder has begun.
    Encoder,
    /// So many more segments are kept.
    Kept(usize),
    /// Something is being written that has no name yet; on S3, where nobody sees that, a segment more is
    /// kept.
    Unnamed,
    /// So many more viewers were given what they asked for.
    Served(usize),
}

const MOMENTS: [Moment; 7] = [
    Moment::Encoder,
    Moment::Kept(1),
    Moment::Unnamed,
    Moment::Served(1),
    Moment::Encoder,
    Moment::Kept(2),
    Moment::Served(2),
];

/// Looks very often: a moment is over soon.
async fn as_soon_as(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let mut looks = interval(Duration::from_millis(1));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reached = async {
        while !is_so().await {
            looks.tick().await;
        }
    };
    timeout(DEADLINE, reached).await.unwrap_or_else(|_| panic!("after {DEADLINE:?} still not: {what}"));
}

impl Moment {
    /// Waits for it, or until the viewers have all they want.
    async fn come(self, binary: &Binary, server: &Serving, watched: &Watched, viewers: &mut JoinSet<()>) {
        let kept = async || count(&binary.objects().await, "segment/");
        let (before, served) = (kept().await, watched.count());
        let moment = as_soon_as("the moment comes", async || match self {
            Self::Encoder => !server.children().is_empty(),
            Self::Kept(more) => kept().await >= before + more,
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
            () = moment => {}
            () = ended => {}
        }
    }
}

fn count(paths: &[String], folder: &str) -> usize {
    paths.iter().filter(|path| path.starts_with(folder)).count()
}

/// Ends a server as SIGKILL does. Answers how many processes of it died with it.
async fn kill(server: Serving) -> usize {
    let children = server.kill_with_children().await;
    until("its processes are gone, too", async || gone(&children)).await;
    children.len()
}

fn gone(children: &[Child]) -> Option<()> {
    children.iter().all(|child| !child.is_alive()).then_some(())
}

/// A media with a rung below its copy, and one of which everything is encoded.
async fn create_two(sources: &SourceServer, binary: &Binary) -> [String; 2] {
    [
        binary.create(&sources.serve("/copied.mp4", Source::of(fixture::wide()))).await,
        binary.create(&sources.serve("/encoded.mkv", Source::of(fixture::not_copied()))).await,
    ]
}

/// What is to be watched of them, once both are ready.
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
async fn whenever_a_server_is_killed_while_it_encodes_what_is_kept_is_whole_and_stays() {
    let (sources, binary) = (SourceServer::start().await, Binary::new().await);
    let mut server = binary.serve().await;
    let media = create_two(&sources, &binary).await;
    // Of one of them the beginning is made before it is ready.
    as_soon_as("the beginning is being made", async || !server.children().is_empty()).await;
    let mut died = kill(server).await;
    server = binary.serve().await;
    let watched = ready(&binary, &media).await;
    for moment in MOMENTS {
        if watched.is_served() {
            break;
        }
        let mut viewers = watched.viewers(&binary, VIEWERS);
        moment.come(&binary, &server, &watched, &mut viewers).await;
        let with_it = kill(server).await;
        say(&format!(
            "killed at {moment:?}, and {with_it} processes with it; {} files were served",
            watched.count()
        ));
        died += with_it;
        while let Some(viewer) = viewers.join_next().await {
            viewer.expect("viewers do not panic");
        }
        server = binary.serve().await;
        let left = binary.objects().await;
        assert_eq!(count(&left, "temporary/"), 0, "after {moment:?} something half is left: {left:?}");
        watched.check(&binary).await;
    }
    assert!(died > 0, "no encoder was running when a server was killed");

    watched.fetch_rest(&binary).await;
    watched.check(&binary).await;
    for playlist in watched.playlists() {
        let url = binary.url(playlist);
        let is_sound = playlist.contains("/aac/");
        let played = decoded(OsStr::new(&url), if is_sound { "a:0" } else { "v:0" }).await.expect("it plays");
        assert!(
            if is_sound { played.frames > 0 } else { played.frames == PICTURES },
            "{playlist}: {played:?}"
        );
    }
    server.end().await;
    for (id, told) in events::by_media(&binary.receiver) {
        assert_eq!(told, ["video.media.created", "video.media.ready"], "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_told_to_stop_ends_its_encoders_whatever_they_do() {
    let (sources, binary) = (SourceServer::start().await, Binary::new().await);
    let server = binary.serve().await;
    let watched = ready(&binary, &create_two(&sources, &binary).await).await;
    // Everybody leaves, and what was begun for them goes on; but it hangs.
    let viewers = watched.viewers(&binary, VIEWERS);
    let mut children = Vec::new();
    as_soon_as("an encoder has begun", async || {
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
    let left = binary.objects().await;
    assert_eq!(count(&left, "temporary/"), 0, "{left:?}");

    let server = binary.serve().await;
    watched.check(&binary).await;
    watched.fetch_rest(&binary).await;
    server.end().await;
}

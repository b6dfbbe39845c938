//! A data folder of the last unreleased version: two media, one with an index in a layout that is no longer
//! read.
//!
//! That one also offers an MP4.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kinora_domain::{Clock, MediaState, PresentationId};
use kinora_server::SystemClock;
use kinora_store::{Opener, Store};
use kinora_testkit::schema_25;

use crate::command::Machine;
use crate::support::{text, until};

/// The playback ID of each media, and its index id.
///
/// The second index id is new, because the index is made again.
const PLAIN: (&str, &str) = ("c48b31d6-c5ba-44bc-a57e-1c30542caf3c", "7516663d5e1097cd");
const OLD_LAYOUT: (&str, &str) = ("7324e40c-10e1-41b6-bb54-0d1d6ab0329b", "0b80f4fc419623e1");
const PLAIN_MEDIA: &str = "01a21acd-29ee-70e5-a944-2801b543c4ac";
/// Its id and those of its tracks.
const OLD_LAYOUT_MEDIA: (&str, [&str; 2]) = (
    "01a21acd-28fa-75f6-816c-7ed376ec8b51",
    ["01a21acd-2944-768c-b4fb-55be09d866a9", "01a21acd-2944-7f52-b1c8-76b0307f7edd"],
);
/// An access token of that version.
const TOKEN: (&str, &str) =
    ("01a21acd-2852-7c93-b699-e4c7aecdb0f0", "rAdDSqLH4c4Tkgh_Z8Bm0c7PBBCnenm38oK1qZ7yblc");

#[tokio::test]
async fn data_of_schema_25_is_migrated_and_plays() {
    let machine = Machine::new().await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/folder/schema_25");
    copy(&folder.join("objects"), &machine.data_dir().join("objects"));
    copy(&folder.join("secret.key"), &machine.data_dir().join("secret.key"));
    schema_25::make_file(&machine.data_dir().join("kinora.db"), include_str!("schema_25/rows.sql")).await;
    let refused = machine.run(&["workspace", "list"]).await;
    let sentence = "kinora: the database cannot be used: the database has schema 25 and this binary needs 31; \
                    start kinora serve once to migrate it";
    assert_eq!((refused.code, refused.stderr.trim_end()), (Some(1), sentence), "{refused:?}");

    let server = machine.serve(&[]).await;
    let list = machine.request("GET", "/v1/on-demand").basic(TOKEN.0, TOKEN.1).send().await.json();
    let statuses = list["data"].as_array().unwrap().iter().map(|media| text(&media["status"]));
    assert_eq!(statuses.collect::<Vec<_>>(), ["Ready", "Ready"]);
    for (playback, index) in [PLAIN, OLD_LAYOUT] {
        let manifest = until("it plays", async || {
            let answer = machine.fetch(&format!("/{playback}.m3u8")).await;
            (answer.status == 200).then(|| answer.text())
        })
        .await;
        let rendition = format!("{playback}/{index}/video");
        assert!(manifest.contains(&format!("\n{rendition}/playlist.m3u8\n")), "{manifest}");
        let playlist = machine.fetch(&format!("/{rendition}/playlist.m3u8")).await.text();
        let segment = playlist.lines().find(|line| !line.starts_with('#')).unwrap();
        assert_eq!(machine.fetch(&format!("/{rendition}/{segment}")).await.status, 200, "{playlist}");
    }
    let file = machine.fetch(&format!("/{}/capped-4k.mp4", OLD_LAYOUT.0)).await;
    assert_eq!(file.status, 200);
    until("its files are prepared again", async || {
        let kinds = schema_25::event_kinds(&machine.data_dir().join("kinora.db")).await;
        kinds.iter().any(|kind| kind == "video.media.mp4Support.ready").then_some(())
    })
    .await;
    server.stop().await.ok();
    check_rows(&machine).await;
}

/// Checks the media whose index was made again: its facts are complete, and the renditions of the old index
/// are deleted.
///
/// The other media is unchanged.
async fn check_rows(machine: &Machine) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(machine.ground.store_options(Opener::Command, &clock)).await.unwrap();
    let media = async |id: &str| store.media_by_id(id.parse().unwrap()).await.unwrap().unwrap();
    let (plain, remade) = (media(PLAIN_MEDIA).await, media(OLD_LAYOUT_MEDIA.0).await);
    assert_eq!(plain.updated_at.as_micros(), 1_795_745_983_557_923, "nothing of it changed");
    let MediaState::Ready { source, facts, .. } = &remade.state else { panic!("ready: {remade:?}") };
    let tracks: Vec<_> = facts.tracks.iter().map(|track| track.id.to_string()).collect();
    assert_eq!(
        (facts.container.as_deref(), tracks.as_slice()),
        (Some("mp4"), &OLD_LAYOUT_MEDIA.1.map(str::to_owned)[..])
    );
    assert!(remade.updated_at > plain.updated_at);
    assert_eq!(store.renditions_of(PresentationId::of(*source)).await.unwrap(), []);
    store.close().await;
}

/// Copies a file, or a folder recursively.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

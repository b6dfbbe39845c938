//! A media of the workspace Development that people play through the dashboard.

use kinora_server::Roles;
use serde_json::{Value, json};

use super::support::{Browser, World};
use crate::api::Ids;
use crate::private::watched::Watched;
use crate::support::{Answer, text};

/// A server with a ready media. It runs jobs, and its clock stands still.
pub(super) async fn world() -> (World, Watched) {
    let world = World::start_with(|options| options.roles(Roles::ALL)).await;
    let watched = Watched::new(&world.app).await;
    (world, watched)
}

/// The path of a media below the operations of the dashboard.
pub(super) async fn media_path(world: &World, media: &Value) -> String {
    format!("/workspaces/{}/media/{}", world.development().await, text(&media["id"]))
}

/// A playback ID of a media that has no other one.
pub(super) async fn only_playback_id(world: &World, media: &Value, settings: &Value) -> String {
    let ids = Ids::of(&world.app, media);
    for old in ids.list().await.data().as_array().expect("a list") {
        assert_eq!(ids.delete(text(&old["id"])).await.status, 200);
    }
    ids.made(settings).await
}

/// Asks for a pass.
pub(super) async fn ask_pass(world: &World, browser: &Browser<'_>, media: &Value) -> Answer {
    browser.post(&format!("{}/pass", media_path(world, media).await), &json!({})).await
}

/// A pass of this person.
pub(super) async fn pass_of(world: &World, browser: &Browser<'_>, media: &Value) -> String {
    let answer = ask_pass(world, browser, media).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    text(&answer.data()["token"]).to_owned()
}

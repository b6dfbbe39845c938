//! What the document of the API says of playlists.

use kinora_domain::{PlayOrder, Playlist};
use kinora_web::openapi::schema::{day, default, object, said, text, words};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::media_request::MEDIA_IDS_MAX;
use super::view::{ListedPlaylistView, PlaylistView};
use crate::error;
use crate::example;

const ALL: &str = "/on-demand/playlists";
const ONE: &str = "/on-demand/playlists/{playlistId}";
const MEDIA: &str = "/on-demand/playlists/{playlistId}/media";
/// A playlist's id is of the kind of playback IDs.
const ID: &str = example::PLAYBACK;

/// Every operation on playlists.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (playlist, listed) = (schemas.of::<PlaylistView>(), schemas.of::<ListedPlaylistView>());
    let (new, shown) = (new(schemas), shown(schemas));
    let order = media_ids(0);
    let (some, order) =
        (schemas.named("PlaylistMediaIds", media_ids(1)), schemas.named("PlaylistMediaOrder", order));
    let ids = [("one", json!({"mediaIds": [example::MEDIA]}))];
    let all = [
        Operation::post(ALL, "createPlaylist", "Make a playlist")
            .says(
                "A manual playlist has the media that you put into it, a smart one the ready media of the workspace whose dates lie \
                 within its days (UTC, both included), chosen whenever it is read. It plays as one stream at \
                 `/playlist/{playlistId}.m3u8`, through public playback IDs without restrictions.",
            )
            .takes(
                new,
                &[
                    ("manual", json!({"name": "Evening", "referenceId": "evening", "type": "manual"})),
                    (
                        "by dates",
                        json!({
                            "name": "November",
                            "referenceId": "november",
                            "type": "smart",
                            "limit": 20,
                            "playOrder": "createdDate DESC",
                            "metadata": {"createdDate": {"startDate": "2026-11-01", "endDate": "2026-11-30"}},
                        }),
                    ),
                ],
            )
            .creates(playlist.clone(), playlist_example())
            .refuses(error::playlist_reference_taken("evening"))
            .refuses(error::too_many_playlists(Playlist::PER_WORKSPACE_MAX)),
        Operation::get(ALL, "listPlaylists", "List playlists").lists(listed, listed_example()),
        one(Operation::get(ONE, "getPlaylist", "Read a playlist"))
            .says("With all of its media, in their order.")
            .answers(playlist.clone(), playlist_example()),
        one(Operation::put(ONE, "updatePlaylist", "Rename a playlist"))
            .takes(shown, &[("name", json!({"name": "Night", "description": "Quiet"}))])
            .answers(playlist.clone(), playlist_example()),
        one(Operation::delete(ONE, "deletePlaylist", "Delete a playlist"))
            .says("Its media stay.")
            .answers_done(),
        one(Operation::patch(MEDIA, "appendPlaylistMedia", "Append media to a playlist"))
            .says("In this order. All of them are ready; one that is in it already stays where it is.")
            .takes(some.clone(), &ids)
            .answers(playlist.clone(), playlist_example()),
        one(Operation::put(MEDIA, "reorderPlaylistMedia", "Put the media of a playlist in order"))
            .says("Names each media of the playlist once.")
            .takes(order, &ids)
            .answers(playlist.clone(), playlist_example()),
        one(Operation::delete(MEDIA, "removePlaylistMedia", "Take media out of a playlist"))
            .says("All of them are in it.")
            .takes(some, &ids)
            .answers(playlist, playlist_example()),
    ];
    all.into_iter().map(|operation| operation.tagged("Playlists")).collect()
}

/// What is asked of one playlist.
fn one(operation: Operation) -> Operation {
    operation.id("playlistId", "The id of a playlist.", ID).conditional().refuses(error::playlist_not_found())
}

fn filled() -> Value {
    let mut filled = text(Playlist::TEXT_MAX);
    filled["minLength"] = 1.into();
    filled["pattern"] = r"\S".into();
    filled
}

fn new(schemas: &mut Schemas) -> Value {
    let days = || said(object(&[], [("startDate", day()), ("endDate", day())]), "One of them at least.");
    let metadata = object(&[], [("createdDate", days()), ("updatedDate", days())]);
    let limit = json!({"type": "integer", "minimum": 1, "maximum": Playlist::ITEMS_MAX});
    let orders = words(PlayOrder::ALL.map(PlayOrder::as_str));
    let body = object(
        &["name", "referenceId", "type"],
        [
            ("name", filled()),
            ("referenceId", said(filled(), "Your own id; a workspace has each once.")),
            ("type", words(["smart", "manual"])),
            ("description", text(Playlist::TEXT_MAX)),
            ("limit", default(said(limit, "Most media in it."), Playlist::ITEMS_MAX)),
            (
                "playOrder",
                said(orders, "Of a smart playlist, which must have it; of a manual one it is refused."),
            ),
            (
                "metadata",
                said(
                    metadata,
                    "Of a smart playlist, with one of the two at least; of a manual one it is refused.",
                ),
            ),
        ],
    );
    schemas.named("CreatePlaylist", body)
}

fn shown(schemas: &mut Schemas) -> Value {
    let fields = [("name", filled()), ("description", text(Playlist::TEXT_MAX))];
    schemas.named("UpdatePlaylist", object(&["name", "description"], fields))
}

fn media_ids(min: usize) -> Value {
    let ids = json!({"type": "array", "minItems": min, "maxItems": MEDIA_IDS_MAX, "uniqueItems": true,
        "items": {"type": "string", "format": "uuid"}});
    object(&["mediaIds"], [("mediaIds", ids)])
}

fn listed_example() -> Value {
    json!({
        "id": ID,
        "name": "Evening",
        "type": "manual",
        "referenceId": "evening",
        "createdAt": example::TIME,
        "mediaCount": 0,
    })
}

fn playlist_example() -> Value {
    json!({
        "id": ID,
        "name": "Evening",
        "referenceId": "evening",
        "type": "manual",
        "description": "",
        "mediaList": [],
        "workspaceId": example::WORKSPACE,
        "createdAt": example::TIME,
        "updatedAt": example::TIME,
        "mediaCount": 0,
    })
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::reading::check_fields;

    use super::super::{media_request, request};
    use super::*;

    #[test]
    fn what_is_read_of_a_playlist_is_described_and_nothing_else() {
        let workspace = example::WORKSPACE.parse().expect("an id");
        check_fields(new, |body| drop(request::new_playlist(body, workspace)));
        check_fields(shown, |body| drop(request::shown(body)));
        check_fields(|_| media_ids(1), |body| drop(media_request::media_ids(body, 1)));
    }
}

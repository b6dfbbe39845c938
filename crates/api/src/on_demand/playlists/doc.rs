//! The OpenAPI descriptions of playlists.

use kinora_domain::{PlayOrder, Playlist};
use kinora_web::openapi::schema::{day, default, described, object, text, words};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::media_request::MEDIA_IDS_MAX;
use super::view::{ListedPlaylistView, PlaylistView};
use crate::error;
use crate::example;

const ALL: &str = "/on-demand/playlists";
const ONE: &str = "/on-demand/playlists/{playlistId}";
const MEDIA: &str = "/on-demand/playlists/{playlistId}/media";
/// A playlist's id has the form of a playback ID.
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
        Operation::post(ALL, "createPlaylist", "Create a playlist")
            .description(
                "A manual playlist has the media that you add. A smart playlist has the ready media of the \
                    workspace whose dates match its rules (UTC, both days included); every read evaluates \
                    the rules. A playlist plays as one stream at `/playlist/{playlistId}.m3u8`, through \
                    public playback IDs without restrictions.",
            )
            .request_body(
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
            .error(error::playlist_reference_taken("evening"))
            .error(error::too_many_playlists(Playlist::PER_WORKSPACE_MAX)),
        Operation::get(ALL, "listPlaylists", "List playlists").lists(listed, listed_example()),
        one(Operation::get(ONE, "getPlaylist", "Read a playlist"))
            .description("Returns all of its media in playlist order.")
            .answers(playlist.clone(), playlist_example()),
        one(Operation::put(ONE, "updatePlaylist", "Rename a playlist"))
            .request_body(shown, &[("name", json!({"name": "Night", "description": "Quiet"}))])
            .answers(playlist.clone(), playlist_example()),
        one(Operation::delete(ONE, "deletePlaylist", "Delete a playlist"))
            .description("The media in it are not deleted.")
            .responds_empty(),
        one(Operation::patch(MEDIA, "appendPlaylistMedia", "Append media to a playlist"))
            .description("Appends them in this order. Every media must be ready. A media that is already in the playlist keeps its position.")
            .request_body(some.clone(), &ids)
            .answers(playlist.clone(), playlist_example()),
        one(Operation::put(MEDIA, "reorderPlaylistMedia", "Reorder the media of a playlist"))
            .description("The request must name each media of the playlist once.")
            .request_body(order, &ids)
            .answers(playlist.clone(), playlist_example()),
        one(Operation::delete(MEDIA, "removePlaylistMedia", "Remove media from a playlist"))
            .description("Every media must be in the playlist.")
            .request_body(some, &ids)
            .answers(playlist, playlist_example()),
    ];
    all.into_iter().map(|operation| operation.tagged("Playlists")).collect()
}

/// The parameters and errors of an operation on one playlist.
fn one(operation: Operation) -> Operation {
    operation.id("playlistId", "The id of a playlist.", ID).conditional().error(error::playlist_not_found())
}

fn filled() -> Value {
    let mut filled = text(Playlist::TEXT_MAX);
    filled["minLength"] = 1.into();
    filled["pattern"] = r"\S".into();
    filled
}

fn new(schemas: &mut Schemas) -> Value {
    let days = || {
        described(
            object(&[], [("startDate", day()), ("endDate", day())]),
            "At least one of the two is required.",
        )
    };
    let metadata = object(&[], [("createdDate", days()), ("updatedDate", days())]);
    let limit = json!({"type": "integer", "minimum": 1, "maximum": Playlist::ITEMS_MAX});
    let orders = words(PlayOrder::ALL.map(PlayOrder::as_str));
    let body = object(
        &["name", "referenceId", "type"],
        [
            ("name", filled()),
            ("referenceId", described(filled(), "Your own id, unique in the workspace.")),
            ("type", words(["smart", "manual"])),
            ("description", text(Playlist::TEXT_MAX)),
            ("limit", default(described(limit, "Maximum number of media."), Playlist::ITEMS_MAX)),
            ("playOrder", described(orders, "Required for a smart playlist; rejected for a manual one.")),
            (
                "metadata",
                described(
                    metadata,
                    "Required for a smart playlist, with at least one of the two; rejected for a manual one.",
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
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::super::{media_request, request};
    use super::*;

    #[test]
    fn playlist_schema_has_exactly_the_parsed_fields() {
        let workspace = example::WORKSPACE.parse().expect("an id");
        check_fields(new, |body| drop(request::parse_new(body, workspace)));
        check_fields(shown, |body| drop(request::parse_update(body)));
        check_fields(|_| media_ids(1), |body| drop(media_request::media_ids(body, 1)));
    }
}

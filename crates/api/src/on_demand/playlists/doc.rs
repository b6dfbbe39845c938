//! The OpenAPI descriptions of playlists.

use kinora_domain::{PlayOrder, Playlist};
use kinora_web::openapi::schema::{day, object, string_enum, text, with_default, with_description};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::media_ids_request::MEDIA_IDS_MAX;
use super::view::{ListedPlaylistView, PlaylistView};
use crate::error;
use crate::example;

const COLLECTION_PATH: &str = "/on-demand/playlists";
const ITEM_PATH: &str = "/on-demand/playlists/{playlistId}";
const MEDIA_PATH: &str = "/on-demand/playlists/{playlistId}/media";
/// A playlist's id has the form of a playback ID.
const ID: &str = example::PLAYBACK;

/// Every operation on playlists.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (playlist, listed) = (schemas.of::<PlaylistView>(), schemas.of::<ListedPlaylistView>());
    let (new, update) = (create_schema(schemas), update_schema(schemas));
    let order = media_ids_schema(0);
    let (some_ids, order) =
        (schemas.add("PlaylistMediaIds", media_ids_schema(1)), schemas.add("PlaylistMediaOrder", order));
    let ids = [("one", json!({"mediaIds": [example::MEDIA]}))];
    let all = [
        Operation::post(COLLECTION_PATH, "createPlaylist", "Create a playlist")
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
        Operation::get(COLLECTION_PATH, "listPlaylists", "List playlists").lists(listed, listed_example()),
        playlist_operation(Operation::get(ITEM_PATH, "getPlaylist", "Read a playlist"))
            .description("Returns all of its media in playlist order.")
            .responds_with_data(playlist.clone(), playlist_example()),
        playlist_operation(Operation::put(ITEM_PATH, "updatePlaylist", "Rename a playlist"))
            .request_body(update, &[("name", json!({"name": "Night", "description": "Quiet"}))])
            .responds_with_data(playlist.clone(), playlist_example()),
        playlist_operation(Operation::delete(ITEM_PATH, "deletePlaylist", "Delete a playlist"))
            .description("The media in it are not deleted.")
            .responds_empty(),
        playlist_operation(Operation::patch(MEDIA_PATH, "appendPlaylistMedia", "Append media to a playlist"))
            .description("Appends them in this order. Every media must be ready. A media that is already in the playlist keeps its position.")
            .request_body(some_ids.clone(), &ids)
            .responds_with_data(playlist.clone(), playlist_example()),
        playlist_operation(Operation::put(MEDIA_PATH, "reorderPlaylistMedia", "Reorder the media of a playlist"))
            .description("The request must name each media of the playlist once.")
            .request_body(order, &ids)
            .responds_with_data(playlist.clone(), playlist_example()),
        playlist_operation(Operation::delete(MEDIA_PATH, "removePlaylistMedia", "Remove media from a playlist"))
            .description("Every media must be in the playlist.")
            .request_body(some_ids, &ids)
            .responds_with_data(playlist, playlist_example()),
    ];
    all.into_iter().map(|operation| operation.tagged("Playlists")).collect()
}

/// The parameters and errors of an operation on one playlist.
fn playlist_operation(operation: Operation) -> Operation {
    operation.id("playlistId", "The id of a playlist.", ID).conditional().error(error::playlist_not_found())
}

fn non_empty_text() -> Value {
    let mut schema = text(Playlist::TEXT_MAX);
    schema["minLength"] = 1.into();
    schema["pattern"] = r"\S".into();
    schema
}

fn create_schema(schemas: &mut Schemas) -> Value {
    let days = || {
        with_description(
            object(&[], [("startDate", day()), ("endDate", day())]),
            "At least one of the two is required.",
        )
    };
    let metadata = object(&[], [("createdDate", days()), ("updatedDate", days())]);
    let limit = json!({"type": "integer", "minimum": 1, "maximum": Playlist::ITEMS_MAX});
    let orders = string_enum(PlayOrder::ALL.map(PlayOrder::as_str));
    let body = object(
        &["name", "referenceId", "type"],
        [
            ("name", non_empty_text()),
            ("referenceId", with_description(non_empty_text(), "Your own id, unique in the workspace.")),
            ("type", string_enum(["smart", "manual"])),
            ("description", text(Playlist::TEXT_MAX)),
            ("limit", with_default(with_description(limit, "Maximum number of media."), Playlist::ITEMS_MAX)),
            (
                "playOrder",
                with_description(orders, "Required for a smart playlist; rejected for a manual one."),
            ),
            (
                "metadata",
                with_description(
                    metadata,
                    "Required for a smart playlist, with at least one of the two; rejected for a manual one.",
                ),
            ),
        ],
    );
    schemas.add("CreatePlaylist", body)
}

fn update_schema(schemas: &mut Schemas) -> Value {
    let fields = [("name", non_empty_text()), ("description", text(Playlist::TEXT_MAX))];
    schemas.add("UpdatePlaylist", object(&["name", "description"], fields))
}

fn media_ids_schema(min: usize) -> Value {
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

    use super::super::{media_ids_request, request};
    use super::*;

    #[test]
    fn playlist_schema_has_exactly_the_parsed_fields() {
        let workspace = example::WORKSPACE.parse().expect("an id");
        check_fields(create_schema, |body| drop(request::parse_new(body, workspace)));
        check_fields(update_schema, |body| drop(request::parse_update(body)));
        check_fields(|_| media_ids_schema(1), |body| drop(media_ids_request::media_ids(body, 1)));
    }
}

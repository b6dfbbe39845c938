//! What the document of the API says of media and what belongs to them.

pub(super) mod requests;

use kinora_domain::{MediaSettings, Mp4Refusal};
use kinora_web::error::ApiError;
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::input_info::InputInfo;
use super::{filter, playback_ids, playlists, tracks, upload};
use crate::error;
use crate::example;
use crate::view::{CreatedMedia, MediaView};

const MEDIA: &str = "Media";
const DRM: &str = "DRM configurations";
/// Of the filter by states.
const STATUS: &str = "In this state. No media is ever `Downloaded`, `Validating`, `In Queue` or `Processing` here: asked for, these list \
    nothing.";

/// Every operation below `/on-demand`.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = media(schemas);
    all.extend(upload::operations(schemas));
    all.extend(playback_ids::operations(schemas));
    all.extend(playlists::operations(schemas));
    all.extend(tracks::operations(schemas));
    all.extend(drm_configurations());
    all
}

fn media(schemas: &mut Schemas) -> Vec<Operation> {
    let (create, update) = (requests::create(schemas), requests::update(schemas));
    let (source_access, files) = (requests::source_access(schemas), requests::update_mp4_support(schemas));
    let (created, media, info) =
        (schemas.of::<CreatedMedia>(), schemas.of::<MediaView>(), schemas.of::<InputInfo>());
    let all = [
        Operation::post("/on-demand", "createMedia", "Make a media from an address")
            .says(
                "The file is fetched at once. The answer has a playback ID, which can be used before the media is ready: players are \
                 asked to come again until it is. `video.media.ready` or `video.media.failed` tells how it ended.",
            )
            .takes(
                create,
                &[
                    ("least", json!({"inputs": [{"type": "video", "url": "https://example.com/talk.mp4"}]})),
                    (
                        "more",
                        json!({
                            "inputs": [{"type": "video", "url": "https://example.com/talk.mp4"}],
                            "title": "A talk",
                            "creatorId": "speaker-7",
                            "metadata": {"season": "2"},
                            "accessPolicy": "public",
                            "maxResolution": "1080p",
                        }),
                    ),
                ],
            )
            .creates(created, created_example()),
        Operation::get("/on-demand", "listMedia", "List media")
            .says("The media of the access token's workspace that meet all filters. The `Link` header leads to the pages beside this one.")
            .lists(media.clone(), media_example())
            .query("status", false, json!({"type": "string", "enum": filter::STATUSES}), STATUS)
            .query("title", false, text(1), "Whose title begins so, in upper or lower case.")
            .query("creatorId", false, text(0), "Of this creator.")
            .query("metadataKey", false, text(0), "With this key in their metadata. `metadata[KEY]=VALUE` asks for an entry, up to ten times.")
            .query("createdAfter", false, instant(), "Created then or later; a day alone begins at midnight in UTC.")
            .query("createdBefore", false, instant(), "Created before."),
        one(Operation::get("/on-demand/{mediaId}", "getMedia", "Read a media"))
            .conditional()
            .says("The id of a direct upload is the id of its media, which is there from the first byte on.")
            .answers(media.clone(), media_example()),
        one(Operation::patch("/on-demand/{mediaId}", "updateMedia", "Change a media"))
            .conditional()
            .says(
                "What is not sent stays as it is; `metadata` is replaced whole, and `title: null` empties the title. \
                 `video.media.updated` tells of it, unless nothing is another than before.",
            )
            .takes(
                update,
                &[
                    ("title", json!({"title": "Another title"})),
                    (
                        "everything",
                        json!({"title": null, "creatorId": "speaker-8", "metadata": {"season": "3"}, "thumbnail": {"time": 12.5}}),
                    ),
                ],
            )
            .answers(media.clone(), media_example()),
        one(Operation::patch("/on-demand/{mediaId}/source-access", "updateSourceAccess", "Open or close the original"))
            .conditional()
            .says(
                "While it is on, the file as it came is at `{playbackId}/source`, with its own type, for all who may watch. \
                 `video.media.source.ready` and `video.media.source.deleted` tell of a media that is ready, `video.media.updated` of every \
                 change; what is so already is not told.",
            )
            .takes(source_access, &[("on", json!({"sourceAccess": true}))])
            .answers(media.clone(), media_example()),
        one(Operation::patch("/on-demand/{mediaId}/update-mp4Support", "updateMp4Support", "Offer a media in one file"))
            .conditional()
            .says(
                "What is copied of the source can be fetched at once, what is encoded is made first. `video.media.mp4Support.ready` tells when \
                 all of it can be fetched.",
            )
            .takes(files, &[("pictures", json!({"mp4Support": "capped_4k"}))])
            .answers(media, media_example())
            .refuses(error::files_refused(Mp4Refusal::Unchanged("capped_4k")))
            .refuses(error::files_refused(Mp4Refusal::NoSound)),
        one(Operation::delete("/on-demand/{mediaId}", "deleteMedia", "Delete a media"))
            .conditional()
            .says("It is gone with this answer, its bytes soon after. It cannot be taken back.")
            .answers_done(),
        one(Operation::get("/on-demand/{mediaId}/input-info", "getInputInfo", "Read where a media came from"))
            .says("Known once the media is `Ready`.")
            .answers(info, input_info_example())
            .refuses(error::input_info_not_found()),
        one(Operation::get("/on-demand/{mediaId}/media-clips", "listMediaClips", "List what was cut from a media"))
            .says("None yet: there is no way to cut one.")
            .lists_nothing(),
        Operation::get("/on-demand/{livestreamId}/live-clips", "listLiveClips", "List what was cut from a live stream")
            .says("None yet, whatever the id: there are no live streams.")
            .part(
                "livestreamId",
                json!({"type": "string", "minLength": 1, "maxLength": super::clips::STREAM_ID_MAX}),
                "The id of a live stream.",
                "0123456789abcdef0123456789abcdef",
            )
            .lists_nothing()
            .refuses(ApiError::no_such_path()),
    ];
    all.into_iter().map(|operation| operation.tagged(MEDIA)).collect()
}

fn text(min: u32) -> Value {
    json!({"type": "string", "minLength": min, "maxLength": MediaSettings::TEXT_MAX})
}

fn instant() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// What is asked of one media.
pub(super) fn one(operation: Operation) -> Operation {
    operation.id("mediaId", "The id of a media.", example::MEDIA).refuses(error::media_not_found())
}

fn drm_configurations() -> Vec<Operation> {
    let all = [
        Operation::get("/on-demand/drm-configurations", "listDrmConfigurations", "List DRM configurations")
            .says("None: there is no licence service that one could belong to.")
            .lists_nothing(),
        Operation::get(
            "/on-demand/drm-configurations/{drmConfigurationId}",
            "getDrmConfiguration",
            "Read a DRM configuration",
        )
        .says("404, as there are none.")
        .id("drmConfigurationId", "The id of a DRM configuration.", example::OTHER)
        .refuses(error::drm_configuration_not_found()),
    ];
    all.into_iter().map(|operation| operation.tagged(DRM)).collect()
}

fn playback_id_example() -> Value {
    json!({"id": example::PLAYBACK, "accessPolicy": "public", "accessRestrictions": no_restrictions()})
}

pub(super) fn no_restrictions() -> Value {
    let nothing = json!({"defaultPolicy": "allow", "allow": [], "deny": []});
    json!({"domains": nothing, "userAgents": nothing})
}

fn created_example() -> Value {
    json!({
        "id": example::MEDIA,
        "trial": false,
        "status": "Created",
        "createdAt": example::TIME,
        "updatedAt": example::TIME,
        "playbackIds": [playback_id_example()],
        "metadata": {},
        "mediaQuality": "standard",
        "sourceAccess": false,
        "maxResolution": "1080p",
        "inputs": [{"type": "video", "url": "https://example.com/talk.mp4"}],
        "optimizeAudio": false,
    })
}

fn media_example() -> Value {
    json!({
        "id": example::MEDIA,
        "thumbnail": format!("https://video.example.com/{}/thumbnail.png", example::PLAYBACK),
        "workspaceId": example::WORKSPACE,
        "metadata": {"season": "2"},
        "title": "A talk",
        "creatorId": "speaker-7",
        "mediaQuality": "standard",
        "maxResolution": "1080p",
        "sourceResolution": "1080p",
        "status": "Ready",
        "sourceAccess": false,
        "playbackIds": [playback_id_example()],
        "tracks": tracks_example(),
        "generatedSubtitles": [],
        "isAudioOnly": false,
        "subtitleAvailable": false,
        "duration": "00:01:00",
        "frameRate": "30/1",
        "aspectRatio": "16:9",
        "createdAt": example::TIME,
        "updatedAt": example::TIME,
        "playbackReport": {"renditions": [
            {"name": "source", "type": "video", "method": "copied", "trackId": example::OTHER, "resolution": "1080p"},
        ]},
    })
}

fn tracks_example() -> Value {
    json!([{"id": example::OTHER, "type": "video", "width": 1920, "height": 1080, "frameRate": "30/1", "status": "available"}])
}

fn input_info_example() -> Value {
    json!({
        "configuration": {"url": "https://example.com/talk.mp4"},
        "file": {"containerFormat": "mp4", "tracks": tracks_example()},
    })
}

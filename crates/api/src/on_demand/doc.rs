//! The OpenAPI descriptions of media and their related resources.

pub(super) mod requests;

use kinora_domain::{MediaSettings, Mp4Rejected};
use kinora_web::error::ApiError;
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::input_info::InputInfo;
use super::{filter, playback_ids, playlists, tracks, upload};
use crate::error;
use crate::example;
use crate::view::{ClipView, CreatedMedia, MediaView};

const MEDIA_TAG: &str = "Media";
const DRM_TAG: &str = "DRM configurations";
/// The description of the filter by state.
const STATUS_DESCRIPTION: &str = "Media with this status. This server never uses `Downloaded`, `Validating`, `In Queue` \
    and `Processing`; these return an empty list.";

/// Every operation below `/on-demand`.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = media_operations(schemas);
    all.extend(upload::operations(schemas));
    all.extend(playback_ids::operations(schemas));
    all.extend(playlists::operations(schemas));
    all.extend(tracks::operations(schemas));
    all.extend(drm_operations());
    all
}

fn media_operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (create, update) = (requests::create(schemas), requests::update(schemas));
    let (source_access, files) = (requests::source_access(schemas), requests::update_mp4_support(schemas));
    let (created, media, info) =
        (schemas.of::<CreatedMedia>(), schemas.of::<MediaView>(), schemas.of::<InputInfo>());
    let clip = schemas.of::<ClipView>();
    let all = [
        Operation::post("/on-demand", "createMedia", "Create a media from a URL")
            .description(
                "The download starts at once. The response has a playback ID that can be used before the \
                    media is ready; players retry until then. `video.media.ready` or `video.media.failed` \
                    reports the result.",
            )
            .request_body(
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
                    (
                        "watermark",
                        json!({"inputs": [
                            {"type": "video", "url": "https://example.com/talk.mp4"},
                            {
                                "type": "watermark",
                                "url": "https://example.com/logo.png",
                                "placement": {"xAlign": "right", "xMargin": "2%", "yAlign": "bottom", "yMargin": "24px"},
                                "width": "12.5%",
                                "opacity": "80%",
                            },
                        ]}),
                    ),
                    (
                        "part of a media",
                        json!({"inputs": [{"type": "video", "url": format!("fp_mediaId://{}", example::MEDIA), "startTime": 0.5, "endTime": 42}]}),
                    ),
                ],
            )
            .creates(created, created_example()),
        Operation::get("/on-demand", "listMedia", "List media")
            .description("Returns the media of the access token's workspace that match all filters. The `Link` header has the URLs of the neighbouring pages.")
            .lists(media.clone(), media_example())
            .query("status", false, json!({"type": "string", "enum": filter::STATUSES}), STATUS_DESCRIPTION)
            .query("title", false, text_schema(1), "Media whose title begins with this text; case is ignored.")
            .query("creatorId", false, text_schema(0), "Media with this `creatorId`.")
            .query("metadataKey", false, text_schema(0), "Media whose metadata has this key. `metadata[KEY]=VALUE` matches a key with its value, up to ten times.")
            .query("createdAfter", false, instant_schema(), "Media created at this time or later. A date alone means midnight in UTC.")
            .query("createdBefore", false, instant_schema(), "Created before."),
        media_operation(Operation::get("/on-demand/{mediaId}", "getMedia", "Read a media"))
            .conditional()
            .description("A direct upload and its media have the same id. The media exists from the first stored byte.")
            .responds_with_data(media.clone(), media_example()),
        media_operation(Operation::patch("/on-demand/{mediaId}", "updateMedia", "Change a media"))
            .conditional()
            .description(
                "Fields that are left out stay unchanged. `metadata` is replaced as a whole; `title: null` \
                    clears the title. A change emits `video.media.updated`.",
            )
            .request_body(
                update,
                &[
                    ("title", json!({"title": "Another title"})),
                    (
                        "everything",
                        json!({"title": null, "creatorId": "speaker-8", "metadata": {"season": "3"}, "optimizeAudio": true, "thumbnail": {"time": 12.5}}),
                    ),
                ],
            )
            .responds_with_data(media.clone(), media_example()),
        media_operation(Operation::patch("/on-demand/{mediaId}/source-access", "updateSourceAccess", "Enable or disable source downloads"))
            .conditional()
            .description(
                "While enabled, viewers can download the unchanged source from `{playbackId}/source`, with \
                    its own media type. A change emits `video.media.updated` and, for a ready media, \
                    `video.media.source.ready` or `video.media.source.deleted`.",
            )
            .request_body(source_access, &[("on", json!({"sourceAccess": true}))])
            .responds_with_data(media.clone(), media_example()),
        media_operation(Operation::patch("/on-demand/{mediaId}/update-mp4Support", "updateMp4Support", "Offer a media as a single file"))
            .conditional()
            .description(
                "A file that copies the source is available at once; otherwise it is encoded first. \
                    `video.media.mp4Support.ready` is emitted once all files are available.",
            )
            .request_body(files, &[("pictures", json!({"mp4Support": "capped_4k"}))])
            .responds_with_data(media, media_example())
            .error(error::mp4_rejected(Mp4Rejected::Unchanged("capped_4k")))
            .error(error::mp4_rejected(Mp4Rejected::NoAudio)),
        media_operation(Operation::delete("/on-demand/{mediaId}", "deleteMedia", "Delete a media"))
            .conditional()
            .description("The media is gone once the response arrives; its objects are deleted soon after. This cannot be undone.")
            .responds_empty(),
        media_operation(Operation::get("/on-demand/{mediaId}/input-info", "getInputInfo", "Read the source of a media"))
            .description("Available once the media is `Ready`.")
            .responds_with_data(info, input_info_example())
            .error(error::input_info_not_found()),
        media_operation(Operation::get("/on-demand/{mediaId}/media-clips", "listMediaClips", "List the clips of a media"))
            .description("The media that were cut from this one with `fp_mediaId://{mediaId}`. They stay when it is deleted.")
            .lists(clip, clip_example()),
        Operation::get("/on-demand/{livestreamId}/live-clips", "listLiveClips", "List the clips of a live stream")
            .description("Always empty, for any id: this server does not support live streams.")
            .path_parameter(
                "livestreamId",
                json!({"type": "string", "minLength": 1, "maxLength": super::clips::STREAM_ID_MAX}),
                "The id of a live stream.",
                "0123456789abcdef0123456789abcdef",
            )
            .lists_empty()
            .error(ApiError::no_such_path()),
    ];
    all.into_iter().map(|operation| operation.tagged(MEDIA_TAG)).collect()
}

fn text_schema(min: u32) -> Value {
    json!({"type": "string", "minLength": min, "maxLength": MediaSettings::TEXT_MAX})
}

fn instant_schema() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// The parameters and errors of an operation on one media.
pub(super) fn media_operation(operation: Operation) -> Operation {
    operation.id("mediaId", "The id of a media.", example::MEDIA).error(error::media_not_found())
}

fn drm_operations() -> Vec<Operation> {
    let all = [
        Operation::get("/on-demand/drm-configurations", "listDrmConfigurations", "List DRM configurations")
            .description("Always empty: this server has no licence service.")
            .lists_empty(),
        Operation::get(
            "/on-demand/drm-configurations/{drmConfigurationId}",
            "getDrmConfiguration",
            "Read a DRM configuration",
        )
        .description("Always 404: this server has no DRM configurations.")
        .id("drmConfigurationId", "The id of a DRM configuration.", example::OTHER)
        .error(error::drm_configuration_not_found()),
    ];
    all.into_iter().map(|operation| operation.tagged(DRM_TAG)).collect()
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

fn clip_example() -> Value {
    json!({
        "id": example::OTHER,
        "duration": "00:00:12",
        "status": "Ready",
        "thumbnail": format!("https://video.example.com/{}/thumbnail.png", example::PLAYBACK),
        "createdAt": example::TIME,
        "playbackIds": [{"id": example::PLAYBACK, "accessPolicy": "public"}],
    })
}

fn input_info_example() -> Value {
    json!({
        "configuration": {"url": "https://example.com/talk.mp4"},
        "file": {"containerFormat": "mp4", "tracks": tracks_example()},
    })
}

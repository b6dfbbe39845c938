//! The OpenAPI descriptions of added tracks.

use kinora_domain::{AddedTrackKind, MediaSettings, TrackRejected};
use kinora_web::openapi::schema::{object, string_enum, with_description};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::view::AddedTrackView;
use crate::error;
use crate::example;
use crate::on_demand::doc::media_operation;
use crate::on_demand::media_settings_request::URL_MAX;

const COLLECTION_PATH: &str = "/on-demand/{mediaId}/tracks";
const ITEM_PATH: &str = "/on-demand/{mediaId}/tracks/{trackId}";
/// The address of the subtitles in examples.
const SRT_URL: &str = "https://example.com/talk.srt";

/// The address of the audio in examples.
const FLAC_URL: &str = "https://example.com/talk-in-german.flac";

/// Every operation on added tracks.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let view = schemas.of::<AddedTrackView>();
    let (new, update) = (request(schemas), update(schemas));
    let track =
        json!({"url": SRT_URL, "type": "subtitle", "languageCode": "en-US", "languageName": "English"});
    let audio = json!({"url": FLAC_URL, "type": "audio", "languageCode": "de", "languageName": "Deutsch"});
    let change = json!({"url": SRT_URL, "languageCode": "en-GB", "languageName": "British English"});
    let all = [
        media_operation(Operation::post(COLLECTION_PATH, "addTrack", "Add subtitles or audio to a media"))
            .description(
                "Downloads the file from a URL, in any state of the media. Subtitles are SRT or WebVTT in any \
                    encoding. Audio is the first audio track of any supported file; it is downloaded once \
                    the media is ready and ends with the media. `video.media.track.ready` or \
                    `video.media.track.failed` reports the result; the media lists the track meanwhile.",
            )
            .request_body(new, &[("subtitles", json!({"tracks": track})), ("sound", json!({"tracks": audio}))])
            .creates(view.clone(), track_example("en-US", "English"))
            .error(error::track_rejected(TrackRejected::NameTaken))
            .error(error::track_rejected(TrackRejected::TooMany)),
        track_operation(Operation::patch(ITEM_PATH, "updateTrack", "Change or replace a track"))
            .conditional()
            .description(
                "The track keeps its id, and fields that are left out stay unchanged. A `url`, even the same \
                    one, downloads the file again and removes the old one from playback; \
                    `video.media.track.ready` or `video.media.track.failed` reports the result. Without a \
                    `url` the file stays; for a ready track, `video.media.track.ready` follows \
                    `video.media.track.updated` at once. No event is emitted if nothing changes.",
            )
            .request_body(update, &[("replaced", change), ("renamed", json!({"languageName": "British English"}))])
            .responds_with_data(view, track_example("en-GB", "British English"))
            .error(error::track_rejected(TrackRejected::NameTaken)),
        track_operation(Operation::delete(ITEM_PATH, "deleteTrack", "Delete a track")).conditional().responds_empty(),
    ];
    all.into_iter().map(|operation| operation.tagged("Media")).collect()
}

/// The parameters and errors of an operation on one track.
fn track_operation(operation: Operation) -> Operation {
    media_operation(operation)
        .id("trackId", "The id of an added track.", example::OTHER)
        .error(error::track_rejected(TrackRejected::Unknown))
        .error(error::track_rejected(TrackRejected::PartOfSource))
}

/// An input of type `subtitle`.
pub(in crate::on_demand) fn input() -> Value {
    track(&[AddedTrackKind::Subtitle])
}

/// A track of one of these kinds.
fn track(kinds: &[AddedTrackKind]) -> Value {
    let required = ["type", "url", "languageCode", "languageName"];
    let properties = [("type", string_enum(kinds.iter().map(|kind| kind.as_str()))), ("url", url_schema())];
    object(&required, properties.into_iter().chain(language()))
}

fn request(schemas: &mut Schemas) -> Value {
    let track = with_description(track(&AddedTrackKind::ALL), "One track, despite the plural name.");
    schemas.add("AddTrack", object(&["tracks"], [("tracks", track)]))
}

fn update(schemas: &mut Schemas) -> Value {
    let url = with_description(url_schema(), "If left out, the file stays.");
    schemas.add("UpdateTrack", object(&[], [("url", url)].into_iter().chain(language())))
}

fn url_schema() -> Value {
    json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://",
        "description": "URL of the file."})
}

fn language() -> [(&'static str, Value); 2] {
    let code = json!({"type": "string", "minLength": 2, "maxLength": kinora_domain::LANGUAGE_CODE_MAX,
        "description": "A BCP 47 tag such as `en-US`."});
    let name = json!({"type": "string", "minLength": 1, "maxLength": MediaSettings::TEXT_MAX,
        "description": "The name that players show, unique among the tracks of a type."});
    [("languageCode", code), ("languageName", name)]
}

fn track_example(code: &str, name: &str) -> Value {
    json!({"id": example::OTHER, "type": "subtitle", "url": SRT_URL, "languageCode": code, "languageName": name})
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::super::request as read;
    use super::*;

    #[test]
    fn track_schema_has_exactly_the_parsed_fields() {
        check_fields(request, |body| drop(read::parse_new(body)));
        check_fields(update, |body| drop(read::parse_update(body)));
    }
}

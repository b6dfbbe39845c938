//! The OpenAPI descriptions of added tracks.

use kinora_domain::{AddedTrackKind, MediaSettings, NewTrack, TrackRejected};
use kinora_web::openapi::schema::{described, object, words};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::view::AddedTrackView;
use crate::error;
use crate::example;
use crate::on_demand::doc::one;
use crate::on_demand::media_settings_request::URL_MAX;

const ALL: &str = "/on-demand/{mediaId}/tracks";
const ONE: &str = "/on-demand/{mediaId}/tracks/{trackId}";
/// The address of the subtitles in examples.
const SRT: &str = "https://example.com/talk.srt";

/// The address of the audio in examples.
const FLAC: &str = "https://example.com/talk-in-german.flac";

/// Every operation on added tracks.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let answer = schemas.of::<AddedTrackView>();
    let (new, update) = (request(schemas), update(schemas));
    let track = json!({"url": SRT, "type": "subtitle", "languageCode": "en-US", "languageName": "English"});
    let sound = json!({"url": FLAC, "type": "audio", "languageCode": "de", "languageName": "Deutsch"});
    let change = json!({"url": SRT, "languageCode": "en-GB", "languageName": "British English"});
    let all = [
        one(Operation::post(ALL, "addTrack", "Add subtitles or audio to a media"))
            .description(
                "Downloads the file from a URL, in any state of the media. Subtitles are SRT or WebVTT in any \
                    encoding. Audio is the first audio track of any supported file; it is downloaded once \
                    the media is ready and ends with the media. `video.media.track.ready` or \
                    `video.media.track.failed` reports the result; the media lists the track meanwhile.",
            )
            .request_body(new, &[("subtitles", json!({"tracks": track})), ("sound", json!({"tracks": sound}))])
            .creates(answer.clone(), track_example("en-US", "English"))
            .error(error::track_rejected(TrackRejected::NameTaken))
            .error(error::track_rejected(TrackRejected::TooMany)),
        of_track(Operation::patch(ONE, "updateTrack", "Change or replace a track"))
            .conditional()
            .description(
                "The track keeps its id, and fields that are left out stay unchanged. A `url`, even the same \
                    one, downloads the file again and removes the old one from playback; \
                    `video.media.track.ready` or `video.media.track.failed` reports the result. Without a \
                    `url` the file stays; for a ready track, `video.media.track.ready` follows \
                    `video.media.track.updated` at once. No event is emitted if nothing changes.",
            )
            .request_body(update, &[("replaced", change), ("renamed", json!({"languageName": "British English"}))])
            .answers(answer, track_example("en-GB", "British English"))
            .error(error::track_rejected(TrackRejected::NameTaken)),
        of_track(Operation::delete(ONE, "deleteTrack", "Delete a track")).conditional().responds_empty(),
    ];
    all.into_iter().map(|operation| operation.tagged("Media")).collect()
}

/// The parameters and errors of an operation on one track.
fn of_track(operation: Operation) -> Operation {
    one(operation)
        .id("trackId", "The id of an added track.", example::OTHER)
        .error(error::track_rejected(TrackRejected::Unknown))
        .error(error::track_rejected(TrackRejected::OfSource))
}

/// An input of type `subtitle`.
pub(in crate::on_demand) fn input() -> Value {
    track(&[AddedTrackKind::Subtitle])
}

/// A track of one of these kinds.
fn track(kinds: &[AddedTrackKind]) -> Value {
    let required = ["type", "url", "languageCode", "languageName"];
    let properties = [("type", words(kinds.iter().map(|kind| kind.as_str()))), ("url", address())];
    object(&required, properties.into_iter().chain(language()))
}

fn request(schemas: &mut Schemas) -> Value {
    let track = described(track(&AddedTrackKind::ALL), "One track, despite the plural name.");
    schemas.named("AddTrack", object(&["tracks"], [("tracks", track)]))
}

fn update(schemas: &mut Schemas) -> Value {
    let url = described(address(), "If left out, the file stays.");
    schemas.named("UpdateTrack", object(&[], [("url", url)].into_iter().chain(language())))
}

fn address() -> Value {
    json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://",
        "description": "URL of the file."})
}

fn language() -> [(&'static str, Value); 2] {
    let code = json!({"type": "string", "minLength": 2, "maxLength": NewTrack::LANGUAGE_CODE_MAX,
        "description": "A BCP 47 tag such as `en-US`."});
    let name = json!({"type": "string", "minLength": 1, "maxLength": MediaSettings::TEXT_MAX,
        "description": "The name that players show, unique among the tracks of a type."});
    [("languageCode", code), ("languageName", name)]
}

fn track_example(code: &str, name: &str) -> Value {
    json!({"id": example::OTHER, "type": "subtitle", "url": SRT, "languageCode": code, "languageName": name})
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

//! What the document of the API says of added tracks.

use kinora_domain::{AddedTrackKind, MediaSettings, NewTrack, TrackRefused};
use kinora_web::openapi::schema::{object, said, words};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::view::TrackAnswer;
use crate::error;
use crate::example;
use crate::on_demand::doc::one;
use crate::on_demand::wishes::URL_MAX;

const ALL: &str = "/on-demand/{mediaId}/tracks";
const ONE: &str = "/on-demand/{mediaId}/tracks/{trackId}";
/// Where the subtitles of examples lie.
const SRT: &str = "https://example.com/talk.srt";

/// And the sound.
const FLAC: &str = "https://example.com/talk-in-german.flac";

/// Every operation on added tracks.
pub(in crate::on_demand) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let answer = schemas.of::<TrackAnswer>();
    let (new, update) = (request(schemas), update(schemas));
    let track = json!({"url": SRT, "type": "subtitle", "languageCode": "en-US", "languageName": "English"});
    let sound = json!({"url": FLAC, "type": "audio", "languageCode": "de", "languageName": "Deutsch"});
    let change = json!({"url": SRT, "languageCode": "en-GB", "languageName": "British English"});
    let all = [
        one(Operation::post(ALL, "addTrack", "Add subtitles or sound to a media"))
            .says(
                "Fetched from an address, in whatever state the media is. Subtitles are SRT or WebVTT in any encoding; sound is the first \
                 audio track of any file that could be a media, fetched when the media is ready, and heard as long as that lasts. \
                 `video.media.track.ready` or `video.media.track.failed` tells how it ended; the media lists the track meanwhile.",
            )
            .takes(new, &[("subtitles", json!({"tracks": track})), ("sound", json!({"tracks": sound}))])
            .creates(answer.clone(), track_example("en-US", "English"))
            .refuses(error::track_refused(TrackRefused::NameTaken))
            .refuses(error::track_refused(TrackRefused::TooMany)),
        of_track(Operation::patch(ONE, "updateTrack", "Change or replace a track"))
            .conditional()
            .says(
                "It keeps its id, and what is not sent stays. With a `url`, even the same one, the file is fetched anew, and what was there is \
                 not shown any more; `video.media.track.ready` or `video.media.track.failed` tells how it ended. Without one the file stays, \
                 and `video.media.track.ready` of a track that players have follows `video.media.track.updated` at once. Where nothing is \
                 another than before, nothing is told.",
            )
            .takes(update, &[("replaced", change), ("renamed", json!({"languageName": "British English"}))])
            .answers(answer, track_example("en-GB", "British English"))
            .refuses(error::track_refused(TrackRefused::NameTaken)),
        of_track(Operation::delete(ONE, "deleteTrack", "Delete a track")).conditional().answers_done(),
    ];
    all.into_iter().map(|operation| operation.tagged("Media")).collect()
}

/// What is asked of one track.
fn of_track(operation: Operation) -> Operation {
    one(operation)
        .id("trackId", "The id of a track that was added.", example::OTHER)
        .refuses(error::track_refused(TrackRefused::Unknown))
        .refuses(error::track_refused(TrackRefused::OfSource))
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
    let track = said(track(&AddedTrackKind::ALL), "One track, under a plural name.");
    schemas.named("AddTrack", object(&["tracks"], [("tracks", track)]))
}

fn update(schemas: &mut Schemas) -> Value {
    let url = said(address(), "Left out, the file stays.");
    schemas.named("UpdateTrack", object(&[], [("url", url)].into_iter().chain(language())))
}

fn address() -> Value {
    json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://",
        "description": "Where the file is."})
}

fn language() -> [(&'static str, Value); 2] {
    let code = json!({"type": "string", "minLength": 2, "maxLength": NewTrack::LANGUAGE_CODE_MAX,
        "description": "A BCP 47 tag such as `en-US`."});
    let name = json!({"type": "string", "minLength": 1, "maxLength": MediaSettings::TEXT_MAX,
        "description": "What players show; no two tracks of a type have the same."});
    [("languageCode", code), ("languageName", name)]
}

fn track_example(code: &str, name: &str) -> Value {
    json!({"id": example::OTHER, "type": "subtitle", "url": SRT, "languageCode": code, "languageName": name})
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::reading::check_fields;

    use super::super::request as read;
    use super::*;

    #[test]
    fn what_is_read_of_a_track_is_described_and_nothing_else() {
        check_fields(request, |body| drop(read::parse_new(body)));
        check_fields(update, |body| drop(read::parse_update(body)));
    }
}

//! The bodies of `POST` and `PATCH /on-demand/{mediaId}/tracks`, and the subtitle inputs of a media (contract 2.3, 2.6).

use kinora_domain::{AddedTrackKind, MediaSettings, NewTrack, TrackUpdate};
use serde_json::Value;

use crate::api::on_demand::wishes::URL_MAX;
use crate::error::ApiError;
use crate::fields::{Fields, Problems};

/// The track that the client asked for: one object under a plural name.
pub(super) fn parse_new(body: &Value) -> Result<NewTrack, ApiError> {
    let problems = Problems::default();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.has("tracks") {
            fields.refuse("tracks", "must not be null");
        }
        let track = fields.object("tracks")?;
        let kind = kind(&track);
        let (url, code, name) = (address(&track), language_code(&track), language_name(&track));
        Some(NewTrack { kind: kind?, url: url?, language_code: code?, language_name: name? })
    });
    problems.into_result(new)
}

/// What the client wants to be another of a track. Without an address its file stays.
pub(super) fn parse_update(body: &Value) -> Result<TrackUpdate, ApiError> {
    let problems = Problems::default();
    let update = Fields::of_body(body, &problems).and_then(|fields| {
        let url = fields.has("url").then(|| address(&fields)).flatten();
        let (code, name) = (language_code(&fields), language_name(&fields));
        Some(TrackUpdate { url, language_code: code?, language_name: name? })
    });
    problems.into_result(update)
}

/// An input of type `subtitle`; `None` when something is wrong with it.
pub(in crate::api::on_demand) fn subtitle_input(input: &Fields<'_>) -> Option<NewTrack> {
    let (url, code, name) = (address(input), language_code(input), language_name(input));
    Some(NewTrack { kind: AddedTrackKind::Subtitle, url: url?, language_code: code?, language_name: name? })
}

fn kind(fields: &Fields<'_>) -> Option<AddedTrackKind> {
    if !fields.has("type") {
        fields.refuse("type", "must not be null");
    }
    fields.word("type", &AddedTrackKind::ALL.map(AddedTrackKind::as_str), AddedTrackKind::from_text)
}

fn address(fields: &Fields<'_>) -> Option<String> {
    let url = required(fields, "url", URL_MAX)?;
    match kinora_fetch::parse_source_url(url) {
        Ok(_) => Some(url.to_owned()),
        Err(problem) => {
            fields.refuse("url", problem.to_string());
            None
        }
    }
}

fn language_code(fields: &Fields<'_>) -> Option<String> {
    let code = required(fields, "languageCode", NewTrack::LANGUAGE_CODE_MAX)?;
    if !NewTrack::is_language_code(code) {
        fields.refuse("languageCode", "must be a language tag such as en-US (BCP 47)");
        return None;
    }
    Some(code.to_owned())
}

fn language_name(fields: &Fields<'_>) -> Option<String> {
    let name = required(fields, "languageName", MediaSettings::TEXT_MAX)?;
    if name.trim().is_empty() {
        fields.refuse("languageName", "must not be empty");
        return None;
    }
    // Databases keep no NUL in a text; what is answered, and compared with other names, is what is kept.
    Some(name.replace('\0', "\u{fffd}"))
}

fn required<'a>(fields: &Fields<'a>, name: &str, max: usize) -> Option<&'a str> {
    if !fields.has(name) {
        fields.refuse(name, "must not be null");
    }
    fields.text(name, max)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(change: Value) -> Value {
        let mut track = json!({"url": "https://example.com/a.srt", "type": "subtitle", "languageCode": "en-US", "languageName": "English"});
        let Value::Object(change) = change else { panic!("fields are an object: {change}") };
        track.as_object_mut().expect("it is one").extend(change);
        track
    }

    #[test]
    fn a_track_is_read_and_an_update_may_keep_the_file() {
        let expected = NewTrack {
            kind: AddedTrackKind::Subtitle,
            url: "https://example.com/a.srt".into(),
            language_code: "en-US".into(),
            language_name: "English".into(),
        };
        let read = |change| parse_new(&json!({"tracks": with(change), "unknown": 1}));
        assert_eq!(read(json!({})).unwrap(), expected);
        let (code, name) = (format!("en-{}x", "a-".repeat(15)), "é".repeat(255));
        let longest = read(json!({"languageCode": code, "languageName": name})).unwrap();
        assert_eq!((longest.language_code, longest.language_name), (code, name));
        assert_eq!(read(json!({"type": "audio"})).unwrap().kind, AddedTrackKind::Audio);
        assert_eq!(read(json!({"languageName": "a\0"})).unwrap().language_name, "a\u{fffd}");

        let update = |body: Value| parse_update(&body).unwrap();
        assert_eq!(update(with(json!({}))).url.as_deref(), Some("https://example.com/a.srt"));
        assert_eq!(update(with(json!({"url": null, "title": "ignored"}))).url, None);
    }

    #[test]
    fn every_wrong_field_is_refused_by_its_path() {
        let check = |refused: Result<String, ApiError>, paths: &[&str], body: &Value| {
            let told = format!("{:?}", refused.err().unwrap_or_else(|| panic!("accepted: {body}")));
            for path in paths {
                assert!(told.contains(&format!("field: \"{path}\"")), "{body}: {told}");
            }
            assert_eq!(told.matches("field: ").count(), paths.len(), "{body}: {told}");
        };
        let new = |body: Value, paths: &[&str]| {
            check(parse_new(&body).map(|track| track.url), paths, &body);
        };
        new(json!([]), &["body"]);
        new(json!({}), &["tracks"]);
        new(json!({"tracks": null}), &["tracks"]);
        new(json!({"tracks": [with(json!({}))]}), &["tracks"]);
        new(
            json!({"tracks": {}}),
            &["tracks.url", "tracks.type", "tracks.languageCode", "tracks.languageName"],
        );
        for (field, value) in [
            ("type", json!("video")),
            ("type", json!(1)),
            ("url", json!("")),
            ("url", json!("ftp://example.com/a.srt")),
            ("url", json!("file:///etc/passwd")),
            ("url", json!(["https://example.com/a.srt"])),
            ("url", json!(format!("https://example.com/{}", "x".repeat(8192)))),
            ("languageCode", json!("")),
            ("languageCode", json!("English")),
            ("languageCode", json!("en_US")),
            ("languageCode", json!(format!("en-{}xx", "a-".repeat(16)))),
            ("languageName", json!("")),
            ("languageName", json!("  ")),
            ("languageName", json!("x".repeat(256))),
            ("languageName", json!({})),
        ] {
            let track = with(json!({field: value}));
            new(json!({"tracks": track}), &[&format!("tracks.{field}")]);
            if field != "type" {
                check(parse_update(&track).map(|update| update.language_name), &[field], &track);
            }
        }
        let body = json!({"url": "https://example.com/a.srt"});
        check(
            parse_update(&body).map(|update| update.language_name),
            &["languageCode", "languageName"],
            &body,
        );
    }
}

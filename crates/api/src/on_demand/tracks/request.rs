//! The bodies of `POST` and `PATCH /on-demand/{mediaId}/tracks`, and the subtitle inputs of a media
//! (C-127, C-155, C-156).

use kinora_domain::{
    AddedTrackKind, LANGUAGE_CODE_MAX, MediaSettings, NewTrack, TrackUpdate, is_language_code,
};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use crate::on_demand::media_settings_request::URL_MAX;

/// Parses the new track: one object under a plural name.
pub(super) fn parse_new(body: &Value) -> Result<NewTrack, ApiError> {
    let problems = Problems::default();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.is_present("tracks") {
            fields.reject("tracks", "must not be null");
        }
        let track = fields.object("tracks")?;
        let kind = required(&track, "type", kind);
        new_track(&track, kind)
    });
    problems.into_result(new)
}

/// Parses the changes of a track. Fields that are not sent stay unchanged: published clients know no
/// address, and leave out fields that they are not given (C-156).
pub(super) fn parse_update(body: &Value) -> Result<TrackUpdate, ApiError> {
    let problems = Problems::default();
    let update = Fields::of_body(body, &problems).map(|fields| TrackUpdate {
        url: source_url(&fields),
        language_code: language_code(&fields),
        language_name: language_name(&fields),
    });
    problems.into_result(update)
}

/// An input of type `subtitle`; `None` when a field is wrong.
pub(in crate::on_demand) fn subtitle_input(input: &Fields<'_>) -> Option<NewTrack> {
    new_track(input, Some(AddedTrackKind::Subtitle))
}

/// A new track, with all required fields.
fn new_track(fields: &Fields<'_>, kind: Option<AddedTrackKind>) -> Option<NewTrack> {
    let url = required(fields, "url", source_url);
    let code = required(fields, "languageCode", language_code);
    let name = required(fields, "languageName", language_name);
    Some(NewTrack { kind: kind?, url: url?, language_code: code?, language_name: name? })
}

/// A required field, parsed by `read`.
fn required<T>(fields: &Fields<'_>, name: &str, read: fn(&Fields<'_>) -> Option<T>) -> Option<T> {
    if !fields.is_present(name) {
        fields.reject(name, "must not be null");
    }
    read(fields)
}

fn kind(fields: &Fields<'_>) -> Option<AddedTrackKind> {
    fields.one_of("type", &AddedTrackKind::ALL.map(AddedTrackKind::as_str), AddedTrackKind::from_text)
}

fn source_url(fields: &Fields<'_>) -> Option<String> {
    let url = fields.text("url", URL_MAX)?;
    match kinora_fetch::parse_source_url(url) {
        Ok(_) => Some(url.to_owned()),
        Err(problem) => {
            fields.reject("url", problem.to_string());
            None
        }
    }
}

fn language_code(fields: &Fields<'_>) -> Option<String> {
    let code = fields.text("languageCode", LANGUAGE_CODE_MAX)?;
    if !is_language_code(code) {
        fields.reject("languageCode", "must be a language tag such as en-US (BCP 47)");
        return None;
    }
    Some(code.to_owned())
}

fn language_name(fields: &Fields<'_>) -> Option<String> {
    let name = fields.stored_text("languageName", MediaSettings::TEXT_MAX)?;
    if name.trim().is_empty() {
        fields.reject("languageName", "must not be empty");
        return None;
    }
    Some(name)
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
    fn track_parses_and_update_keeps_missing_fields() {
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
        let full_update = TrackUpdate {
            url: Some("https://example.com/a.srt".into()),
            language_code: Some("en-US".into()),
            language_name: Some("English".into()),
        };
        assert_eq!(update(with(json!({}))), full_update);
        assert_eq!(update(with(json!({"url": null}))), TrackUpdate { url: None, ..full_update });
        let code = TrackUpdate { language_code: Some("de".into()), ..TrackUpdate::default() };
        assert_eq!(update(json!({"languageCode": "de", "languageName": null})), code);
        let name = TrackUpdate { language_name: Some("a\u{fffd}".into()), ..TrackUpdate::default() };
        assert_eq!(update(json!({"languageName": "a\0"})), name);
        for nothing in [json!({}), json!({"title": "ignored", "type": 1})] {
            assert_eq!(update(nothing), TrackUpdate::default());
        }
    }

    #[test]
    fn invalid_fields_are_named_by_path() {
        let check = |refused: Result<String, ApiError>, paths: &[&str], body: &Value| {
            let error_text = format!("{:?}", refused.err().unwrap_or_else(|| panic!("accepted: {body}")));
            for path in paths {
                assert!(error_text.contains(&format!("field: \"{path}\"")), "{body}: {error_text}");
            }
            assert_eq!(error_text.matches("field: ").count(), paths.len(), "{body}: {error_text}");
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
                let update = |body: Value| check(parse_update(&body).map(|_| String::new()), &[field], &body);
                update(json!({field: track[field]}));
                update(track);
            }
        }
        let body = json!([]);
        check(parse_update(&body).map(|_| String::new()), &["body"], &body);
    }
}

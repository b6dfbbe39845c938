//! The body of `PATCH /on-demand/{mediaId}` (C-131, C-192, D-0064).

use kinora_domain::{Change, MediaChange, MediaSettings};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::media_settings_request::metadata;

/// Latest time that is accepted, in seconds: sized for a media of 12 hours (C-138), with a margin. A time
/// past the end selects the last frame.
pub(super) const TIME_S_MAX: u32 = 1_000_000;

/// Parses the requested changes.
pub(super) fn parse(body: &Value) -> Result<MediaChange, ApiError> {
    let problems = Problems::default();
    let change = Fields::of_body(body, &problems).map(|fields| MediaChange {
        title: title(&fields),
        creator_id: fields.stored_text("creatorId", MediaSettings::TEXT_MAX),
        metadata: metadata(&fields),
        thumbnail_ms: thumbnail(&fields),
        optimize_audio: fields.bool("optimizeAudio"),
    });
    problems.into_result(change)
}

/// `thumbnail: {time: seconds}` (D-0083). `null` selects a frame near the middle again.
fn thumbnail(fields: &Fields<'_>) -> Change<u64> {
    if fields.is_null("thumbnail") {
        return Change::Clear;
    }
    let Some(thumbnail) = fields.object("thumbnail") else { return Change::Keep };
    if !thumbnail.is_present("time") {
        thumbnail.reject("time", "must not be null");
    }
    let Some(seconds) = thumbnail.number("time") else { return Change::Keep };
    if !(0.0..=f64::from(TIME_S_MAX)).contains(&seconds) {
        thumbnail.reject("time", format!("must be seconds from 0 to {TIME_S_MAX}"));
        return Change::Keep;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    let time_ms = (seconds * 1000.0).round() as u64;
    Change::Set(time_ms)
}

/// `null` clears the title: it is null in responses too.
fn title(fields: &Fields<'_>) -> Change<String> {
    if fields.is_null("title") {
        return Change::Clear;
    }
    fields.stored_text("title", MediaSettings::TEXT_MAX).map_or(Change::Keep, Change::Set)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn missing_fields_are_unchanged_null_clears_title_and_thumbnail() {
        let check = |body: Value, expected: MediaChange| {
            assert_eq!(parse(&body).unwrap(), expected, "{body}");
        };
        let nothing = MediaChange::default;
        check(json!({}), nothing());
        check(json!({"creatorId": null, "metadata": null, "unknown": 7}), nothing());
        check(json!({"title": null}), MediaChange { title: Change::Clear, ..nothing() });
        check(json!({"title": ""}), MediaChange { title: Change::Set(String::new()), ..nothing() });
        check(json!({"title": "a\0b"}), MediaChange { title: Change::Set("a\u{fffd}b".into()), ..nothing() });
        check(json!({"metadata": {}}), MediaChange { metadata: Some(BTreeMap::new()), ..nothing() });
        let levelled = |on| MediaChange { optimize_audio: Some(on), ..nothing() };
        check(json!({"optimizeAudio": true}), levelled(true));
        check(json!({"optimizeAudio": false}), levelled(false));
        check(json!({"optimizeAudio": null}), nothing());
        let at = |thumbnail_ms| MediaChange { thumbnail_ms, ..nothing() };
        check(json!({"thumbnail": null}), at(Change::Clear));
        check(json!({"thumbnail": {"time": 12.3456, "unknown": 1}}), at(Change::Set(12_346)));
        check(json!({"thumbnail": {"time": 0}}), at(Change::Set(0)));
        let long = "é".repeat(255);
        check(
            json!({"title": long, "creatorId": long, "metadata": {long.clone(): long}}),
            MediaChange {
                title: Change::Set(long.clone()),
                creator_id: Some(long.clone()),
                metadata: Some(BTreeMap::from([(long.clone(), long.clone())])),
                ..nothing()
            },
        );
    }

    #[test]
    fn invalid_fields_are_named_by_path() {
        let long = "x".repeat(256);
        let eleven: serde_json::Map<_, _> = (0..11).map(|n| (n.to_string(), json!("v"))).collect();
        for (body, path) in [
            (json!([]), "body"),
            (json!({"title": 1}), "title"),
            (json!({"title": long}), "title"),
            (json!({"creatorId": []}), "creatorId"),
            (json!({"creatorId": long}), "creatorId"),
            (json!({"metadata": "a"}), "metadata"),
            (json!({"metadata": {"a": 1}}), "metadata.a"),
            (json!({"metadata": {"a": null}}), "metadata.a"),
            (json!({"metadata": {"a": long}}), "metadata.a"),
            (json!({"metadata": {long.clone(): "a"}}), "metadata"),
            (json!({"metadata": eleven}), "metadata"),
            (json!({"optimizeAudio": "true"}), "optimizeAudio"),
            (json!({"optimizeAudio": 1}), "optimizeAudio"),
            (json!({"thumbnail": 3}), "thumbnail"),
            (json!({"thumbnail": {}}), "thumbnail.time"),
            (json!({"thumbnail": {"time": null}}), "thumbnail.time"),
            (json!({"thumbnail": {"time": "3"}}), "thumbnail.time"),
            (json!({"thumbnail": {"time": -0.1}}), "thumbnail.time"),
            (json!({"thumbnail": {"time": 1_000_000.5}}), "thumbnail.time"),
        ] {
            let refused = parse(&body).err().unwrap_or_else(|| panic!("accepted: {body}"));
            let error_text = format!("{refused:?}");
            assert!(error_text.contains(&format!("field: \"{path}\"")), "{body}: {error_text}");
        }
    }
}

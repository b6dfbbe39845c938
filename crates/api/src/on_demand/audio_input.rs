//! Inputs of type `audio`: other audio for the media, and more audio mixed into it (C-126, D-0080).

use std::time::Duration;

use kinora_domain::{AudioEdit, AudioOverlay};
use kinora_web::fields::Fields;
use kinora_web::openapi::schema::{object, string_enum, with_description};
use serde_json::{Value, json};

use super::media_settings_request::URL_MAX;

/// The requested edits; `None` when a field is wrong.
pub(super) fn audio_input(input: &Fields<'_>) -> Option<AudioEdit> {
    let swap_url = input.is_present("swapTrackUrl").then(|| source_url(input, "swapTrackUrl"));
    let inputs = match input.is_present("imposeTracks") {
        true => input.objects("imposeTracks", AudioEdit::OVERLAYS_MAX)?,
        false => Vec::new(),
    };
    if swap_url.is_none() && inputs.is_empty() {
        input.reject("swapTrackUrl", "must not be null unless imposeTracks has an entry");
        return None;
    }
    let count = inputs.len();
    let overlays: Vec<_> = inputs.iter().filter_map(overlay).collect();
    let are_all_valid = overlays.len() == count;
    let swap_url = swap_url.map(|url| url.ok_or(())).transpose().ok()?;
    are_all_valid.then_some(AudioEdit { swap_url, overlays })
}

fn overlay(track: &Fields<'_>) -> Option<AudioOverlay> {
    if !track.is_present("url") {
        track.reject("url", "must not be null");
    }
    let url = track.is_present("url").then(|| source_url(track, "url")).flatten();
    let [start, end, fade_in, fade_out] =
        ["startTime", "endTime", "fadeInLevel", "fadeOutLevel"].map(|name| optional_time(track, name));
    let (start, end, fade_in, fade_out) =
        (start?.unwrap_or_default(), end?, fade_in?.unwrap_or_default(), fade_out?.unwrap_or_default());
    if let Some(end) = end {
        if end <= start {
            track.reject("endTime", "must be later than startTime");
            return None;
        }
        if end - start < fade_in.saturating_add(fade_out) {
            track.reject(
                "fadeOutLevel",
                "must be shorter: with fadeInLevel, it must fit between startTime and endTime",
            );
            return None;
        }
    }
    Some(AudioOverlay { url: url?, start, end, fade_in, fade_out })
}

/// The valid URL of a file to fetch; `None` if it is absent or wrong.
pub(super) fn source_url(fields: &Fields<'_>, name: &str) -> Option<String> {
    let url = fields.text(name, URL_MAX)?;
    match kinora_fetch::parse_source_url(url) {
        Ok(_) => Some(url.to_owned()),
        Err(problem) => {
            fields.reject(name, problem.to_string());
            None
        }
    }
}

/// A time of the media, to the millisecond. `None` when it is wrong; `Some(None)` when it was not sent.
#[expect(clippy::option_option, reason = "the outer one is a refusal")]
fn optional_time(fields: &Fields<'_>, name: &str) -> Option<Option<Duration>> {
    if !fields.is_present(name) {
        return Some(None);
    }
    let seconds = fields.number(name)?;
    let max = AudioEdit::TIME_MAX.as_secs();
    if !(0.0..=AudioEdit::TIME_MAX.as_secs_f64()).contains(&seconds) {
        fields.reject(name, format!("must be seconds from 0 to {max}"));
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    let millis = (seconds * 1000.0).round() as u64;
    Some(Some(Duration::from_millis(millis)))
}

/// The OpenAPI schema of such an input.
pub(super) fn audio_input_schema() -> Value {
    let url = |description: &str| {
        with_description(
            json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://"}),
            description,
        )
    };
    let time = |description: &str| {
        with_description(
            json!({"type": "number", "minimum": 0, "maximum": AudioEdit::TIME_MAX.as_secs()}),
            description,
        )
    };
    let overlay = object(
        &["url"],
        [
            ("url", url("URL of a file with audio. Its first audio track is used.")),
            ("startTime", time("Start in seconds of the media. Default: 0.")),
            ("endTime", time("End in seconds of the media. Default: the end of its file or of the media.")),
            ("fadeInLevel", time("Length of the fade-in, in seconds.")),
            ("fadeOutLevel", time("Length of the fade-out before its end, in seconds.")),
        ],
    );
    let overlays = json!({"type": "array", "maxItems": AudioEdit::OVERLAYS_MAX, "items": overlay});
    object(
        &["type"],
        [
            ("type", string_enum(["audio"])),
            ("swapTrackUrl", url("URL of a file whose audio replaces the audio of the media.")),
            (
                "imposeTracks",
                with_description(
                    overlays,
                    "Audio that is mixed over it. Of several audio tracks, only the default one is used; the others are left out. Either `swapTrackUrl` or `imposeTracks` is required.",
                ),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kinora_web::fields::Problems;
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<AudioEdit, String> {
        let problems = Problems::default();
        let read = Fields::of_body(body, &problems).and_then(|fields| audio_input(&fields));
        problems.into_result(read).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn audio_swap_and_overlays_parse() {
        let seconds = Duration::from_secs;
        let body = json!({
            "type": "audio",
            "swapTrackUrl": "https://example.com/a.mp3",
            "imposeTracks": [
                {"url": "https://example.com/b.wav", "startTime": 1.5, "endTime": 12, "fadeInLevel": 2, "fadeOutLevel": 3},
                {"url": "https://example.com/c.wav"}
            ]
        });
        let first = AudioOverlay {
            start: Duration::from_millis(1500),
            end: Some(seconds(12)),
            fade_in: seconds(2),
            fade_out: seconds(3),
            ..AudioOverlay::whole("https://example.com/b.wav")
        };
        let second = AudioOverlay::whole("https://example.com/c.wav");
        let expected =
            AudioEdit { swap_url: Some("https://example.com/a.mp3".into()), overlays: vec![first, second] };
        assert_eq!(read(&body), Ok(expected));
        let alone = AudioEdit { swap_url: Some("http://example.com/a".into()), overlays: vec![] };
        assert_eq!(read(&json!({"swapTrackUrl": "http://example.com/a", "imposeTracks": null})), Ok(alone));
        let over = |overlay: Value| read(&json!({"imposeTracks": [overlay]})).map(|edit| edit.overlays.len());
        for edge in [json!(0), json!(43200), json!(null)] {
            assert_eq!(
                over(json!({"url": "https://example.com/c", "startTime": edge, "fadeInLevel": edge})),
                Ok(1)
            );
        }
        assert_eq!(
            over(json!({"url": "https://example.com/c", "endTime": 2, "fadeInLevel": 1, "fadeOutLevel": 1})),
            Ok(1)
        );
    }

    #[test]
    fn invalid_fields_are_named() {
        let url = "https://example.com/c";
        let many = vec![json!({"url": url}); AudioEdit::OVERLAYS_MAX + 1];
        for (body, field) in [
            (json!({}), "swapTrackUrl"),
            (json!({"imposeTracks": []}), "swapTrackUrl"),
            (json!({"swapTrackUrl": "ftp://example.com/a"}), "swapTrackUrl"),
            (json!({"swapTrackUrl": 7}), "swapTrackUrl"),
            (json!({"imposeTracks": "x"}), "imposeTracks"),
            (json!({"imposeTracks": many}), "imposeTracks"),
            (json!({"imposeTracks": [7]}), "imposeTracks[0]"),
            (json!({"imposeTracks": [{}]}), "imposeTracks[0].url"),
            (json!({"imposeTracks": [{"url": "c"}]}), "imposeTracks[0].url"),
            (json!({"imposeTracks": [{"url": url, "startTime": -1}]}), "imposeTracks[0].startTime"),
            (json!({"imposeTracks": [{"url": url, "startTime": "1"}]}), "imposeTracks[0].startTime"),
            (json!({"imposeTracks": [{"url": url, "endTime": 43200.1}]}), "imposeTracks[0].endTime"),
            (
                json!({"imposeTracks": [{"url": url, "startTime": 2, "endTime": 2}]}),
                "imposeTracks[0].endTime",
            ),
            (json!({"imposeTracks": [{"url": url, "fadeInLevel": -0.1}]}), "imposeTracks[0].fadeInLevel"),
            (
                json!({"imposeTracks": [{"url": url, "endTime": 2, "fadeInLevel": 1, "fadeOutLevel": 1.1}]}),
                "imposeTracks[0].fadeOutLevel",
            ),
        ] {
            let refused = read(&body).unwrap_err();
            assert!(refused.contains(&format!("field: \"{field}\"")), "{body}: {refused}");
        }
    }
}

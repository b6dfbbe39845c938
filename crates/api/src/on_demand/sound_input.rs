//! Inputs of type `audio`: another sound for the media, and more laid over it (C-126, D-0080).

use std::time::Duration;

use kinora_domain::{SoundEdit, SoundOverlay};
use kinora_web::fields::Fields;
use kinora_web::openapi::schema::{object, said, words};
use serde_json::{Value, json};

use super::wishes::URL_MAX;

/// What is asked for; `None` when something is wrong with it.
pub(super) fn sound_input(input: &Fields<'_>) -> Option<SoundEdit> {
    let swap_url = input.has("swapTrackUrl").then(|| address(input, "swapTrackUrl"));
    let imposed = match input.has("imposeTracks") {
        true => input.objects("imposeTracks", SoundEdit::OVERLAYS_MAX)?,
        false => Vec::new(),
    };
    if swap_url.is_none() && imposed.is_empty() {
        input.refuse("swapTrackUrl", "must not be null, unless imposeTracks has some");
        return None;
    }
    let count = imposed.len();
    let overlays: Vec<_> = imposed.iter().filter_map(overlay).collect();
    let is_whole = overlays.len() == count;
    let swap_url = swap_url.map(|url| url.ok_or(())).transpose().ok()?;
    is_whole.then_some(SoundEdit { swap_url, overlays })
}

fn overlay(track: &Fields<'_>) -> Option<SoundOverlay> {
    if !track.has("url") {
        track.refuse("url", "must not be null");
    }
    let url = track.has("url").then(|| address(track, "url")).flatten();
    let [start, end, fade_in, fade_out] =
        ["startTime", "endTime", "fadeInLevel", "fadeOutLevel"].map(|name| seconds(track, name));
    let (start, end, fade_in, fade_out) =
        (start?.unwrap_or_default(), end?, fade_in?.unwrap_or_default(), fade_out?.unwrap_or_default());
    if let Some(end) = end {
        if end <= start {
            track.refuse("endTime", "must be later than startTime");
            return None;
        }
        if end - start < fade_in.saturating_add(fade_out) {
            track.refuse("fadeOutLevel", "must leave room for fadeInLevel between startTime and endTime");
            return None;
        }
    }
    Some(SoundOverlay { url: url?, start, end, fade_in, fade_out })
}

fn address(fields: &Fields<'_>, name: &str) -> Option<String> {
    let url = fields.text(name, URL_MAX)?;
    match kinora_fetch::parse_source_url(url) {
        Ok(_) => Some(url.to_owned()),
        Err(problem) => {
            fields.refuse(name, problem.to_string());
            None
        }
    }
}

/// A time of the media, to the millisecond. `None` when it is no such time; inside, when it was left out.
#[expect(clippy::option_option, reason = "the outer one is a refusal")]
fn seconds(fields: &Fields<'_>, name: &str) -> Option<Option<Duration>> {
    if !fields.has(name) {
        return Some(None);
    }
    let seconds = fields.number(name)?;
    let max = SoundEdit::TIME_MAX.as_secs();
    if !(0.0..=SoundEdit::TIME_MAX.as_secs_f64()).contains(&seconds) {
        fields.refuse(name, format!("must be seconds from 0 to {max}"));
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    let millis = (seconds * 1000.0).round() as u64;
    Some(Some(Duration::from_millis(millis)))
}

/// Such an input as the document describes it.
pub(super) fn described() -> Value {
    let url = |description: &str| {
        said(json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://"}), description)
    };
    let time = |description: &str| {
        said(json!({"type": "number", "minimum": 0, "maximum": SoundEdit::TIME_MAX.as_secs()}), description)
    };
    let imposed = object(
        &["url"],
        [
            ("url", url("Where a file with sound is; of it the first audio track is heard.")),
            ("startTime", time("When it begins, in seconds of the media. Left out: at its beginning.")),
            ("endTime", time("When it ends. Left out: with its file, or with the media.")),
            ("fadeInLevel", time("It grows louder for so many seconds.")),
            ("fadeOutLevel", time("It grows quieter for so many seconds before its end.")),
        ],
    );
    let imposed = json!({"type": "array", "maxItems": SoundEdit::OVERLAYS_MAX, "items": imposed});
    object(
        &["type"],
        [
            ("type", words(["audio"])),
            ("swapTrackUrl", url("Where a file is whose sound takes the place of the media's own.")),
            (
                "imposeTracks",
                said(
                    imposed,
                    "Sounds that are heard over it: of several audio tracks, over that which plays when nobody chose; the others are left out. One of both is needed.",
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

    fn read(body: &Value) -> Result<SoundEdit, String> {
        let problems = Problems::default();
        let read = Fields::of_body(body, &problems).and_then(|fields| sound_input(&fields));
        problems.into_result(read).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn a_sound_is_swapped_and_others_are_laid_over_it() {
        let seconds = Duration::from_secs;
        let body = json!({
            "type": "audio",
            "swapTrackUrl": "https://example.com/a.mp3",
            "imposeTracks": [
                {"url": "https://example.com/b.wav", "startTime": 1.5, "endTime": 12, "fadeInLevel": 2, "fadeOutLevel": 3},
                {"url": "https://example.com/c.wav"}
            ]
        });
        let first = SoundOverlay {
            start: Duration::from_millis(1500),
            end: Some(seconds(12)),
            fade_in: seconds(2),
            fade_out: seconds(3),
            ..SoundOverlay::whole("https://example.com/b.wav")
        };
        let second = SoundOverlay::whole("https://example.com/c.wav");
        let expected =
            SoundEdit { swap_url: Some("https://example.com/a.mp3".into()), overlays: vec![first, second] };
        assert_eq!(read(&body), Ok(expected));
        let alone = SoundEdit { swap_url: Some("http://example.com/a".into()), overlays: vec![] };
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
    fn each_wrong_field_is_named() {
        let url = "https://example.com/c";
        let many = vec![json!({"url": url}); SoundEdit::OVERLAYS_MAX + 1];
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

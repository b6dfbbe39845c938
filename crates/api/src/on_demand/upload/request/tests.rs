use kinora_domain::{MediaQuality, Random, Timestamp};
use serde_json::json;

use super::*;

struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn read(body: &Value) -> Result<(NewUpload, Vec<String>), ApiError> {
    parse(body, WorkspaceId::new(Timestamp::from_micros(0), &Zeros), None)
}

/// A body that is valid apart from these settings.
fn with(settings: Value) -> Value {
    json!({"corsOrigin": "*", "pushMediaSettings": settings})
}

#[test]
fn default_bodies_of_published_sdks_are_accepted() {
    for body in [
        json!({"corsOrigin": "*"}),
        json!({"corsOrigin": "*", "pushMediaSettings": null, "timeout": null, "unknown": 1}),
        json!({"corsOrigin": "*", "pushMediaSettings": {}}),
        with(json!({"accessPolicy": "public", "maxResolution": "1080p", "mediaQuality": "standard"})),
        with(json!({"inputs": [{"type": "video"}]})),
        with(json!({"inputs": [{"type": "video", "url": "", "segments": []}]})),
    ] {
        let (new, warnings) = read(&body).unwrap_or_else(|refusal| panic!("{body}: {refusal:?}"));
        assert_eq!(new.settings, MediaSettings::default());
        assert_eq!((new.policy, new.timeout_s), (AccessPolicy::Public, 14_400));
        assert_eq!(new.origin, CorsOrigin::Any);
        assert!(warnings.is_empty());
    }
}

#[test]
fn range_is_beside_inputs_or_in_video_input() {
    let range = json!({"startTime": 1, "endTime": 2.5});
    let mut input = range.clone();
    input["type"] = "video".into();
    let intro = json!({"type": "video", "introUrl": "https://example.com/intro.mp4"});
    let edit = TimelineEdit {
        start: Duration::from_secs(1),
        end: Some(Duration::from_millis(2500)),
        ..TimelineEdit::default()
    };
    let mut both = range.clone();
    both["inputs"] = json!([intro]);
    for (settings, intro) in [
        (range, None),
        (json!({"inputs": [input]}), None),
        (both, Some("https://example.com/intro.mp4".to_owned())),
    ] {
        let (new, _) = read(&with(settings)).unwrap();
        assert_eq!(new.settings.timeline_edit, Some(TimelineEdit { intro, ..edit.clone() }));
    }
}

#[test]
fn settings_are_read_and_those_without_effect_warned() {
    let settings =
        json!({"accessPolicy": "private", "optimizeAudio": true, "mediaQuality": "pro", "title": "t"});
    let body =
        json!({"corsOrigin": "https://Shop.example:443", "timeout": 60.0, "pushMediaSettings": settings});
    let (new, warnings) = read(&body).unwrap();
    assert_eq!(new.origin, CorsOrigin::One("https://shop.example".into()));
    assert_eq!((new.policy, new.timeout_s), (AccessPolicy::Private, 60));
    assert_eq!((new.settings.quality, new.settings.title.as_deref()), (MediaQuality::Pro, Some("t")));
    assert!(new.settings.optimize_audio);
    assert_eq!(warnings, ["pushMediaSettings.mediaQuality is stored and has no effect yet"]);
}

#[test]
fn invalid_and_unsupported_fields_are_named_by_path() {
    let url = "https://example.com/a.mp4";
    let long = "x".repeat(256);
    let origin = format!("https://{}.example", "a".repeat(300));
    let cases = [
        (json!({}), "corsOrigin"),
        (json!({"corsOrigin": null}), "corsOrigin"),
        (json!({"corsOrigin": 1}), "corsOrigin"),
        (json!({"corsOrigin": "example.com"}), "corsOrigin"),
        (json!({"corsOrigin": origin}), "corsOrigin"),
        (json!({"corsOrigin": "*", "timeout": 59}), "timeout"),
        (json!({"corsOrigin": "*", "timeout": 604_801}), "timeout"),
        (json!({"corsOrigin": "*", "timeout": 60.5}), "timeout"),
        (json!({"corsOrigin": "*", "timeout": -60}), "timeout"),
        (json!({"corsOrigin": "*", "timeout": 1e300}), "timeout"),
        (json!({"corsOrigin": "*", "timeout": "60"}), "timeout"),
        (json!({"corsOrigin": "*", "pushMediaSettings": []}), "pushMediaSettings"),
        (with(json!({"accessPolicy": "open"})), "pushMediaSettings.accessPolicy"),
        (with(json!({"accessPolicy": "drm"})), "pushMediaSettings.accessPolicy"),
        (with(json!({"startTime": -1})), "pushMediaSettings.startTime"),
        (with(json!({"startTime": 5, "endTime": 5})), "pushMediaSettings.endTime"),
        (
            with(json!({"startTime": 5, "inputs": [{"type": "video", "endTime": 9}]})),
            "pushMediaSettings.startTime",
        ),
        (
            with(json!({"endTime": 5, "inputs": [{"type": "video", "startTime": 2}]})),
            "pushMediaSettings.endTime",
        ),
        (
            with(json!({"endTime": 3, "inputs": [{"type": "video", "expungeSegments": ["0-3"]}]})),
            "pushMediaSettings.inputs[0].expungeSegments",
        ),
        (with(json!({"inputs": {}})), "pushMediaSettings.inputs"),
        (with(json!({"inputs": [1]})), "pushMediaSettings.inputs[0]"),
        (with(json!({"inputs": [{}]})), "pushMediaSettings.inputs[0].type"),
        (
            with(json!({"inputs": [{"type": "watermark", "url": url, "opacity": "101%"}]})),
            "pushMediaSettings.inputs[0].opacity",
        ),
        (with(json!({"inputs": [{"type": "video"}, {"type": "video"}]})), "pushMediaSettings.inputs[1].type"),
        (with(json!({"inputs": [{"type": "video", "url": url}]})), "pushMediaSettings.inputs[0].url"),
        (
            with(json!({"inputs": [{"type": "video", "startTime": "0"}]})),
            "pushMediaSettings.inputs[0].startTime",
        ),
        (
            with(json!({"inputs": [{"type": "video", "introUrl": "ftp://example.com/a"}]})),
            "pushMediaSettings.inputs[0].introUrl",
        ),
        (with(json!({"metadata": {"a": 1}})), "pushMediaSettings.metadata.a"),
        (with(json!({"title": long})), "pushMediaSettings.title"),
        (with(json!({"maxResolution": "999p"})), "pushMediaSettings.maxResolution"),
        (with(json!({"mp4Support": "capped-4k"})), "pushMediaSettings.mp4Support"),
        (with(json!({"subtitles": {"languageCode": "en"}})), "pushMediaSettings.subtitles"),
        (
            with(json!({"accessRestrictions": {"domains": {"deny": ["a.example:80"]}}})),
            "pushMediaSettings.accessRestrictions.domains.deny[0]",
        ),
    ];
    for (body, path) in cases {
        let refused = read(&body).err().unwrap_or_else(|| panic!("accepted: {body}"));
        let error_text = format!("{refused:?}");
        assert!(error_text.contains(&format!("field: \"{path}\"")), "{body}: {error_text}");
    }
    assert!(read(&json!([])).is_err());
}

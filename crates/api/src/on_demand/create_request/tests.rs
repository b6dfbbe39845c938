use std::time::Duration;

use kinora_domain::{
    AccessPolicy, AudioEdit, Insert, InsertPoint, MediaQuality, MediaSettings, Random, Timestamp,
};
use serde_json::json;

use super::*;

struct ZeroRandom;

impl Random for ZeroRandom {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn read(body: &Value) -> Result<(NewMedia, Vec<String>), ApiError> {
    let parsed = parse(body, WorkspaceId::new(Timestamp::from_micros(0), &ZeroRandom))?;
    Ok((parsed.new, parsed.warnings))
}

/// A valid body, with these fields added or replaced.
fn with(fields: Value) -> Value {
    let mut body = json!({"inputs": [{"type": "video", "url": "https://example.com/a.mp4"}]});
    let Value::Object(fields) = fields else { panic!("an object") };
    body.as_object_mut().unwrap().extend(fields);
    body
}

#[test]
fn default_bodies_of_published_sdks_are_accepted() {
    // C-128: the bodies that the Python and Node SDKs send without optional fields.
    for fields in [
        json!({"accessPolicy": "public", "optimizeAudio": false, "maxResolution": "1080p"}),
        json!({"accessPolicy": "public", "maxResolution": "1080p", "mediaQuality": "standard"}),
        json!({}),
    ] {
        let (new, warnings) = read(&with(fields)).unwrap();
        assert_eq!(new.url, "https://example.com/a.mp4");
        assert_eq!(new.settings, MediaSettings::default());
        assert_eq!(new.policy, AccessPolicy::Public);
        assert!(warnings.is_empty());
    }
}

#[test]
fn fields_that_equal_defaults_are_accepted() {
    for fields in [
        json!({"mp4Support": "none"}),
        json!({"chapters": false, "namedEntities": false, "summary": {"generate": false, "summaryLength": 100}}),
        json!({"subtitles": {}, "createSubtitles": null, "moderation": null, "unknown": {"a": 1}}),
        json!({"accessRestrictions": {"domains": {"defaultPolicy": "allow", "allow": [], "deny": []}, "userAgents": {}}}),
        json!({"inputs": [{"type": "video", "url": "http://a.example/", "segments": [], "expungeSegments": [], "introUrl": ""}]}),
    ] {
        assert!(read(&with(fields.clone())).is_ok(), "{fields}");
    }
}

#[test]
fn stored_settings_without_effect_are_warned() {
    let (new, warnings) = read(&with(json!({"optimizeAudio": true, "mediaQuality": "pro"}))).unwrap();
    assert!(new.settings.optimize_audio);
    assert_eq!(new.settings.quality, MediaQuality::Pro);
    assert_eq!(warnings, ["mediaQuality is stored and has no effect yet"]);
}

fn subtitle(name: &str) -> Value {
    json!({"type": "subtitle", "url": "https://example.com/a.srt", "languageCode": "en-US", "languageName": name})
}

#[test]
fn subtitles_are_added_to_the_video() {
    let video = json!({"type": "video", "url": "https://example.com/a.mp4"});
    let body = json!({"inputs": [subtitle("English"), video, subtitle("German")]});
    let (new, warnings) = read(&body).unwrap();
    let names: Vec<_> = new.tracks.iter().map(|track| track.language_name.as_str()).collect();
    assert_eq!(
        (new.url.as_str(), &*names, warnings.len()),
        ("https://example.com/a.mp4", &["English", "German"][..], 0)
    );
    let many: Vec<_> = (0..63).map(|n| subtitle(&n.to_string())).chain([video]).collect();
    assert_eq!(read(&json!({"inputs": many})).unwrap().0.tracks.len(), 63);
}

#[test]
fn audio_input_replaces_audio_of_the_video() {
    let video = json!({"type": "video", "url": "https://example.com/a.mp4"});
    let audio = json!({"type": "audio", "swapTrackUrl": "https://example.com/a.mp3"});
    let (new, warnings) = read(&json!({"inputs": [audio, video]})).unwrap();
    let audio_edit = AudioEdit { swap_url: Some("https://example.com/a.mp3".into()), overlays: vec![] };
    assert_eq!((new.settings.audio_edit, warnings.len()), (Some(audio_edit), 0));
    assert_eq!(read(&json!({"inputs": [video]})).unwrap().0.settings.audio_edit, None);
}

fn edited(fields: Value) -> Value {
    let mut video = json!({"type": "video", "url": "https://example.com/a.mp4"});
    let Value::Object(fields) = fields else { panic!("an object") };
    video.as_object_mut().unwrap().extend(fields);
    json!({"inputs": [video]})
}

#[test]
fn edits_of_the_timeline_are_read() {
    let file = |name: &str| format!("https://example.com/{name}.mp4");
    let body = edited(json!({
        "startTime": 1.5,
        "endTime": 60,
        "expungeSegments": ["3-7.5", " 10.000001 - 11 "],
        "segments": [{"url": file("b"), "insertAt": 20}, {"url": file("c"), "insertAtEnd": true}],
        "introUrl": file("intro"),
        "outroUrl": file("outro"),
    }));
    let micros = Duration::from_micros;
    let expected = TimelineEdit {
        start: micros(1_500_000),
        end: Some(micros(60_000_000)),
        removed: vec![micros(3_000_000)..micros(7_500_000), micros(10_000_001)..micros(11_000_000)],
        inserts: vec![
            Insert { url: file("b"), at: InsertPoint::Time(micros(20_000_000)) },
            Insert { url: file("c"), at: InsertPoint::End },
        ],
        intro: Some(file("intro")),
        outro: Some(file("outro")),
    };
    assert_eq!(read(&body).unwrap().0.settings.timeline_edit, Some(expected));
    for nothing in [
        json!({"startTime": 0}),
        json!({"startTime": null, "endTime": null, "introUrl": "", "segments": null}),
    ] {
        assert_eq!(read(&edited(nothing)).unwrap().0.settings.timeline_edit, None);
    }
}

#[test]
fn clip_names_the_media_it_is_cut_from() {
    let id = "019a492c-41f3-7001-8203-040506070809";
    let (new, _) = read(&edited(json!({"url": format!("fp_mediaId://{id}"), "endTime": 5}))).unwrap();
    assert_eq!((new.clip_of, new.url), (Some(id.parse().unwrap()), format!("fp_mediaId://{id}")));
    let end = new.settings.timeline_edit.and_then(|edit| edit.end);
    assert_eq!(end, Some(Duration::from_secs(5)));
}

#[test]
fn invalid_edits_are_named_by_path() {
    let url = "https://example.com/a.mp4";
    let insert = |fields: Value| json!({"segments": [fields]});
    let at_end = json!({"url": url, "insertAtEnd": true});
    let cases = [
        (json!({"startTime": "1"}), "inputs[0].startTime"),
        (json!({"startTime": -0.1}), "inputs[0].startTime"),
        (json!({"startTime": 259_200.1}), "inputs[0].startTime"),
        (json!({"endTime": "5"}), "inputs[0].endTime"),
        (json!({"startTime": 5, "endTime": 5}), "inputs[0].endTime"),
        (json!({"introUrl": "ftp://example.com/a"}), "inputs[0].introUrl"),
        (json!({"outroUrl": 7}), "inputs[0].outroUrl"),
        (json!({"expungeSegments": "1-2"}), "inputs[0].expungeSegments"),
        (json!({"expungeSegments": vec!["1-2"; 65]}), "inputs[0].expungeSegments"),
        (json!({"expungeSegments": ["1-2", 7]}), "inputs[0].expungeSegments[1]"),
        (json!({"expungeSegments": ["1"]}), "inputs[0].expungeSegments[0]"),
        (json!({"expungeSegments": ["1--2"]}), "inputs[0].expungeSegments[0]"),
        (json!({"expungeSegments": ["1e1-20"]}), "inputs[0].expungeSegments[0]"),
        (json!({"expungeSegments": ["1.2.3-4"]}), "inputs[0].expungeSegments[0]"),
        (json!({"expungeSegments": ["-2"]}), "inputs[0].expungeSegments[0]"),
        (json!({"expungeSegments": ["2-1"]}), "inputs[0].expungeSegments[0]"),
        (json!({"expungeSegments": ["1-3", "2-4"]}), "inputs[0].expungeSegments[1]"),
        (json!({"endTime": 5, "expungeSegments": ["0-5"]}), "inputs[0].expungeSegments"),
        (json!({"expungeSegments": ["1-2", "x", "4-4"]}), "inputs[0].expungeSegments[1]"),
        (insert(json!({"insertAt": 1})), "inputs[0].segments[0].url"),
        (insert(json!({"url": "x", "insertAt": 1})), "inputs[0].segments[0].url"),
        (insert(json!({"url": url})), "inputs[0].segments[0].insertAt"),
        (insert(json!({"url": url, "insertAt": -1})), "inputs[0].segments[0].insertAt"),
        (insert(json!({"url": url, "insertAt": 1, "insertAtEnd": true})), "inputs[0].segments[0].insertAt"),
        (insert(json!({"url": url, "insertAtEnd": "yes"})), "inputs[0].segments[0].insertAtEnd"),
        (json!({"segments": vec![at_end.clone(); 30]}), "inputs[0].segments"),
        (json!({"segments": vec![at_end; 65]}), "inputs[0].segments"),
        (
            json!({"startTime": 5, "segments": [{"url": url, "insertAt": 4}]}),
            "inputs[0].segments[0].insertAt",
        ),
    ];
    for (fields, path) in cases {
        let refused = read(&edited(fields.clone())).err().unwrap_or_else(|| panic!("accepted: {fields}"));
        let error_text = format!("{refused:?}");
        assert!(error_text.contains(&format!("field: \"{path}\"")), "{fields}: {error_text}");
    }
}

#[test]
fn invalid_and_unsupported_fields_are_named_by_path() {
    let url = "https://example.com/a.mp4";
    let video = json!({"type": "video", "url": url});
    let long = "x".repeat(256);
    let eleven: serde_json::Map<_, _> = (0..11).map(|n| (n.to_string(), json!("v"))).collect();
    let cases = [
        (json!({"inputs": null}), "inputs"),
        (json!({"inputs": {}}), "inputs"),
        (json!({"inputs": []}), "inputs"),
        (json!({"inputs": [1]}), "inputs[0]"),
        (json!({"inputs": [{}]}), "inputs[0].type"),
        (json!({"inputs": [{"type": "picture"}]}), "inputs[0].type"),
        (json!({"inputs": [{"type": "video"}]}), "inputs[0].url"),
        (json!({"inputs": [{"type": "video", "url": 1}]}), "inputs[0].url"),
        (json!({"inputs": [{"type": "video", "url": "ftp://example.com/a"}]}), "inputs[0].url"),
        (json!({"inputs": [{"type": "video", "url": "file:///etc/passwd"}]}), "inputs[0].url"),
        (
            json!({"inputs": [{"type": "video", "url": "fp_mediaId://019a492c41f370018203040506070809"}]}),
            "inputs[0].url",
        ),
        (json!({"inputs": [video, video]}), "inputs[1].type"),
        (json!({"inputs": [video, {"type": "watermark"}]}), "inputs[1].url"),
        (
            json!({"inputs": [video, {"type": "watermark", "url": url, "placement": {"xMargin": "10"}}]}),
            "inputs[1].placement.xMargin",
        ),
        (
            json!({"inputs": [video, {"type": "watermark", "url": url}, {"type": "watermark", "url": url}]}),
            "inputs[2].type",
        ),
        (json!({"inputs": [{"type": "watermark", "url": url}]}), "inputs"),
        (json!({"inputs": [video, {"type": "audio"}]}), "inputs[1].swapTrackUrl"),
        (json!({"inputs": [{"type": "audio", "swapTrackUrl": "x"}, video]}), "inputs[0].swapTrackUrl"),
        (
            json!({"inputs": [video, {"type": "audio", "imposeTracks": [{}]}]}),
            "inputs[1].imposeTracks[0].url",
        ),
        (
            json!({"inputs": [video, {"type": "audio", "swapTrackUrl": url}, {"type": "audio", "swapTrackUrl": url}]}),
            "inputs[2].type",
        ),
        (json!({"inputs": [{"type": "audio", "swapTrackUrl": url}]}), "inputs"),
        (
            json!({"inputs": [video, {"type": "subtitle", "url": url, "languageCode": "en"}]}),
            "inputs[1].languageName",
        ),
        (
            json!({"inputs": [video, {"type": "subtitle", "url": url, "languageName": "English", "languageCode": "?"}]}),
            "inputs[1].languageCode",
        ),
        (
            json!({"inputs": [{"type": "subtitle", "languageName": "English", "languageCode": "en", "url": "x"}, video]}),
            "inputs[0].url",
        ),
        (
            json!({"inputs": [video, subtitle("English"), subtitle("German"), subtitle("English")]}),
            "inputs[3].languageName",
        ),
        (json!({"inputs": vec![subtitle("English"); 65]}), "inputs"),
        (json!({"accessPolicy": "open"}), "accessPolicy"),
        (json!({"accessPolicy": "drm"}), "accessPolicy"),
        (json!({"accessPolicy": 1}), "accessPolicy"),
        (json!({"drmConfigurationId": "nope"}), "drmConfigurationId"),
        (json!({"metadata": {"a": null}}), "metadata.a"),
        (json!({"moderation": {"type": 7}}), "moderation.type"),
        (json!({"subtitles": {"languageCode": 7}}), "subtitles.languageCode"),
        (json!({"metadata": []}), "metadata"),
        (json!({"metadata": {"a": 1}}), "metadata.a"),
        (json!({"metadata": {"a": long}}), "metadata.a"),
        (json!({"metadata": {long.clone(): "a"}}), "metadata"),
        (json!({"metadata": eleven}), "metadata"),
        (json!({"title": long}), "title"),
        (json!({"creatorId": 5}), "creatorId"),
        (json!({"maxResolution": "999p"}), "maxResolution"),
        (json!({"maxResolution": "240p"}), "maxResolution"),
        (json!({"mediaQuality": "best"}), "mediaQuality"),
        (json!({"sourceAccess": "yes"}), "sourceAccess"),
        (json!({"optimizeAudio": 1}), "optimizeAudio"),
        (json!({"mp4Support": 4}), "mp4Support"),
        (json!({"mp4Support": "all"}), "mp4Support"),
        (json!({"chapters": true}), "chapters"),
        (json!({"namedEntities": true}), "namedEntities"),
        (json!({"summary": {"generate": true}}), "summary"),
        (json!({"summary": {"generate": false, "summaryLength": 29}}), "summary.summaryLength"),
        (json!({"moderation": {"type": "video"}}), "moderation"),
        (json!({"subtitles": {"languageCode": "en"}}), "subtitles"),
        (json!({"createSubtitles": {"name": "x"}}), "createSubtitles"),
        (json!({"accessRestrictions": []}), "accessRestrictions"),
        (
            json!({"accessRestrictions": {"domains": {"deny": ["a.example", "https://b.example"]}}}),
            "accessRestrictions.domains.deny[1]",
        ),
        (
            json!({"accessRestrictions": {"userAgents": {"allow": [1]}}}),
            "accessRestrictions.userAgents.allow[0]",
        ),
        (
            json!({"accessRestrictions": {"userAgents": {"defaultPolicy": "maybe"}}}),
            "accessRestrictions.userAgents.defaultPolicy",
        ),
    ];
    for (fields, path) in cases {
        let refused = read(&with(fields.clone())).err().unwrap_or_else(|| panic!("accepted: {fields}"));
        let error_text = format!("{refused:?}");
        assert!(error_text.contains(&format!("field: \"{path}\"")), "{fields}: {error_text}");
    }
    assert!(read(&json!([])).is_err());
    assert!(read(&json!({})).is_err());
}

#[test]
fn texts_of_maximum_length_are_stored_unchanged() {
    let text = "é".repeat(255);
    let (new, _) =
        read(&with(json!({"title": text, "creatorId": text, "metadata": {text.clone(): text}}))).unwrap();
    assert_eq!(new.settings.title.as_deref(), Some(text.as_str()));
    assert_eq!(new.settings.metadata.unwrap().get(&text), Some(&text));
}

#[test]
fn watermark_is_a_setting_of_the_media() {
    let url = "https://example.com/logo.png";
    let video = json!({"type": "video", "url": "https://example.com/a.mp4"});
    let body = json!({"inputs": [{"type": "watermark", "url": url, "opacity": "7%"}, video]});
    let (new, _) = read(&body).unwrap();
    let watermark = new.settings.watermark.unwrap();
    assert_eq!((&*watermark.url, watermark.opacity_percent), (url, 7));
}

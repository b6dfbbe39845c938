//! Every bound in the document is the bound of the server: the bound itself is valid, a value beyond it is
//! rejected.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ID, PLAYBACK, document, track_of};
use crate::support::document::{operations, resolve};
use crate::support::{Answer, TestApp, text};

#[tokio::test]
async fn request_body_bounds_match_openapi() {
    // Sources are rejected at once: this test needs only requests.
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let document = document(&app).await;
    let url = "http://127.0.0.1/a";
    let media = app.create(url).await;
    app.wait_settled(text(&media["id"])).await;
    let playlist = json!({"name": "N", "referenceId": "of the test", "type": "manual"});
    let playlist = app.call("POST", "/v1/on-demand/playlists").json(&playlist).send().await.data();
    let ids = BTreeMap::from([
        ("{playlistId}", text(&playlist["id"]).to_owned()),
        ("{mediaId}", text(&media["id"]).to_owned()),
        ("{playbackId}", text(&media["playbackIds"][0]["id"]).to_owned()),
        ("{signingKeyId}", ID.to_owned()),
        ("{trackId}", track_of(&app, &media, "http://127.0.0.1/a.srt").await),
    ]);
    let mut tried = 0;
    for operation in operations(&document).iter().filter(|operation| operation.body_schema().is_some()) {
        let parts = operation.path.split('/').map(|part| ids.get(part).map_or(part, String::as_str));
        let path = format!("/v1{}", parts.collect::<Vec<_>>().join("/"));
        let body = operation.bodies().swap_remove(0).1.expect("it has a body");
        let body: Value = serde_json::from_str(
            &body
                .to_string()
                .replace("https://example.com/talk", url)
                .replace(PLAYBACK, &ids["{playbackId}"]),
        )
        .unwrap();
        let mut trials = Vec::new();
        walk(&document, operation.body_schema().unwrap(), &FieldPath::default(), &mut trials);
        for Trial { field_path, value, is_valid } in trials {
            // The name of a track is unique.
            let is_once = operation.about["operationId"] == "addTrack";
            if is_valid && (is_once || depends_on_others(&field_path.name(), &value)) {
                continue;
            }
            // The current value is rejected, and the values are tried one after another.
            if is_valid && operation.about["operationId"] == "updateMp4Support" && value == "none" {
                continue;
            }
            let mut body = body.clone();
            if body["referenceId"].is_string() {
                body["referenceId"] = json!(tried.to_string()); // each can be had once
            }
            let answer =
                app.call(&operation.method, &path).json(&field_path.put(&body, value.clone())).send().await;
            let shown = value.to_string().chars().take(60).collect::<String>();
            judge(
                &answer,
                is_valid,
                &field_path.name(),
                &format!("{}: {} = {shown}", operation.name(), field_path.name()),
            );
            // Deleted at once: otherwise the media reaches its maximum of playback IDs.
            if answer.status == 201 && operation.about["operationId"] == "createPlaybackId" {
                let made = text(&answer.data()["id"]).to_owned();
                let deleted = app.call("DELETE", &format!("{path}?playbackId={made}")).send().await;
                assert_eq!(deleted.status, 200, "{deleted:?}");
            }
            tried += 1;
        }
    }
    assert!(tried > 300, "only {tried} were tried");
}

#[tokio::test]
async fn list_parameter_bounds_match_openapi() {
    let app = TestApp::options().without_webhook().start().await;
    let document = document(&app).await;
    let media = app.create("http://127.0.0.1/a.mp4").await;
    let mut lists = 0;
    for operation in operations(&document) {
        if operation.parameters("query").iter().all(|parameter| parameter["name"] != "limit") {
            continue;
        }
        lists += 1;
        let path = operation.path.replace("{mediaId}", text(&media["id"])).replace("{livestreamId}", ID);
        for parameter in operation.parameters("query") {
            let (name, schema) = (text(&parameter["name"]), &parameter["schema"]);
            let mut values = Vec::new();
            let (min, max) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
            values.extend(min.iter().chain(&max).map(|bound| (bound.to_string(), true)));
            values.extend(min.map(|min| ((min - 1).to_string(), false)));
            values.extend(max.map(|max| ((max + 1).to_string(), false)));
            let words = schema["enum"].as_array().into_iter().flatten();
            values.extend(words.map(|word| (text(word).to_owned(), true)));
            let longest = schema["maxLength"].as_u64().map(|max| usize::try_from(max).unwrap());
            values.extend(longest.map(|max| ("a".repeat(max), true)));
            values.extend(longest.map(|max| ("a".repeat(max + 1), false)));
            values.extend((schema["minLength"] == 1).then(|| (String::new(), false)));
            // A free text has no invalid values.
            values.push(("other".to_owned(), longest.is_some()));
            for (value, is_taken) in values {
                // An enum value may have two words.
                let value = value.replace(' ', "+");
                let answer = app.call("GET", &format!("/v1{path}?{name}={value}")).send().await;
                judge(&answer, is_taken, name, &format!("{}?{name}={value}", operation.name()));
            }
        }
    }
    assert!(lists >= 6, "only {lists} lists");
}

/// Fields whose validity depends on other fields or on existing resources.
///
/// Media of a playlist; dates, which a smart playlist requires and a manual one rejects; a language code and
/// a key, which have a format too; the playback ID of `endPlayback`; an end without a start before it;
/// ranges, which have a format; the place of an inserted file, which one of two fields names.
fn depends_on_others(path: &str, value: &Value) -> bool {
    path == "mediaIds"
        || path == "type" && value == "manual"
        || path == "playOrder" && value.is_null()
        || [".createdDate", ".updatedDate"].iter().any(|name| path.contains(name))
        || path == "metadata" && value.is_null()
        || path.ends_with("languageCode") && value.is_string()
        || path == "publicKey" && value.is_string()
        || path == "playbackId" && value.is_null()
        || path.ends_with("endTime") && value == 0
        || path.contains("expungeSegments") && !value.is_null()
        || path.contains(".segments[0]")
        || path.ends_with(".segments") && !value.is_null()
}

fn judge(answer: &Answer, is_valid: bool, field: &str, what: &str) {
    if is_valid {
        assert!((200..300).contains(&answer.status), "{what}: {answer:?}");
        return;
    }
    assert_eq!(answer.status, 422, "{what}: {answer:?}");
    let body = answer.json();
    let fields = body["error"]["fields"].as_array().expect("a 422 names fields");
    let of_field =
        |name: &str| name == field || field.starts_with(&format!("{name}.")) || name.starts_with(field);
    assert!(fields.iter().any(|found| of_field(text(&found["field"]))), "{what} is not named: {body}");
}

/// A value for one field of a body, and whether it is valid.
struct Trial {
    field_path: FieldPath,
    value: Value,
    is_valid: bool,
}

/// The path of a field: names, and steps into the first item of a list.
#[derive(Clone, Default)]
struct FieldPath(Vec<Step>);

#[derive(Clone)]
enum Step {
    Field(String),
    First,
}

impl FieldPath {
    fn field(&self, name: &str) -> Self {
        let mut path = self.clone();
        path.0.push(Step::Field(name.to_owned()));
        path
    }

    fn first(&self) -> Self {
        let mut path = self.clone();
        path.0.push(Step::First);
        path
    }

    /// The path as in error messages.
    fn name(&self) -> String {
        let mut name = String::new();
        for step in &self.0 {
            match step {
                Step::Field(field) if name.is_empty() => name.push_str(field),
                Step::Field(field) => name += &format!(".{field}"),
                Step::First => name += "[0]",
            }
        }
        name
    }

    /// The body with this value in the field.
    fn put(&self, body: &Value, value: Value) -> Value {
        let mut body = body.clone();
        let mut at = &mut body;
        for step in &self.0 {
            at = match step {
                Step::Field(name) => {
                    if !at.is_object() {
                        *at = json!({});
                    }
                    &mut at[name.as_str()]
                }
                Step::First => {
                    if !at.is_array() {
                        // An input of an upload requires its type.
                        *at = if self.name().contains("inputs") {
                            json!([{"type": "video"}])
                        } else {
                            json!([null])
                        };
                    }
                    &mut at[0]
                }
            };
        }
        *at = value;
        body
    }
}

/// Collects trial values of a schema and of its nested schemas.
fn walk(document: &Value, schema: &Value, path: &FieldPath, trials: &mut Vec<Trial>) {
    let schema = resolve(document, schema);
    let mut add =
        |value: Value, is_valid: bool| trials.push(Trial { field_path: path.clone(), value, is_valid });
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().map(text).collect(),
        _ => Vec::new(),
    };
    if !path.0.is_empty() && !kinds.is_empty() {
        let others = [
            ("string", json!("other")),
            ("boolean", json!(true)),
            ("array", json!([])),
            ("object", json!({})),
        ];
        for (kind, value) in others {
            if !kinds.contains(&kind) {
                add(value, false);
            }
        }
        if kinds.contains(&"null") {
            add(Value::Null, true);
        }
    }
    if let Some(max) = schema["maxLength"].as_u64() {
        let max = usize::try_from(max).unwrap();
        add(json!(longest(&path.name(), max)), true);
        add(json!(longest(&path.name(), max + 1)), false);
    }
    if schema["minLength"].as_u64() == Some(1) {
        add(json!(""), false);
    }
    if let Some(words) = schema["enum"].as_array() {
        words.iter().for_each(|word| add(word.clone(), true));
        if kinds.contains(&"string") {
            add(json!("another word"), false);
        }
    }
    for (bound, beyond) in [("minimum", -1_i32), ("maximum", 1)] {
        if let Some(at) = schema[bound].as_i64() {
            add(json!(at), true);
            add(json!(at + i64::from(beyond)), false);
            // A half is invalid for an integer; for a number it is beyond the bound.
            let half = if kinds.contains(&"number") { f64::from(beyond) / 2.0 } else { 0.5 };
            add(json!(at as f64 + half), false);
        }
    }
    if let Some(max) = schema["maxItems"].as_u64() {
        let items = |count: u64| {
            let item = |n| {
                if path.name().ends_with("inputs") {
                    json!({"type": "video"})
                } else {
                    json!(format!("{n}.example"))
                }
            };
            json!((0..count).map(item).collect::<Vec<_>>())
        };
        add(items(max + 1), false);
        if !path.name().ends_with("inputs") {
            add(items(max), true);
        }
    }
    if let Some(max) = schema["maxProperties"].as_u64() {
        let entries =
            |count: u64| json!((0..count).map(|n| (n.to_string(), json!("v"))).collect::<BTreeMap<_, _>>());
        add(entries(max), true);
        add(entries(max + 1), false);
    }
    if schema["additionalProperties"]["maxLength"].is_u64() {
        let longest = usize::try_from(schema["propertyNames"]["maxLength"].as_u64().unwrap()).unwrap();
        add(json!({"é".repeat(longest): "é".repeat(longest)}), true);
        add(json!({"é".repeat(longest + 1): "v"}), false);
        add(json!({"k": "é".repeat(longest + 1)}), false);
    }
    if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            walk(document, property, &path.field(name), trials);
        }
    }
    // Of several item types only the first: the others are tried where they occur alone.
    let items = schema["items"]["anyOf"].get(0).unwrap_or(&schema["items"]);
    if items.is_object() {
        walk(document, items, &path.first(), trials);
    }
}

/// A valid text of `characters` characters for this field.
fn longest(name: &str, characters: usize) -> String {
    let (begin, letter) = match name {
        _ if name == "url" || name.ends_with(".url") || name.ends_with("Url") => ("http://127.0.0.1/", "a"),
        "corsOrigin" => ("app://", "a"),
        // A label of a host name has at most 63 bytes.
        _ if name.ends_with("[0]") => {
            return format!("*.{}", "a.".repeat(characters)).chars().take(characters).collect();
        }
        _ => ("", "é"),
    };
    format!("{begin}{}", letter.repeat(characters - begin.len()))
}

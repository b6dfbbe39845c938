//! Schemas of fields, in JSON Schema (2020-12, the dialect of OpenAPI 3.1).
//!
//! Responses derive their schema; a field whose Rust type says too little names one of these types with
//! `#[schemars(with = "…")]`. Requests are parsed field by field. Their schemas are composed with the
//! functions below and the constants of the parser.

pub mod check_fields;

use std::borrow::Cow;

use kinora_domain::{
    AccessPolicy, AddedTrackKind, AddedTrackState, DefaultPolicy, Encryption, FailureCode, MediaQuality,
    MediaSettings, MediaState, Mp4Support, NotCopiedReason, PlayOrder, Resolution, UploadState,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Types that are only schemas.
macro_rules! schemas {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)*) => {
        $(
            $(#[$doc])*
            pub enum $name {}

            impl JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    Schema::try_from($schema).expect("it is written above as an object")
                }
            }
        )*
    };
}

schemas! {
    /// A UUID, lower case with hyphens (C-114).
    Id = json!({"type": "string", "format": "uuid"});
    /// UTC with microseconds (C-116).
    Instant = json!({"type": "string", "format": "date-time"});
    /// A URL.
    Address = json!({"type": "string", "format": "uri"});
    /// Seconds since the start of a media.
    Seconds = json!({"type": "number", "minimum": 0});
    /// Minutes, rounded to three decimals.
    Minutes = json!({"type": "number", "minimum": 0});
    /// `HH:MM:SS`.
    Duration = json!({"type": "string", "pattern": r"^\d{2,}:[0-5]\d:[0-5]\d$"});
    /// Frames per second as a fraction; `-1` until it is known (C-120).
    FrameRate = json!({"type": "string", "pattern": r"^(\d+/\d+|-1)$"});
    /// `16:9`.
    AspectRatio = json!({"type": "string", "pattern": r"^\d+:\d+$"});
    /// A blurred placeholder: 4 by 3 components, in base 83 (github.com/woltapp/blurhash).
    BlurHash = json!({"type": "string", "pattern": r"^[0-9A-Za-z#$%*+,\-.:;=?@\[\]^_{|}~]{28}$"});
    /// A text of the client, at most 255 characters.
    Text = text(MediaSettings::TEXT_MAX);
    /// Key-value pairs of the client.
    Metadata = metadata();
    /// Always `false`; published clients require the field (C-29).
    Never = json!({"type": "boolean", "const": false});
    /// An empty list: not supported yet.
    Nothing = json!({"type": "array", "maxItems": 0});
    /// Status of a media.
    MediaStatus = string_enum(MediaState::NAMES);
    /// Status of an upload.
    UploadStatus = string_enum(UploadState::NAMES);
    /// Access policy of a playback ID.
    Policy = string_enum(AccessPolicy::ALL.map(AccessPolicy::as_str));
    /// Encryption of the segments of a playback ID.
    Encrypted = string_enum([Encryption::Aes128.as_str()]);
    /// Policy for values on neither list.
    RuleDefault = string_enum(DefaultPolicy::ALL.map(DefaultPolicy::as_str));
    /// Requested quality.
    Quality = string_enum(MediaQuality::ALL.map(MediaQuality::as_str));
    /// MP4 files for download.
    Files = string_enum(Mp4Support::WORDS);
    /// Largest resolution that is streamed.
    Cap = string_enum(Resolution::CAPS.map(Resolution::as_str));
    /// Name of a resolution.
    Size = string_enum(Resolution::ALL.map(Resolution::as_str));
    /// Failure code of a media or an upload.
    Code = string_enum(FailureCode::ALL.map(FailureCode::as_str));
    /// Reason why a track is not copied.
    Reason = string_enum(NotCopiedReason::ALL.map(NotCopiedReason::as_str));
    /// State of the levelled audio of a media.
    AudioLevels = string_enum(kinora_domain::AudioLevels::ALL.map(kinora_domain::AudioLevels::as_str));
    /// `2025-11-03`, in UTC.
    CalendarDay = day();
    /// `manual`: a list of media. `smart`: selected by rules.
    PlaylistKind = string_enum(["manual", "smart"]);
    /// Sort order of a smart playlist.
    PlaylistOrder = string_enum(PlayOrder::ALL.map(PlayOrder::as_str));
    /// Type of a track.
    Kind = string_enum(["video"].into_iter().chain(AddedTrackKind::ALL.map(AddedTrackKind::as_str)));
    /// Type of an added track.
    AddedKind = string_enum(AddedTrackKind::ALL.map(AddedTrackKind::as_str));
    /// Type of an input.
    InputKind = string_enum(["video", "watermark"].into_iter().chain(AddedTrackKind::ALL.map(AddedTrackKind::as_str)));
    /// Status of a track. Tracks of the source are always available.
    TrackStatus = string_enum(AddedTrackState::NAMES);
}

/// Makes the schemas of responses, and collects the named ones.
pub struct Schemas(SchemaGenerator);

impl Schemas {
    /// Where the document stores named schemas.
    const REF_PREFIX: &str = "/components/schemas";

    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        Self(settings.with(|settings| settings.definitions_path = Self::REF_PREFIX.into()).into_generator())
    }

    /// The schema of a response, or a reference to it.
    pub fn of<T: JsonSchema>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// Adds a schema under this name and returns a reference to it.
    pub fn add(&mut self, name: &str, schema: Value) -> Value {
        self.0.definitions_mut().insert(name.to_owned(), schema);
        json!({"$ref": format!("#{}/{name}", Self::REF_PREFIX)})
    }

    pub(super) fn into_named(mut self) -> Map<String, Value> {
        let mut named = self.0.take_definitions(true);
        named.values_mut().for_each(strip_fact_ids);
        named
    }
}

/// Removes the ids of facts, such as `(C-118)`, from every description: readers of the document cannot look
/// them up.
fn strip_fact_ids(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                for source in [" (C-", " (D-"] {
                    if let Some((before, rest)) = text.split_once(source)
                        && let Some((_, after)) = rest.split_once(')')
                    {
                        *text = format!("{before}{after}");
                    }
                }
            }
            fields.values_mut().for_each(strip_fact_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_fact_ids),
        _ => {}
    }
}

/// The schema of a string that is one of these words.
pub fn string_enum(words: impl IntoIterator<Item = &'static str>) -> Value {
    json!({"type": "string", "enum": words.into_iter().collect::<Vec<_>>()})
}

/// A text of at most `max` characters.
pub fn text(max: usize) -> Value {
    json!({"type": "string", "maxLength": max})
}

/// A day of the calendar.
pub fn day() -> Value {
    json!({"type": "string", "format": "date"})
}

/// The client's own key and value pairs.
pub fn metadata() -> Value {
    json!({
        "type": "object",
        "maxProperties": MediaSettings::METADATA_ENTRIES_MAX,
        "propertyNames": {"maxLength": MediaSettings::TEXT_MAX},
        "additionalProperties": text(MediaSettings::TEXT_MAX),
    })
}

/// The schema with a description for people.
pub fn with_description(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// The schema with the default value.
pub fn with_default(mut schema: Value, value: impl Into<Value>) -> Value {
    schema["default"] = value.into();
    schema
}

/// An object in a request. An optional field may be absent or `null`, with the same meaning; other fields
/// are ignored (C-10).
pub fn object<'a>(required: &[&str], properties: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let with_null = |(name, schema): (&str, Value)| {
        let schema = if required.contains(&name) { schema } else { or_null(schema) };
        (name.to_owned(), schema)
    };
    let properties: Map<_, _> = properties.into_iter().map(with_null).collect();
    let mut object = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        object["required"] = required.into();
    }
    object
}

fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").filter(|kind| kind.is_string()).cloned() {
        if kind == "null" {
            return schema;
        }
        schema["type"] = json!([kind, "null"]);
        if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
        if let Some(only) = schema.get("const").cloned() {
            schema["enum"] = json!([only, null]);
            schema.as_object_mut().map(|schema| schema.remove("const"));
        }
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}

#[cfg(test)]
mod tests;

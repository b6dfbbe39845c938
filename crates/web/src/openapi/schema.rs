//! What fields are, in the words of JSON Schema (2020-12, which OpenAPI 3.1 speaks).
//!
//! Answers derive their schema; a field whose Rust type says too little names one of these types with
//! `#[schemars(with = "…")]`. Requests are read field by field, and their schemas are put together of the
//! functions below, with the constants that the reading uses.

pub mod reading;

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
    /// An address.
    Address = json!({"type": "string", "format": "uri"});
    /// Seconds since the start of a media.
    Seconds = json!({"type": "number", "minimum": 0});
    /// To a thousandth.
    Minutes = json!({"type": "number", "minimum": 0});
    /// `HH:MM:SS`.
    Duration = json!({"type": "string", "pattern": r"^\d{2,}:[0-5]\d:[0-5]\d$"});
    /// Pictures a second, as a fraction; `-1` while it is not known (C-120).
    FrameRate = json!({"type": "string", "pattern": r"^(\d+/\d+|-1)$"});
    /// `16:9`.
    AspectRatio = json!({"type": "string", "pattern": r"^\d+:\d+$"});
    /// What a picture looks like from afar: 4 times 3 waves, in base 83 (github.com/woltapp/blurhash).
    BlurHash = json!({"type": "string", "pattern": r"^[0-9A-Za-z#$%*+,\-.:;=?@\[\]^_{|}~]{28}$"});
    /// A text of a client of at most 255 characters.
    Text = text(MediaSettings::TEXT_MAX);
    /// The client's own key and value pairs.
    Metadata = metadata();
    /// Always the same, for the sake of published clients (C-29).
    Never = json!({"type": "boolean", "const": false});
    /// A list in which nothing is yet.
    Nothing = json!({"type": "array", "maxItems": 0});
    /// Of a media.
    MediaStatus = words(MediaState::NAMES);
    /// Of an upload.
    UploadStatus = words(UploadState::NAMES);
    /// Who may watch.
    Policy = words(AccessPolicy::ALL.map(AccessPolicy::as_str));
    /// How what plays is encrypted, where it is.
    Encrypted = words([Encryption::Aes128.as_str()]);
    /// What holds for whoever is on neither list.
    RuleDefault = words(DefaultPolicy::ALL.map(DefaultPolicy::as_str));
    /// What a client calls the quality it wants.
    Quality = words(MediaQuality::ALL.map(MediaQuality::as_str));
    /// The files that are wanted beside playback.
    Files = words(Mp4Support::WORDS);
    /// The largest that is stored and streamed.
    Cap = words(Resolution::CAPS.map(Resolution::as_str));
    /// The name of a size.
    Size = words(Resolution::ALL.map(Resolution::as_str));
    /// Why a media or an upload failed.
    Code = words(FailureCode::ALL.map(FailureCode::as_str));
    /// Why a track is not copied.
    Reason = words(NotCopiedReason::ALL.map(NotCopiedReason::as_str));
    /// `2025-11-03`, in UTC.
    CalendarDay = day();
    /// Filled by hand, or by rules.
    PlaylistKind = words(["manual", "smart"]);
    /// The order of a smart playlist.
    PlaylistOrder = words(PlayOrder::ALL.map(PlayOrder::as_str));
    /// What a track holds.
    Kind = words(["video"].into_iter().chain(AddedTrackKind::ALL.map(AddedTrackKind::as_str)));
    /// What an added track holds.
    AddedKind = words(AddedTrackKind::ALL.map(AddedTrackKind::as_str));
    /// What an input is.
    InputKind = words(["video"].into_iter().chain(AddedTrackKind::ALL.map(AddedTrackKind::as_str)));
    /// Where a track stands; those of the file are always available.
    TrackStatus = words(AddedTrackState::NAMES);
}

/// Makes the schemas of answers, and collects those that have names.
pub struct Schemas(SchemaGenerator);

impl Schemas {
    /// Where the document keeps schemas that have names.
    const PLACE: &str = "/components/schemas";

    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        Self(settings.with(|settings| settings.definitions_path = Self::PLACE.into()).into_generator())
    }

    /// The schema of an answer, or where it is found.
    pub fn of<T: JsonSchema>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// Gives a schema a name and answers where it is found.
    pub fn named(&mut self, name: &str, schema: Value) -> Value {
        self.0.definitions_mut().insert(name.to_owned(), schema);
        json!({"$ref": format!("#{}/{name}", Self::PLACE)})
    }

    pub(super) fn into_named(mut self) -> Map<String, Value> {
        let mut named = self.0.take_definitions(true);
        named.values_mut().for_each(without_sources);
        named
    }
}

/// Takes from every description where the code has its facts from: `(C-118)` leads who reads the
/// document nowhere.
fn without_sources(schema: &mut Value) {
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
            fields.values_mut().for_each(without_sources);
        }
        Value::Array(items) => items.iter_mut().for_each(without_sources),
        _ => {}
    }
}

/// One of a few words.
pub fn words(words: impl IntoIterator<Item = &'static str>) -> Value {
    json!({"type": "string", "enum": words.into_iter().collect::<Vec<_>>()})
}

/// A text of at most so many characters.
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

/// The schema with words for people.
pub fn said(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// The schema with the value that holds when nothing is sent.
pub fn default(mut schema: Value, value: impl Into<Value>) -> Value {
    schema["default"] = value.into();
    schema
}

/// An object of a request. What is not required may be left out, or be `null`, which says the same; other
/// fields are ignored (C-10).
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

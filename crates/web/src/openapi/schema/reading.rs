//! Holds the schema of a body against what is read of it. Tests of each crate that describes bodies use it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Schemas;
use crate::fields;

/// Reads a body in which every field is that the schema has: the same fields must be looked for.
///
/// What lies in an object that must be empty is looked at to refuse it, and is not described.
#[track_caller]
pub fn check_fields(describe: impl FnOnce(&mut Schemas) -> Value, read: impl FnOnce(&Value)) {
    let mut schemas = Schemas::new();
    let schema = describe(&mut schemas);
    let named = schemas.into_named();
    let schema = match schema.get("$ref").and_then(Value::as_str).and_then(|place| place.rsplit('/').next()) {
        Some(name) => &named[name],
        None => &schema,
    };
    let (mut described, mut empty) = (BTreeSet::new(), Vec::new());
    let body = fullest(schema, "", &mut described, &mut empty);
    let mut asked = fields::read_by(|| read(&body));
    asked.retain(|path| !empty.iter().any(|parent| path.starts_with(&format!("{parent}."))));
    assert_eq!(asked, described, "what is read, and what is described");
}

fn fullest(schema: &Value, path: &str, described: &mut BTreeSet<String>, empty: &mut Vec<String>) -> Value {
    if let Some(properties) = schema["properties"].as_object() {
        let mut object = Map::new();
        for (name, property) in properties {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            object.insert(name.clone(), fullest(property, &path, described, empty));
            described.insert(path);
        }
        return object.into();
    }
    if schema["maxProperties"] == 0 {
        empty.push(path.to_owned());
    }
    if let Some(word) = schema["enum"].get(0) {
        return word.clone();
    }
    let kind = schema["type"].get(0).unwrap_or(&schema["type"]);
    match kind.as_str().expect("a field has a type") {
        // One of each kind.
        "array" if schema["items"]["anyOf"].is_array() => {
            let kinds = schema["items"]["anyOf"].as_array().into_iter().flatten().enumerate();
            kinds.map(|(at, kind)| fullest(kind, &format!("{path}[{at}]"), described, empty)).collect()
        }
        "array" if schema["items"].is_object() => {
            json!([fullest(&schema["items"], &format!("{path}[0]"), described, empty)])
        }
        "array" => json!([]),
        "object" => json!({}),
        "boolean" => json!(false),
        "integer" => schema["minimum"].clone(),
        "string" => json!("https://example.com/a"),
        _ => Value::Null,
    }
}

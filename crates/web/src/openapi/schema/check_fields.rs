//! Compares the schema of a body with the fields that its parser reads. For tests of crates that describe
//! bodies.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Schemas;
use crate::fields;

/// Parses a body with every field of the schema; the parser must look for the same fields.
///
/// Fields of an object that must be empty are read only to reject them, and are not described.
#[track_caller]
pub fn check_fields(describe: impl FnOnce(&mut Schemas) -> Value, read: impl FnOnce(&Value)) {
    let mut schemas = Schemas::new();
    let schema = describe(&mut schemas);
    let named = schemas.into_named();
    let schema =
        match schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next()) {
            Some(name) => &named[name],
            None => &schema,
        };
    let (mut described, mut empty) = (BTreeSet::new(), Vec::new());
    let body = full_example(schema, "", &mut described, &mut empty);
    let mut fields_read = fields::fields_read_by(|| read(&body));
    fields_read.retain(|path| !empty.iter().any(|parent| path.starts_with(&format!("{parent}."))));
    assert_eq!(fields_read, described, "what is read, and what is described");
}

fn full_example(
    schema: &Value,
    path: &str,
    described: &mut BTreeSet<String>,
    empty: &mut Vec<String>,
) -> Value {
    if let Some(properties) = schema["properties"].as_object() {
        let mut object = Map::new();
        for (name, property) in properties {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            object.insert(name.clone(), full_example(property, &path, described, empty));
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
            kinds.map(|(at, kind)| full_example(kind, &format!("{path}[{at}]"), described, empty)).collect()
        }
        "array" if schema["items"].is_object() => {
            json!([full_example(&schema["items"], &format!("{path}[0]"), described, empty)])
        }
        "array" => json!([]),
        "object" => json!({}),
        "boolean" => json!(false),
        "integer" => schema["minimum"].clone(),
        "string" => json!("https://example.com/a"),
        _ => Value::Null,
    }
}

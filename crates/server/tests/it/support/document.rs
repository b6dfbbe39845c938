//! Reads the OpenAPI document and validates bodies against its schemas.

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::text;

/// One operation of the document.
pub(crate) struct Operation {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Its description in the document.
    pub(crate) about: Value,
}

/// All operations: deletions last, and of these the nested ones first.
pub(crate) fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().expect("the document has paths");
    let mut all = Vec::new();
    for (path, methods) in paths {
        for (method, about) in methods.as_object().expect("a path has methods") {
            all.push(Operation { method: method.to_uppercase(), path: path.clone(), about: about.clone() });
        }
    }
    all.sort_by_key(|operation| (operation.method == "DELETE", std::cmp::Reverse(operation.path.len())));
    all
}

impl Operation {
    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The example bodies by name; one entry without a name when the operation has no body.
    pub(crate) fn bodies(&self) -> Vec<(String, Option<Value>)> {
        match self.content()["examples"].as_object() {
            Some(examples) => examples
                .iter()
                .map(|(name, example)| (name.clone(), Some(example["value"].clone())))
                .collect(),
            None => vec![(String::new(), None)],
        }
    }

    /// The schema of its body.
    pub(crate) fn body_schema(&self) -> Option<&Value> {
        self.content().get("schema")
    }

    fn content(&self) -> &Value {
        &self.about["requestBody"]["content"]["application/json"]
    }

    /// The response of a status, with `$ref` resolved; `None` when it is not described.
    pub(crate) fn response<'a>(&'a self, document: &'a Value, status: u16) -> Option<&'a Value> {
        self.about["responses"].get(status.to_string()).map(|response| resolve(document, response))
    }

    /// The status of success, or 404 for an operation that cannot succeed.
    pub(crate) fn success(&self) -> u16 {
        let statuses = self.about["responses"].as_object().expect("it has responses").keys();
        statuses
            .filter_map(|status| status.parse().ok())
            .find(|status| (200..300).contains(status))
            .unwrap_or(404)
    }

    /// Its parameters in `place`: path, query or header.
    pub(crate) fn parameters(&self, location: &str) -> Vec<Value> {
        let all = self.about["parameters"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|parameter| parameter["in"] == location).collect()
    }
}

/// Resolves a `$ref`; any other value is returned unchanged.
pub(crate) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref") {
        Some(reference) => {
            document.pointer(text(reference).trim_start_matches('#')).expect("it points to something")
        }
        None => value,
    }
}

/// The validation errors of a value against this schema of the document.
pub(crate) fn problems(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let errors = validator(document, schema);
    errors.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The same for a response, where a field that is not described is an error too.
pub(crate) fn problems_of_answer(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let (mut document, mut schema) = (document.clone(), schema.clone());
    close(&mut document["components"]);
    close(&mut schema);
    problems(&document, &schema, value)
}

/// Compiles one schema of the document.
///
/// Includes only the schemas it refers to: the whole document takes a tenth of a second, and each test
/// compiles several.
pub(crate) fn validator(document: &Value, schema: &Value) -> Validator {
    let mut schemas = Map::new();
    collect_references(document, schema, &mut schemas);
    let root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": { "schemas": schemas },
        "allOf": [schema],
    });
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&root).unwrap_or_else(|error| panic!("no schema: {error}"))
}

/// Collects the component schemas that `value` refers to, directly or indirectly.
fn collect_references(document: &Value, value: &Value, schemas: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref") {
                let name = text(reference)
                    .strip_prefix("#/components/schemas/")
                    .expect("a schema refers to schemas");
                if !schemas.contains_key(name) {
                    let schema = &document["components"]["schemas"][name];
                    schemas.insert(name.to_owned(), schema.clone());
                    collect_references(document, schema, schemas);
                }
            }
            fields.values().for_each(|value| collect_references(document, value, schemas));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(document, item, schemas)),
        _ => {}
    }
}

/// Closes every object: fields that are not described become invalid.
///
/// A schema that only narrows another one has no type and stays open.
pub(crate) fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close);
            if is_object(fields) && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

fn is_object(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_some_and(|kind| kind == "object") && fields.contains_key("properties")
}

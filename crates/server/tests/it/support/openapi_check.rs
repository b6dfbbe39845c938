//! Checks every API response of every test against the OpenAPI document.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use kinora_web::base_urls::BaseUrls;
use serde_json::Value;

use super::Answer;
use super::document::{Operation, close, operations, validator};

/// Panics when an API response differs from the document in status, message or a field.
///
/// Ignores responses of other paths, and of methods that a path does not have.
pub(super) fn check_response(method: &str, target: &str, answer: &Answer) {
    let Some(operation) = operation(method, target) else { return };
    if method == "HEAD" || answer.status == 304 {
        return; // without a body
    }
    // A process without the role api has no operations; its 404 names the role.
    if answer.status == 404 && answer.text().contains("this path is served by processes with the role api") {
        return;
    }
    let name = format!("{}: {}", operation.name(), answer.status);
    let Some(validator) = validator_of(operation, answer.status) else {
        panic!("{name} is not described: {answer:?}")
    };
    let body = answer.unpacked().json();
    let wrong: Vec<_> =
        validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(wrong, Vec::<String>::new(), "{name} is described otherwise: {answer:?}");
}

/// The document, with all objects closed: only described fields are valid.
///
/// URLs occur in it only as examples.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let server = "http://server.test".to_owned();
    let addresses = BaseUrls { public: server.clone(), stream: server.clone(), images: server };
    let mut document = kinora_api::document(&addresses);
    close(&mut document);
    document
});

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| operations(&DOCUMENT));

/// The operation of a request; `None` when the path has no such method.
///
/// When several paths match, the one with the leftmost literal part wins.
fn operation(method: &str, target: &str) -> Option<&'static Operation> {
    let path = target.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let method = if method == "HEAD" { "GET" } else { method };
    let fitting = OPERATIONS.iter().map(|operation| operation.path.as_str());
    let (_, path) = fitting.filter_map(|fits| Some((literal_parts(fits, path)?, fits))).max()?;
    OPERATIONS.iter().find(|operation| operation.path == path && operation.method == method)
}

/// For each part of the path, whether it is literal; `None` unless the path matches.
fn literal_parts(template: &str, path: &str) -> Option<Vec<bool>> {
    let (parts, path_parts) = (template.split('/'), path.split('/'));
    if parts.clone().count() != path_parts.clone().count() {
        return None;
    }
    parts
        .zip(path_parts)
        .map(|(part, path_part)| match part.starts_with('{') {
            true => (!path_part.is_empty()).then_some(false),
            false => (part == path_part).then_some(true),
        })
        .collect()
}

/// Validators by operation and status.
type Made = HashMap<(String, u16), Arc<Validator>>;

/// The validator for response bodies of an operation with this status; `None` when it is not described.
fn validator_of(operation: &Operation, status: u16) -> Option<Arc<Validator>> {
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (operation.name(), status);
    if let Some(validator) = made.get(&key) {
        return Some(validator.clone());
    }
    let response = operation.response(&DOCUMENT, status)?;
    let validator = Arc::new(validator(&DOCUMENT, &response["content"]["application/json"]["schema"]));
    made.insert(key, validator.clone());
    Some(validator)
}

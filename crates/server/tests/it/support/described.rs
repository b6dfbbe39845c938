//! Every answer of the API that any test gets is one that the document describes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use kinora_web::addresses::Addresses;
use serde_json::Value;

use super::Answer;
use super::document::{Operation, close, operations, validator};

/// Panics when an operation of the API answered what the document does not say of it: status, message, or a
/// field. Answers of other paths, and of methods that a path does not have, are no answers of operations.
pub(super) fn hold(method: &str, target: &str, answer: &Answer) {
    let Some(operation) = operation(method, target) else { return };
    if method == "HEAD" || answer.status == 304 {
        return; // without a body
    }
    // A process without the API has no operations, and says which role has.
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

/// The document in which an object has the fields that are described and no others. Addresses are in it as
/// examples alone.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let server = "http://server.test".to_owned();
    let addresses = Addresses { public: server.clone(), stream: server.clone(), images: server };
    let mut document = kinora_api::document(&addresses);
    close(&mut document);
    document
});

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| operations(&DOCUMENT));

/// The operation that is asked for. Of the paths that fit it is the one that says most literally, from the
/// left; `None` where that has no such method.
fn operation(method: &str, target: &str) -> Option<&'static Operation> {
    let path = target.split('?').next().unwrap_or_default();
    let path = path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let method = if method == "HEAD" { "GET" } else { method };
    let fitting = OPERATIONS.iter().map(|operation| operation.path.as_str());
    let (_, path) = fitting.filter_map(|fits| Some((literal_parts(fits, path)?, fits))).max()?;
    OPERATIONS.iter().find(|operation| operation.path == path && operation.method == method)
}

/// Which parts of the path are named literally; `None` where it does not fit.
fn literal_parts(template: &str, path: &str) -> Option<Vec<bool>> {
    let (parts, given) = (template.split('/'), path.split('/'));
    if parts.clone().count() != given.clone().count() {
        return None;
    }
    parts
        .zip(given)
        .map(|(part, given)| match part.starts_with('{') {
            true => (!given.is_empty()).then_some(false),
            false => (part == given).then_some(true),
        })
        .collect()
}

/// Judges by operation and status.
type Made = HashMap<(String, u16), Arc<Validator>>;

/// What judges the bodies of an operation's answers with this status; `None` when it is not described.
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

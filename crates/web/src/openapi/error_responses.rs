//! The error responses of an operation, taken from the errors themselves: status, message, headers and body
//! (C-109).

use std::collections::BTreeMap;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::operation::json_content;
use crate::error::ApiError;

/// Errors by status.
#[derive(Default)]
pub(super) struct ErrorResponses(BTreeMap<StatusCode, Vec<ApiError>>);

impl ErrorResponses {
    /// Adds one. Of errors with the same message the first one is the example.
    pub(super) fn add(&mut self, error: ApiError) {
        let errors = self.0.entry(error.status()).or_default();
        if errors.iter().all(|other| other.message() != error.message()) {
            errors.push(error);
        }
    }

    /// One response for each status, without the headers that all responses have.
    pub(super) fn into_responses(self) -> impl Iterator<Item = (u16, Value)> {
        self.0.into_iter().map(|(status, errors)| (status.as_u16(), response(status, &errors)))
    }
}

fn response(status: StatusCode, errors: &[ApiError]) -> Value {
    let messages: Vec<&str> = errors.iter().map(ApiError::message).collect();
    let shape = if errors.iter().all(ApiError::has_fields) { "InvalidFields" } else { "Refusal" };
    let error = json!({"properties": {"code": {"const": status.as_u16()}, "message": {"enum": messages}}});
    let schema = json!({
        "allOf": [{"$ref": format!("#/components/schemas/{shape}")}, {"properties": {"error": error}}],
    });
    let first = errors.first().expect("a status is there with its first refusal");
    let mut response = json!({
        "description": describe(status, &messages),
        "content": json_content(schema, &json!(first.body())),
    });
    if errors.iter().all(ApiError::has_retry_after) {
        response["headers"]["Retry-After"] = json!({"$ref": "#/components/headers/RetryAfter"});
    } else if errors.iter().any(ApiError::has_retry_after) {
        let description = "Seconds to wait before a retry, if a retry can succeed.";
        response["headers"]["Retry-After"] =
            json!({"description": description, "schema": {"type": "integer"}});
    }
    if first.has_challenge() {
        response["headers"]["WWW-Authenticate"] = json!({"$ref": "#/components/headers/Challenge"});
    }
    if errors.len() > 1 {
        let content = &mut response["content"]["application/json"];
        content.as_object_mut().map(|content| content.remove("example"));
        for api_error in errors {
            content["examples"][api_error.message()] = json!({"value": api_error.body()});
        }
    }
    response
}

fn describe(status: StatusCode, messages: &[&str]) -> String {
    let reason = match status.as_u16() {
        400 => "The request is malformed, or a limit is reached",
        401 => "The access token is missing or invalid",
        403 => "The access token is read-only",
        404 => "The access token's workspace has no such resource",
        408 => "The request body did not arrive in time",
        409 => "The request conflicts with another request or resource",
        413 => "The request body is too large",
        415 => "The request body is not JSON",
        422 => "A value is invalid; `fields` names each invalid field",
        429 => "Too many requests, and nothing was changed; wait `Retry-After` seconds, then retry",
        500 => "Internal error of the server",
        503 => "Temporarily unavailable; wait `Retry-After` seconds, then retry",
        507 => "The server's disk is full, and nothing was changed",
        _ => "Rejected",
    };
    format!(
        "{reason}: {}.",
        messages.iter().map(|message| format!("`{message}`")).collect::<Vec<_>>().join(", ")
    )
}

/// The two schemas of an error: with a description, and with invalid fields.
pub(super) fn schemas() -> [(&'static str, Value); 2] {
    let error_schema = |detail: &str, schema: Value| {
        json!({
            "type": "object",
            "required": ["success", "error"],
            "properties": {
                "success": {"type": "boolean", "const": false},
                "error": {
                    "type": "object",
                    "required": ["code", "message", detail],
                    "properties": {
                        "code": {"type": "integer", "description": "The HTTP status."},
                        "message": {"type": "string", "description": "A stable text for programs to compare."},
                        detail: schema,
                    },
                },
            },
        })
    };
    let description = json!({"type": "string", "description": "The problem and its remedy, for people."});
    let fields = json!({"type": "array", "minItems": 1, "maxItems": crate::fields::Problems::REPORTED_MAX,
        "items": {"$ref": "#/components/schemas/FieldError"}});
    [("Refusal", error_schema("description", description)), ("InvalidFields", error_schema("fields", fields))]
}

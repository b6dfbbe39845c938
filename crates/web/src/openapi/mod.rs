//! Describes operations in OpenAPI 3.1.
//!
//! Each resource has a `doc.rs` next to its operations, which describes them with [`Operation`] and
//! [`Schemas`]. Responses derive their schema. Requests are described with the constants that their parsers
//! use.

mod error_responses;
mod operation;
pub mod schema;

use serde_json::{Map, Value, json};

use crate::envelope::Pagination;
use crate::error::FieldError;
use crate::observe::ID_LEN_MAX;

pub use operation::Operation;
pub use schema::Schemas;

/// The parts of a document that follow from its operations.
pub struct OpenApiParts {
    /// The operations, by path and method.
    pub paths: Map<String, Value>,
    /// Headers of responses, by name.
    pub headers: Value,
    /// Errors that several operations return, by name.
    pub responses: Map<String, Value>,
    /// Schemas of bodies, by name.
    pub schemas: Map<String, Value>,
}

/// Describes these operations.
pub fn describe(operations: fn(&mut Schemas) -> Vec<Operation>) -> OpenApiParts {
    let mut schemas = Schemas::new();
    let (mut paths, mut responses) = (Map::new(), Map::new());
    for operation in operations(&mut schemas) {
        operation.write(&mut paths, &mut responses);
    }
    schemas.of::<Pagination>();
    schemas.of::<FieldError>();
    for (name, schema) in error_responses::schemas() {
        schemas.add(name, schema);
    }
    OpenApiParts { paths, headers: headers(), responses, schemas: schemas.into_named() }
}

/// Headers that several responses share.
fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "Identifies the request in the server log.",
            "required": true,
            "schema": {"type": "string", "minLength": 1, "maxLength": ID_LEN_MAX},
        },
        "NoStore": {
            "description": "Caches must not store the response.",
            "required": true,
            "schema": {"const": "no-store"},
        },
        "RetryAfter": {
            "description": "Seconds to wait before a retry.",
            "required": true,
            "schema": {"type": "integer", "minimum": 1},
        },
        "RateLimit": {
            "description": "Requests that the access token may send now (`r`), and seconds until one more is \
                allowed (`t`); draft-ietf-httpapi-ratelimit-headers-11. Only sent if the server limits \
                access tokens.",
            "schema": {"type": "string", "pattern": "^\"token\";r=[0-9]+;t=[0-9]+$"},
            "example": "\"token\";r=599;t=1",
        },
        "RateLimitPolicy": {
            "description": "Requests that an access token may send (`q`) within a number of seconds (`w`). Only sent if the server limits access tokens.",
            "schema": {"type": "string", "pattern": "^\"token\";q=[0-9]+;w=[0-9]+$"},
            "example": "\"token\";q=600;w=60",
        },
        "Challenge": {
            "description": "The authentication scheme: HTTP Basic with an access token.",
            "required": true,
            "schema": {"type": "string"},
        },
    })
}

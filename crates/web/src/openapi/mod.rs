//! Describes operations in the words of OpenAPI 3.1.
//!
//! Each resource has a `doc.rs` beside its operations, which describes them with [`Operation`] and
//! [`Schemas`]; answers derive their schema, requests are described with the constants that their reading
//! uses.

mod operation;
mod refusals;
pub mod schema;

use serde_json::{Map, Value, json};

use crate::envelope::Pagination;
use crate::error::FieldError;
use crate::observe::ID_LEN_MAX;

pub use operation::Operation;
pub use schema::Schemas;

/// The parts of a document that follow from its operations.
pub struct Described {
    /// The operations, by path and method.
    pub paths: Map<String, Value>,
    /// Headers of answers, by name.
    pub headers: Value,
    /// Errors that several operations answer, by name.
    pub responses: Map<String, Value>,
    /// Schemas of bodies, by name.
    pub schemas: Map<String, Value>,
}

/// Describes these operations.
pub fn describe(operations: fn(&mut Schemas) -> Vec<Operation>) -> Described {
    let mut schemas = Schemas::new();
    let (mut paths, mut responses) = (Map::new(), Map::new());
    for operation in operations(&mut schemas) {
        operation.write(&mut paths, &mut responses);
    }
    schemas.of::<Pagination>();
    schemas.of::<FieldError>();
    for (name, schema) in refusals::schemas() {
        schemas.named(name, schema);
    }
    Described { paths, headers: headers(), responses, schemas: schemas.into_named() }
}

/// Those that several answers have.
fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "Names the request in the server's log.",
            "required": true,
            "schema": {"type": "string", "minLength": 1, "maxLength": ID_LEN_MAX},
        },
        "NoStore": {
            "description": "No cache on the way keeps it.",
            "required": true,
            "schema": {"const": "no-store"},
        },
        "RetryAfter": {
            "description": "Seconds after which it may be tried again.",
            "required": true,
            "schema": {"type": "integer", "minimum": 1},
        },
        "RateLimit": {
            "description": "What the access token may send at once, and in how many seconds there is one more \
                (draft-ietf-httpapi-ratelimit-headers-11). Only where the server limits access tokens.",
            "schema": {"type": "string", "pattern": "^\"token\";r=[0-9]+;t=[0-9]+$"},
            "example": "\"token\";r=599;t=1",
        },
        "RateLimitPolicy": {
            "description": "How many requests an access token may send, and within how many seconds. Only where the server limits access tokens.",
            "schema": {"type": "string", "pattern": "^\"token\";q=[0-9]+;w=[0-9]+$"},
            "example": "\"token\";q=600;w=60",
        },
        "Challenge": {
            "description": "How to send an access token.",
            "required": true,
            "schema": {"type": "string"},
        },
    })
}

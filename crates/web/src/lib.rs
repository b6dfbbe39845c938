//! Shared code of the crates with routes: connections, middleware, errors, extractors, access of the caller,
//! and the tools that describe operations in OpenAPI.
//!
//! `api`, `delivery` and `upload` build their handlers on it. Knows none of their routes, no SQL, no object
//! and no box of a file format.
//!
//! Begin with [`serve`](mod@serve), [`error`] and [`extract`].

pub mod access_restrictions;
pub mod assets;
pub mod auth;
pub mod base_urls;
pub mod content_coding;
pub mod entity_tag;
pub mod envelope;
pub mod error;
pub mod extract;
pub mod failure;
pub mod fields;
pub mod gzip;
pub mod health;
pub mod idempotency;
pub mod middleware;
pub mod observe;
pub mod openapi;
pub mod pagination;
pub mod parse_timestamp;
pub mod playback_report;
pub mod preconditions;
pub mod preflight;
pub mod public_key;
pub mod rate_limit;
pub mod roles;
pub mod routes;
pub mod serve;
pub mod source_address;

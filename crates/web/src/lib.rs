//! What the crates of routes share: connections, middleware, errors, extractors, access of the caller, and
//! the tools that describe operations in OpenAPI.
//!
//! `api`, `delivery` and `upload` build their handlers on it. Knows none of their routes, no SQL, no object
//! and no box of a file format.
//!
//! Begin with [`serve`](mod@serve), [`error`] and [`extract`].

pub mod addresses;
pub mod around;
pub mod assets;
pub mod auth;
pub mod condition;
pub mod entity_tag;
pub mod envelope;
pub mod error;
pub mod extract;
pub mod failure;
pub mod fields;
pub mod gzip;
pub mod instant;
pub mod list_query;
pub mod observe;
pub mod once;
pub mod openapi;
pub mod operate;
pub mod preflight;
pub mod public_key;
pub mod rate_limit;
pub mod roles;
pub mod routes;
pub mod serve;

//! What the document of the API says of its operations, resource by resource.
//!
//! Whoever adds an operation adds it to the `doc.rs` beside it: the schema of its body from the constants that reading it uses, its
//! answer, each refusal as the error it is, and an example of each. Tests send the examples and compare what comes.

use crate::openapi::{Operation, Schemas};

/// The ids of examples.
pub(crate) mod example {
    /// Of a media, and of its upload.
    pub(crate) const MEDIA: &str = "019a492c-41f3-7001-8203-040506070809";
    /// Of a playback ID.
    pub(crate) const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
    /// Of whatever else has one.
    pub(crate) const OTHER: &str = "019a492c-5b20-7c11-9f00-0a0b0c0d0e0f";
    /// Of a workspace.
    pub(crate) const WORKSPACE: &str = "019a4900-0000-7000-8000-000000000001";
    /// When something was.
    pub(crate) const TIME: &str = "2026-11-22T10:03:48.595604Z";
}

/// Every operation.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = super::on_demand::operations(schemas);
    all.extend(super::signing_keys::operations(schemas));
    all.extend(super::revoked_tokens::operations(schemas));
    all.extend(super::usage::operations(schemas));
    all.extend(super::unsupported::operations());
    all
}

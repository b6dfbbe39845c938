//! The failure of a media or an upload, as clients read it.

use kinora_domain::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::openapi::schema;

/// The reason for a failure of a media or an upload (C-31).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Failure")]
pub struct FailureView {
    #[schemars(with = "schema::Code")]
    code: &'static str,
    message: String,
}

impl From<&Failure> for FailureView {
    fn from(failure: &Failure) -> Self {
        Self { code: failure.code.as_str(), message: failure.message.clone() }
    }
}

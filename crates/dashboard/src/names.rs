//! Names in bodies.

use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use crate::session::required;

/// Longest text that is read as a name. The rule of each name is shorter, and counts after trimming.
const TEXT_MAX: usize = 10_000;

/// The field `name` of a body, valid by this rule.
pub(crate) fn name_of_body(
    body: &Value,
    rule: impl Fn(&str) -> Result<String, &'static str>,
) -> Result<String, ApiError> {
    let problems = Problems::default();
    let name = Fields::of_body(body, &problems).and_then(|fields| name_field(&fields, rule));
    problems.into_result(name)
}

/// The field `name`, valid by this rule.
pub(crate) fn name_field(
    fields: &Fields<'_>,
    rule: impl Fn(&str) -> Result<String, &'static str>,
) -> Option<String> {
    let text = required(fields, "name", TEXT_MAX)?;
    rule(&text).map_err(|problem| fields.reject("name", problem)).ok()
}

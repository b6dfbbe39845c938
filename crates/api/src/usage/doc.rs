//! What the document of the API says of usage.

use kinora_web::error::ApiError;
use kinora_web::openapi::schema::day;
use kinora_web::openapi::{Operation, Schemas};
use serde_json::json;

use super::read::UsageView;
use super::span::DAYS_MAX;
use crate::example;

/// Every operation on usage.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let usage = schemas.of::<UsageView>();
    let amounts = json!({"storedBytes": 734_003_200_u64, "minutesEncoded": 12.5, "minutesDelivered": 480.067,
        "bytesDelivered": 9_126_805_504_u64});
    let mut of_day = amounts.clone();
    of_day["day"] = "2026-11-22".into();
    let all = [Operation::get("/usage", "getUsage", "Read what the workspace uses")
        .says(
            "Bytes stored, minutes encoded, minutes and bytes delivered: in all, and day by day in UTC. What is delivered is there some seconds \
             later; what is stored is measured each hour, and `asOf` says when. Days to come are left out; a parameter of another name is refused. A meter of traffic: a server that is \
             killed loses what it counted in its last seconds.",
        )
        .query("from", false, day(), "The first day; without it the first of the month of `to`.")
        .query(
            "to",
            false,
            day(),
            &format!("The last day; without it today. At most {DAYS_MAX} days with the first."),
        )
        .answers(
            usage,
            json!({"from": "2026-11-22", "to": "2026-11-22", "asOf": example::TIME, "totals": amounts, "days": [of_day]}),
        )
        .refuses(ApiError::invalid_field("from", "must be a day in UTC such as 2026-11-01"))];
    all.into_iter().map(|operation| operation.tagged("Usage")).collect()
}

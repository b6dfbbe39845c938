//! The OpenAPI description of usage.

use kinora_web::error::ApiError;
use kinora_web::openapi::schema::day;
use kinora_web::openapi::{Operation, Schemas};
use serde_json::json;

use super::period::DAYS_MAX;
use super::read::UsageView;
use crate::example;

/// Every operation on usage.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let usage = schemas.of::<UsageView>();
    let amounts = json!({"storedBytes": 734_003_200_u64, "minutesEncoded": 12.5, "minutesDelivered": 480.067,
        "bytesDelivered": 9_126_805_504_u64});
    let mut of_day = amounts.clone();
    of_day["day"] = "2026-11-22".into();
    let all = [Operation::get("/usage", "getUsage", "Read the usage of the workspace")
        .description(
            "Returns bytes stored, minutes encoded, and minutes and bytes delivered: in total and per day in \
                UTC. Deliveries are counted some seconds later. Storage is measured each hour; `asOf` has \
                the time. Future days are left out; unknown parameters are rejected. A killed server loses \
                the counts of its last seconds.",
        )
        .query("from", false, day(), "First day. Default: the first day of the month of `to`.")
        .query(
            "to",
            false,
            day(),
            &format!("Last day. Default: today. At most {DAYS_MAX} days, including the first."),
        )
        .responds_with_data(
            usage,
            json!({"from": "2026-11-22", "to": "2026-11-22", "asOf": example::TIME, "totals": amounts, "days": [of_day]}),
        )
        .error(ApiError::invalid_field("from", "must be a day in UTC such as 2026-11-01"))];
    all.into_iter().map(|operation| operation.tagged("Usage")).collect()
}

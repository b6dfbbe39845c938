use axum::extract::State;
use kinora_domain::Day;
use kinora_store::{Usage, UsageCounts};
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::openapi::schema;
use kinora_web::pagination::ListQuery;
use schemars::JsonSchema;
use serde::Serialize;

use super::period::UsagePeriod;
use crate::ApiState;

/// The usage of a workspace over some days.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Usage")]
pub(super) struct UsageView {
    #[schemars(with = "schema::CalendarDay")]
    from: String,
    #[schemars(with = "schema::CalendarDay")]
    to: String,
    /// Time of the last storage measurement; `null` before the first.
    #[schemars(with = "Option<schema::Instant>")]
    as_of: Option<String>,
    totals: AmountsView,
    days: Vec<DayView>,
}

/// The usage of one day in UTC.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageDay")]
struct DayView {
    #[schemars(with = "schema::CalendarDay")]
    day: String,
    #[serde(flatten)]
    amounts: AmountsView,
}

/// Amounts of one day, or the totals of several days.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsageAmounts")]
struct AmountsView {
    /// Of a day: its last measurement. In the totals: the latest measurement.
    stored_bytes: u64,
    #[schemars(with = "schema::Minutes")]
    minutes_encoded: f64,
    #[schemars(with = "schema::Minutes")]
    minutes_delivered: f64,
    bytes_delivered: u64,
}

/// `GET /usage?from=&to=`: the storage, encoding and delivery of the caller's workspace, day by day; future
/// days are left out.
///
/// 422 names each wrong parameter (C-191).
pub(super) async fn read(
    State(app): State<ApiState>,
    caller: ReadCaller,
    query: ListQuery,
) -> Result<Data<UsageView>, ApiError> {
    let today = Day::of(app.clock.now());
    let period = UsagePeriod::of(&query, today)?;
    let usage = app.store.usage(caller.workspace, period.first, period.last).await?;
    Ok(Data::ok(view(period, today, &usage)))
}

fn view(period: UsagePeriod, today: Day, usage: &Usage) -> UsageView {
    let mut stored_bytes = usage.stored_before.map_or(0, |stored| stored.bytes);
    let mut measured_days = usage.days.iter().peekable();
    let mut sum = UsageCounts::default();
    let until_today = UsagePeriod { last: period.last.min(today), ..period };
    let days = until_today.days().map(|day| {
        let of_day = measured_days.next_if(|written| written.day == day);
        // A day without a measurement has the last measured value.
        stored_bytes = of_day.and_then(|of_day| of_day.stored_bytes).unwrap_or(stored_bytes);
        let used = of_day.map(|of_day| of_day.used).unwrap_or_default();
        sum.add(used);
        DayView { day: day.to_string(), amounts: AmountsView::of(stored_bytes, used) }
    });
    let days = days.collect();
    let latest_measurement = usage.stored;
    UsageView {
        from: period.first.to_string(),
        to: period.last.to_string(),
        as_of: latest_measurement.map(|stored| stored.at.to_string()),
        totals: AmountsView::of(latest_measurement.map_or(0, |stored| stored.bytes), sum),
        days,
    }
}

impl AmountsView {
    fn of(stored_bytes: u64, used: UsageCounts) -> Self {
        Self {
            stored_bytes,
            minutes_encoded: minutes(used.encoded_us),
            minutes_delivered: minutes(used.delivered_us),
            bytes_delivered: used.delivered_bytes,
        }
    }
}

/// Minutes, rounded to a thousandth.
fn minutes(us: u64) -> f64 {
    const THOUSANDTH_US: u64 = 60_000;
    let thousandths = us.saturating_add(THOUSANDTH_US / 2) / THOUSANDTH_US;
    #[expect(clippy::cast_precision_loss, reason = "so many minutes are millions of years")]
    let minutes = thousandths as f64 / 1000.0;
    minutes
}

#[cfg(test)]
mod tests {
    use kinora_domain::Timestamp;
    use kinora_store::{DailyUsage, StoredBytes};

    use super::*;

    fn day(text: &str) -> Day {
        Day::from_text(text).unwrap()
    }

    #[test]
    fn empty_days_carry_stored_bytes_future_days_are_omitted() {
        let used = |delivered_us| UsageCounts { encoded_us: 60_000_000, delivered_us, delivered_bytes: 5 };
        let of = |text, used, stored_bytes| DailyUsage { day: day(text), used, stored_bytes };
        let at = Timestamp::from_micros(1_762_164_228_595_604);
        let usage = Usage {
            days: vec![
                of("2024-02-29", used(90_000_000), None),
                of("2024-03-02", UsageCounts::default(), Some(700)),
                of("2024-03-03", used(1), None),
            ],
            stored_before: Some(StoredBytes { bytes: 400, at: Timestamp::from_micros(0) }),
            stored: Some(StoredBytes { bytes: 300, at }),
        };
        let span = UsagePeriod { first: day("2024-02-28"), last: day("2024-03-31") };
        let shown = serde_json::to_value(view(span, day("2024-03-03"), &usage)).unwrap();
        let amounts = |stored: u64, encoded: f64, delivered: f64, bytes: u64| {
            serde_json::json!({"storedBytes": stored, "minutesEncoded": encoded, "minutesDelivered": delivered,
                "bytesDelivered": bytes})
        };
        let of_day = |text: &str, mut amounts: serde_json::Value| {
            amounts["day"] = text.into();
            amounts
        };
        let expected = serde_json::json!({
            "from": "2024-02-28",
            "to": "2024-03-31",
            "asOf": "2025-11-03T10:03:48.595604Z",
            "totals": amounts(300, 2.0, 1.5, 10),
            "days": [
                of_day("2024-02-28", amounts(400, 0.0, 0.0, 0)),
                of_day("2024-02-29", amounts(400, 1.0, 1.5, 5)),
                of_day("2024-03-01", amounts(400, 0.0, 0.0, 0)),
                of_day("2024-03-02", amounts(700, 0.0, 0.0, 0)),
                of_day("2024-03-03", amounts(700, 1.0, 0.0, 5)),
            ],
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn minutes_are_rounded_to_thousandths() {
        for (us, expected) in
            [(0, 0.0), (29_999, 0.0), (30_000, 0.001), (60_000_000, 1.0), (3_999_960, 0.067)]
        {
            assert!((minutes(us) - expected).abs() < 1e-12, "{us}");
        }
    }
}

//! How an attempt ended, as JSON. Fields are only ever added, with a default.

use kinora_domain::{AttemptOutcome, AttemptResponse};
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeJson {
    Answered(ResponseJson),
    Unanswered(String),
}

#[derive(Serialize, Deserialize)]
struct ResponseJson {
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transfer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_control: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook_delivery: Option<String>,
    body: String,
}

pub(super) fn encode(outcome: &AttemptOutcome) -> String {
    let json = match outcome.clone() {
        AttemptOutcome::Unanswered(why) => OutcomeJson::Unanswered(why),
        AttemptOutcome::Answered(response) => OutcomeJson::Answered(ResponseJson {
            status: response.status,
            content_type: response.content_type,
            transfer: response.transfer_encoding,
            server: response.server,
            date: response.date,
            cache_control: response.cache_control,
            retry_after_s: response.retry_after_s,
            webhook_delivery: response.webhook_delivery,
            body: response.body,
        }),
    };
    serde_json::to_string(&json).expect("texts and numbers are always JSON")
}

pub(crate) fn decode(text: &str) -> Result<AttemptOutcome, Error> {
    Ok(match serde_json::from_str(text).map_err(Error::internal)? {
        OutcomeJson::Unanswered(why) => AttemptOutcome::Unanswered(why),
        OutcomeJson::Answered(json) => AttemptOutcome::Answered(AttemptResponse {
            status: json.status,
            content_type: json.content_type,
            transfer_encoding: json.transfer,
            server: json.server,
            date: json.date,
            cache_control: json.cache_control,
            retry_after_s: json.retry_after_s,
            webhook_delivery: json.webhook_delivery,
            body: json.body,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_outcome_json_round_trips() {
        let check = |outcome: AttemptOutcome, text: &str| {
            assert_eq!(encode(&outcome), text);
            assert_eq!(decode(text).unwrap(), outcome);
        };
        check(AttemptOutcome::Unanswered("timed out".into()), r#"{"unanswered":"timed out"}"#);
        check(
            AttemptOutcome::Answered(AttemptResponse {
                status: 503,
                retry_after_s: Some(7),
                body: "later".into(),
                ..Default::default()
            }),
            r#"{"answered":{"status":503,"retry_after_s":7,"body":"later"}}"#,
        );
        check(
            AttemptOutcome::Answered(AttemptResponse {
                status: 200,
                content_type: Some("text/plain".into()),
                transfer_encoding: Some("chunked".into()),
                server: Some("nginx".into()),
                date: Some("Mon, 03 Nov 2025 10:03:48 GMT".into()),
                cache_control: Some("no-store".into()),
                retry_after_s: Some(1),
                webhook_delivery: Some("disable".into()),
                body: String::new(),
            }),
            r#"{"answered":{"status":200,"content_type":"text/plain","transfer":"chunked","server":"nginx","date":"Mon, 03 Nov 2025 10:03:48 GMT","cache_control":"no-store","retry_after_s":1,"webhook_delivery":"disable","body":""}}"#,
        );
    }
}

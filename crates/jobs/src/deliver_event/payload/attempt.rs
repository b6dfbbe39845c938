//! The list of earlier attempts in the body of a post (C-8, C-189).

use kinora_domain::{ATTEMPTS_MAX, Attempt, AttemptOutcome, AttemptResponse, WebhookId};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AttemptItem {
    webhook_id: String,
    id: String,
    response_status_code: u16,
    response_headers: ResponseHeaders,
    response_body: String,
    max_attempts: u32,
    created_at: String,
    address: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct ResponseHeaders {
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<String>,
}

impl AttemptItem {
    /// Without a response the status is 0 and the body is the error message.
    pub(super) fn new(attempt: &Attempt, webhook: WebhookId) -> Self {
        let unanswered;
        let response = match &attempt.outcome {
            AttemptOutcome::Answered(response) => response,
            AttemptOutcome::Unanswered(reason) => {
                unanswered = AttemptResponse { body: reason.clone(), ..AttemptResponse::default() };
                &unanswered
            }
        };
        Self {
            webhook_id: webhook.to_string(),
            id: attempt.id.to_string(),
            response_status_code: response.status,
            response_headers: ResponseHeaders {
                content_type: response.content_type.clone(),
                transfer: response.transfer_encoding.clone(),
                server: response.server.clone(),
                date: response.date.clone(),
                cache_control: response.cache_control.clone(),
            },
            response_body: response.body.clone(),
            max_attempts: ATTEMPTS_MAX,
            created_at: attempt.at.to_string(),
            address: attempt.address.clone(),
        }
    }
}

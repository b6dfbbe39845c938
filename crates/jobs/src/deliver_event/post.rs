//! One delivery attempt: the body, its signatures, the post, and the effect of the response.

use bytes::Bytes;
use kinora_domain::{
    Attempt, AttemptId, AttemptOutcome, AttemptResponse, DeliveryVerdict, Timestamp, Webhook, WebhookId,
    judge, retry_delay_us, signature,
};
use kinora_fetch::{HeaderMap, HeaderName, HeaderValue, PostResponse};
use kinora_store::{ClaimedDelivery, NextDeliveryState};

use super::payload;
use crate::Context;
use crate::error::JobError;
use crate::lease::LEASE;
use crate::outage_retry::{RetrySubject, retry_during_outage};

/// Posts a delivery once (C-182), records the attempt, and returns whether it was delivered. May run twice:
/// receivers deduplicate by event id.
pub(super) async fn run(context: &Context, webhook: &Webhook, delivery: &ClaimedDelivery) -> bool {
    let sent_at = context.clock.now();
    let url_signer = payload::UploadUrlSigner { store: &context.store, public_url: &context.public_url };
    let body =
        payload::body(&delivery.event, &delivery.attempts, webhook.id, &context.images_url, &url_signer);
    let body = Bytes::from(body);
    let outcome = match kinora_fetch::parse_webhook_url(&webhook.url) {
        Ok(url) => {
            let headers = headers(context, webhook, delivery, &body, sent_at);
            match context.webhook_client.post(&url, headers, body).await {
                Ok(response) => AttemptOutcome::Answered(attempt_response(response)),
                Err(error) => AttemptOutcome::Unanswered(error.to_string()),
            }
        }
        Err(problem) => AttemptOutcome::Unanswered(format!("the webhook URL {problem}")),
    };
    let verdict = judge(&outcome);
    let id = AttemptId::new(sent_at, &*context.random);
    let attempt = Attempt { id, at: sent_at, address: webhook.url.clone(), outcome };
    record(context, webhook, delivery, attempt, verdict).await;
    verdict == DeliveryVerdict::Delivered
}

fn headers(
    context: &Context,
    webhook: &Webhook,
    delivery: &ClaimedDelivery,
    body: &[u8],
    sent_at: Timestamp,
) -> HeaderMap {
    let event = delivery.event.id;
    let value =
        |text: String| HeaderValue::from_str(&text).expect("ids, digits and Base64 are header characters");
    let service_signature = value(webhook.secret.sign_body(body));
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert(HeaderName::from_static("service-signature"), service_signature.clone());
    for alias in context.signature_aliases.iter() {
        headers.insert(alias.clone(), service_signature.clone());
    }
    // Standard Webhooks 1.0.0, "Webhook headers".
    headers.insert("webhook-id", value(event.to_string()));
    headers.insert("webhook-timestamp", value(sent_at.as_seconds().to_string()));
    headers.insert(
        "webhook-signature",
        value(signature(webhook.signing_secrets(sent_at), event, sent_at, body)),
    );
    headers
}

fn attempt_response(response: PostResponse) -> AttemptResponse {
    let header = |name: &str| response.header(name).map(str::to_owned);
    AttemptResponse {
        status: response.status,
        content_type: header("content-type"),
        transfer_encoding: header("transfer-encoding"),
        server: header("server"),
        date: header("date"),
        cache_control: header("cache-control"),
        retry_after_s: response.retry_after().map(|wait| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX)),
        webhook_delivery: header("webhook-delivery"),
        body: response.body,
    }
}

/// The next state of a delivery after an attempt; `attempt_count` includes this one. `random` is any number
/// and adds jitter to the retries.
fn next_state(
    verdict: DeliveryVerdict,
    attempt_count: u32,
    answered_at: Timestamp,
    random: u32,
) -> NextDeliveryState {
    match verdict {
        DeliveryVerdict::Delivered => NextDeliveryState::Delivered,
        DeliveryVerdict::Abort => NextDeliveryState::GivenUp,
        DeliveryVerdict::Disable(_) => NextDeliveryState::Pending,
        DeliveryVerdict::Retry { after_us } => match retry_delay_us(attempt_count, after_us, random) {
            Some(delay) => NextDeliveryState::RetryAt(answered_at.plus_micros(delay)),
            None => NextDeliveryState::GivenUp,
        },
    }
}

async fn record(
    context: &Context,
    webhook: &Webhook,
    delivery: &ClaimedDelivery,
    attempt: Attempt,
    verdict: DeliveryVerdict,
) {
    let answered_at = context.clock.now();
    let attempt_count = delivery.attempt_count + 1;
    let mut jitter = [0; 4];
    context.random.fill(&mut jitter);
    let next = next_state(verdict, attempt_count, answered_at, u32::from_le_bytes(jitter));
    let status = match &attempt.outcome {
        AttemptOutcome::Answered(response) => response.status,
        AttemptOutcome::Unanswered(_) => 0,
    };
    let (id, event, kind) = (webhook.id, delivery.event.id, delivery.event.event.kind.name());
    tracing::info!(webhook.id = %id, event.id = %event, event.kind = kind, attempt = attempt_count, status, "event posted");

    // Many concurrent failures must not exhaust the database connections.
    let _permit = match verdict {
        DeliveryVerdict::Delivered => None,
        _ => Some(context.commits.acquire(Some(webhook.workspace)).await),
    };
    // Retries only during the lease: afterwards another attempt counts.
    let record =
        || commit_attempt(context, id, delivery.clone(), attempt.clone(), next, (verdict, answered_at));
    let recorded = retry_during_outage(RetrySubject::Webhook(id), LEASE, record).await;
    if let Err(error) = recorded {
        // The lease expires and the event is posted again: at least once.
        tracing::warn!(webhook.id = %id, event.id = %event, error = %error, "an attempt could not be recorded");
    }
    if let DeliveryVerdict::Disable(reason) = verdict {
        tracing::warn!(webhook.id = %id, reason = reason.sentence(), "webhook disabled");
    }
}

/// One commit: the attempt, the next state of the delivery, and the state of the webhook.
async fn commit_attempt(
    context: &Context,
    webhook: WebhookId,
    delivery: ClaimedDelivery,
    attempt: Attempt,
    next: NextDeliveryState,
    (verdict, answered_at): (DeliveryVerdict, Timestamp),
) -> Result<(), JobError> {
    context
        .store
        .write(async move |tx| {
            tx.finish_delivery(&delivery, &attempt, next).await?;
            let Some(before) = tx.webhook(webhook).await? else { return Ok(()) };
            let after = before.clone().record_attempt(verdict, answered_at);
            if (after.state, after.failing_since) != (before.state, before.failing_since) {
                tx.save_webhook(&after).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

#[cfg(test)]
mod tests {
    use kinora_domain::{ATTEMPTS_MAX, DisabledReason};

    use super::*;
    use crate::fixture::at;

    #[test]
    fn each_verdict_has_one_outcome() {
        let check =
            |verdict: DeliveryVerdict, attempt_count: u32, random: u32, expected: NextDeliveryState| {
                assert_eq!(
                    next_state(verdict, attempt_count, at(1000), random),
                    expected,
                    "{verdict:?} {attempt_count} {random}"
                );
            };
        let retry = DeliveryVerdict::Retry { after_us: None };
        let later = |after_s: i64| DeliveryVerdict::Retry { after_us: Some(after_s * Timestamp::SECOND) };
        let disable = DeliveryVerdict::Disable(DisabledReason::Gone);
        check(DeliveryVerdict::Delivered, 1, 0, NextDeliveryState::Delivered);
        check(DeliveryVerdict::Delivered, ATTEMPTS_MAX, 0, NextDeliveryState::Delivered);
        check(DeliveryVerdict::Abort, 1, 0, NextDeliveryState::GivenUp);
        check(disable, 1, 0, NextDeliveryState::Pending);
        check(disable, ATTEMPTS_MAX, 0, NextDeliveryState::Pending);
        // The jitter is a fifth of 5 s, 10 s, ... 4 h: less at 0, more at the maximum.
        check(retry, 1, 0, NextDeliveryState::RetryAt(at(1004)));
        check(retry, 1, u32::MAX, NextDeliveryState::RetryAt(at(1006)));
        check(retry, 2, 0, NextDeliveryState::RetryAt(at(1008)));
        check(later(60), 1, 0, NextDeliveryState::RetryAt(at(1060)));
        check(later(1), 1, 0, NextDeliveryState::RetryAt(at(1004))); // never sooner than the schedule
        check(retry, ATTEMPTS_MAX - 1, 0, NextDeliveryState::RetryAt(at(1000 + 11_520)));
        check(retry, ATTEMPTS_MAX, 0, NextDeliveryState::GivenUp);
        check(later(60), ATTEMPTS_MAX, 0, NextDeliveryState::GivenUp);
    }
}

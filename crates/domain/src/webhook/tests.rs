use super::*;
use crate::EventId;

struct Fill(u8);

impl Random for Fill {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

const HOUR: i64 = 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

fn webhook() -> Webhook {
    Webhook::create(WorkspaceId::new(at(0), &Fill(0)), "https://example.com/hook".into(), at(0), &Fill(1))
}

fn answered(status: u16) -> AttemptOutcome {
    AttemptOutcome::Answered(AttemptResponse { status, ..Default::default() })
}

#[test]
fn body_and_standard_webhooks_signatures_match_known_values() {
    // Both values come from Python's hmac with key = 32 bytes of 1, body = {"a":1}.
    let secret = WebhookSecret::from_bytes([1; 32]);
    let event = EventId::new(at(1_700_000_000), &Fill(0));
    assert_eq!(event.to_string(), "018bcfe5-6800-7000-8000-000000000000");
    assert_eq!(secret.sign_body(br#"{"a":1}"#), "i4sdKkoqXQxNSu2SEBnQMsMkdnj2Db0zfD3wUqzbd+A=");
    assert_eq!(
        signature([&secret].into_iter(), event, at(1_700_000_000), br#"{"a":1}"#),
        "v1,NbSPuKwwAyzlwPeI4iKsjxjjZ4OYuPAZ85D7L8P5glE="
    );
    assert_eq!(secret.reveal_standard(), "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    assert_eq!(format!("{secret:?}"), "WebhookSecret(hidden)");
}

#[test]
fn rotated_webhook_signs_with_both_secrets_in_grace_period() {
    let old = webhook();
    let new = old.clone().rotate(60, at(10), &Fill(2));
    let secrets = |webhook: &Webhook, now| webhook.signing_secrets(now).cloned().collect::<Vec<_>>();
    assert_eq!(secrets(&new, at(69)), [WebhookSecret::from_bytes([2; 32]), old.secret.clone()]);
    assert_eq!(secrets(&new, at(70)), [WebhookSecret::from_bytes([2; 32])]);
    assert_eq!(secrets(&old.rotate(0, at(10), &Fill(3)), at(10)), [WebhookSecret::from_bytes([3; 32])]);
}

#[test]
fn response_status_decides_retry() {
    let check = |outcome: AttemptOutcome, verdict| assert_eq!(judge(&outcome), verdict, "{outcome:?}");
    let retry = DeliveryVerdict::Retry { after_us: None };
    check(answered(200), DeliveryVerdict::Delivered);
    check(answered(204), DeliveryVerdict::Delivered);
    check(answered(301), retry);
    check(answered(400), retry);
    check(answered(500), retry);
    check(answered(410), DeliveryVerdict::Disable(DisabledReason::Gone));
    check(AttemptOutcome::Unanswered("timed out".into()), retry);

    let with = |status, word: &str, after| {
        AttemptOutcome::Answered(AttemptResponse {
            status,
            webhook_delivery: Some(word.into()),
            retry_after_s: after,
            ..Default::default()
        })
    };
    check(with(200, "disable", None), DeliveryVerdict::Disable(DisabledReason::ByReceiver));
    check(with(500, "Abort-Message", None), DeliveryVerdict::Abort);
    check(with(503, "else", Some(7)), DeliveryVerdict::Retry { after_us: Some(7_000_000) });
    check(with(503, "else", Some(u32::MAX)), DeliveryVerdict::Retry { after_us: Some(4 * 3_600_000_000) });
}

#[test]
fn attempts_wait_longer_each_time_and_end_after_thirty() {
    let middle = u32::MAX / 2;
    let check = |made: u32, seconds: i64| {
        let delay = retry_delay_us(made, None, middle).unwrap();
        assert!((delay - seconds * 1_000_000).abs() < 10_000 * seconds, "{made}: {delay}");
    };
    check(1, 5);
    check(2, 10);
    check(5, 80);
    check(12, 10_240);
    check(13, 14_400);
    check(29, 14_400);
    assert_eq!(retry_delay_us(30, None, middle), None);

    assert_eq!(retry_delay_us(1, None, 0), Some(4_000_000));
    assert_eq!(retry_delay_us(1, None, u32::MAX), Some(6_000_000));
    assert_eq!(retry_delay_us(1, Some(60_000_000), 0), Some(60_000_000));

    let all: i64 = (1..ATTEMPTS_MAX).filter_map(|made| retry_delay_us(made, None, middle)).sum();
    assert!((2..4).contains(&(all / 1_000_000 / 86_400)), "about three days: {all}");
}

#[test]
fn five_days_of_failures_disable_until_enabled_again() {
    let retry = DeliveryVerdict::Retry { after_us: None };
    let webhook = webhook().record_attempt(retry, at(0)).record_attempt(retry, at(119 * HOUR));
    assert_eq!(webhook.state, WebhookState::Enabled);
    assert!(webhook.is_failing(at(24 * HOUR)));

    let recovered = webhook.clone().record_attempt(DeliveryVerdict::Delivered, at(119 * HOUR));
    assert_eq!(recovered.clone().record_attempt(retry, at(121 * HOUR)).state, WebhookState::Enabled);
    assert!(!recovered.is_failing(at(121 * HOUR)));

    let disabled = webhook.record_attempt(retry, at(120 * HOUR));
    assert_eq!(
        disabled.state,
        WebhookState::Disabled { since: at(120 * HOUR), reason: DisabledReason::Failing }
    );
    assert_eq!(disabled.enable().state, WebhookState::Enabled);
}

#[test]
fn disable_verdict_disables_immediately() {
    let disabled = webhook().record_attempt(DeliveryVerdict::Disable(DisabledReason::Gone), at(5));
    assert_eq!(disabled.state, WebhookState::Disabled { since: at(5), reason: DisabledReason::Gone });
    assert_eq!(webhook().record_attempt(DeliveryVerdict::Abort, at(5)).failing_since, None);
}

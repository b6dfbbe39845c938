use axum::extract::State;
use kinora_domain::{PlaybackId, Timestamp, TokenClaims};
use kinora_service::NewRevokedToken;
use kinora_store::RevokedToken;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::fields::{Fields, Problems};
use kinora_web::idempotency::IdempotentRequest;
use kinora_web::openapi::schema;
use kinora_web::parse_timestamp::parse_instant;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::ApiState;
use crate::commit::IdempotentCommit;

/// Longest `expiresAt` and `playbackId`, in characters.
const TEXT_CHARS_MAX: usize = 64;

/// A revoked playback token.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RevokedToken")]
pub(super) struct RevokedTokenView {
    #[schemars(with = "schema::Text")]
    jti: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "schema::Instant")]
    expires_at: Option<String>,
    #[schemars(with = "schema::Instant")]
    revoked_at: String,
}

/// `POST /iam/revoked-tokens`: revokes a playback token by its `jti`. Every node rejects it within 2 s. With
/// `endPlayback`, viewers who play through the playback ID must fetch the manifest again, with another
/// token.
///
/// 201; if the token is revoked already, the later `expiresAt` applies. 404 unless the playback ID is in the
/// caller's workspace, 422 names each wrong field; then nothing is changed.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    let new = parse(&body, app.clock.now())?;
    let jti = new.jti.clone();
    let render = move |revoked: RevokedToken| {
        let view = RevokedTokenView {
            jti: jti.clone(),
            expires_at: revoked.expires_at.map(|at| at.to_string()),
            revoked_at: revoked.revoked_at.to_string(),
        };
        Data::created(view, Vec::new()).into_rendered()
    };
    app.service
        .revoke_token(&caller, new, IdempotentCommit::new(idempotent_request, &app.idempotency, render))
        .await
}

pub(super) fn parse(body: &Value, now: Timestamp) -> Result<NewRevokedToken, ApiError> {
    let problems = Problems::default();
    let revoked_token = Fields::of_body(body, &problems).and_then(|fields| {
        let jti = match fields.text("jti", TokenClaims::ID_CHARS_MAX) {
            None if !fields.is_present("jti") => {
                fields.reject("jti", "must not be null");
                None
            }
            Some("") => {
                fields.reject("jti", "must not be empty");
                None
            }
            Some(jti) if !TokenClaims::is_revocable_id(jti) => {
                fields.reject("jti", "must have no control characters");
                None
            }
            jti => jti,
        };
        let expires_at = fields.text("expiresAt", TEXT_CHARS_MAX).and_then(|text| {
            let Some(time) = parse_instant(text) else {
                fields.reject("expiresAt", "must be a time such as 2026-11-23T10:00:00Z");
                return None;
            };
            if time <= now {
                // The revocation of an expired token is deleted: if the time is wrong, the token would play
                // again.
                fields.reject("expiresAt", "must be in the future; leave it out to revoke the token forever");
            }
            Some(time)
        });
        let playback = fields.text("playbackId", TEXT_CHARS_MAX).and_then(|text| {
            let reject = |error: kinora_domain::ParseIdError| fields.reject("playbackId", error.to_string());
            text.parse::<PlaybackId>().map_err(reject).ok()
        });
        let end_playback = fields.bool("endPlayback").unwrap_or(false);
        if end_playback && !fields.is_present("playbackId") {
            fields.reject("playbackId", "must not be null where endPlayback is true");
        }
        Some(NewRevokedToken { jti: jti?.to_owned(), expires_at, playback_id: playback, end_playback })
    });
    problems.into_result(revoked_token)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";

    #[test]
    fn revocation_parses_jti_expiry_and_playback_id() {
        let jti_only =
            NewRevokedToken { jti: "a".into(), expires_at: None, playback_id: None, end_playback: false };
        assert_eq!(
            parse(&json!({"jti": "a", "expiresAt": null, "other": 1}), Timestamp::from_micros(0)).unwrap(),
            jti_only
        );
        let body = json!({"jti": "a", "expiresAt": "1970-01-01T01:00:01+01:00", "playbackId": PLAYBACK, "endPlayback": true});
        let expected = NewRevokedToken {
            expires_at: Some(Timestamp::from_micros(1_000_000)),
            playback_id: PLAYBACK.parse().ok(),
            end_playback: true,
            ..jti_only
        };
        assert_eq!(parse(&body, Timestamp::from_micros(0)).unwrap(), expected);
    }

    #[test]
    fn expiry_past_year_9999_is_clamped() {
        let last = Timestamp::from_micros(i64::MAX);
        let end = "9999-12-31T23:59:59Z";
        let revoked_token = parse(&json!({"jti": "a", "expiresAt": end}), Timestamp::from_micros(0)).unwrap();
        assert_eq!(revoked_token.expires_at, Some(last));
        let before = parse(&json!({"jti": "a", "expiresAt": "9999-12-30T21:59:59Z"}), last).unwrap_err();
        assert!(format!("{before:?}").contains("must be in the future"), "{before:?}");
    }

    #[test]
    fn invalid_revocation_fields_are_named() {
        let long = "x".repeat(TokenClaims::ID_CHARS_MAX + 1);
        for (body, path) in [
            (json!({}), "jti"),
            (json!({"jti": ""}), "jti"),
            (json!({"jti": 7}), "jti"),
            (json!({"jti": long}), "jti"),
            (json!({"jti": "a\0b"}), "jti"),
            (json!({"jti": "a\u{85}"}), "jti"),
            (json!({"jti": "a", "expiresAt": "tomorrow"}), "expiresAt"),
            (json!({"jti": "a", "expiresAt": 1_762_164_228}), "expiresAt"),
            (json!({"jti": "a", "expiresAt": "1970-01-01T00:00:00Z"}), "expiresAt"),
            (json!({"jti": "a", "playbackId": "7"}), "playbackId"),
            (json!({"jti": "a", "endPlayback": true}), "playbackId"),
            (json!({"jti": "a", "endPlayback": "yes"}), "endPlayback"),
        ] {
            let refused = format!("{:?}", parse(&body, Timestamp::from_micros(0)).unwrap_err());
            assert!(refused.contains(&format!("field: \"{path}\"")), "{body}: {refused}");
        }
    }
}

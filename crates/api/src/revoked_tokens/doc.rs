//! The OpenAPI descriptions of revoked tokens.

use kinora_domain::TokenClaims;
use kinora_web::error::ApiError;
use kinora_web::openapi::schema::{object, with_description};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::create::RevokedTokenView;
use crate::example;

/// The end of the token in examples: an expired token cannot be revoked.
const END: &str = "2099-12-31T23:59:59Z";
/// The pattern of a valid `jti`, as the parser checks it.
const NO_CONTROL_CHARACTERS: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// Every operation on revoked tokens.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let revoked = schemas.of::<RevokedTokenView>();
    let body = schemas.add("RevokeToken", request());
    let all = [Operation::post("/iam/revoked-tokens", "revokeToken", "Revoke a playback token")
        .description(
            "The token is rejected from now on. Running playback continues, at most for the length of the \
                media and 12 h. With `endPlayback`, all viewers of the playback ID must fetch the manifest \
                again; this needs a valid token.",
        )
        .request_body(
            body,
            &[
                ("ended", json!({"jti": "order-7", "playbackId": example::PLAYBACK, "endPlayback": true})),
                ("one", json!({"jti": "order-7", "expiresAt": END})),
            ],
        )
        .creates(revoked, json!({"jti": "order-7", "expiresAt": END, "revokedAt": example::TIME}))
        .error(ApiError::playback_not_found())];
    all.into_iter().map(|operation| operation.tagged("Signing keys")).collect()
}

fn request() -> Value {
    let jti = json!({"type": "string", "minLength": 1, "maxLength": TokenClaims::ID_CHARS_MAX,
        "pattern": NO_CONTROL_CHARACTERS});
    let time = json!({"type": "string", "format": "date-time"});
    let playback = json!({"type": "string", "format": "uuid"});
    object(
        &["jti"],
        [
            ("jti", with_description(jti, "The `jti` claim of the token.")),
            (
                "expiresAt",
                with_description(
                    time,
                    "When the token expires, in the future. If left out, the revocation is stored forever. A \
                        time beyond the supported range is stored and returned as the latest supported time.",
                ),
            ),
            (
                "playbackId",
                with_description(playback, "A playback ID of your workspace, required for `endPlayback`."),
            ),
            (
                "endPlayback",
                with_description(
                    json!({"type": "boolean"}),
                    "Whether all viewers of the playback ID must fetch the manifest again.",
                ),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::super::create;
    use super::*;

    #[test]
    fn revocation_schema_has_exactly_the_parsed_fields() {
        check_fields(
            |_| request(),
            |body| drop(create::parse(body, kinora_domain::Timestamp::from_micros(0))),
        );
    }
}

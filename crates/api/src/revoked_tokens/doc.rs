//! What the document of the API says of revoked tokens.

use kinora_domain::TokenClaims;
use kinora_web::error::ApiError;
use kinora_web::openapi::schema::{object, said};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::create::RevokedView;
use crate::example;

/// The end of a token of the examples: what has ended is not taken back.
const END: &str = "2099-12-31T23:59:59Z";
/// As a `jti` is refused that has one.
const NO_CONTROL_CHARACTERS: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// Every operation on revoked tokens.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let revoked = schemas.of::<RevokedView>();
    let body = schemas.named("RevokeToken", request());
    let all = [Operation::post("/iam/revoked-tokens", "revokeToken", "Take a playback token back")
        .says(
            "Refused from now on wherever a token is taken. What its viewer plays already plays on, at most for the length of the media and 12 h; \
             with `endPlayback` everybody who plays through the playback ID needs the manifest anew, which a viewer with a good token gets.",
        )
        .takes(
            body,
            &[
                ("ended", json!({"jti": "order-7", "playbackId": example::PLAYBACK, "endPlayback": true})),
                ("one", json!({"jti": "order-7", "expiresAt": END})),
            ],
        )
        .creates(revoked, json!({"jti": "order-7", "expiresAt": END, "revokedAt": example::TIME}))
        .refuses(ApiError::playback_not_found())];
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
            ("jti", said(jti, "The name that you gave the token.")),
            (
                "expiresAt",
                said(
                    time,
                    "When the token ends by itself, in the future; left out, it is remembered for ever. What is later than can be kept is kept as the \
                     last time that can be, and answered so.",
                ),
            ),
            ("playbackId", said(playback, "Of your workspace; needed for `endPlayback`.")),
            (
                "endPlayback",
                said(
                    json!({"type": "boolean"}),
                    "Whether all who play through the playback ID are to come anew.",
                ),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::reading::check_fields;

    use super::super::create;
    use super::*;

    #[test]
    fn what_is_read_of_a_revocation_is_described_and_nothing_else() {
        check_fields(
            |_| request(),
            |body| drop(create::parse(body, kinora_domain::Timestamp::from_micros(0))),
        );
    }
}

//! What the document of the API says of signing keys.

use kinora_domain::{PublicKey, SigningKey};
use kinora_web::openapi::schema::{object, said};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::create::CreatedKey;
use super::list::KeyView;
use super::read::PublicKeyView;
use crate::error;
use crate::example;

const ALL: &str = "/iam/signing-keys";
/// Of RFC 8410, 10.1.
const EXAMPLE_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
const ONE: &str = "/iam/signing-keys/{signingKeyId}";

/// Every operation on signing keys.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (created, listed, read) =
        (schemas.of::<CreatedKey>(), schemas.of::<KeyView>(), schemas.of::<PublicKeyView>());
    let imported = schemas.named("PutSigningKey", request());
    let all = [
        Operation::post(ALL, "createSigningKey", "Make a signing key")
            .says(
                "`privateKey` is the Base64 of a PEM file (PKCS#8, RSA, 2048 bits). It is in this answer and nowhere else: keep it. A \
                 body is not read.",
            )
            .creates(created, json!({"id": example::OTHER, "privateKey": "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==", "createdAt": example::TIME}))
            .refuses(error::too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX)),
        Operation::get(ALL, "listSigningKeys", "List signing keys")
            .lists(listed, json!({"id": example::OTHER, "createdAt": example::TIME})),
        one(Operation::get(ONE, "getSigningKey", "Read the public half of a signing key")).answers(
            read.clone(),
            json!({
                "workspaceId": example::WORKSPACE,
                "signingKeyId": example::OTHER,
                "publicKey": "-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n",
            }),
        ),
        Operation::put(ONE, "putSigningKey", "Bring in the public half of a signing key")
            .id("signingKeyId", "A UUID of your choice.", example::OTHER)
            .says(
                "For who keeps the private half away from everybody: the id is a UUID of your choice, the `kid` of your tokens. RSA keys sign with \
                 RS256, P-256 keys with ES256, Ed25519 keys with EdDSA. May be sent again; a key is never replaced by another one.",
            )
            .takes(imported, &[("ed25519", json!({"publicKey": EXAMPLE_KEY}))])
            .puts(
                read.clone(),
                json!({
                    "workspaceId": example::WORKSPACE,
                    "signingKeyId": example::OTHER,
                    "publicKey": EXAMPLE_KEY,
                }),
            )
            .refuses(error::too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX))
            .refuses(error::signing_key_taken()),
        one(Operation::delete(ONE, "deleteSigningKey", "Delete a signing key"))
            .says("What it signed is worth nothing from this answer on. It cannot be taken back.")
            .answers_done(),
    ];
    all.into_iter().map(|operation| operation.tagged("Signing keys")).collect()
}

fn request() -> Value {
    let pem = json!({"type": "string", "minLength": 1, "maxLength": PublicKey::PEM_BYTES_MAX});
    object(
        &["publicKey"],
        [("publicKey", said(pem, "PEM text that begins with `-----BEGIN PUBLIC KEY-----`."))],
    )
}

fn one(operation: Operation) -> Operation {
    operation
        .id("signingKeyId", "The id of a signing key.", example::OTHER)
        .refuses(error::signing_key_not_found())
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::reading::check_fields;

    use super::super::put;
    use super::*;

    #[test]
    fn what_is_read_of_a_key_is_described_and_nothing_else() {
        check_fields(|_| request(), |body| drop(put::parse(body)));
    }
}

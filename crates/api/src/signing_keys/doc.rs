//! The OpenAPI descriptions of signing keys.

use kinora_domain::{PublicKey, SigningKey};
use kinora_web::openapi::schema::{object, with_description};
use kinora_web::openapi::{Operation, Schemas};
use serde_json::{Value, json};

use super::create::CreatedKey;
use super::list::KeyView;
use super::read::PublicKeyView;
use crate::error;
use crate::example;

const COLLECTION_PATH: &str = "/iam/signing-keys";
/// From RFC 8410, 10.1.
const EXAMPLE_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
const ITEM_PATH: &str = "/iam/signing-keys/{signingKeyId}";

/// Every operation on signing keys.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (created, listed, read) =
        (schemas.of::<CreatedKey>(), schemas.of::<KeyView>(), schemas.of::<PublicKeyView>());
    let imported = schemas.add("PutSigningKey", request());
    let all = [
        Operation::post(COLLECTION_PATH, "createSigningKey", "Create a signing key")
            .description(
                "`privateKey` is the Base64 of a PEM file (PKCS#8, RSA, 2048 bits). Store it: no other \
                    response contains it. A request body is ignored.",
            )
            .creates(created, json!({"id": example::OTHER, "privateKey": "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==", "createdAt": example::TIME}))
            .error(error::too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX)),
        Operation::get(COLLECTION_PATH, "listSigningKeys", "List signing keys")
            .lists(listed, json!({"id": example::OTHER, "createdAt": example::TIME})),
        signing_key_operation(Operation::get(ITEM_PATH, "getSigningKey", "Read the public key of a signing key")).responds_with_data(
            read.clone(),
            json!({
                "workspaceId": example::WORKSPACE,
                "signingKeyId": example::OTHER,
                "publicKey": "-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n",
            }),
        ),
        Operation::put(ITEM_PATH, "putSigningKey", "Import the public key of a signing key")
            .id("signingKeyId", "A UUID of your choice.", example::OTHER)
            .description(
                "Use this to keep the private key outside the server. The id is a UUID of your choice and the \
                    `kid` of your tokens. RSA keys sign with RS256, P-256 keys with ES256, Ed25519 keys with \
                    EdDSA. The same request may be repeated; a key is never replaced by another one.",
            )
            .request_body(imported, &[("ed25519", json!({"publicKey": EXAMPLE_KEY}))])
            .puts(
                read.clone(),
                json!({
                    "workspaceId": example::WORKSPACE,
                    "signingKeyId": example::OTHER,
                    "publicKey": EXAMPLE_KEY,
                }),
            )
            .error(error::too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX))
            .error(error::signing_key_taken()),
        signing_key_operation(Operation::delete(ITEM_PATH, "deleteSigningKey", "Delete a signing key"))
            .description("Tokens signed with this key are rejected once the response arrives. This cannot be undone.")
            .responds_empty(),
    ];
    all.into_iter().map(|operation| operation.tagged("Signing keys")).collect()
}

fn request() -> Value {
    let pem = json!({"type": "string", "minLength": 1, "maxLength": PublicKey::PEM_BYTES_MAX});
    object(
        &["publicKey"],
        [("publicKey", with_description(pem, "PEM text that begins with `-----BEGIN PUBLIC KEY-----`."))],
    )
}

fn signing_key_operation(operation: Operation) -> Operation {
    operation
        .id("signingKeyId", "The id of a signing key.", example::OTHER)
        .error(error::signing_key_not_found())
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::super::put;
    use super::*;

    #[test]
    fn signing_key_schema_has_exactly_the_parsed_fields() {
        check_fields(|_| request(), |body| drop(put::parse(body)));
    }
}

//! What the document of the API says of signing keys.

use kinora_domain::SigningKey;
use serde_json::json;

use super::create::CreatedKey;
use super::list::KeyView;
use super::read::PublicKeyView;
use crate::api::doc::example;
use crate::error::ApiError;
use crate::openapi::{Operation, Schemas};

const ALL: &str = "/iam/signing-keys";
const ONE: &str = "/iam/signing-keys/{signingKeyId}";

/// Every operation on signing keys.
pub(in crate::api) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let (created, listed, read) =
        (schemas.of::<CreatedKey>(), schemas.of::<KeyView>(), schemas.of::<PublicKeyView>());
    let all = [
        Operation::post(ALL, "createSigningKey", "Make a signing key")
            .says(
                "`privateKey` is the Base64 of a PEM file (PKCS#8, RSA, 2048 bits). It is in this answer and nowhere else: keep it. A \
                 body is not read.",
            )
            .creates(created, json!({"id": example::OTHER, "privateKey": "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==", "createdAt": example::TIME}))
            .refuses(ApiError::too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX)),
        Operation::get(ALL, "listSigningKeys", "List signing keys")
            .lists(listed, json!({"id": example::OTHER, "createdAt": example::TIME})),
        one(Operation::get(ONE, "getSigningKey", "Read the public half of a signing key")).answers(
            read,
            json!({
                "workspaceId": example::WORKSPACE,
                "signingKeyId": example::OTHER,
                "publicKey": "-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n",
            }),
        ),
        one(Operation::delete(ONE, "deleteSigningKey", "Delete a signing key"))
            .says("What it signed is worth nothing from this answer on. It cannot be taken back.")
            .answers_done(),
    ];
    all.into_iter().map(|operation| operation.tagged("Signing keys")).collect()
}

fn one(operation: Operation) -> Operation {
    operation
        .id("signingKeyId", "The id of a signing key.", example::OTHER)
        .refuses(ApiError::signing_key_not_found())
}

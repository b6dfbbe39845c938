//! `PUT /iam/signing-keys/{id}`: imported keys of three types, and the tokens they verify.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use serde_json::{Value, json};

use super::signer::{KEYS, Private, Signer, pem};
use super::watched::{refused, signed_children, with_token};
use crate::api::Ids;
use crate::support::{Answer, TestApp, text};

const ID: &str = "7c0f4a52-1a5b-4f0e-8a34-9d1c2b3a4f5e";

async fn put(app: &TestApp, id: &str, body: &Value) -> Answer {
    app.call("PUT", &format!("{KEYS}/{id}")).json(body).send().await
}

async fn manifest(app: &TestApp, playback: &str, token: &str) -> Answer {
    app.fetch(&with_token(&format!("/{playback}.m3u8"), token)).await
}

#[tokio::test]
async fn rsa_ed25519_and_p256_tokens_need_their_own_algorithm() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let rsa = Signer::made(&app).await;
    let ids = ["a1", "b2", "c3"].map(|end| format!("7c0f4a52-1a5b-4f0e-8a34-9d1c2b3a4f{end}"));
    let [a, b, c] = ids.clone();
    let signers = [
        Signer { id: a, private: Private::new_p256() },
        Signer { id: b, private: Private::new_ed25519() },
        Signer { id: c, ..rsa.same() },
    ];
    for signer in &signers {
        let unknown = manifest(&app, &playback, &signer.token(&playback)).await;
        assert_eq!(unknown.status, 401);
        let answer = put(&app, &signer.id, &json!({"publicKey": signer.public_pem()})).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let answer_to_token = manifest(&app, &playback, &signer.token(&playback)).await;
        assert_eq!(answer_to_token.status, 200, "at once: {answer_to_token:?}");
    }
    // Each token is rejected under the kid of another key type.
    for signer in &signers {
        for id in ids.iter().filter(|id| **id != signer.id) {
            let token =
                signer.sign(&json!({"alg": signer.header()["alg"], "kid": id}), &signer.claims(&playback));
            let (status, description) = refused(&manifest(&app, &playback, &token).await);
            assert_eq!(status, 401);
            assert_eq!(description, "the alg of the playback token does not match its signing key");
        }
    }
    // For a key of the same type, the signature decides.
    let other = Signer { id: ids[0].clone(), private: Private::new_p256() };
    let (_, description) = refused(&manifest(&app, &playback, &other.token(&playback)).await);
    assert_eq!(description, "the signature of the playback token does not match its signing key");
}

#[tokio::test]
async fn imported_public_key_is_never_replaced() {
    let app = TestApp::options().without_webhook().start().await;
    let key = Signer { id: ID.to_owned(), private: Private::new_ed25519() };
    let other = Signer { id: ID.to_owned(), private: Private::new_ed25519() };
    let body = json!({"publicKey": key.public_pem()});
    let mut golden = app.golden();
    golden.name(&key.public_pem().replace('\n', "\\n"), "[public key]");
    let made = put(&app, ID, &body).await;
    let mut transcript = golden.answer(&made);
    let spread = json!({"publicKey": format!("\r\n  {}", key.public_pem().replace('\n', "\r\n"))});
    for body in [&body, &spread] {
        let again = put(&app, ID, body).await;
        assert_eq!((again.status, &again.body), (200, &made.body));
    }
    transcript += &golden.answer(&put(&app, ID, &json!({"publicKey": other.public_pem()})).await);
    insta::assert_snapshot!("put", transcript);
    let read = app.call("GET", &format!("{KEYS}/{ID}")).send().await;
    assert_eq!(read.data(), made.data());
    let listed = app.call("GET", KEYS).send().await.data();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));

    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let path = format!("{KEYS}/{ID}");
    let refusal = async |token| app.request("PUT", &path).token(token).json(&body).send().await.refusal();
    assert_eq!(refusal(&reader).await.0, 403);
    assert_eq!(app.request("PUT", &path).json(&body).send().await.refusal().0, 401);
    assert_eq!(app.request("GET", &path).token(&other_token).send().await.refusal().0, 404);
    // The id is free in another workspace, which does not learn that it is in use here.
    let of_other_workspace = app
        .request("PUT", &path)
        .token(&other_token)
        .json(&json!({"publicKey": other.public_pem()}))
        .send()
        .await;
    assert_eq!(of_other_workspace.status, 201, "{of_other_workspace:?}");
    assert_eq!(app.call("GET", &path).send().await.data(), made.data(), "and our key is unchanged");
    // After the deletion the id is free again, also for another key.
    assert_eq!(app.call("DELETE", &path).send().await.status, 200);
    assert_eq!(put(&app, ID, &json!({"publicKey": other.public_pem()})).await.status, 201);
}

#[tokio::test]
async fn key_of_another_workspace_is_rejected() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let path = format!("{KEYS}/{ID}");
    let own_signer = Signer { id: ID.to_owned(), private: Private::new_ed25519() };
    let other_signer = Signer { id: ID.to_owned(), private: Private::new_ed25519() };
    let body = json!({"publicKey": other_signer.public_pem()});
    assert_eq!(app.request("PUT", &path).token(&other_token).json(&body).send().await.status, 201);
    let (_, description) = refused(&manifest(&app, &playback, &other_signer.token(&playback)).await);
    assert!(description.contains("is not a signing key"), "{description}");

    assert_eq!(put(&app, ID, &json!({"publicKey": own_signer.public_pem()})).await.status, 201);
    let signed_urls = signed_children(&app, &own_signer, &playback).await;
    let (status, description) = refused(&manifest(&app, &playback, &other_signer.token(&playback)).await);
    assert_eq!(status, 401);
    assert_eq!(description, "the signature of the playback token does not match its signing key");
    // Deleting their key does not affect ours; deleting ours rejects the paths it signed.
    assert_eq!(app.request("DELETE", &path).token(&other_token).send().await.status, 200);
    assert_eq!(app.fetch(&signed_urls[0]).await.status, 200);
    assert_eq!(app.request("PUT", &path).token(&other_token).json(&body).send().await.status, 201);
    assert_eq!(app.call("DELETE", &path).send().await.status, 200);
    assert_eq!(refused(&app.fetch(&signed_urls[0]).await).0, 401);
}

#[tokio::test]
async fn reused_key_id_does_not_restore_access() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let key = Signer { id: ID.to_owned(), private: Private::new_ed25519() };
    let body = json!({"publicKey": key.public_pem()});
    assert_eq!(put(&app, ID, &body).await.status, 201);
    let signed_urls = signed_children(&app, &key, &playback).await;
    assert_eq!(app.call("DELETE", &format!("{KEYS}/{ID}")).send().await.status, 200);
    assert_eq!(put(&app, ID, &body).await.status, 201);
    for address in &signed_urls {
        let (status, description) = refused(&app.fetch(address).await);
        assert_eq!(status, 401, "{address}");
        let gone = "the signing key for this URL was deleted; fetch the manifest with another token";
        assert_eq!(description, gone, "{address}");
    }
    for address in signed_children(&app, &key, &playback).await {
        assert_eq!(app.fetch(&address).await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn invalid_public_keys_are_rejected() {
    let app = TestApp::options().without_webhook().start().await;
    let p256 = Signer { id: ID.to_owned(), private: Private::new_p256() }.public_pem();
    let off_curve = {
        use base64::Engine as _;
        let base64: String = p256.lines().filter(|line| !line.starts_with('-')).collect();
        let mut der = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
        let last = der.len() - 1;
        der[last] ^= 1;
        pem(&der)
    };
    // Ed25519 (RFC 8410, 10.1): the point of order 1, for which a forged signature is valid, and bytes that
    // are no point.
    let of_point = |point: [u8; 32]| {
        let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
        pem(&[&head[..], &point].concat())
    };
    let mut identity = [0; 32];
    identity[0] = 1;
    let small = include_str!("../../../../domain/tests/keys/rsa1024.pub.pem");
    let mut transcript = String::new();
    for body in [
        json!({}),
        json!({"publicKey": null}),
        json!({"publicKey": 7}),
        json!({"publicKey": ""}),
        json!({"publicKey": p256.replace("PUBLIC", "PRIVATE")}),
        json!({"publicKey": small}),
        json!({"publicKey": "x".repeat(5000)}),
        json!([]),
        json!({"publicKey": off_curve}),
        json!({"publicKey": of_point(identity)}),
        json!({"publicKey": of_point([0; 32])}),
        json!({"publicKey": of_point([0xff; 32])}),
    ] {
        let answer = put(&app, ID, &body).await;
        assert_eq!(answer.refusal().0, 422, "{body}");
        transcript += &format!("{}\n", answer.text());
    }
    insta::assert_snapshot!(transcript);
    assert_eq!(put(&app, "mine", &json!({"publicKey": p256})).await.refusal().0, 422);
    assert_eq!(app.call("GET", KEYS).send().await.data(), json!([]));
}

#[tokio::test]
async fn imported_key_limit_per_workspace_is_100() {
    let app = TestApp::options().without_webhook().start().await;
    let body =
        json!({"publicKey": Signer { id: ID.to_owned(), private: Private::new_ed25519() }.public_pem()});
    for number in 0..100 {
        assert_eq!(put(&app, &format!("7c0f4a52-1a5b-4f0e-8a34-{number:012}"), &body).await.status, 201);
    }
    let refused = put(&app, ID, &body).await;
    assert_eq!(refused.refusal(), (400, "limit reached".to_owned()));
    assert_eq!(
        put(&app, "7c0f4a52-1a5b-4f0e-8a34-000000000099", &body).await.status,
        200,
        "it is there already"
    );
    assert_eq!(
        text(&put(&app, "7c0f4a52-1a5b-4f0e-8a34-000000000007", &body).await.data()["publicKey"]),
        text(&body["publicKey"])
    );
}

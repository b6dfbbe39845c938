//! `/iam/signing-keys` (C-169, C-170).

use std::sync::{Arc, Condvar, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_domain::{
    Clock as _, DEVELOPMENT, KeyMaker, KeyPair, PRODUCTION, Permission, SigningKey, SigningKeyId,
};
use kinora_server::{SystemClock, SystemRandom};
use serde_json::{Value, json};

use crate::support::{Answer, DEADLINE, Program, TestApp, text, until};

const KEYS: &str = "/v1/iam/signing-keys";
const ID: &str = "019a492c-41f3-7001-8203-040506070809";

async fn make(app: &TestApp) -> Answer {
    app.call("POST", KEYS).send().await
}

/// The ids of a page, and its pagination as (records, page, pages).
async fn page(app: &TestApp, query: &str) -> (Vec<String>, [u64; 3]) {
    let answer = app.call("GET", &format!("{KEYS}{query}")).send().await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let body = answer.json();
    let ids = body["data"].as_array().unwrap().iter().map(|key| text(&key["id"]).to_owned()).collect();
    let number = |name: &str| body["pagination"][name].as_u64().unwrap();
    (ids, ["totalRecords", "currentOffset", "offsetCount"].map(number))
}

#[tokio::test]
async fn private_key_is_shown_once_then_listed_and_deleted() {
    let app = TestApp::start().await;
    let mut golden = app.golden();
    // The request body is not read.
    let made = app.call("POST", KEYS).header("Content-Type", "text/plain").body("{nothing").send().await;
    let key = made.data();
    let (id, private) = (text(&key["id"]).to_owned(), text(&key["privateKey"]).to_owned());
    golden.name(&private, "[private key]");
    insta::assert_snapshot!("made", golden.answer(&made));

    let path = format!("{KEYS}/{id}");
    let read = app.call("GET", &path).send().await;
    let public = text(&read.data()["publicKey"]).to_owned();
    let workspace = app.store.workspace_by_name(DEVELOPMENT).await.unwrap().unwrap().id;
    assert_eq!(read.data()["workspaceId"], workspace.to_string());
    golden.name(&public.replace('\n', "\\n"), "[public key]");
    insta::assert_snapshot!("read", golden.answer(&read));
    let listed = app.call("GET", KEYS).send().await;
    insta::assert_snapshot!("listed", golden.answer(&listed));
    assert_eq!(listed.data(), json!([{"id": id, "createdAt": key["createdAt"]}]));
    for answer in [&read, &listed] {
        assert!(!answer.text().contains("rivate"), "the private half is shown once: {answer:?}");
    }
    assert_eq!(app.call("GET", &path[3..]).send().await.data(), read.data(), "without the prefix");

    let deleted = app.call("DELETE", &path).send().await;
    insta::assert_snapshot!("deleted", golden.answer(&deleted));
    let gone = app.call("GET", &path).send().await;
    insta::assert_snapshot!("gone", golden.answer(&gone));
    assert_eq!(app.call("DELETE", &path).send().await.refusal(), gone.refusal());
    assert_eq!(page(&app, "").await, (Vec::new(), [0, 1, 0]));
    assert!(app.receiver.posted().is_empty(), "no event tells of keys");
}

/// Checks both halves with OpenSSL, which signs for most clients.
const VERIFY_SCRIPT: &str = r"
const { createPrivateKey, createPublicKey, sign, verify } = require('node:crypto');
const { PRIVATE_KEY, PUBLIC_KEY, OTHER_KEY } = process.env;
const pem = Buffer.from(PRIVATE_KEY, 'base64').toString();
const key = createPrivateKey(pem);
const token = Buffer.from('header.claims');
const signature = sign('RSA-SHA256', token, pem);
console.log(JSON.stringify({
  isPkcs8: key.export({ type: 'pkcs8', format: 'pem' }) === pem,
  isItsPublicHalf: createPublicKey(key).export({ type: 'spki', format: 'pem' }) === PUBLIC_KEY,
  type: key.asymmetricKeyType,
  bits: key.asymmetricKeyDetails.modulusLength,
  exponent: Number(key.asymmetricKeyDetails.publicExponent),
  holds: verify('RSA-SHA256', token, PUBLIC_KEY, signature),
  holdsForAnotherToken: verify('RSA-SHA256', Buffer.from('header.claimS'), PUBLIC_KEY, signature),
  holdsForAnotherKey: verify('RSA-SHA256', token, OTHER_KEY, signature),
}));
";

#[tokio::test]
async fn openssl_verifies_private_key_signatures_with_the_public_key() {
    let app = TestApp::options().without_webhook().start().await;
    let (key, other) = (make(&app).await.data(), make(&app).await.data());
    let public = async |key: &Value| {
        let read = app.call("GET", &format!("{KEYS}/{}", text(&key["id"]))).send().await.data();
        text(&read["publicKey"]).to_owned()
    };
    let run = Program::new("node")
        .args(["-e", VERIFY_SCRIPT])
        .env("PRIVATE_KEY", text(&key["privateKey"]))
        .env("PUBLIC_KEY", public(&key).await)
        .env("OTHER_KEY", public(&other).await)
        .run()
        .await;
    assert_eq!(
        run.json(),
        json!({"isPkcs8": true, "isItsPublicHalf": true, "type": "rsa", "bits": 2048, "exponent": 65537,
            "holds": true, "holdsForAnotherToken": false, "holdsForAnotherKey": false})
    );
    let pem = String::from_utf8(STANDARD.decode(text(&key["privateKey"])).unwrap()).unwrap();
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "the label is that of PKCS#8");
}

#[tokio::test]
async fn keys_are_listed_in_pages() {
    let keys = GatedKeyMaker::default();
    keys.release();
    let app = TestApp::options().without_webhook().key_maker(keys).start().await;
    let mut oldest_first = Vec::new();
    for _ in 0..3 {
        oldest_first.push(text(&make(&app).await.data()["id"]).to_owned());
    }
    let newest_first: Vec<_> = oldest_first.iter().rev().cloned().collect();
    assert_eq!(page(&app, "").await, (newest_first.clone(), [3, 1, 1]));
    assert_eq!(page(&app, "?limit=2").await, (newest_first[..2].to_vec(), [3, 1, 2]));
    assert_eq!(page(&app, "?limit=2&offset=2").await, (newest_first[2..].to_vec(), [3, 2, 2]));
    assert_eq!(page(&app, "?limit=2&offset=3").await, (Vec::new(), [3, 3, 2]));
    assert_eq!(page(&app, "?orderBy=asc").await, (oldest_first, [3, 1, 1]));
    let refused = app.call("GET", &format!("{KEYS}?limit=51&offset=0")).send().await;
    insta::assert_snapshot!("out_of_range", app.golden().answer(&refused));
}

#[tokio::test]
async fn changes_need_read_write_token_and_keys_are_per_workspace() {
    let app = TestApp::options().without_webhook().start().await;
    let path = format!("{KEYS}/{}", text(&make(&app).await.data()["id"]));
    let key = app.call("GET", &path).send().await;
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;

    for (method, target) in [("POST", KEYS), ("DELETE", &path)] {
        let refused = app.request(method, target).token(&reader).send().await;
        assert_eq!(refused.refusal(), (403, "forbidden".to_owned()), "{method}");
    }
    assert_eq!(app.request("GET", &path).token(&reader).send().await.data(), key.data());
    assert_eq!(app.request("GET", KEYS).token(&reader).send().await.data().as_array().unwrap().len(), 1);

    let unknown = app.call("GET", &format!("{KEYS}/{ID}")).send().await;
    assert_eq!(unknown.refusal(), (404, "signing key not found".to_owned()));
    for method in ["GET", "DELETE"] {
        let answer = app.request(method, &path).token(&other_token).send().await;
        assert_eq!(app.golden().answer(&answer), app.golden().answer(&unknown), "{method}");
    }
    assert_eq!(app.request("GET", KEYS).token(&other_token).send().await.data(), json!([]));

    for (method, target) in [("POST", KEYS), ("GET", KEYS), ("GET", &path), ("DELETE", &path)] {
        let refused = app.request(method, target).send().await;
        assert_eq!(refused.refusal(), (401, "unauthorized".to_owned()), "{method} {target}");
    }
    assert_eq!(app.call("GET", &path).send().await.data(), key.data(), "nothing was deleted");
    assert_eq!(page(&app, "").await.1, [1, 1, 1], "nothing was made");
}

#[tokio::test]
async fn invalid_key_ids_methods_and_paths_are_rejected() {
    let app = TestApp::options().without_webhook().start().await;
    let mut transcript = String::new();
    for (method, path) in [
        ("GET", format!("{KEYS}/42")),
        ("DELETE", format!("{KEYS}/not%20an%20id")),
        ("PUT", KEYS.to_owned()),
        ("DELETE", KEYS.to_owned()),
        ("PATCH", format!("{KEYS}/{ID}")),
        ("GET", format!("{KEYS}/{ID}/public")),
        ("GET", "/v1/iam".to_owned()),
        ("GET", "/iam/keys".to_owned()),
    ] {
        let answer = app.call(method, &path).send().await;
        answer.refusal();
        let allow = answer.header("allow").unwrap_or("-");
        transcript += &format!("{method} {path}\nallow: {allow}\n{}\n\n", answer.text());
    }
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn third_concurrent_key_generation_is_503_with_retry_after() {
    let keys = GatedKeyMaker::default();
    let app = TestApp::options().without_webhook().key_maker(keys.clone()).start().await;
    let meanwhile = async {
        keys.wait_for(2).await;
        let refused = make(&app).await;
        // More threads wait than the server has for requests.
        let listed = app.call("GET", KEYS).send().await;
        keys.release();
        (refused, listed)
    };
    let (first, second, (refused, listed)) = tokio::join!(make(&app), make(&app), meanwhile);
    assert_eq!((first.status, second.status, listed.data()), (201, 201, json!([])));
    insta::assert_snapshot!("busy", app.golden().answer(&refused));
    assert_eq!((page(&app, "").await.1, keys.begun()), ([2, 1, 1], 2), "the third made none");
    assert_eq!(make(&app).await.status, 201, "there is room again");
}

#[tokio::test]
async fn key_limit_per_workspace_holds_under_concurrent_creates() {
    let keys = GatedKeyMaker::default();
    let app = TestApp::options().without_webhook().key_maker(keys.clone()).start().await;
    let workspace = app.store.workspace_by_name(DEVELOPMENT).await.unwrap().unwrap().id;
    let most = SigningKey::PER_WORKSPACE_MAX;
    let old: Vec<_> = (1..most)
        .map(|_| {
            let created_at = SystemClock.now();
            let id = SigningKeyId::new(created_at, &SystemRandom);
            SigningKey { id, workspace, public_key: "a public key".into(), created_at }
        })
        .collect();
    let one_of_them = old[0].id;
    let saving = async move |tx: &mut kinora_store::Tx| {
        for key in &old {
            tx.insert_signing_key(key).await?;
        }
        Ok::<_, kinora_store::Error>(())
    };
    app.store.write(saving).await.unwrap();

    // Both have seen that the quota is not reached.
    let release = async {
        keys.wait_for(2).await;
        keys.release();
    };
    let (first, second, ()) = tokio::join!(make(&app), make(&app), release);
    let refused = if first.status == 201 { &second } else { &first };
    insta::assert_snapshot!("too_many", app.golden().answer(refused));
    assert_eq!(first.status + second.status, 201 + 400);
    assert_eq!(page(&app, "").await.1, [most, 1, most.div_ceil(10)]);

    assert_eq!(make(&app).await.refusal(), refused.refusal());
    assert_eq!(keys.begun(), 2, "a refusal makes no key first");
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    assert_eq!(
        app.request("POST", KEYS).token(&other_token).send().await.status,
        201,
        "it is each one's own"
    );
    let deleted = app.call("DELETE", &format!("{KEYS}/{one_of_them}")).send().await;
    assert_eq!((deleted.status, make(&app).await.status), (200, 201), "the remedy helps");
}

/// Makes unusable keys once it is released; counts those that were started.
#[derive(Clone, Default)]
pub(super) struct GatedKeyMaker(Arc<KeyGate>);

#[derive(Default)]
struct KeyGate {
    state: Mutex<KeyGateState>,
    changed: Condvar,
}

#[derive(Default)]
struct KeyGateState {
    begun: usize,
    is_open: bool,
}

impl GatedKeyMaker {
    pub(super) fn begun(&self) -> usize {
        self.0.state.lock().unwrap().begun
    }

    pub(super) async fn wait_for(&self, begun: usize) {
        until("the keys are being made", async || (self.begun() == begun).then_some(())).await;
    }

    pub(super) fn release(&self) {
        self.0.state.lock().unwrap().is_open = true;
        self.0.changed.notify_all();
    }
}

impl KeyMaker for GatedKeyMaker {
    fn generate(&self) -> KeyPair {
        let mut state = self.0.state.lock().unwrap();
        state.begun += 1;
        let waited = self.0.changed.wait_timeout_while(state, DEADLINE, |state| !state.is_open).unwrap();
        assert!(!waited.1.timed_out(), "the key pool is not released");
        KeyPair::from_der(&[1], &[2])
    }
}

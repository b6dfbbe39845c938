//! Signs playback tokens, as clients and as attackers do.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use kinora_domain::Clock as _;
use kinora_server::SystemClock;
use serde_json::{Value, json};

use crate::support::{TestApp, Token, text};

pub(crate) const KEYS: &str = "/v1/iam/signing-keys";

/// A signing key with its private half.
pub(crate) struct Signer {
    pub(crate) id: String,
    pub(crate) private: Private,
}

/// The private key of a signer.
pub(crate) enum Private {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    /// A public key used as HMAC secret.
    Secret(Vec<u8>),
    /// No signature.
    Nothing,
}

impl Signer {
    /// A key that the server made.
    pub(crate) async fn made(app: &TestApp) -> Self {
        Self::made_by(app, &app.token).await
    }

    /// The same, of the workspace of this access token.
    pub(crate) async fn made_by(app: &TestApp, token: &Token) -> Self {
        let made = app.request("POST", KEYS).token(token).send().await.data();
        let pem = String::from_utf8(STANDARD.decode(text(&made["privateKey"])).unwrap()).unwrap();
        let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).unwrap()).unwrap();
        Self { id: text(&made["id"]).to_owned(), private: Private::Rsa(Box::new(pair)) }
    }

    /// The token for this playback ID, valid for an hour.
    pub(crate) fn token(&self, playback: &str) -> String {
        self.sign(&self.header(), &self.claims(playback))
    }

    pub(crate) fn header(&self) -> Value {
        json!({"alg": self.private.algorithm(), "typ": "JWT", "kid": self.id})
    }

    /// The claims in the documentation of the players (C-165).
    pub(crate) fn claims(&self, playback: &str) -> Value {
        json!({"kid": self.id, "aud": format!("media:{playback}"), "iss": "fastpix.com", "sub": "", "iat": now(),
            "exp": now() + 3600})
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(self.private.sign(message.as_bytes())))
    }

    /// A copy of this RSA signer.
    pub(crate) fn same(&self) -> Self {
        let Private::Rsa(pair) = &self.private else { panic!("not of RSA") };
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let pair = RsaKeyPair::from_pkcs8(der.as_ref()).unwrap();
        Self { id: self.id.clone(), private: Private::Rsa(Box::new(pair)) }
    }

    /// The public half as PEM.
    pub(crate) fn public_pem(&self) -> String {
        let der: PublicKeyX509Der<'_> = match &self.private {
            Private::Rsa(pair) => pair.public_key().as_der(),
            Private::P256(pair) => pair.public_key().as_der(),
            Private::Ed25519(pair) => pair.public_key().as_der(),
            Private::Secret(_) | Private::Nothing => panic!("it has no public half"),
        }
        .unwrap();
        pem(der.as_ref())
    }
}

/// A public key as PEM.
pub(crate) fn pem(der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let lines: Vec<_> = base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

/// Seconds since 1970, UTC.
pub(crate) fn now() -> i64 {
    SystemClock.now().as_seconds()
}

impl Private {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
            Self::Secret(_) => "HS256",
            Self::Nothing => "none",
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::Secret(secret) => {
                hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec()
            }
            Self::Nothing => Vec::new(),
        }
    }

    pub(crate) fn new_p256() -> Self {
        Self::P256(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    pub(crate) fn new_ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }
}

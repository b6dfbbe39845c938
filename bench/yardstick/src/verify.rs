//! Repeated verification of one token's signature.

use std::hint::black_box;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use kinora_domain::PublicKey;

use crate::Error;

/// Verifies an RS256 token with the public key of a PEM file `count` times.
pub(crate) fn run(pem: &str, token: &str, count: &str) -> Result<(), Error> {
    let key = PublicKey::from_pem(&std::fs::read_to_string(pem)?)?;
    let key = DecodingKey::from_rsa_der(key.key());
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_aud = false;
    for _ in 0..count.parse()? {
        let decoded = jsonwebtoken::decode::<Claims>(black_box(token), &key, &validation)?;
        black_box(decoded);
    }
    Ok(())
}

/// No claim is read.
#[derive(serde::Deserialize)]
struct Claims {}

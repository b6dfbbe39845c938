//! Passes: the dashboard issues them, and delivery takes them where it takes a playback token (D-0158).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{PassClaims, PassError, PlaybackId, PlaybackIdSettings, Timestamp};
use kinora_store::Store;
use kinora_web::base_urls::BaseUrls;

/// A pass for a playback ID.
pub struct Pass {
    /// The value of `?token=`. A secret: never log it.
    pub token: String,
    /// The player page with the pass.
    pub url: String,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// Issues a pass for a playback ID. The caller has checked that its person may play the media.
pub fn issue_pass(
    store: &Store,
    base_urls: &BaseUrls,
    playback: &PlaybackIdSettings,
    now: Timestamp,
) -> Pass {
    let claims = PassClaims::new(playback.id, playback.generation, now);
    let token = format!("{}{}", PassClaims::PREFIX, URL_SAFE_NO_PAD.encode(store.sign_pass(&claims)));
    // No letter of a pass needs an escape in a query.
    let url = format!("{}/embed/{}?token={token}", base_urls.public, playback.id);
    Pass { token, url, expires_at: claims.expires_at() }
}

/// Checks the signature of a pass. Costs one hash and no query.
pub(super) fn read(store: &Store, playback: PlaybackId, pass: &str) -> Result<PassClaims, PassError> {
    let bytes = decode(pass).ok_or(PassError::Forged)?;
    let (claims, signature) = PassClaims::parse(playback, &bytes).ok_or(PassError::Forged)?;
    if store.has_signed_pass(&claims, signature) { Ok(claims) } else { Err(PassError::Forged) }
}

/// The bytes of a pass, which have only one spelling.
fn decode(pass: &str) -> Option<[u8; PassClaims::LEN]> {
    /// Letters of Base64 without padding.
    const ENCODED_LEN: usize = (PassClaims::LEN * 4).div_ceil(3);
    let encoded = pass.strip_prefix(PassClaims::PREFIX).filter(|encoded| encoded.len() == ENCODED_LEN)?;
    URL_SAFE_NO_PAD.decode(encoded).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_has_one_spelling() {
        let bytes = [0xa5; PassClaims::LEN];
        let encoded = URL_SAFE_NO_PAD.encode(bytes);
        let pass = format!("pass.{encoded}");
        assert_eq!(decode(&pass), Some(bytes));
        let (without_last, _) = pass.split_at(pass.len() - 1);
        for other in [
            String::new(),
            "pass.".to_owned(),
            encoded.clone(),
            format!("PASS.{encoded}"),
            format!("pass.{encoded}="),
            format!("pass.{encoded}A"),
            format!("pass.{encoded} "),
            format!("pass.pass.{encoded}"),
            // The last letter has two bits that encode nothing.
            format!("{without_last}_"),
            format!("{without_last}+"),
        ] {
            assert_eq!(decode(&other), None, "{other}");
        }
    }
}

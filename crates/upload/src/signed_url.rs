//! Access to an upload address: valid for any client that has it, until it expires, from pages of its
//! origin.

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{BadUploadAddress, UploadClaims};
use kinora_web::error::ApiError;

use crate::UploadRouterState;
use crate::error;

/// Parses the last part of a path and checks the signature of this server. Costs a hash; no database is
/// read.
pub(super) fn verify(app: &UploadRouterState, signed: &str) -> Result<UploadClaims, BadUploadAddress> {
    if signed.len() > UploadClaims::LEN_MAX.div_ceil(3) * 4 {
        return Err(BadUploadAddress);
    }
    let bytes = URL_SAFE_NO_PAD.decode(signed).map_err(|_| BadUploadAddress)?;
    let (claims, signature) = UploadClaims::split(&bytes)?;
    if !app.store.has_signed_upload(claims, &signature) {
        return Err(BadUploadAddress);
    }
    UploadClaims::from_bytes(claims)
}

/// Whether the address has expired.
pub(super) fn is_expired(app: &UploadRouterState, claims: &UploadClaims) -> bool {
    claims.expires_at <= app.clock.now()
}

/// Whether `origin` is the origin of the address `base`. Browsers send it also when a page requests its own
/// server.
fn is_origin_of(origin: &str, base: &str) -> bool {
    url::Url::parse(base).is_ok_and(|base| base.origin().ascii_serialization() == origin)
}

/// Whether a request may use the address now: 410 after its expiry, 403 for a page of another origin. The
/// upload page of this server always may.
pub(super) fn check_access(
    app: &UploadRouterState,
    claims: &UploadClaims,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    if is_expired(app, claims) {
        return Err(error::upload_url_expired());
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    // A value that is no text matches no origin.
    let origin = origins.next().map(|origin| origin.to_str().unwrap_or("null"));
    let is_ours = origin.is_some_and(|origin| is_origin_of(origin, &app.addresses.public));
    if origins.next().is_some() || !(is_ours || claims.origin.allows(origin)) {
        return Err(error::origin_forbidden(&claims.origin));
    }
    Ok(())
}

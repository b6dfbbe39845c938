//! Who may use an address: whoever holds it, until it expires, from pages of its origin.

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{BadUploadAddress, UploadTicket};
use kinora_web::error::ApiError;

use crate::UploadRouterState;
use crate::error;

/// What the last part of a path says, if this server has signed it. Costs a hash; no database is asked.
pub(super) fn read(app: &UploadRouterState, signed: &str) -> Result<UploadTicket, BadUploadAddress> {
    if signed.len() > UploadTicket::LEN_MAX.div_ceil(3) * 4 {
        return Err(BadUploadAddress);
    }
    let bytes = URL_SAFE_NO_PAD.decode(signed).map_err(|_| BadUploadAddress)?;
    let (ticket, signature) = UploadTicket::split(&bytes)?;
    if !app.store.has_signed_upload(ticket, &signature) {
        return Err(BadUploadAddress);
    }
    UploadTicket::from_bytes(ticket)
}

/// Whether an address is worth nothing any more.
pub(super) fn is_over(app: &UploadRouterState, ticket: &UploadTicket) -> bool {
    ticket.expires_at <= app.clock.now()
}

/// Whether `origin` is that of the address `base`; browsers name it also where a page sends to its own
/// server.
fn is_origin_of(origin: &str, base: &str) -> bool {
    url::Url::parse(base).is_ok_and(|base| base.origin().ascii_serialization() == origin)
}

/// Whether a request may use the address now: 410 after its end, 403 for a page of another origin. Our own
/// page always may.
pub(super) fn admit(
    app: &UploadRouterState,
    ticket: &UploadTicket,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    if is_over(app, ticket) {
        return Err(error::upload_address_expired());
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    // What is no text is no origin of anybody.
    let origin = origins.next().map(|origin| origin.to_str().unwrap_or("null"));
    let is_ours = origin.is_some_and(|origin| is_origin_of(origin, &app.addresses.public));
    if origins.next().is_some() || !(is_ours || ticket.origin.allows(origin)) {
        return Err(error::other_origin(&ticket.origin));
    }
    Ok(())
}

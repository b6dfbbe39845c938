//! Where a request comes from, for sessions and the audit log.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use kinora_domain::RequestOrigin;
use kinora_web::observe::RequestId;
use kinora_web::serve::ClientAddress;

/// The client of a request.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: ClientAddress,
    pub(crate) origin: RequestOrigin,
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let address = parts.extensions.get().copied().unwrap_or(ClientAddress(None));
        let client =
            parts.headers.get(USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()).into());
        let request_id =
            parts.extensions.get().map(|RequestId(id)| id.to_str().unwrap_or_default().to_owned());
        let origin =
            RequestOrigin { address: address.0.map(|address| address.to_string()), client, request_id };
        Ok(Self { address, origin })
    }
}

//! Playback tokens and signed paths: the proofs of access by which a viewer is admitted.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{
    Page, PathClaims, PathError, PlaybackId, Timestamp, TokenError, Viewer, ViewerCredential,
};
use kinora_web::error::ApiError;

use super::cache::{self, Lookup, Rules};
use super::{Granted, Playable, PlayableId, PlayableMedia, decide};
use crate::DeliveryState;
use crate::playback_request::{PlaybackRequest, RequestCredential};
use crate::response::VaryOn;
use crate::token::{self, Verified, VerifyError};

/// An admitted viewer, for the duration of one response.
pub(crate) struct PlaybackSession {
    playback: PlaybackId,
    /// The ticket that a child path would have had at the start. As with child paths, the session outlives
    /// its token, but not its key. `None` where every viewer is admitted.
    path: Option<PathClaims>,
    page: Page,
    user_agent: Option<String>,
}

impl Granted {
    /// The session of the viewer to whom this was granted.
    pub(crate) fn session(
        &self,
        app: &DeliveryState,
        playback_request: &PlaybackRequest<'_>,
    ) -> PlaybackSession {
        let PlayableMedia { playback, length_us, .. } = *self.media;
        let path = self.access.ticket.as_ref();
        PlaybackSession {
            playback,
            path: path.map(|binding| PathClaims::new(playback, binding.clone(), length_us, app.clock.now())),
            page: playback_request.page(&app.addresses),
            user_agent: playback_request.user_agent().map(Cow::into_owned),
        }
    }
}

impl PlaybackSession {
    /// Whether the viewer would be admitted now, and `has_file` is still true for the media. 404 where the
    /// playback ID was deleted.
    pub(crate) async fn is_valid(
        &self,
        app: &DeliveryState,
        has_file: impl Fn(&PlayableMedia) -> bool,
    ) -> Result<bool, ApiError> {
        let Lookup { cached, .. } = cache::find(app, PlayableId::Playback(self.playback)).await?;
        let Some(rules) = &cached.rules else { return Ok(false) };
        let credential = match &self.path {
            None => ViewerCredential::Path(Err(PathError::Missing)),
            Some(claims) => by_ticket(app, rules, claims.clone()).await?,
        };
        let viewer = Viewer {
            credential,
            page: self.page.clone(),
            embedder: self.path.as_ref().and_then(|ticket| ticket.facts.frame.clone()),
            user_agent: self.user_agent.as_deref(),
        };
        let admitted = decide(app, &cached, &rules.policy, &viewer, app.clock.now()).into_result()?;
        Ok(matches!(&admitted.playable, Playable::Media(media) if has_file(media)))
    }
}

/// Checks the token or the signed path of a request. Reads keys that are not cached.
pub(super) async fn admission(
    app: &DeliveryState,
    rules: &Rules,
    playback_request: &PlaybackRequest<'_>,
) -> Result<ViewerCredential, ApiError> {
    match &playback_request.credential {
        // A public playback ID needs no token.
        RequestCredential::Token(_) if !rules.policy.is_private() => {
            Ok(ViewerCredential::Token(Err(TokenError::Missing)))
        }
        RequestCredential::Token(Ok(token)) => by_token(app, rules, token).await,
        RequestCredential::Token(Err(refusal)) => Ok(ViewerCredential::Token(Err(*refusal))),
        RequestCredential::Path(None) => Ok(ViewerCredential::Path(Err(PathError::Missing))),
        RequestCredential::Path(Some(signed)) => match read_path(app, rules.policy.playback(), signed) {
            Ok(claims) => by_ticket(app, rules, claims).await,
            Err(refusal) => Ok(ViewerCredential::Path(Err(refusal))),
        },
    }
}

/// Admits by a token that is valid for this playback ID now.
async fn by_token(app: &DeliveryState, rules: &Rules, token: &str) -> Result<ViewerCredential, ApiError> {
    let checked = match token::verify(app, rules.workspace, token).await {
        Ok(Verified { key, claims }) => claims.check(rules.policy.playback(), app.clock.now()).map(|()| key),
        Err(VerifyError::Refused(refusal)) => Err(refusal),
        Err(VerifyError::Failed(error)) => return Err(error),
    };
    Ok(ViewerCredential::Token(checked))
}

/// Admits by a ticket whose signing key still exists.
async fn by_ticket(
    app: &DeliveryState,
    rules: &Rules,
    claims: PathClaims,
) -> Result<ViewerCredential, ApiError> {
    let Some(key) = claims.facts.key.filter(|key| rules.key_exists.get() != Some(key)) else {
        return Ok(ViewerCredential::Path(Ok(claims)));
    };
    if !token::has_key(app, rules.workspace, key).await? {
        return Ok(ViewerCredential::Path(Err(PathError::KeyDeleted)));
    }
    // The first key stays cached; others are looked up each time.
    let _ = rules.key_exists.set(key);
    Ok(ViewerCredential::Path(Ok(claims)))
}

/// Checks the signature of a path. Costs one hash and no query.
fn read_path(app: &DeliveryState, playback: PlaybackId, signed: &str) -> Result<PathClaims, PathError> {
    if signed.len() > PathClaims::LEN_MAX.div_ceil(3) * 4 {
        return Err(PathError::Forged);
    }
    // On the stack, since every segment request of a private media decodes a path.
    let mut bytes = [0; PathClaims::LEN_MAX];
    let len = URL_SAFE_NO_PAD.decode_slice(signed, &mut bytes).map_err(|_| PathError::Forged)?;
    let (claims, part) = PathClaims::read(playback, &bytes[..len])?;
    if app.store.has_signed_path(playback, part) { Ok(claims) } else { Err(PathError::Forged) }
}

/// How many whole seconds the signature of a path is still valid; `None` without one.
pub(super) fn left_s(admission: &ViewerCredential, now: Timestamp) -> Option<u32> {
    let ViewerCredential::Path(Ok(claims)) = admission else { return None };
    let left_s = claims.expires_at().micros_since(now) / Timestamp::SECOND;
    Some(u32::try_from(left_s.max(0)).unwrap_or(u32::MAX))
}

/// How long shared caches may store content below a path, in seconds: as the operator allows
/// (`shared_max_age_s`), and not past the end of its signature.
///
/// `None` where a rule depends on the request: a cache would not apply it again. Addresses with a token have
/// no signed path, so no shared cache stores their responses: every client with such an address would get
/// them without a check of the token.
pub(super) fn shared_s(shared_max_age_s: Option<u32>, vary: VaryOn, left_s: u32) -> Option<u32> {
    let most = shared_max_age_s.filter(|_| vary == VaryOn::default())?;
    Some(left_s.min(most))
}

#[cfg(test)]
mod tests {
    use kinora_domain::PathBinding;

    use super::*;

    #[test]
    fn signed_path_expiry_is_never_negative() {
        let made = Timestamp::from_micros(0);
        let binding = PathBinding { generation: 0, key: None, frame: None };
        let claims =
            PathClaims::new("8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(), binding, 0, made);
        let end = claims.expires_at();
        let check = |from_end_us: i64, expected: u32| {
            let left = left_s(&ViewerCredential::Path(Ok(claims.clone())), end.plus_micros(-from_end_us));
            assert_eq!(left, Some(expected), "{from_end_us}");
        };
        check(3_600_000_000, 3600);
        check(1_999_999, 1);
        check(1, 0);
        check(0, 0);
        check(-1, 0);
        check(-3_600_000_000, 0);
        for other in [
            ViewerCredential::Path(Err(PathError::Expired)),
            ViewerCredential::Token(Err(TokenError::Missing)),
        ] {
            assert_eq!(left_s(&other, made), None);
        }
    }

    #[test]
    fn shared_cache_time_ends_with_the_signature() {
        let by_page = VaryOn { page: true, ..VaryOn::default() };
        assert_eq!(shared_s(None, VaryOn::default(), 100), None);
        assert_eq!(shared_s(Some(60), VaryOn::default(), 100), Some(60));
        assert_eq!(shared_s(Some(60), VaryOn::default(), 7), Some(7));
        assert_eq!(shared_s(Some(60), by_page, 100), None);
    }
}

//! Playback tokens, passes and signed paths: the proofs of access by which a viewer is admitted.

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
use crate::pass;
use crate::playback_request::{PlaybackRequest, RequestCredential};
use crate::response::VaryOn;
use crate::token::{self, Verified, VerifyError};

/// An admitted viewer, for the duration of one response.
pub(crate) struct PlaybackSession {
    playback: PlaybackId,
    /// The claims that the path of a child would have had at the start. As with child paths, the session
    /// outlives its token, but not its key. `None` where every viewer is admitted.
    path_claims: Option<PathClaims>,
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
        let PlayableMedia { playback, duration_us, .. } = *self.media;
        let path = self.scope.binding.as_ref();
        PlaybackSession {
            playback,
            path_claims: path
                .map(|binding| PathClaims::new(playback, binding.clone(), duration_us, app.clock.now())),
            page: playback_request.page(&app.base_urls),
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
        let credential = match &self.path_claims {
            None => ViewerCredential::Path(Err(PathError::Missing)),
            Some(claims) => check_path_claims(app, rules, claims.clone()).await?,
        };
        let viewer = Viewer {
            credential,
            page: self.page.clone(),
            embedding_page: self
                .path_claims
                .as_ref()
                .and_then(|path_claims| path_claims.binding.embedding_page.clone()),
            user_agent: self.user_agent.as_deref(),
        };
        let admitted = decide(app, &cached, &rules.policy, &viewer, app.clock.now()).into_result()?;
        Ok(matches!(&admitted.playable, Playable::Media(media) if has_file(media)))
    }
}

/// Checks the token, the pass or the signed path of a request. Reads keys that are not cached.
pub(super) async fn check_credential(
    app: &DeliveryState,
    rules: &Rules,
    playback_request: &PlaybackRequest<'_>,
) -> Result<ViewerCredential, ApiError> {
    match &playback_request.credential {
        // One of them may be a pass.
        RequestCredential::Token(Err(error @ TokenError::Repeated)) if rules.policy.is_restricted() => {
            Ok(ViewerCredential::Token(Err(*error)))
        }
        // A public playback ID needs no token.
        RequestCredential::Token(_) if !rules.policy.is_private() => {
            Ok(ViewerCredential::Token(Err(TokenError::Missing)))
        }
        // Nor a pass, unless a rule can reject a viewer.
        RequestCredential::Pass(_) if !rules.policy.is_restricted() => {
            Ok(ViewerCredential::Token(Err(TokenError::Missing)))
        }
        RequestCredential::Pass(pass) => {
            Ok(ViewerCredential::Pass(pass::read(&app.store, rules.policy.playback(), pass)))
        }
        RequestCredential::Token(Ok(token)) => check_token(app, rules, token).await,
        RequestCredential::Token(Err(rejection)) => Ok(ViewerCredential::Token(Err(*rejection))),
        RequestCredential::Path(None) => Ok(ViewerCredential::Path(Err(PathError::Missing))),
        RequestCredential::Path(Some(signed)) => match read_path(app, rules.policy.playback(), signed) {
            Ok(claims) => check_path_claims(app, rules, claims).await,
            Err(refusal) => Ok(ViewerCredential::Path(Err(refusal))),
        },
    }
}

/// Checks a token: it must be valid for this playback ID now.
async fn check_token(app: &DeliveryState, rules: &Rules, token: &str) -> Result<ViewerCredential, ApiError> {
    let checked = match token::verify(app, rules.workspace, token).await {
        Ok(Verified { key, claims }) => claims.check(rules.policy.playback(), app.clock.now()).map(|()| key),
        Err(VerifyError::Rejected(rejection)) => Err(rejection),
        Err(VerifyError::Failed(error)) => return Err(error),
    };
    Ok(ViewerCredential::Token(checked))
}

/// Checks the claims of a signed path: their signing key must still exist.
async fn check_path_claims(
    app: &DeliveryState,
    rules: &Rules,
    claims: PathClaims,
) -> Result<ViewerCredential, ApiError> {
    let Some(key) = claims.binding.proof.key().filter(|key| rules.existing_key.get() != Some(key)) else {
        return Ok(ViewerCredential::Path(Ok(claims)));
    };
    if !token::has_key(app, rules.workspace, key).await? {
        return Ok(ViewerCredential::Path(Err(PathError::KeyDeleted)));
    }
    // The first key stays cached; others are looked up each time.
    let _ = rules.existing_key.set(key);
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
    let (claims, part) = PathClaims::parse(playback, &bytes[..len])?;
    if app.store.has_signed_path(playback, part) { Ok(claims) } else { Err(PathError::Forged) }
}

/// How many whole seconds the signature of a path or of a pass is still valid; `None` without one.
pub(super) fn expires_in_s(credential: &ViewerCredential, now: Timestamp) -> Option<u32> {
    let expires_at = match credential {
        ViewerCredential::Path(Ok(claims)) => claims.expires_at(),
        ViewerCredential::Pass(Ok(claims)) => claims.expires_at(),
        ViewerCredential::Token(_) | ViewerCredential::Path(Err(_)) | ViewerCredential::Pass(Err(_)) => {
            return None;
        }
    };
    let expires_in_s = expires_at.micros_since(now) / Timestamp::SECOND;
    Some(u32::try_from(expires_in_s.max(0)).unwrap_or(u32::MAX))
}

/// How long shared caches may store content below a path, in seconds: as the operator allows
/// (`shared_max_age_s`), and not past the end of its signature.
///
/// `None` where a rule depends on the request: a cache would not apply it again. Addresses with a token have
/// no signed path, so no shared cache stores their responses: every client with such an address would get
/// them without a check of the token.
pub(super) fn s_maxage_s(shared_max_age_s: Option<u32>, vary: VaryOn, expires_in_s: u32) -> Option<u32> {
    let max_s = shared_max_age_s.filter(|_| vary == VaryOn::default())?;
    Some(expires_in_s.min(max_s))
}

#[cfg(test)]
mod tests {
    use kinora_domain::{AccessProof, PassClaims, PathBinding};

    use super::*;

    #[test]
    fn signed_path_expiry_is_never_negative() {
        let made = Timestamp::from_micros(0);
        let binding = PathBinding { generation: 0, proof: AccessProof::None, embedding_page: None };
        let claims =
            PathClaims::new("8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(), binding, 0, made);
        let end = claims.expires_at();
        let check = |from_end_us: i64, expected: u32| {
            let left =
                expires_in_s(&ViewerCredential::Path(Ok(claims.clone())), end.plus_micros(-from_end_us));
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
            assert_eq!(expires_in_s(&other, made), None);
        }
    }

    #[test]
    fn response_to_a_pass_is_cached_no_longer_than_it() {
        let issued = Timestamp::from_micros(0);
        let claims = PassClaims::new("8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(), 0, issued);
        let end = claims.expires_at();
        for (from_end_us, expected) in [(900_000_000, 900), (1_999_999, 1), (0, 0), (-1, 0)] {
            let left = expires_in_s(&ViewerCredential::Pass(Ok(claims)), end.plus_micros(-from_end_us));
            assert_eq!(left, Some(expected), "{from_end_us}");
        }
    }

    #[test]
    fn shared_cache_time_ends_with_the_signature() {
        let by_page = VaryOn { page: true, ..VaryOn::default() };
        assert_eq!(s_maxage_s(None, VaryOn::default(), 100), None);
        assert_eq!(s_maxage_s(Some(60), VaryOn::default(), 100), Some(60));
        assert_eq!(s_maxage_s(Some(60), VaryOn::default(), 7), Some(7));
        assert_eq!(s_maxage_s(Some(60), by_page, 100), None);
    }
}

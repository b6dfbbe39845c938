//! Playback tokens and signed paths: by what a viewer asks to be admitted.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::{Admission, Page, PathRefusal, PathTicket, PlaybackId, Timestamp, TokenRefusal, Viewer};
use kinora_web::error::ApiError;

use super::cached::{self, Found, Rules};
use super::{Granted, Offer, Playable, PlayableId, decide};
use crate::DeliveryState;
use crate::send::Asks;
use crate::token::{self, Verified, VerifyError};
use crate::viewing::{Pass, Viewing};

/// A viewer who was admitted, for as long as one answer takes.
pub(crate) struct PlaybackSession {
    playback: PlaybackId,
    /// The ticket that a child path would have had at the start: as with those, the session outlives its
    /// token, and does not outlive its key. `None` where everybody is admitted.
    path: Option<PathTicket>,
    page: Page,
    user_agent: Option<String>,
}

impl Granted {
    /// Of the viewer to whom this was granted.
    pub(crate) fn session(&self, app: &DeliveryState, viewing: &Viewing<'_>) -> PlaybackSession {
        let Offer { playback, length_us, .. } = *self.offer;
        let path = self.access.ticket.as_ref();
        PlaybackSession {
            playback,
            path: path.map(|facts| PathTicket::new(playback, facts.clone(), length_us, app.clock.now())),
            page: viewing.page(&app.addresses),
            user_agent: viewing.user_agent().map(Cow::into_owned),
        }
    }
}

impl PlaybackSession {
    /// Whether the viewer would be admitted now, and the media still `gives` it. 404 where the playback ID
    /// is gone.
    pub(crate) async fn is_valid(
        &self,
        app: &DeliveryState,
        gives: impl Fn(&Offer) -> bool,
    ) -> Result<bool, ApiError> {
        let Found { cached, .. } = cached::find(app, PlayableId::Playback(self.playback)).await?;
        let Some(rules) = &cached.rules else { return Ok(false) };
        let admission = match &self.path {
            None => Admission::Path(Err(PathRefusal::Missing)),
            Some(ticket) => by_ticket(app, rules, ticket.clone()).await?,
        };
        let viewer = Viewer {
            admission,
            page: self.page.clone(),
            frame: self.path.as_ref().and_then(|ticket| ticket.facts.frame.clone()),
            user_agent: self.user_agent.as_deref(),
        };
        let admitted = decide(app, &cached, &rules.policy, &viewer, app.clock.now()).into_result()?;
        Ok(matches!(&admitted.playable, Playable::Media(offer) if gives(offer)))
    }
}

/// Checks the token or the signed path of a request. Reads keys where they are not cached.
pub(super) async fn admission(
    app: &DeliveryState,
    rules: &Rules,
    viewing: &Viewing<'_>,
) -> Result<Admission, ApiError> {
    match &viewing.pass {
        // A public playback ID needs none.
        Pass::Token(_) if !rules.policy.is_private() => Ok(Admission::Token(Err(TokenRefusal::Missing))),
        Pass::Token(Ok(token)) => by_token(app, rules, token).await,
        Pass::Token(Err(refusal)) => Ok(Admission::Token(Err(*refusal))),
        Pass::Path(None) => Ok(Admission::Path(Err(PathRefusal::Missing))),
        Pass::Path(Some(signed)) => match read_path(app, rules.policy.playback(), signed) {
            Ok(ticket) => by_ticket(app, rules, ticket).await,
            Err(refusal) => Ok(Admission::Path(Err(refusal))),
        },
    }
}

/// Admits by a token that is valid for this playback ID now.
async fn by_token(app: &DeliveryState, rules: &Rules, token: &str) -> Result<Admission, ApiError> {
    let checked = match token::verify(app, rules.workspace, token).await {
        Ok(Verified { key, claims }) => claims.check(rules.policy.playback(), app.clock.now()).map(|()| key),
        Err(VerifyError::Refused(refusal)) => Err(refusal),
        Err(VerifyError::Failed(error)) => return Err(error),
    };
    Ok(Admission::Token(checked))
}

/// Admits by a ticket whose signing key still exists.
async fn by_ticket(app: &DeliveryState, rules: &Rules, ticket: PathTicket) -> Result<Admission, ApiError> {
    let Some(key) = ticket.facts.key.filter(|key| rules.key_there.get() != Some(key)) else {
        return Ok(Admission::Path(Ok(ticket)));
    };
    if !token::has_key(app, rules.workspace, key).await? {
        return Ok(Admission::Path(Err(PathRefusal::KeyGone)));
    }
    // The first one stays; others are looked up each time.
    let _ = rules.key_there.set(key);
    Ok(Admission::Path(Ok(ticket)))
}

/// Checks the signature of a path. Costs one hash and no query.
fn read_path(app: &DeliveryState, playback: PlaybackId, signed: &str) -> Result<PathTicket, PathRefusal> {
    if signed.len() > PathTicket::LEN_MAX.div_ceil(3) * 4 {
        return Err(PathRefusal::Forged);
    }
    // On the stack: every segment of a private media comes this way.
    let mut bytes = [0; PathTicket::LEN_MAX];
    let len = URL_SAFE_NO_PAD.decode_slice(signed, &mut bytes).map_err(|_| PathRefusal::Forged)?;
    let (ticket, part) = PathTicket::read(playback, &bytes[..len])?;
    if app.store.has_signed_path(playback, part) { Ok(ticket) } else { Err(PathRefusal::Forged) }
}

/// How many whole seconds the signature of a path is still valid; `None` without one.
pub(super) fn left_s(admission: &Admission, now: Timestamp) -> Option<u32> {
    let Admission::Path(Ok(ticket)) = admission else { return None };
    let left_s = ticket.expires_at().micros_since(now) / Timestamp::SECOND;
    Some(u32::try_from(left_s.max(0)).unwrap_or(u32::MAX))
}

/// How long shared caches may store what lies below a path, in seconds: as the operator allows
/// (`shared_max_age_s`), and not past the end of its signature. `None` where a rule depends on the request:
/// a cache would not apply it again. Addresses with a token have no signed path, so no shared cache stores
/// what they answer: anyone with such an address would get it without the token being checked.
pub(super) fn shared_s(shared_max_age_s: Option<u32>, asks: Asks, left_s: u32) -> Option<u32> {
    let most = shared_max_age_s.filter(|_| asks == Asks::default())?;
    Some(left_s.min(most))
}

#[cfg(test)]
mod tests {
    use kinora_domain::TicketFacts;

    use super::*;

    #[test]
    fn time_left_of_a_path_is_never_negative() {
        let made = Timestamp::from_micros(0);
        let facts = TicketFacts { generation: 0, key: None, frame: None };
        let ticket = PathTicket::new("8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(), facts, 0, made);
        let end = ticket.expires_at();
        let check = |from_end_us: i64, expected: u32| {
            let left = left_s(&Admission::Path(Ok(ticket.clone())), end.plus_micros(-from_end_us));
            assert_eq!(left, Some(expected), "{from_end_us}");
        };
        check(3_600_000_000, 3600);
        check(1_999_999, 1);
        check(1, 0);
        check(0, 0);
        check(-1, 0);
        check(-3_600_000_000, 0);
        for other in
            [Admission::Path(Err(PathRefusal::Expired)), Admission::Token(Err(TokenRefusal::Missing))]
        {
            assert_eq!(left_s(&other, made), None);
        }
    }

    #[test]
    fn shared_cache_time_ends_with_the_signature() {
        let by_page = Asks { page: true, ..Asks::default() };
        assert_eq!(shared_s(None, Asks::default(), 100), None);
        assert_eq!(shared_s(Some(60), Asks::default(), 100), Some(60));
        assert_eq!(shared_s(Some(60), Asks::default(), 7), Some(7));
        assert_eq!(shared_s(Some(60), by_page, 100), None);
    }
}

//! The session of a request, from its cookie.
//!
//! A session is cached for 1 s, so one that ended on another process is rejected within 2 s. Times of use
//! are written in batches. The secret is replaced once a day; the earlier one stays valid for requests
//! under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use kinora_domain::{Member, SecretHash, Session, SessionId, Timestamp};
use kinora_service::OpenedSession;
use kinora_store::Store;
use kinora_web::error::ApiError;

use crate::DashboardState;

/// The session of a request, and its person.
#[derive(Debug, Clone)]
pub(crate) struct CurrentSession {
    pub(crate) session: Session,
    pub(crate) member: Member,
}

/// The session of a request.
pub(crate) struct Authenticated {
    pub(crate) current: CurrentSession,
    /// The cookie with a new secret, for the response.
    pub(crate) cookie: Option<HeaderValue>,
}

/// Whether a request replaces a secret that is a day old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotation {
    /// It does.
    WhenDue,
    /// The operation replaces the secret itself, or ends the session. After two replacements the secret of
    /// requests under way would be invalid.
    Never,
}

/// Sessions of the last second, and times of use that are not written yet.
pub(crate) struct Sessions {
    /// By the hash of the secret that was sent. Unknown secrets are not cached.
    cached: moka::sync::Cache<[u8; 32], Arc<CurrentSession>>,
    uses: Mutex<HashMap<SessionId, Timestamp>>,
}

impl Default for Sessions {
    fn default() -> Self {
        let cached = moka::sync::Cache::builder()
            .max_capacity(Self::CACHED_MAX)
            .time_to_live(Self::TIME_TO_LIVE)
            .build();
        Self { cached, uses: Mutex::default() }
    }
}

impl Sessions {
    /// Half of the 2 s within which an ended session is rejected.
    const TIME_TO_LIVE: Duration = Duration::from_secs(1);
    /// About 1 KB each.
    const CACHED_MAX: u64 = 10_000;
    /// Uses within this time of the last one are not recorded: a session ends after days.
    const USE_PRECISION_US: i64 = 60 * Timestamp::SECOND;

    /// Drops all cached sessions, after one was changed or ended.
    pub(crate) fn forget_cached(&self) {
        self.cached.invalidate_all();
    }

    /// The time of the last use, also if it is not written yet.
    fn seen_at(&self, session: &Session) -> Timestamp {
        let uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        uses.get(&session.id).map_or(session.seen_at, |used_at| session.seen_at.max(*used_at))
    }

    /// Records a use.
    fn record_use(&self, presented: &SecretHash, session: &Session, now: Timestamp) {
        if now.micros_since(session.seen_at) < Self::USE_PRECISION_US {
            return;
        }
        self.uses.lock().unwrap_or_else(PoisonError::into_inner).insert(session.id, now);
        // Else the cached session would be older than its row, once this use is written.
        self.cached.invalidate(presented.as_bytes());
    }

    /// Writes the recorded uses.
    pub(crate) async fn write_uses(&self, store: &Store) -> Result<(), kinora_store::Error> {
        let recorded: Vec<_> = {
            let uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
            uses.iter().map(|(id, used_at)| (*id, *used_at)).collect()
        };
        if recorded.is_empty() {
            return Ok(());
        }
        let written = recorded.clone();
        store.write(async move |tx| tx.save_session_uses(&written).await).await?;
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, used_at) in recorded {
            if uses.get(&id) == Some(&used_at) {
                uses.remove(&id);
            }
        }
        Ok(())
    }
}

impl DashboardState {
    /// The session of these headers; `None` without a valid one. `Authorization` is not read.
    pub(crate) async fn authenticate(
        &self,
        request: &HeaderMap,
        rotation: Rotation,
    ) -> Result<Option<Authenticated>, ApiError> {
        let Some(secret) = self.cookie.secret(request) else { return Ok(None) };
        let (presented, now) = (SecretHash::of(secret), self.clock.now());
        let found = match self.sessions.cached.get(presented.as_bytes()) {
            Some(found) => found,
            None => {
                let Some((session, member)) = Box::pin(self.store.session(&presented)).await? else {
                    return Ok(None);
                };
                let found = Arc::new(CurrentSession { session, member });
                self.sessions.cached.insert(*presented.as_bytes(), Arc::clone(&found));
                found
            }
        };
        let mut current = CurrentSession::clone(&found);
        current.session.seen_at = self.sessions.seen_at(&current.session);
        if !current.session.accepts(&presented, now) {
            return Ok(None);
        }
        self.sessions.record_use(&presented, &current.session, now);
        if rotation == Rotation::Never || !current.session.needs_rotation(&presented, now) {
            return Ok(Some(Authenticated { current, cookie: None }));
        }
        Ok(Some(Box::pin(self.rotate(presented, current)).await))
    }

    /// Replaces the secret. If another request has just done that, or the database cannot be written, this
    /// one continues with the earlier secret.
    async fn rotate(&self, presented: SecretHash, current: CurrentSession) -> Authenticated {
        let rotated = self.service.rotate_session(current.session.id, presented).await;
        self.sessions.cached.invalidate(presented.as_bytes());
        match rotated {
            Ok(Some(opened)) => {
                let (current, cookie) = self.take_over(opened);
                Authenticated { current, cookie: Some(cookie) }
            }
            Ok(None) => Authenticated { current, cookie: None },
            Err(error) => {
                tracing::warn!(error = %error, "the secret of a session could not be replaced");
                Authenticated { current, cookie: None }
            }
        }
    }

    /// The session that an operation opened or changed, and the cookie with its secret.
    pub(crate) fn take_over(&self, opened: OpenedSession) -> (CurrentSession, HeaderValue) {
        let OpenedSession { session, secret, member } = opened;
        let left_us = session.ends_at.micros_since(self.clock.now()).max(0);
        let cookie = self.cookie.set(&secret, left_us / Timestamp::SECOND);
        (CurrentSession { session, member }, cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the 2 s in which an ended session is rejected (D-0150).
    #[test]
    fn cached_session_expires_within_1_s() {
        let ttl = Sessions::default().cached.policy().time_to_live();
        assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
    }
}

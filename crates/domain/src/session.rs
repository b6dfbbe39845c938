//! Sessions of people in the dashboard: when they are valid, rotated and confirmed.

use crate::{PersonId, Random, RequestOrigin, SecretHash, SessionId, Timestamp};

const MINUTE_US: i64 = 60 * Timestamp::SECOND;
const HOUR_US: i64 = 60 * MINUTE_US;
const DAY_US: i64 = 24 * HOUR_US;

/// A signed-in browser. Its secret is in a cookie; only the hash is stored.
#[derive(Debug, Clone)]
pub struct Session {
    /// Names it in lists. It stays when the secret is rotated.
    pub id: SessionId,
    /// Who signed in.
    pub person: PersonId,
    /// The hash of its secret.
    pub secret: SecretHash,
    /// The earlier secret, for requests under way during a rotation.
    pub previous: Option<PreviousSecret>,
    /// When the person signed in.
    pub created_at: Timestamp,
    /// Time of the last request, with an error of some minutes.
    pub seen_at: Timestamp,
    /// When it ends in any case.
    pub ends_at: Timestamp,
    /// When the person last gave the password.
    pub confirmed_at: Timestamp,
    /// When its secret was made.
    pub rotated_at: Timestamp,
    /// The address of the client at sign-in.
    pub address: String,
    /// The `User-Agent` of the client at sign-in.
    pub client: String,
}

/// A secret before its rotation.
#[derive(Debug, Clone, Copy)]
pub struct PreviousSecret {
    /// Its hash.
    pub secret: SecretHash,
    /// Valid until this time.
    pub until: Timestamp,
}

impl Session {
    /// Ends after so long without a request.
    pub const IDLE_MAX_US: i64 = 7 * DAY_US;
    /// Ends so long after the sign-in.
    pub const AGE_MAX_US: i64 = 30 * DAY_US;
    /// A secret is replaced after so long.
    pub const ROTATE_AFTER_US: i64 = DAY_US;
    /// A replaced secret is valid so much longer, for requests under way.
    pub const PREVIOUS_VALID_US: i64 = MINUTE_US;
    /// A confirmation by password holds so long.
    pub const CONFIRMED_US: i64 = 30 * MINUTE_US;
    /// Longest `User-Agent` that is stored, in characters.
    pub const CLIENT_MAX: usize = 256;

    /// Most sessions of a person: a sign-in beyond them ends the one that was unused for longest.
    pub const PER_PERSON_MAX: u32 = 100;

    /// A new session of a person who just gave their password. `secret`: the hash of its secret.
    pub fn open(
        person: PersonId,
        secret: SecretHash,
        origin: &RequestOrigin,
        now: Timestamp,
        random: &dyn Random,
    ) -> Self {
        let client = origin.client.as_deref().unwrap_or_default();
        Self {
            id: SessionId::new(now, random),
            person,
            secret,
            previous: None,
            created_at: now,
            seen_at: now,
            ends_at: now.plus_micros(Self::AGE_MAX_US),
            confirmed_at: now,
            rotated_at: now,
            address: origin.address.clone().unwrap_or_default(),
            client: client.chars().filter(|char| !char.is_control()).take(Self::CLIENT_MAX).collect(),
        }
    }

    /// When it ends if no further request comes.
    pub fn valid_until(&self) -> Timestamp {
        self.ends_at.min(self.seen_at.plus_micros(Self::IDLE_MAX_US))
    }

    /// Whether it has not ended.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now < self.valid_until()
    }

    /// Whether a request with a secret of this hash belongs to it now.
    pub fn accepts(&self, secret: &SecretHash, now: Timestamp) -> bool {
        let is_previous =
            self.previous.is_some_and(|previous| previous.secret.matches(secret) && now < previous.until);
        self.is_valid(now) && (self.secret.matches(secret) || is_previous)
    }

    /// Whether a request with a secret of this hash gets a new one. A replaced secret never does: a stolen
    /// one is valid for the rest of its minute only.
    pub fn needs_rotation(&self, secret: &SecretHash, now: Timestamp) -> bool {
        let is_old = now.micros_since(self.rotated_at) >= Self::ROTATE_AFTER_US;
        is_old && self.secret.matches(secret)
    }

    /// Replaces the secret.
    #[must_use]
    pub fn rotate(mut self, secret: SecretHash, now: Timestamp) -> Self {
        let until = now.plus_micros(Self::PREVIOUS_VALID_US);
        self.previous = Some(PreviousSecret { secret: self.secret, until });
        self.secret = secret;
        self.rotated_at = now;
        self
    }

    /// Records that the person just gave their password, and replaces the secret.
    #[must_use]
    pub fn confirm(mut self, secret: SecretHash, now: Timestamp) -> Self {
        self.confirmed_at = now;
        self.rotate(secret, now)
    }

    /// Replaces the secret after the person has a new password. The earlier secret ends at once, so a copy of
    /// it is useless.
    #[must_use]
    pub fn renew(self, secret: SecretHash, now: Timestamp) -> Self {
        Self { previous: None, ..self.confirm(secret, now) }
    }

    /// When the confirmation ends.
    pub fn confirmed_until(&self) -> Timestamp {
        self.confirmed_at.plus_micros(Self::CONFIRMED_US)
    }

    /// Whether the password was given lately enough for an action that wants it.
    pub fn is_confirmed(&self, now: Timestamp) -> bool {
        now < self.confirmed_until()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    struct Sevens;

    impl Random for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    struct Eights;

    impl Random for Eights {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(8);
        }
    }

    const NOW: i64 = 1_762_164_228_595_604;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(NOW + micros)
    }

    fn session() -> (Session, Secret) {
        let secret = Secret::new(&Sevens);
        let origin = RequestOrigin {
            address: Some("192.0.2.1".into()),
            client: Some(format!("Firefox\n{}", "x".repeat(300))),
            request_id: None,
        };
        let person = PersonId::new(at(0), &Sevens);
        (Session::open(person, secret.hash(), &origin, at(0), &Sevens), secret)
    }

    #[test]
    fn session_ends_after_seven_days_unused() {
        let (mut session, secret) = session();
        let check = |session: &Session, micros: i64, valid: bool| {
            assert_eq!(session.is_valid(at(micros)), valid, "{micros}");
            assert_eq!(session.accepts(&secret.hash(), at(micros)), valid, "{micros}");
        };
        check(&session, 7 * DAY_US - 1, true);
        check(&session, 7 * DAY_US, false);
        session.seen_at = at(6 * DAY_US);
        check(&session, 13 * DAY_US - 1, true);
        check(&session, 13 * DAY_US, false);
    }

    #[test]
    fn session_ends_thirty_days_after_sign_in() {
        let (mut session, _) = session();
        session.seen_at = at(30 * DAY_US - 2);
        assert!(session.is_valid(at(30 * DAY_US - 1)));
        assert!(!session.is_valid(at(30 * DAY_US)));
        assert_eq!(session.valid_until(), at(30 * DAY_US));
        let rotated = session.confirm(Secret::new(&Eights).hash(), at(30 * DAY_US - 1));
        assert!(!rotated.is_valid(at(30 * DAY_US)), "neither rotation nor confirmation extends it");
    }

    #[test]
    fn secret_is_rotated_after_a_day_by_its_current_value_only() {
        let (session, first) = session();
        assert!(!session.needs_rotation(&first.hash(), at(DAY_US - 1)));
        assert!(session.needs_rotation(&first.hash(), at(DAY_US)));

        let second = Secret::new(&Eights);
        let rotated = session.clone().rotate(second.hash(), at(DAY_US));
        assert_eq!(rotated.id, session.id);
        assert!(!rotated.needs_rotation(&second.hash(), at(2 * DAY_US - 1)));
        assert!(rotated.needs_rotation(&second.hash(), at(2 * DAY_US)));
        assert!(!rotated.needs_rotation(&first.hash(), at(2 * DAY_US)));
    }

    #[test]
    fn rotated_secret_is_valid_for_a_minute() {
        let (session, first) = session();
        let second = Secret::new(&Eights);
        let rotated = session.rotate(second.hash(), at(DAY_US));
        let check = |secret: &Secret, micros: i64, accepted: bool| {
            assert_eq!(rotated.accepts(&secret.hash(), at(DAY_US + micros)), accepted, "{micros}");
        };
        check(&first, 0, true);
        check(&first, MINUTE_US - 1, true);
        check(&first, MINUTE_US, false);
        check(&second, MINUTE_US, true);
        assert!(!rotated.accepts(&SecretHash::of("another"), at(DAY_US)));
    }

    #[test]
    fn confirmation_holds_thirty_minutes() {
        let (session, _) = session();
        assert!(session.is_confirmed(at(29 * MINUTE_US)));
        assert!(!session.is_confirmed(at(30 * MINUTE_US)));
        assert!(!session.is_confirmed(at(31 * MINUTE_US)));
        let rotated = session.clone().rotate(Secret::new(&Eights).hash(), at(29 * MINUTE_US));
        assert!(!rotated.is_confirmed(at(31 * MINUTE_US)), "a rotation confirms nothing");
        let confirmed = session.confirm(Secret::new(&Eights).hash(), at(31 * MINUTE_US));
        assert!(confirmed.is_confirmed(at(60 * MINUTE_US)));
        assert_eq!(confirmed.confirmed_until(), at(61 * MINUTE_US));
    }

    #[test]
    fn user_agent_is_stored_short_and_printable() {
        let (session, _) = session();
        assert_eq!(session.client.chars().count(), Session::CLIENT_MAX);
        assert!(session.client.starts_with("Firefoxx"));
    }
}

//! Links that let a person set a password once, without a mail server.

use crate::{Email, OneTimeLinkId, OrganisationId, PersonId, Role, Secret, SecretHash, Timestamp};

const HOUR_US: i64 = 60 * 60 * Timestamp::SECOND;

/// The purpose of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// The first password of a person whom the command line created.
    Setup,
    /// Makes an account for an address. The person exists only after its use.
    Invitation,
    /// A new password for a person who has one. The old one holds until then.
    Reset,
}

impl LinkKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Setup, Self::Invitation, Self::Reset];

    /// The name in JSON and in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Invitation => "invitation",
            Self::Reset => "reset",
        }
    }

    /// The kind with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// How long a link is valid.
    pub fn lifetime_us(self) -> i64 {
        match self {
            Self::Setup => 24 * HOUR_US,
            Self::Invitation => 7 * 24 * HOUR_US,
            Self::Reset => HOUR_US,
        }
    }

    /// The page of the dashboard that takes it, below `{public_url}/dashboard/`.
    pub fn page(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Invitation => "join",
            Self::Reset => "reset",
        }
    }

    /// The address of a link. The secret is in the fragment, so that it is in no log and no `Referer`.
    pub fn url(self, public_url: &str, secret: &Secret) -> String {
        format!("{public_url}/dashboard/{}#{}", self.page(), secret.reveal())
    }
}

/// A link for one use. Only the hash of its secret is stored.
#[derive(Debug, Clone)]
pub struct OneTimeLink {
    /// Names it in lists.
    pub id: OneTimeLinkId,
    /// The hash of its secret.
    pub secret: SecretHash,
    /// Its purpose.
    pub kind: LinkKind,
    /// The organisation.
    pub organisation: OrganisationId,
    /// Whose password it sets. `None` for an invitation.
    pub person: Option<PersonId>,
    /// The email address of that person, or of who is invited.
    pub email: Email,
    /// The role of that person, or of who is invited.
    pub role: Role,
    /// The administrator who made it. `None`: the command line, or a person who was removed.
    pub made_by: Option<PersonId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Valid until this time.
    pub ends_at: Timestamp,
    /// When it was used.
    pub used_at: Option<Timestamp>,
}

/// Why a link cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkClosed {
    /// It was used.
    Used,
    /// It ended: its time is over, a later link replaced it, or it was taken back.
    Ended,
}

impl OneTimeLink {
    /// Whether it can be used.
    pub fn check(&self, now: Timestamp) -> Result<(), LinkClosed> {
        if self.used_at.is_some() {
            Err(LinkClosed::Used)
        } else if now >= self.ends_at {
            Err(LinkClosed::Ended)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_open_until_used_or_ended() {
        for kind in LinkKind::ALL {
            assert_eq!(LinkKind::from_text(kind.as_str()), Some(kind));
            let uuid = uuid::Uuid::nil();
            let now = Timestamp::from_micros(0);
            let link = OneTimeLink {
                id: OneTimeLinkId::from_uuid(uuid),
                secret: SecretHash::of("secret"),
                kind,
                organisation: OrganisationId::from_uuid(uuid),
                person: None,
                email: Email::parse("a@b").expect("an address"),
                role: Role::Viewer,
                made_by: None,
                created_at: now,
                ends_at: now.plus_micros(kind.lifetime_us()),
                used_at: None,
            };
            let hours = match kind {
                LinkKind::Setup => 24,
                LinkKind::Invitation => 168,
                LinkKind::Reset => 1,
            };
            assert_eq!(link.check(now.plus_micros(hours * HOUR_US - 1)), Ok(()));
            assert_eq!(link.check(now.plus_micros(hours * HOUR_US)), Err(LinkClosed::Ended));
            let used = OneTimeLink { used_at: Some(now), ..link };
            assert_eq!(used.check(now), Err(LinkClosed::Used));
        }
    }
}

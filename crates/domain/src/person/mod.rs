//! People: who signs in to the dashboard.

mod email;
mod settings;

pub use email::{BadEmail, Email};
pub use settings::{LibraryView, PersonSettings, SettingsChange, Theme, TimeZoneChoice};

use crate::{OrganisationId, PasswordHash, PersonId, Random, Timestamp, name};

/// What a person may do in the organisation. [`Role::may`] decides about each action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Everything.
    Admin,
    /// Reads and changes in all workspaces, as a read-write token of each.
    Member,
    /// Reads in all workspaces, as a read-only token of each.
    Viewer,
}

impl Role {
    /// All roles, the most powerful first.
    pub const ALL: [Self; 3] = [Self::Admin, Self::Member, Self::Viewer];

    /// The name in JSON and in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }

    /// The word in sentences and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Admin => "administrator",
            other => other.as_str(),
        }
    }

    /// The role with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

/// A person who may sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Their ID.
    pub id: PersonId,
    /// Their email address; no other person has it.
    pub email: Email,
    /// Their name; `None` until they used their first link.
    pub name: Option<String>,
    /// `None` until they used their first link.
    pub password: Option<PasswordHash>,
    /// When they were disabled. They cannot sign in since then.
    pub disabled_at: Option<Timestamp>,
    /// What they chose for themselves in the dashboard.
    pub settings: PersonSettings,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of their last request, with an error of some minutes.
    pub seen_at: Option<Timestamp>,
    /// The version of the row that was read.
    pub version: i64,
}

impl Person {
    /// Longest name, in characters. Our own limit.
    pub const NAME_MAX: usize = name::MAX;

    /// A new person without a password.
    pub fn create(email: Email, name: Option<String>, now: Timestamp, random: &dyn Random) -> Self {
        Self {
            id: PersonId::new(now, random),
            email,
            name,
            password: None,
            disabled_at: None,
            settings: PersonSettings::default(),
            created_at: now,
            seen_at: None,
            version: 0,
        }
    }

    /// Validates a name and removes spaces around it. The error is a sentence for the client.
    pub fn parse_name(text: &str) -> Result<String, &'static str> {
        name::parse(text)
    }

    /// Whether they are enabled and have a password.
    pub fn can_sign_in(&self) -> bool {
        self.disabled_at.is_none() && self.password.is_some()
    }

    /// The name, or the email address of a person without one.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.email.as_str())
    }
}

/// A person and their role in the organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The person.
    pub person: Person,
    /// The organisation.
    pub organisation: OrganisationId,
    /// Their role there.
    pub role: Role,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_names_are_read_back() {
        for role in Role::ALL {
            assert_eq!(Role::from_text(role.as_str()), Some(role));
        }
        assert_eq!(Role::from_text("owner"), None);
        assert_eq!(Role::Admin.word(), "administrator");
    }
}

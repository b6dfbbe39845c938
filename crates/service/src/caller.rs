//! The caller of an operation.

use std::fmt;

use kinora_domain::{AccessTokenId, PersonId, WorkspaceId};

/// The principal and the workspace of an operation. Other workspaces do not exist for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The only workspace that the operation reads and changes.
    pub workspace: WorkspaceId,
    /// The identity to which idempotency keys and rate limits apply.
    pub principal: Principal,
}

impl Caller {
    /// An operator at the command line.
    pub fn command_line(workspace: WorkspaceId) -> Self {
        Self { workspace, principal: Principal::CommandLine }
    }
}

/// The identity of a caller, independent of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The holder of an access token.
    AccessToken(AccessTokenId),
    /// A person who is signed in to the dashboard.
    Person(PersonId),
    /// An operator on the machine of the database.
    CommandLine,
}

/// A name that no other principal has. Stored idempotency keys depend on it: it never changes.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AccessToken(id) => id.fmt(f),
            Self::Person(id) => write!(f, "person-{id}"),
            Self::CommandLine => f.write_str("command-line"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principal_names_are_stable() {
        let id = "019a492c-41f3-7001-8203-040506070809";
        assert_eq!(Principal::AccessToken(id.parse().expect("an id")).to_string(), id);
        let person = Principal::Person(id.parse().expect("an id"));
        assert_eq!(person.to_string(), format!("person-{id}"));
        assert_eq!(Principal::CommandLine.to_string(), "command-line");
    }
}

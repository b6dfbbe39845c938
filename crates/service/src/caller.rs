//! The caller of an operation.

use std::fmt;
use std::net::IpAddr;

use kinora_domain::{AccessTokenId, PersonId, WorkspaceId};
use kinora_store::Tx;

use crate::Error;

/// The principal and the workspace of an operation. Other workspaces do not exist for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The only workspace that the operation reads and changes.
    pub workspace: WorkspaceId,
    /// The identity to which idempotency keys and rate limits apply.
    pub principal: Principal,
    /// The address of the client, where it is known, for the audit log.
    pub address: Option<IpAddr>,
}

impl Caller {
    /// Rejects an operation in a workspace that was deleted after the caller was authenticated: callers and
    /// workspaces are cached for a second. For operations that create; others do not find their object.
    ///
    /// Errors: `WorkspaceNotFound`; `AccessTokenNotFound`, because a token is deleted with its workspace.
    pub(crate) async fn check_workspace(&self, tx: &mut Tx) -> Result<(), Error> {
        match (tx.workspace(self.workspace).await?, self.principal) {
            (Some(_), _) => Ok(()),
            (None, Principal::AccessToken(_)) => Err(Error::AccessTokenNotFound),
            (None, Principal::Person(_) | Principal::CommandLine) => Err(Error::WorkspaceNotFound),
        }
    }

    /// An operator at the command line.
    pub fn command_line(workspace: WorkspaceId) -> Self {
        Self { workspace, principal: Principal::CommandLine, address: None }
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

//! What each role may do in the dashboard. The one table that decides; the page only hides.

use crate::{Permission, Role};

/// Something that a person may do or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read media, uploads, events, deliveries, playlists, live streams and usage; play any media.
    MediaSee,
    /// Upload; change and delete media and tracks.
    MediaChange,
    /// Playback IDs and their rules, playlists, revocation of playback tokens.
    PlaybackChange,
    /// Webhooks and their secrets.
    WebhooksChange,
    /// Live streams and their keys.
    LiveChange,
    /// List signing keys.
    SigningKeysSee,
    /// Create and delete signing keys.
    SigningKeysChange,
    /// List, create, rename and revoke access tokens.
    AccessTokensManage,
    /// List the people.
    PeopleSee,
    /// Invite people; change roles; disable, remove, reset.
    PeopleManage,
    /// Create, rename and delete workspaces.
    WorkspacesManage,
    /// Change the organisation.
    OrganisationManage,
    /// The state of the server.
    ServerSee,
    /// The audit log.
    AuditSee,
    /// The own account: name, password, sessions, settings.
    AccountChange,
}

/// Who may what: administrator, member, viewer.
const TABLE: [(Action, &str, [bool; 3]); 15] = [
    (Action::MediaSee, "media.see", [true, true, true]),
    (Action::MediaChange, "media.change", [true, true, false]),
    (Action::PlaybackChange, "playback.change", [true, true, false]),
    (Action::WebhooksChange, "webhooks.change", [true, true, false]),
    (Action::LiveChange, "live.change", [true, true, false]),
    (Action::SigningKeysSee, "signingKeys.see", [true, true, true]),
    (Action::SigningKeysChange, "signingKeys.change", [true, true, false]),
    (Action::AccessTokensManage, "accessTokens.manage", [true, false, false]),
    (Action::PeopleSee, "people.see", [true, true, true]),
    (Action::PeopleManage, "people.manage", [true, false, false]),
    (Action::WorkspacesManage, "workspaces.manage", [true, false, false]),
    (Action::OrganisationManage, "organisation.manage", [true, false, false]),
    (Action::ServerSee, "server.see", [true, false, false]),
    (Action::AuditSee, "audit.see", [true, false, false]),
    (Action::AccountChange, "account.change", [true, true, true]),
];

impl Action {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        let row = TABLE.iter().find(|(action, _, _)| *action == self);
        row.map_or("", |(_, name, _)| name)
    }
}

impl Role {
    /// Whether this role may do this.
    pub fn may(self, action: Action) -> bool {
        TABLE.iter().any(|(row, _, roles)| *row == action && self.column(roles))
    }

    /// All that this role may do.
    pub fn actions(self) -> Vec<Action> {
        TABLE.iter().filter(|(_, _, roles)| self.column(roles)).map(|(action, _, _)| *action).collect()
    }

    /// The permission of a person with this role in every workspace, in terms of access tokens.
    pub fn permission(self) -> Permission {
        match self {
            Self::Admin | Self::Member => Permission::ReadWrite,
            Self::Viewer => Permission::ReadOnly,
        }
    }

    fn column(self, roles: &[bool; 3]) -> bool {
        match self {
            Self::Admin => roles[0],
            Self::Member => roles[1],
            Self::Viewer => roles[2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(role: Role) -> Vec<&'static str> {
        role.actions().into_iter().map(Action::as_str).collect()
    }

    #[test]
    fn viewer_reads_and_changes_only_their_account() {
        assert_eq!(names(Role::Viewer), ["media.see", "signingKeys.see", "people.see", "account.change"]);
        assert_eq!(Role::Viewer.permission(), Permission::ReadOnly);
    }

    #[test]
    fn member_changes_what_a_token_changes_and_nothing_of_the_organisation() {
        let expected = [
            "media.see",
            "media.change",
            "playback.change",
            "webhooks.change",
            "live.change",
            "signingKeys.see",
            "signingKeys.change",
            "people.see",
            "account.change",
        ];
        assert_eq!(names(Role::Member), expected);
        assert!(!Role::Member.may(Action::AccessTokensManage));
        assert_eq!(Role::Member.permission(), Permission::ReadWrite);
    }

    #[test]
    fn administrator_may_do_everything() {
        assert_eq!(names(Role::Admin).len(), TABLE.len());
        assert!(TABLE.iter().all(|(action, name, _)| Role::Admin.may(*action) && action.as_str() == *name));
    }
}

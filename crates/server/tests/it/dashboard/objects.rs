//! Objects of the organisation, and a valid request of each operation on them.

use kinora_dashboard::Operation;
use kinora_domain::{
    AccessTokenId, Actor, Clock as _, Email, OneTimeLinkId, Permission, PersonId, Role, Workspace,
};
use kinora_service::NewAccessToken;
use serde_json::{Value, json};

use super::support::{Browser, World};
use crate::support::{Answer, Request};

/// One object of each kind, which no test uses otherwise.
pub(super) struct Objects {
    person: PersonId,
    invitation: OneTimeLinkId,
    /// It is empty.
    workspace: Workspace,
    token: AccessTokenId,
    /// Makes names unique.
    suffix: String,
}

impl Objects {
    pub(super) async fn create(world: &World) -> Self {
        let actor = Actor::command_line();
        let suffix = format!("{}-{}", world.clock.now().as_micros(), world.audit().await.len());
        let email = |name: &str| Email::parse(&format!("{name}-{suffix}@example.com")).unwrap();
        let person = world.person(email("object").as_str(), Role::Viewer).await.person.id;
        let invited = world.service.invitation_link(&actor, email("invited"), Role::Viewer).await.unwrap();
        let workspace = world.service.create_workspace(&actor, &format!("Empty {suffix}")).await.unwrap();
        let new = NewAccessToken {
            workspace: world.development().await,
            name: format!("Token {suffix}"),
            permission: Permission::ReadOnly,
        };
        let token = world.service.create_access_token(&actor, new).await.unwrap().token.id;
        Self { person, invitation: invited.link.id, workspace, token, suffix }
    }

    /// The path of an operation on these objects.
    pub(super) fn path(&self, operation: &Operation) -> String {
        operation
            .path
            .replace("{accessTokenId}", &self.token.to_string())
            .replace("{personId}", &self.person.to_string())
            .replace("{invitationId}", &self.invitation.to_string())
            .replace("{workspaceId}", &self.workspace.id.to_string())
    }

    /// A valid request of an operation.
    pub(super) fn request(&self, browser: &Browser<'_>, operation: &Operation) -> Request {
        let request = browser.request(operation.method(), &self.path(operation));
        match self.body(operation) {
            Value::Null => request,
            body => request.json(&body),
        }
    }

    pub(super) async fn send(&self, browser: &Browser<'_>, operation: &Operation) -> Answer {
        browser.send(self.request(browser, operation)).await
    }

    fn body(&self, operation: &Operation) -> Value {
        let Self { suffix, workspace, .. } = self;
        match (operation.method(), operation.path) {
            ("GET" | "DELETE", _) => Value::Null,
            ("POST", "/access-tokens") => {
                json!({"name": "Player", "workspaceId": workspace.id.to_string(), "permission": "read-only"})
            }
            ("PATCH", "/people/{personId}") => json!({"role": "member"}),
            ("POST", "/people/{personId}/reset") => json!({}),
            ("POST", "/invitations") => {
                json!({"email": format!("new-{suffix}@example.com"), "role": "viewer"})
            }
            ("POST", "/workspaces") => json!({"name": format!("New {suffix}")}),
            ("PATCH", _) => json!({"name": format!("Other {suffix}")}),
            (method, path) => panic!("no valid body of {method} {path} is known; add one"),
        }
    }
}

/// All rows of the organisation and the audit log, as text. Without times of use, which are written later.
pub(super) async fn rows(world: &World) -> String {
    let store = &world.app.store;
    let tokens = store.access_tokens(None).await.unwrap();
    let mut members = store.members().await.unwrap();
    members.iter_mut().for_each(|member| member.person.seen_at = None);
    let (workspaces, organisation) = (store.workspaces().await.unwrap(), store.organisation().await.unwrap());
    let invitations = store.open_invitations(world.clock.now()).await.unwrap();
    let audit = world.audit_entries().await;
    format!("{tokens:?}\n{members:?}\n{workspaces:?}\n{organisation:?}\n{invitations:?}\n{audit:?}")
}

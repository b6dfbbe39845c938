//! Rows of the audit log, made in the transaction of the change.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kinora_domain::{
    Actor, AuditAction, AuditEntry, AuditId, AuditObject, FailedSignIns, OrganisationId, Person,
    RequestOrigin, Timestamp, Who, Workspace, WorkspaceId,
};
use kinora_store::Tx;

use crate::{Caller, Error, Principal, Service};

/// A row of the audit log before it has an ID.
pub(crate) struct NewAudit {
    pub(crate) organisation: OrganisationId,
    pub(crate) workspace: Option<WorkspaceId>,
    pub(crate) action: AuditAction,
    pub(crate) object: AuditObject,
    pub(crate) details: BTreeMap<String, String>,
}

impl NewAudit {
    /// About a person.
    pub(crate) fn person(organisation: OrganisationId, action: AuditAction, person: &Person) -> Self {
        let object = AuditObject::person(person);
        Self { organisation, workspace: None, action, object, details: BTreeMap::new() }
    }

    /// About an object of the organisation.
    pub(crate) fn object(
        organisation: OrganisationId,
        action: AuditAction,
        kind: &'static str,
        id: impl ToString,
    ) -> Self {
        let object = AuditObject { kind: Cow::Borrowed(kind), id: id.to_string(), name: String::new() };
        Self { organisation, workspace: None, action, object, details: BTreeMap::new() }
    }

    /// About a workspace, or an object in it.
    pub(crate) fn in_workspace(
        workspace: &Workspace,
        action: AuditAction,
        kind: &'static str,
        id: impl ToString,
    ) -> Self {
        Self { workspace: Some(workspace.id), ..Self::object(workspace.organisation, action, kind, id) }
    }

    /// Adds the name of the object.
    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.object.name = name.into();
        self
    }

    /// Adds a fact. Never a secret.
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.details.insert(name.to_owned(), value.to_string());
        self
    }

    /// Adds how many one-time links ended with the change.
    pub(crate) fn with_ended_links(self, ended: u64) -> Self {
        if ended == 0 { self } else { self.with("endedLinks", ended) }
    }

    /// Adds the row to the transaction.
    pub(crate) async fn push(self, tx: &mut Tx, actor: &Actor, now: Timestamp) -> Result<(), Error> {
        let Self { organisation, workspace, action, object, details } = self;
        let id = AuditId::new(now, tx.random());
        let actor = actor.clone();
        let entry = AuditEntry { id, organisation, workspace, at: now, actor, action, object, details };
        Ok(tx.push_audit(&entry).await?)
    }
}

/// A row about an object of the caller's workspace, before its actor and its workspace are read.
pub(crate) struct CallerAudit {
    action: AuditAction,
    kind: &'static str,
    id: String,
    name: String,
    details: Vec<(&'static str, String)>,
}

impl CallerAudit {
    /// About this object.
    pub(crate) fn new(action: AuditAction, kind: &'static str, id: impl ToString) -> Self {
        Self { action, kind, id: id.to_string(), name: String::new(), details: Vec::new() }
    }

    /// Adds the name of the object.
    pub(crate) fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a fact. Never a secret.
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.details.push((name, value.to_string()));
        self
    }

    /// Adds the row to the transaction.
    pub(crate) async fn push(self, tx: &mut Tx, caller: &Caller, now: Timestamp) -> Result<(), Error> {
        let Some(workspace) = tx.workspace(caller.workspace).await? else { return Ok(()) };
        let address = caller.address.map(|address| address.to_string());
        let origin = RequestOrigin { address, ..RequestOrigin::default() };
        let actor = Actor { who: who(tx, caller.principal).await?, origin };
        let row = NewAudit::in_workspace(&workspace, self.action, self.kind, self.id).named(self.name);
        let add = |row: NewAudit, (name, value): (&str, String)| row.with(name, value);
        self.details.into_iter().fold(row, add).push(tx, &actor, now).await
    }
}

/// The actor of an operation in a workspace.
async fn who(tx: &mut Tx, principal: Principal) -> Result<Who, Error> {
    Ok(match principal {
        Principal::AccessToken(id) => {
            let token = tx.access_token(id).await?;
            Who::AccessToken { id, name: token.and_then(|token| token.name).unwrap_or_default() }
        }
        Principal::Person(id) => match tx.member(id).await? {
            Some(member) => Who::of(&member),
            None => Who::Person { id, name: String::new() },
        },
        Principal::CommandLine => Who::CommandLine,
    })
}

impl Service {
    /// Adds refused sign-ins of one person to the audit log, as one row. A person who was removed meanwhile
    /// has none.
    pub async fn record_failed_sign_ins(&self, failed: FailedSignIns) -> Result<(), Error> {
        let now = self.clock.now();
        self.store
            .write(async move |tx| {
                let Some(member) = tx.member(failed.person).await? else { return Ok(()) };
                let actor = Actor { who: Who::Anonymous, origin: failed.origin.clone() };
                NewAudit::person(member.organisation, AuditAction::SignInFailed, &member.person)
                    .with("count", failed.count)
                    .with("firstAt", failed.first_at)
                    .with("lastAt", failed.last_at)
                    .push(tx, &actor, now)
                    .await
            })
            .await
    }
}

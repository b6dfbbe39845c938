//! The audit log. A row is added in the commit of the change that it describes, and never changed.

use std::collections::BTreeMap;

use kinora_domain::{Actor, AuditAction, AuditEntry, AuditObject, RequestOrigin, Who};
use serde::{Deserialize, Serialize};

use crate::sql::{Row, statements, values};
use crate::{Error, Store, Tx};

statements! {
    INSERT = "INSERT INTO audit
        (id, organisation_id, workspace_id, at, actor, action, object, details, address, request_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    NEWEST = "SELECT sequence, id, organisation_id, workspace_id, at, actor, action, object, details, address,
        request_id FROM audit WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2";
}

impl Store {
    /// A page of the audit log, newest first, with the position of each row. `before`: the position of the
    /// last row of the page before.
    pub async fn audit_entries(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, AuditEntry)>, Error> {
        let values = values![before.unwrap_or(i64::MAX), limit];
        let rows = self.reader().await?.all(NEWEST, values).await?;
        rows.iter().map(|row| Ok((row.int("sequence")?, read(row)?))).collect()
    }
}

impl Tx {
    /// Adds a row to the audit log.
    pub async fn push_audit(&mut self, entry: &AuditEntry) -> Result<(), Error> {
        let values = values![
            entry.id,
            entry.organisation,
            entry.workspace,
            entry.at,
            NamedJson::actor(&entry.actor.who),
            entry.action.as_str(),
            NamedJson::object(&entry.object),
            serde_json::to_string(&entry.details).expect("texts are always JSON"),
            entry.actor.origin.address.as_deref(),
            entry.actor.origin.request_id.as_deref(),
        ];
        self.session.execute(INSERT, values).await.map(drop)
    }
}

/// An actor or an object.
#[derive(Serialize, Deserialize)]
struct NamedJson {
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
}

impl NamedJson {
    fn actor(who: &Who) -> String {
        let (id, name) = match who {
            Who::Person { id, name } => (id.to_string(), name.clone()),
            Who::AccessToken(id) => (id.to_string(), String::new()),
            Who::CommandLine | Who::Server | Who::Anonymous => Default::default(),
        };
        Self { kind: who.kind().to_owned(), id, name }.text()
    }

    fn object(object: &AuditObject) -> String {
        let AuditObject { kind, id, name } = object.clone();
        Self { kind: kind.into_owned(), id, name }.text()
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("texts are always JSON")
    }

    fn who(self) -> Result<Who, Error> {
        let invalid = || Row::invalid_column("actor");
        Ok(match &*self.kind {
            "person" => Who::Person { id: self.id.parse().map_err(|_| invalid())?, name: self.name },
            "access_token" => Who::AccessToken(self.id.parse().map_err(|_| invalid())?),
            "command" => Who::CommandLine,
            "server" => Who::Server,
            "anonymous" => Who::Anonymous,
            _ => return Err(invalid()),
        })
    }
}

fn read(row: &Row) -> Result<AuditEntry, Error> {
    let object: NamedJson = row.json("object")?;
    let origin = RequestOrigin {
        address: row.text_or_none("address")?,
        client: None,
        request_id: row.text_or_none("request_id")?,
    };
    Ok(AuditEntry {
        id: row.id("id")?,
        organisation: row.id("organisation_id")?,
        workspace: row.id_or_none("workspace_id")?,
        at: row.time("at")?,
        actor: Actor { who: row.json::<NamedJson>("actor")?.who()?, origin },
        action: row.parsed("action", AuditAction::from_text)?,
        object: AuditObject { kind: object.kind.into(), id: object.id, name: object.name },
        details: row.json::<BTreeMap<String, String>>("details")?,
    })
}

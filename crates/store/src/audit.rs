//! The audit log. A row is added in the commit of the change that it describes, and never changed.

use std::collections::BTreeMap;

use kinora_domain::{Actor, AuditAction, AuditEntry, AuditObject, RequestOrigin, Timestamp, Who};
use serde::{Deserialize, Serialize};

use crate::sql::{Row, Statement, Value, statements, values};
use crate::{Error, Store, Tx};

/// A page of the rows that satisfy a condition.
macro_rules! page {
    ($condition:literal) => {
        concat!(
            "SELECT sequence, id, organisation_id, workspace_id, at, actor, action, object, details, address, request_id
                FROM audit WHERE ",
            $condition,
            "(at, sequence) < ($1, $2) AND at >= $3 ORDER BY at DESC, sequence DESC LIMIT $4"
        )
    };
}

statements! {
    INSERT = "INSERT INTO audit
        (id, organisation_id, workspace_id, at, actor, action, object, details, address, request_id, actor_key, object_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    PAGE = page!("");
    /// The rows of an object are few.
    OF_OBJECT = page!("object_id = $5 AND (CAST($6 AS TEXT) IS NULL OR actor_key = $6)
        AND (CAST($7 AS TEXT) IS NULL OR action = $7) AND ");
    OF_ACTOR = page!("actor_key = $5 AND (CAST($6 AS TEXT) IS NULL OR action = $6) AND ");
    OF_ACTION = page!("action = $5 AND ");
}

/// Which rows of the audit log to list. A row satisfies all conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// One of these happened. Empty: any.
    pub actions: Vec<AuditAction>,
    /// The ID of the person or the access token that did it, or the kind of an actor without ID: `command`,
    /// `server`, `anonymous`.
    pub actor: Option<String>,
    /// The ID of the object.
    pub object: Option<String>,
    /// Not before this time.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
}

/// The position of a row in the audit log. Rows are ordered by time, those of one instant by their commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditPosition {
    /// The time of the row.
    pub at: Timestamp,
    /// Its number, unique in the log.
    pub sequence: i64,
}

impl AuditPosition {
    /// The position as bytes, for a cursor.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.at.as_micros().to_be_bytes());
        bytes[8..].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }

    /// Decodes a position.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let [at, sequence] = [0, 8]
            .map(|start| i64::from_be_bytes(bytes[start..start + 8].try_into().expect("it has 8 bytes")));
        Self { at: Timestamp::from_micros(at), sequence }
    }
}

impl Store {
    /// A page of the audit log, newest first, with the position of each row. `after`: the position of the
    /// last row of the page before.
    pub async fn audit_entries(
        &self,
        filter: &AuditFilter,
        after: Option<AuditPosition>,
        limit: u32,
    ) -> Result<Vec<(AuditPosition, AuditEntry)>, Error> {
        // Sequences are positive: this position is before all rows of its instant.
        let before_end = filter.to.map(|at| AuditPosition { at, sequence: 0 });
        let end = [after, before_end].into_iter().flatten().min();
        let end = end.unwrap_or(AuditPosition { at: Timestamp::from_micros(i64::MAX), sequence: 0 });
        let from = filter.from.map_or(i64::MIN, Timestamp::as_micros);
        let bounds = values![end.at, end.sequence, from, limit];

        let mut snapshot = self.snapshot().await?;
        let mut found = Vec::new();
        // One range of an index for each action: a group with a frequent and a rare action reads no more.
        for action in each_or_any(&filter.actions) {
            let (statement, more) = selection(filter, action);
            let values = bounds.iter().cloned().chain(more).collect();
            for row in snapshot.all(statement, values).await? {
                found.push((
                    AuditPosition { at: row.time("at")?, sequence: row.int("sequence")? },
                    read(&row)?,
                ));
            }
        }
        found.sort_by_key(|(position, _)| std::cmp::Reverse(*position));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }
}

/// Each action, or `None` once for any.
fn each_or_any(actions: &[AuditAction]) -> Vec<Option<AuditAction>> {
    if actions.is_empty() { vec![None] } else { actions.iter().copied().map(Some).collect() }
}

/// The statement with the index that selects the fewest rows, and its values from `$5` on.
fn selection(filter: &AuditFilter, action: Option<AuditAction>) -> (Statement, Vec<Value>) {
    let action = action.map(AuditAction::as_str);
    match (filter.object.as_deref(), filter.actor.as_deref(), action) {
        (Some(object), actor, action) => (OF_OBJECT, values![object, actor, action]),
        (None, Some(actor), action) => (OF_ACTOR, values![actor, action]),
        (None, None, Some(action)) => (OF_ACTION, values![action]),
        (None, None, None) => (PAGE, values![]),
    }
}

impl Tx {
    /// Adds a row to the audit log.
    pub async fn push_audit(&mut self, entry: &AuditEntry) -> Result<(), Error> {
        let who = &entry.actor.who;
        let values = values![
            entry.id,
            entry.organisation,
            entry.workspace,
            entry.at,
            NamedJson::actor(who),
            entry.action.as_str(),
            NamedJson::object(&entry.object),
            serde_json::to_string(&entry.details).expect("texts are always JSON"),
            entry.actor.origin.address.as_deref(),
            entry.actor.origin.request_id.as_deref(),
            who.id().unwrap_or_else(|| who.kind().to_owned()),
            entry.object.id.as_str(),
        ];
        self.session.execute(INSERT, values).await.map(drop)
    }
}

/// An actor or an object.
#[derive(Serialize, Deserialize)]
pub(crate) struct NamedJson {
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
}

impl NamedJson {
    pub(crate) fn actor(who: &Who) -> String {
        let (id, name) = (who.id().unwrap_or_default(), who.name().unwrap_or_default());
        Self { kind: who.kind().to_owned(), id, name: name.to_owned() }.text()
    }

    fn object(object: &AuditObject) -> String {
        let AuditObject { kind, id, name } = object.clone();
        Self { kind: kind.into_owned(), id, name }.text()
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("texts are always JSON")
    }

    /// The actor. `column` is named by the error.
    pub(crate) fn who(self, column: &'static str) -> Result<Who, Error> {
        let Self { kind, id, name } = self;
        let invalid = || Row::invalid_column(column);
        Ok(match &*kind {
            "person" => Who::Person { id: id.parse().map_err(|_| invalid())?, name },
            "access_token" => Who::AccessToken { id: id.parse().map_err(|_| invalid())?, name },
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
        actor: Actor { who: row.json::<NamedJson>("actor")?.who("actor")?, origin },
        action: row.parsed("action", AuditAction::from_text)?,
        object: AuditObject { kind: object.kind.into(), id: object.id, name: object.name },
        details: row.json::<BTreeMap<String, String>>("details")?,
    })
}

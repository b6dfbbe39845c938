//! Organisations and workspaces.

use kinora_domain::{LoudnessTarget, Organisation, OrganisationId, Workspace, WorkspaceId};

use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

statements! {
    ORGANISATION_INSERT = "INSERT INTO organisation (id, name, created_at) VALUES ($1, $2, $3)";
    ORGANISATION_RENAME = "UPDATE organisation SET name = $2 WHERE id = $1";
    ORGANISATION = "SELECT id, name, created_at FROM organisation ORDER BY created_at, id LIMIT 1";
    INSERT = "INSERT INTO workspace (id, organisation_id, name, created_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (organisation_id, name) DO NOTHING";
    BY_ID = "SELECT id, organisation_id, name, created_at FROM workspace WHERE id = $1";
    BY_NAME = "SELECT id, organisation_id, name, created_at FROM workspace WHERE name = $1 ORDER BY created_at, id";
    /// No row if another workspace of the organisation has the name.
    RENAME = "UPDATE workspace SET name = $3 WHERE id = $1 AND NOT EXISTS (
        SELECT 1 FROM workspace other WHERE other.organisation_id = $2 AND other.name = $3 AND other.id <> $1)";
    LOUDNESS = "SELECT loudness_target FROM workspace WHERE id = $1";
    SET_LOUDNESS = "UPDATE workspace SET loudness_target = $2 WHERE id = $1";
    ALL = "SELECT id, organisation_id, name, created_at FROM workspace ORDER BY created_at, name, id";
}

impl Store {
    /// The organisation of this installation.
    pub async fn organisation(&self) -> Result<Option<Organisation>, Error> {
        organisation(&mut self.reader().await?).await
    }

    /// One workspace.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, Error> {
        by_id(&mut self.reader().await?, id).await
    }

    /// The workspace of this name.
    pub async fn workspace_by_name(&self, name: &str) -> Result<Option<Workspace>, Error> {
        by_name(&mut self.reader().await?, name).await
    }

    /// The loudness that audio of a workspace is levelled to; `None` for an unknown workspace.
    pub async fn loudness_target(&self, id: WorkspaceId) -> Result<Option<LoudnessTarget>, Error> {
        loudness_target(&mut self.reader().await?, id).await
    }

    /// All workspaces, oldest first, those of one instant by name.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>, Error> {
        self.reader().await?.all(ALL, values![]).await?.iter().map(read).collect()
    }
}

impl Tx {
    /// The organisation of this installation.
    pub async fn organisation(&mut self) -> Result<Option<Organisation>, Error> {
        organisation(&mut self.session).await
    }

    /// Renames an organisation. `false` when it does not exist.
    pub async fn rename_organisation(&mut self, id: OrganisationId, name: &str) -> Result<bool, Error> {
        Ok(self.session.execute(ORGANISATION_RENAME, values![id, name]).await? > 0)
    }

    /// All workspaces, oldest first, those of one instant by name.
    pub async fn workspaces(&mut self) -> Result<Vec<Workspace>, Error> {
        self.session.all(ALL, values![]).await?.iter().map(read).collect()
    }

    /// Saves the name of a workspace. [`Error::AlreadyExists`] when another one of its organisation has it;
    /// the transaction can continue.
    pub async fn rename_workspace(&mut self, workspace: &Workspace) -> Result<(), Error> {
        self.signals.rows = true;
        let values = values![workspace.id, workspace.organisation, workspace.name.as_str()];
        match self.session.execute(RENAME, values).await? {
            0 => Err(Error::AlreadyExists { what: "workspace name" }),
            _ => Ok(()),
        }
    }

    /// One workspace.
    pub async fn workspace(&mut self, id: WorkspaceId) -> Result<Option<Workspace>, Error> {
        by_id(&mut self.session, id).await
    }

    /// The workspace of this name.
    pub async fn workspace_by_name(&mut self, name: &str) -> Result<Option<Workspace>, Error> {
        by_name(&mut self.session, name).await
    }

    /// The loudness that audio of a workspace is levelled to; `None` for an unknown workspace.
    pub async fn loudness_target(&mut self, id: WorkspaceId) -> Result<Option<LoudnessTarget>, Error> {
        loudness_target(&mut self.session, id).await
    }

    /// Sets the loudness that audio of a workspace is levelled to. Audio that is measured already keeps its
    /// gain. `false` for an unknown workspace.
    pub async fn set_loudness_target(
        &mut self,
        id: WorkspaceId,
        target: LoudnessTarget,
    ) -> Result<bool, Error> {
        self.signals.rows = true;
        let values = values![id, i64::from(target.lufs())];
        Ok(self.session.execute(SET_LOUDNESS, values).await? > 0)
    }

    /// Adds a workspace. [`Error::AlreadyExists`] when the organisation has one with this name; the
    /// transaction can continue.
    pub async fn insert_workspace(&mut self, workspace: &Workspace) -> Result<(), Error> {
        self.signals.rows = true;
        insert(&mut self.session, workspace).await
    }
}

pub(crate) async fn insert_organisation(
    session: &mut Session,
    organisation: &Organisation,
) -> Result<(), Error> {
    let values = values![organisation.id, organisation.name.as_str(), organisation.created_at];
    session.execute(ORGANISATION_INSERT, values).await.map(drop)
}

pub(crate) async fn insert(session: &mut Session, workspace: &Workspace) -> Result<(), Error> {
    let values = values![workspace.id, workspace.organisation, workspace.name.as_str(), workspace.created_at];
    match session.execute(INSERT, values).await? {
        0 => Err(Error::AlreadyExists { what: "workspace name" }),
        _ => Ok(()),
    }
}

async fn organisation(session: &mut Session) -> Result<Option<Organisation>, Error> {
    let row = session.first(ORGANISATION, values![]).await?;
    let read = |row: Row| {
        Ok(Organisation { id: row.id("id")?, name: row.text("name")?, created_at: row.time("created_at")? })
    };
    row.map(read).transpose()
}

async fn by_id(session: &mut Session, id: WorkspaceId) -> Result<Option<Workspace>, Error> {
    session.first(BY_ID, values![id]).await?.as_ref().map(read).transpose()
}

async fn by_name(session: &mut Session, name: &str) -> Result<Option<Workspace>, Error> {
    session.first(BY_NAME, values![name]).await?.as_ref().map(read).transpose()
}

async fn loudness_target(session: &mut Session, id: WorkspaceId) -> Result<Option<LoudnessTarget>, Error> {
    let Some(row) = session.first(LOUDNESS, values![id]).await? else { return Ok(None) };
    let lufs = row.int("loudness_target")?;
    let target = i8::try_from(lufs).ok().and_then(LoudnessTarget::new);
    target.map(Some).ok_or_else(|| Error::internal("a loudness target out of its range"))
}

fn read(row: &Row) -> Result<Workspace, Error> {
    Ok(Workspace {
        id: row.id("id")?,
        organisation: row.id("organisation_id")?,
        name: row.text("name")?,
        created_at: row.time("created_at")?,
    })
}

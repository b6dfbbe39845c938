//! Sessions of people. Only hashes of their secrets are stored. A session that was ended has no row.

use kinora_domain::{
    Member, PersonId, PreviousSecret, SecretHash, Session as PersonSession, SessionId, Timestamp,
};

use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

/// The columns that [`read`] reads.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT id, person_id, secret_hash, previous_hash, previous_until, created_at, seen_at, ends_at,
                confirmed_at, rotated_at, address, client FROM session ",
            $condition
        )
    };
}

statements! {
    INSERT = "INSERT INTO session
        (id, person_id, secret_hash, previous_hash, previous_until, created_at, seen_at, ends_at, confirmed_at,
         rotated_at, address, client)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    /// The secret is the version of a session.
    SAVE = "UPDATE session SET secret_hash = $3, previous_hash = $4, previous_until = $5, confirmed_at = $6,
        rotated_at = $7 WHERE id = $1 AND secret_hash = $2";
    BY_ID = select!("WHERE id = $1");
    /// Two statements, so that each uses its index.
    BY_SECRET = select!("WHERE secret_hash = $1");
    BY_PREVIOUS = select!("WHERE previous_hash = $1");
    OF_PERSON = select!("WHERE person_id = $1 ORDER BY seen_at DESC, id DESC");
    DELETE = "DELETE FROM session WHERE id = $1 AND person_id = $2";
    DELETE_OTHERS = "DELETE FROM session WHERE person_id = $1 AND id <> $2";
    DELETE_ALL = "DELETE FROM session WHERE person_id = $1";
    DELETE_OLDEST = "DELETE FROM session WHERE person_id = $1 AND id NOT IN (
        SELECT id FROM session WHERE person_id = $1 ORDER BY seen_at DESC, id DESC LIMIT $2)";
    SET_SEEN = "UPDATE session SET seen_at = $2 WHERE id = $1 AND seen_at < $2 RETURNING person_id";
}

impl Store {
    /// The session whose current or previous secret has this hash, and its person. `None` for a person who
    /// is disabled. Whether the session and the secret are still valid is for the caller to check:
    /// `Session::accepts`.
    pub async fn session(&self, secret: &SecretHash) -> Result<Option<(PersonSession, Member)>, Error> {
        let mut snapshot = self.snapshot().await?;
        let hash = secret.as_bytes().as_slice();
        let row = match snapshot.first(BY_SECRET, values![hash]).await? {
            Some(row) => Some(row),
            None => snapshot.first(BY_PREVIOUS, values![hash]).await?,
        };
        let Some(session) = row.as_ref().map(read).transpose()? else { return Ok(None) };
        let member = crate::person::by_id(&mut snapshot, session.person).await?;
        let member = member.filter(|member| member.person.disabled_at.is_none());
        Ok(member.map(|member| (session, member)))
    }

    /// The valid sessions of a person, the last used one first.
    pub async fn sessions_of(&self, person: PersonId, now: Timestamp) -> Result<Vec<PersonSession>, Error> {
        let rows = self.reader().await?.all(OF_PERSON, values![person]).await?;
        let sessions: Result<Vec<_>, _> = rows.iter().map(read).collect();
        Ok(sessions?.into_iter().filter(|session| session.is_valid(now)).collect())
    }
}

impl Tx {
    /// One session.
    pub async fn session(&mut self, id: SessionId) -> Result<Option<PersonSession>, Error> {
        by_id(&mut self.session, id).await
    }

    /// Adds a session of a person, who has just been seen. One who has too many sessions loses the one that
    /// was unused for longest.
    pub async fn insert_session(&mut self, session: &PersonSession) -> Result<(), Error> {
        let others_max = PersonSession::PER_PERSON_MAX - 1;
        self.session.execute(DELETE_OLDEST, values![session.person, others_max]).await?;
        let values = values![
            session.id,
            session.person,
            session.secret.as_bytes().as_slice(),
            session.previous.as_ref().map(|previous| previous.secret.as_bytes().as_slice()),
            session.previous.map(|previous| previous.until),
            session.created_at,
            session.seen_at,
            session.ends_at,
            session.confirmed_at,
            session.rotated_at,
            session.address.as_str(),
            session.client.as_str(),
        ];
        self.session.execute(INSERT, values).await?;
        self.set_person_seen(session.person, session.seen_at).await
    }

    /// Saves the secrets and the confirmation of a session whose secret was `read` before.
    /// [`Error::Conflict`] when the row changed or is gone: the closure is retried.
    pub async fn save_session(&mut self, session: &PersonSession, read: &SecretHash) -> Result<(), Error> {
        let values = values![
            session.id,
            read.as_bytes().as_slice(),
            session.secret.as_bytes().as_slice(),
            session.previous.as_ref().map(|previous| previous.secret.as_bytes().as_slice()),
            session.previous.map(|previous| previous.until),
            session.confirmed_at,
            session.rotated_at,
        ];
        match self.session.execute(SAVE, values).await? {
            0 => Err(self.session.fail_with(Error::Conflict)),
            _ => Ok(()),
        }
    }

    /// Ends one session of a person. `false` when the person has no such session.
    pub async fn delete_session(&mut self, person: PersonId, id: SessionId) -> Result<bool, Error> {
        Ok(self.session.execute(DELETE, values![id, person]).await? > 0)
    }

    /// Ends the sessions of a person, except one, and returns their number.
    pub async fn delete_sessions(
        &mut self,
        person: PersonId,
        except: Option<SessionId>,
    ) -> Result<u64, Error> {
        match except {
            Some(id) => self.session.execute(DELETE_OTHERS, values![person, id]).await,
            None => self.session.execute(DELETE_ALL, values![person]).await,
        }
    }

    /// Records when sessions, and so their people, were last used. An earlier time changes nothing.
    pub async fn save_session_uses(&mut self, used: &[(SessionId, Timestamp)]) -> Result<(), Error> {
        for (id, at) in used {
            for row in self.session.execute_returning(SET_SEEN, values![*id, *at]).await? {
                self.set_person_seen(row.id("person_id")?, *at).await?;
            }
        }
        Ok(())
    }
}

async fn by_id(session: &mut Session, id: SessionId) -> Result<Option<PersonSession>, Error> {
    session.first(BY_ID, values![id]).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<PersonSession, Error> {
    let previous = match row.bytes_or_none("previous_hash")? {
        Some(hash) => {
            Some(PreviousSecret { secret: SecretHash::from_bytes(hash), until: row.time("previous_until")? })
        }
        None => None,
    };
    Ok(PersonSession {
        id: row.id("id")?,
        person: row.id("person_id")?,
        secret: SecretHash::from_bytes(row.bytes("secret_hash")?),
        previous,
        created_at: row.time("created_at")?,
        seen_at: row.time("seen_at")?,
        ends_at: row.time("ends_at")?,
        confirmed_at: row.time("confirmed_at")?,
        rotated_at: row.time("rotated_at")?,
        address: row.text("address")?,
        client: row.text("client")?,
    })
}

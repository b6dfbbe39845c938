//! One-time links. Only hashes of their secrets are stored.

use kinora_domain::{Email, LinkKind, OneTimeLink, OneTimeLinkId, PersonId, Role, SecretHash, Timestamp};

use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

statements! {
    INSERT = "INSERT INTO one_time_link
        (id, secret_hash, kind, organisation_id, person_id, email, email_key, role, made_by, created_at, ends_at,
         used_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    BY_SECRET = "SELECT id, secret_hash, kind, organisation_id, person_id, email, role, made_by, created_at,
        ends_at, used_at FROM one_time_link WHERE secret_hash = $1";
    /// One of two concurrent uses changes a row.
    USE = "UPDATE one_time_link SET used_at = $2 WHERE id = $1 AND used_at IS NULL";
    END_OF_KIND = "UPDATE one_time_link SET ends_at = $3
        WHERE email_key = $1 AND kind = $2 AND used_at IS NULL AND ends_at > $3";
    END_OF_PERSON = "UPDATE one_time_link SET ends_at = $2
        WHERE person_id = $1 AND used_at IS NULL AND ends_at > $2";
    END_MADE_BY = "UPDATE one_time_link SET ends_at = $2
        WHERE made_by = $1 AND used_at IS NULL AND ends_at > $2";
    BY_ID = "SELECT id, secret_hash, kind, organisation_id, person_id, email, role, made_by, created_at,
        ends_at, used_at FROM one_time_link WHERE id = $1";
    /// At most 7 days of invitations have not ended.
    OPEN_INVITATIONS = "SELECT l.id, l.secret_hash, l.kind, l.organisation_id, l.person_id, l.email, l.role, l.made_by,
        l.created_at, l.ends_at, l.used_at, p.name AS maker_name, p.email AS maker_email
        FROM one_time_link l LEFT JOIN person p ON p.id = l.made_by
        WHERE l.ends_at > $1 AND l.kind = 'invitation' AND l.used_at IS NULL ORDER BY l.created_at DESC, l.id DESC";
    END = "UPDATE one_time_link SET ends_at = $2 WHERE id = $1";
    OPEN_OF_PERSON = "SELECT id FROM one_time_link
        WHERE person_id = $1 AND used_at IS NULL AND ends_at > $2 LIMIT 1";
}

/// An invitation that can be used.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// Its link.
    pub link: OneTimeLink,
    /// The name of the administrator who made it, or their email address. `None`: the command line.
    pub made_by: Option<String>,
}

impl Store {
    /// The invitations that can be used, newest first.
    pub async fn open_invitations(&self, now: Timestamp) -> Result<Vec<Invitation>, Error> {
        let rows = self.reader().await?.all(OPEN_INVITATIONS, values![now]).await?;
        let invitation = |row: &Row| {
            let made_by = match row.text_or_none("maker_name")? {
                Some(name) => Some(name),
                None => row.text_or_none("maker_email")?,
            };
            Ok(Invitation { link: read(row)?, made_by })
        };
        rows.iter().map(invitation).collect()
    }

    /// The link whose secret has this hash, also if it was used or has ended.
    pub async fn one_time_link(&self, secret: &SecretHash) -> Result<Option<OneTimeLink>, Error> {
        by_secret(&mut self.reader().await?, secret).await
    }
}

impl Tx {
    /// The link whose secret has this hash, also if it was used or has ended.
    pub async fn one_time_link(&mut self, secret: &SecretHash) -> Result<Option<OneTimeLink>, Error> {
        by_secret(&mut self.session, secret).await
    }

    /// The link with this ID, also if it was used or has ended.
    pub async fn one_time_link_by_id(&mut self, id: OneTimeLinkId) -> Result<Option<OneTimeLink>, Error> {
        self.session.first(BY_ID, values![id]).await?.as_ref().map(read).transpose()
    }

    /// Ends a link.
    pub async fn end_one_time_link(&mut self, id: OneTimeLinkId, now: Timestamp) -> Result<(), Error> {
        self.session.execute(END, values![id, now]).await.map(drop)
    }

    /// Adds a link.
    pub async fn insert_one_time_link(&mut self, link: &OneTimeLink) -> Result<(), Error> {
        let values = values![
            link.id,
            link.secret.as_bytes().as_slice(),
            link.kind.as_str(),
            link.organisation,
            link.person,
            link.email.as_str(),
            link.email.key(),
            link.role.as_str(),
            link.made_by,
            link.created_at,
            link.ends_at,
            link.used_at,
        ];
        self.session.execute(INSERT, values).await.map(drop)
    }

    /// Records that a link was used. `false` when it was used already.
    pub async fn use_one_time_link(&mut self, id: OneTimeLinkId, now: Timestamp) -> Result<bool, Error> {
        Ok(self.session.execute(USE, values![id, now]).await? > 0)
    }

    /// Ends the unused links of this kind for an email address. Returns their number.
    pub async fn end_links_of_kind(
        &mut self,
        email: &Email,
        kind: LinkKind,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.session.execute(END_OF_KIND, values![email.key(), kind.as_str(), now]).await
    }

    /// Ends the unused links of a person. Returns their number.
    pub async fn end_links_of_person(&mut self, person: PersonId, now: Timestamp) -> Result<u64, Error> {
        self.session.execute(END_OF_PERSON, values![person, now]).await
    }

    /// Ends the unused links that a person made, for others or for themselves. Returns their number.
    pub async fn end_links_made_by(&mut self, person: PersonId, now: Timestamp) -> Result<u64, Error> {
        self.session.execute(END_MADE_BY, values![person, now]).await
    }

    /// Whether a person has a link that can be used.
    pub async fn has_open_link(&mut self, person: PersonId, now: Timestamp) -> Result<bool, Error> {
        Ok(self.session.first(OPEN_OF_PERSON, values![person, now]).await?.is_some())
    }
}

async fn by_secret(session: &mut Session, secret: &SecretHash) -> Result<Option<OneTimeLink>, Error> {
    let values = values![secret.as_bytes().as_slice()];
    session.first(BY_SECRET, values).await?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<OneTimeLink, Error> {
    Ok(OneTimeLink {
        id: row.id("id")?,
        secret: SecretHash::from_bytes(row.bytes("secret_hash")?),
        kind: row.parsed("kind", LinkKind::from_text)?,
        organisation: row.id("organisation_id")?,
        person: row.id_or_none("person_id")?,
        email: row.parsed("email", |text| Email::parse(text).ok())?,
        role: row.parsed("role", Role::from_text)?,
        made_by: row.id_or_none("made_by")?,
        created_at: row.time("created_at")?,
        ends_at: row.time("ends_at")?,
        used_at: row.time_or_none("used_at")?,
    })
}

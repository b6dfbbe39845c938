//! People and their roles in the organisation.

use kinora_domain::{
    Email, LibraryView, Member, OrganisationId, PasswordHash, Person, PersonId, PersonSettings, Role, Theme,
    TimeZoneChoice, Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx};

/// The columns that [`read`] reads.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT person.id, person.email, person.name, person.password, person.disabled_at, person.settings,
                person.created_at, person.seen_at, person.version, membership.organisation_id, membership.role
                FROM person JOIN membership ON membership.person_id = person.id ",
            $condition
        )
    };
}

statements! {
    INSERT = "INSERT INTO person
        (id, email, email_key, name, password, disabled_at, settings, created_at, seen_at, version)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (email_key) DO NOTHING";
    JOIN = "INSERT INTO membership (organisation_id, person_id, role, created_at) VALUES ($1, $2, $3, $4)";
    SAVE = "UPDATE person SET name = $3, password = $4, disabled_at = $5, settings = $6, version = version + 1
        WHERE id = $1 AND version = $2";
    SET_ROLE = "UPDATE membership SET role = $3 WHERE organisation_id = $1 AND person_id = $2";
    DELETE = "DELETE FROM person WHERE id = $1";
    BY_ID = select!("WHERE person.id = $1");
    BY_EMAIL = select!("WHERE person.email_key = $1");
    /// An organisation has few people.
    ALL = select!("ORDER BY person.created_at, person.id");
    ANY_WITH_PASSWORD = "SELECT id FROM person WHERE disabled_at IS NULL AND password IS NOT NULL
        ORDER BY id LIMIT 1";
    SET_SEEN = "UPDATE person SET seen_at = $2 WHERE id = $1 AND (seen_at IS NULL OR seen_at < $2)";
}

impl Store {
    /// One person, disabled or not.
    pub async fn member(&self, id: PersonId) -> Result<Option<Member>, Error> {
        by_id(&mut self.reader().await?, id).await
    }

    /// The person with this email address, disabled or not.
    pub async fn member_by_email(&self, email: &Email) -> Result<Option<Member>, Error> {
        by_email(&mut self.reader().await?, email).await
    }

    /// All people, oldest first.
    pub async fn members(&self) -> Result<Vec<Member>, Error> {
        all(&mut self.reader().await?).await
    }

    /// Whether a person is enabled and has a password.
    pub async fn can_a_person_sign_in(&self) -> Result<bool, Error> {
        Ok(self.reader().await?.first(ANY_WITH_PASSWORD, values![]).await?.is_some())
    }

    /// Whether an administrator is enabled and has a password.
    pub async fn can_administrator_sign_in(&self) -> Result<bool, Error> {
        let members = self.members().await?;
        Ok(members.iter().any(|member| member.role == Role::Admin && member.person.can_sign_in()))
    }
}

impl Tx {
    /// One person, disabled or not.
    pub async fn member(&mut self, id: PersonId) -> Result<Option<Member>, Error> {
        by_id(&mut self.session, id).await
    }

    /// The person with this email address, disabled or not.
    pub async fn member_by_email(&mut self, email: &Email) -> Result<Option<Member>, Error> {
        by_email(&mut self.session, email).await
    }

    /// All people, oldest first.
    pub async fn members(&mut self) -> Result<Vec<Member>, Error> {
        all(&mut self.session).await
    }

    /// Adds a person with their role. [`Error::AlreadyExists`] when another one has the email address; the
    /// transaction can continue.
    pub async fn insert_member(&mut self, member: &Member) -> Result<(), Error> {
        let person = &member.person;
        let values = values![
            person.id,
            person.email.as_str(),
            person.email.key(),
            person.name.as_deref(),
            person.password.as_ref().map(PasswordHash::to_text),
            person.disabled_at,
            SettingsJson::text(person.settings),
            person.created_at,
            person.seen_at,
            person.version,
        ];
        if self.session.execute(INSERT, values).await? == 0 {
            return Err(Error::AlreadyExists { what: "email address" });
        }
        let values = values![member.organisation, person.id, member.role.as_str(), person.created_at];
        self.session.execute(JOIN, values).await.map(drop)
    }

    /// Saves name, password, settings and whether they are disabled, over the version that was read.
    /// [`Error::Conflict`] when the row changed or is gone: the closure is retried.
    pub async fn save_person(&mut self, person: &Person) -> Result<(), Error> {
        let values = values![
            person.id,
            person.version,
            person.name.as_deref(),
            person.password.as_ref().map(PasswordHash::to_text),
            person.disabled_at,
            SettingsJson::text(person.settings),
        ];
        match self.session.execute(SAVE, values).await? {
            0 => Err(self.session.fail_with(Error::Conflict)),
            _ => Ok(()),
        }
    }

    /// Sets the role of a person. `false` when the organisation has no such person.
    pub async fn set_role(
        &mut self,
        organisation: OrganisationId,
        person: PersonId,
        role: Role,
    ) -> Result<bool, Error> {
        Ok(self.session.execute(SET_ROLE, values![organisation, person, role.as_str()]).await? > 0)
    }

    /// Removes a person with their sessions and links. `false` when there is no such person.
    pub async fn delete_person(&mut self, id: PersonId) -> Result<bool, Error> {
        Ok(self.session.execute(DELETE, values![id]).await? > 0)
    }

    /// Records when a person was last seen. An earlier time changes nothing.
    pub(crate) async fn set_person_seen(&mut self, id: PersonId, at: Timestamp) -> Result<(), Error> {
        self.session.execute(SET_SEEN, values![id, at]).await.map(drop)
    }
}

pub(crate) async fn by_id(session: &mut Session, id: PersonId) -> Result<Option<Member>, Error> {
    session.first(BY_ID, values![id]).await?.as_ref().map(read).transpose()
}

async fn by_email(session: &mut Session, email: &Email) -> Result<Option<Member>, Error> {
    session.first(BY_EMAIL, values![email.key()]).await?.as_ref().map(read).transpose()
}

async fn all(session: &mut Session) -> Result<Vec<Member>, Error> {
    session.all(ALL, values![]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Member, Error> {
    let person = Person {
        id: row.id("id")?,
        email: row.parsed("email", |text| Email::parse(text).ok())?,
        name: row.text_or_none("name")?,
        password: row.parsed_or_none("password", PasswordHash::from_text)?,
        disabled_at: row.time_or_none("disabled_at")?,
        settings: row.json::<SettingsJson>("settings")?.into(),
        created_at: row.time("created_at")?,
        seen_at: row.time_or_none("seen_at")?,
        version: row.int("version")?,
    };
    let organisation = row.id("organisation_id")?;
    Ok(Member { person, organisation, role: row.parsed("role", Role::from_text)? })
}

/// The settings of a person. A setting that is absent or unknown has its default.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct SettingsJson {
    theme: String,
    times: String,
    library: String,
    keys: bool,
}

impl SettingsJson {
    fn text(settings: PersonSettings) -> String {
        serde_json::to_string(&Self::from(settings)).expect("texts and flags are always JSON")
    }
}

impl Default for SettingsJson {
    fn default() -> Self {
        PersonSettings::default().into()
    }
}

impl From<PersonSettings> for SettingsJson {
    fn from(settings: PersonSettings) -> Self {
        Self {
            theme: settings.theme.as_str().to_owned(),
            times: settings.times.as_str().to_owned(),
            library: settings.library.as_str().to_owned(),
            keys: settings.keys,
        }
    }
}

impl From<SettingsJson> for PersonSettings {
    fn from(json: SettingsJson) -> Self {
        let default = Self::default();
        Self {
            theme: Theme::from_text(&json.theme).unwrap_or(default.theme),
            times: TimeZoneChoice::from_text(&json.times).unwrap_or(default.times),
            library: LibraryView::from_text(&json.library).unwrap_or(default.library),
            keys: json.keys,
        }
    }
}

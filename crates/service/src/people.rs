//! People: created, listed by the store, given roles, disabled and removed.

use kinora_domain::{
    Action, Actor, AuditAction, Email, Member, PasswordHash, Person, PersonId, Role, Secret, SettingsChange,
    Timestamp,
};
use kinora_store::Tx;

use crate::audit::NewAudit;
use crate::links::{self, MadeLink};
use crate::members::{check_allowed, find};
use crate::{Error, Service};

/// A person to create.
#[derive(Debug, Clone)]
pub struct NewPerson {
    /// Their email address.
    pub email: Email,
    /// Their name; they can choose one with their first link.
    pub name: Option<String>,
    /// Their role.
    pub role: Role,
    /// Their password. `None`: they choose one with a link.
    pub password: Option<PasswordHash>,
}

/// A person who was created.
#[derive(Debug)]
pub struct CreatedPerson {
    /// The person.
    pub member: Member,
    /// The link to choose a password, if they have none.
    pub link: Option<MadeLink>,
}

/// A change of the own account. Absent values stay.
#[derive(Debug, Clone, Default)]
pub struct MeChange {
    /// Another name.
    pub name: Option<String>,
    /// Other settings.
    pub settings: SettingsChange,
}

/// A change of another person by an administrator. Absent values stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PersonChange {
    /// Another role.
    pub role: Option<Role>,
    /// Whether they are disabled.
    pub is_disabled: Option<bool>,
}

impl Service {
    /// Creates a person in the organisation of this installation.
    ///
    /// Errors: `EmailTaken`, `InvalidName`, `NoOrganisation`.
    pub async fn create_person(&self, actor: &Actor, new: NewPerson) -> Result<CreatedPerson, Error> {
        let now = self.clock.now();
        let name = new.name.as_deref().map(Person::parse_name).transpose().map_err(Error::InvalidName)?;
        let organisation = self.store.organisation().await?.ok_or(Error::NoOrganisation)?.id;
        let mut person = Person::create(new.email, name, now, &*self.random);
        person.password = new.password;
        let member = Member { person, organisation, role: new.role };
        let link = member.person.password.is_none().then(|| {
            let secret = Secret::new(&*self.random);
            MadeLink { link: links::for_member(&member, secret.hash(), actor, now, &*self.random), secret }
        });

        let (actor, row) = (actor.clone(), member.clone());
        let new_link = link.as_ref().map(|made| made.link.clone());
        let inserted = self
            .store
            .write(async move |tx| {
                tx.insert_member(&row).await?;
                let mut audit = NewAudit::person(organisation, AuditAction::PersonCreated, &row.person)
                    .with("role", row.role.as_str());
                if let Some(link) = &new_link {
                    tx.insert_one_time_link(link).await?;
                    audit = audit.with("link", link.kind.as_str());
                }
                audit.push(tx, &actor, now).await
            })
            .await;
        match inserted {
            Ok(()) => Ok(CreatedPerson { member, link }),
            Err(Error::Store(kinora_store::Error::AlreadyExists { .. })) => Err(Error::EmailTaken),
            Err(error) => Err(error),
        }
    }

    /// Gives a person another role. The same role changes nothing.
    ///
    /// Errors: `NotAllowed`, `PersonNotFound`, `LastAdministrator`.
    pub async fn set_role(&self, actor: &Actor, id: PersonId, role: Role) -> Result<Member, Error> {
        self.change_person(actor, id, PersonChange { role: Some(role), is_disabled: None }).await
    }

    /// Disables a person: their sessions end, their links and those that they made, and they cannot sign in.
    /// Disabled already: nothing changes.
    ///
    /// Errors: `NotAllowed`, `PersonNotFound`, `LastAdministrator`.
    pub async fn disable_person(&self, actor: &Actor, id: PersonId) -> Result<Member, Error> {
        self.change_person(actor, id, PersonChange { role: None, is_disabled: Some(true) }).await
    }

    /// Enables a person who was disabled. Their password is the earlier one. Enabled already: nothing
    /// changes.
    ///
    /// Errors: `PersonNotFound`.
    pub async fn enable_person(&self, actor: &Actor, id: PersonId) -> Result<Member, Error> {
        self.change_person(actor, id, PersonChange { role: None, is_disabled: Some(false) }).await
    }

    /// Changes role and access of a person, both or neither. Each of them that changes is a row of the audit
    /// log.
    ///
    /// Errors: `NotAllowed`, `PersonNotFound`, `LastAdministrator`.
    pub async fn change_person(
        &self,
        actor: &Actor,
        id: PersonId,
        change: PersonChange,
    ) -> Result<Member, Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::PeopleManage).await?;
                let mut member = find(tx, id).await?;
                if let Some(role) = change.role {
                    member = change_role(tx, &actor, member, role, now).await?;
                }
                match change.is_disabled {
                    Some(true) => disable(tx, &actor, member, now).await,
                    Some(false) => enable(tx, &actor, member, now).await,
                    None => Ok(member),
                }
            })
            .await
    }

    /// Removes a person, with their sessions and links, and the links that they made. What else they made
    /// stays.
    ///
    /// Errors: `NotAllowed`, `PersonNotFound`, `LastAdministrator`.
    pub async fn remove_person(&self, actor: &Actor, id: PersonId) -> Result<(), Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::PeopleManage).await?;
                let member = find(tx, id).await?;
                let ended = tx.end_links_made_by(id, now).await?;
                check_not_last(tx, &member, now).await?;
                tx.delete_person(id).await?;
                NewAudit::person(member.organisation, AuditAction::PersonRemoved, &member.person)
                    .with("role", member.role.as_str())
                    .with_ended_links(ended)
                    .push(tx, &actor, now)
                    .await
            })
            .await
    }

    /// Changes name or settings of the own account. The audit log has new names only.
    ///
    /// Errors: `PersonNotFound`, `InvalidName`.
    pub async fn update_me(&self, actor: &Actor, id: PersonId, change: MeChange) -> Result<Member, Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        let name = change.name.as_deref().map(Person::parse_name).transpose().map_err(Error::InvalidName)?;
        self.store
            .write(async move |tx| {
                let mut member = find(tx, id).await?;
                let before = member.person.clone();
                member.person.name = name.clone().or(member.person.name);
                member.person.settings = change.settings.apply(before.settings);
                if member.person == before {
                    return Ok(member);
                }
                tx.save_person(&member.person).await?;
                if member.person.name != before.name {
                    NewAudit::person(member.organisation, AuditAction::PersonRenamed, &member.person)
                        .with("from", before.name.as_deref().unwrap_or_default())
                        .with("to", member.person.name.as_deref().unwrap_or_default())
                        .push(tx, &actor, now)
                        .await?;
                }
                Ok(member)
            })
            .await
    }
}

async fn change_role(
    tx: &mut Tx,
    actor: &Actor,
    member: Member,
    role: Role,
    now: Timestamp,
) -> Result<Member, Error> {
    if member.role == role {
        return Ok(member);
    }
    let id = member.person.id;
    let ended = tx.end_links_made_by(id, now).await?;
    check_not_last(tx, &member, now).await?;
    tx.set_role(member.organisation, id, role).await?;
    NewAudit::person(member.organisation, AuditAction::RoleChanged, &member.person)
        .with("from", member.role.as_str())
        .with("to", role.as_str())
        .with_ended_links(ended)
        .push(tx, actor, now)
        .await?;
    Ok(Member { role, ..member })
}

async fn disable(tx: &mut Tx, actor: &Actor, mut member: Member, now: Timestamp) -> Result<Member, Error> {
    if member.person.disabled_at.is_some() {
        return Ok(member);
    }
    let id = member.person.id;
    let mut links = tx.end_links_made_by(id, now).await?;
    check_not_last(tx, &member, now).await?;
    member.person.disabled_at = Some(now);
    tx.save_person(&member.person).await?;
    links += tx.end_links_of_person(id, now).await?;
    let ended = tx.delete_sessions(id, None).await?;
    NewAudit::person(member.organisation, AuditAction::PersonDisabled, &member.person)
        .with("sessions", ended)
        .with_ended_links(links)
        .push(tx, actor, now)
        .await?;
    Ok(member)
}

async fn enable(tx: &mut Tx, actor: &Actor, mut member: Member, now: Timestamp) -> Result<Member, Error> {
    if member.person.disabled_at.take().is_none() {
        return Ok(member);
    }
    tx.save_person(&member.person).await?;
    NewAudit::person(member.organisation, AuditAction::PersonEnabled, &member.person)
        .push(tx, actor, now)
        .await?;
    Ok(member)
}

/// Rejects a change that takes the last way in from the administrators.
///
/// A way in is an enabled administrator with a password or an open link. A person without both is no way in,
/// and can always be removed. The links that the person made have ended before. The transaction makes
/// concurrent changes see each other.
async fn check_not_last(tx: &mut Tx, member: &Member, now: Timestamp) -> Result<(), Error> {
    if !is_way_in(tx, member, now).await? {
        return Ok(());
    }
    for other in tx.members().await? {
        if other.person.id != member.person.id && is_way_in(tx, &other, now).await? {
            return Ok(());
        }
    }
    Err(Error::LastAdministrator)
}

async fn is_way_in(tx: &mut Tx, member: &Member, now: Timestamp) -> Result<bool, Error> {
    let Member { person, role, .. } = member;
    if *role != Role::Admin || person.disabled_at.is_some() {
        return Ok(false);
    }
    Ok(person.password.is_some() || tx.has_open_link(person.id, now).await?)
}

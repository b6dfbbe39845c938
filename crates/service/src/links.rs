//! One-time links: made, looked at and used.

use kinora_domain::{
    Action, Actor, AuditAction, Email, LinkClosed, LinkKind, Member, OneTimeLink, OneTimeLinkId,
    PasswordHash, Person, PersonId, Random, RequestOrigin, Role, Secret, SecretHash, Session, Timestamp, Who,
};
use kinora_store::Tx;

use crate::audit::NewAudit;
use crate::members::{check_allowed, find};
use crate::sessions::OpenedSession;
use crate::{Error, Service};

/// A link that was made. Its secret exists only here.
#[derive(Debug)]
pub struct MadeLink {
    /// The link.
    pub link: OneTimeLink,
    /// Its secret.
    pub secret: Secret,
}

/// A link that can be used.
#[derive(Debug, Clone)]
pub struct OpenLink {
    /// The link.
    pub link: OneTimeLink,
    /// The name that its person has already.
    pub name: Option<String>,
}

/// The use of a link.
#[derive(Debug)]
pub struct UseLink {
    /// The hash of its secret.
    pub secret: SecretHash,
    /// The name that the person chose. Needed if they have none.
    pub name: Option<String>,
    /// The password that the person chose.
    pub password: PasswordHash,
    /// Where the request came from.
    pub origin: RequestOrigin,
}

impl Service {
    /// Makes a link with which a person sets a password: a reset link, or a setup link if they have never had
    /// one. It ends the earlier unused ones of its kind.
    ///
    /// Errors: `NotAllowed`, `PersonNotFound`, `PersonDisabled`.
    pub async fn reset_link(&self, actor: &Actor, id: PersonId) -> Result<MadeLink, Error> {
        let now = self.clock.now();
        let secret = Secret::new(&*self.random);
        let (actor, hash) = (actor.clone(), secret.hash());
        let link = self
            .store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::PeopleManage).await?;
                let member = find(tx, id).await?;
                if member.person.disabled_at.is_some() {
                    return Err(Error::PersonDisabled);
                }
                let link = for_member(&member, hash, &actor, now, tx.random());
                let ended = tx.end_links_of_kind(&link.email, link.kind, now).await?;
                tx.insert_one_time_link(&link).await?;
                NewAudit::person(member.organisation, AuditAction::LinkCreated, &member.person)
                    .with("kind", link.kind.as_str())
                    .with_ended_links(ended)
                    .push(tx, &actor, now)
                    .await?;
                Ok(link)
            })
            .await?;
        Ok(MadeLink { link, secret })
    }

    /// Makes a link that creates an account for this address. It ends the earlier unused ones.
    ///
    /// Errors: `NotAllowed`, `EmailTaken`, `NoOrganisation`.
    pub async fn invitation_link(&self, actor: &Actor, email: Email, role: Role) -> Result<MadeLink, Error> {
        let now = self.clock.now();
        let organisation = self.store.organisation().await?.ok_or(Error::NoOrganisation)?.id;
        let secret = Secret::new(&*self.random);
        let link = OneTimeLink {
            id: OneTimeLinkId::new(now, &*self.random),
            secret: secret.hash(),
            kind: LinkKind::Invitation,
            organisation,
            person: None,
            email,
            role,
            made_by: maker(actor),
            created_at: now,
            ends_at: now.plus_micros(LinkKind::Invitation.lifetime_us()),
            used_at: None,
        };
        let (actor, new) = (actor.clone(), link.clone());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::PeopleManage).await?;
                if tx.member_by_email(&new.email).await?.is_some() {
                    return Err(Error::EmailTaken);
                }
                let ended = tx.end_links_of_kind(&new.email, new.kind, now).await?;
                tx.insert_one_time_link(&new).await?;
                NewAudit::object(organisation, AuditAction::LinkCreated, "link", new.id)
                    .named(new.email.as_str())
                    .with("kind", new.kind.as_str())
                    .with("role", new.role.as_str())
                    .with_ended_links(ended)
                    .push(tx, &actor, now)
                    .await
            })
            .await?;
        Ok(MadeLink { link, secret })
    }

    /// Takes an invitation back: its link ends.
    ///
    /// Errors: `NotAllowed`, `InvitationNotFound`, also if it was used or has ended.
    pub async fn revoke_invitation(&self, actor: &Actor, id: OneTimeLinkId) -> Result<(), Error> {
        let (actor, now) = (actor.clone(), self.clock.now());
        self.store
            .write(async move |tx| {
                check_allowed(tx, &actor, Action::PeopleManage).await?;
                let is_open =
                    |link: &OneTimeLink| link.kind == LinkKind::Invitation && link.check(now).is_ok();
                let link = tx.one_time_link_by_id(id).await?.filter(is_open);
                let link = link.ok_or(Error::InvitationNotFound)?;
                tx.end_one_time_link(id, now).await?;
                NewAudit::object(link.organisation, AuditAction::LinkRevoked, "link", id)
                    .named(link.email.as_str())
                    .with("kind", link.kind.as_str())
                    .with("role", link.role.as_str())
                    .push(tx, &actor, now)
                    .await
            })
            .await
    }

    /// The link whose secret has this hash.
    ///
    /// Errors: `LinkNotFound`, `LinkUsed`, `LinkEnded`.
    pub async fn look_at_link(&self, secret: &SecretHash) -> Result<OpenLink, Error> {
        let link = self.store.one_time_link(secret).await?.ok_or(Error::LinkNotFound)?;
        check_open(&link, self.clock.now())?;
        let name = match link.person {
            Some(id) => self.store.member(id).await?.and_then(|member| member.person.name),
            None => None,
        };
        Ok(OpenLink { link, name })
    }

    /// Uses a link: sets the password, and for an invitation makes the person; then signs them in. All other
    /// sessions of the person end. Of two concurrent uses one succeeds.
    ///
    /// Errors: `LinkNotFound`, `LinkUsed`, `LinkEnded`, `NameRequired`, `InvalidName`, `EmailTaken`.
    pub async fn use_link(&self, request: UseLink) -> Result<OpenedSession, Error> {
        let now = self.clock.now();
        let name = request.name.as_deref().map(Person::parse_name).transpose().map_err(Error::InvalidName)?;
        let secret = Secret::new(&*self.random);
        let (hash, random) = (secret.hash(), self.random.clone());
        let (member, session) = self
            .store
            .write(async move |tx| {
                let link = tx.one_time_link(&request.secret).await?.ok_or(Error::LinkNotFound)?;
                check_open(&link, now)?;
                if !tx.use_one_time_link(link.id, now).await? {
                    return Err(Error::LinkUsed(link.kind));
                }
                let member = set_password(tx, &link, name.clone(), &request.password, now).await?;
                tx.delete_sessions(member.person.id, None).await?;
                let session = Session::open(member.person.id, hash, &request.origin, now, &*random);
                tx.insert_session(&session).await?;
                let actor = Actor { who: Who::of(&member), origin: request.origin.clone() };
                NewAudit::person(member.organisation, AuditAction::LinkUsed, &member.person)
                    .with("kind", link.kind.as_str())
                    .push(tx, &actor, now)
                    .await?;
                Ok::<_, Error>((member, session))
            })
            .await?;
        Ok(OpenedSession { session, secret, member })
    }
}

/// Sets the password of the link's person, who is made for an invitation.
async fn set_password(
    tx: &mut Tx,
    link: &OneTimeLink,
    name: Option<String>,
    password: &PasswordHash,
    now: Timestamp,
) -> Result<Member, Error> {
    let Some(id) = link.person else {
        let name = Some(name.ok_or(Error::NameRequired)?);
        let mut person = Person::create(link.email.clone(), name, now, tx.random());
        person.password = Some(password.clone());
        let member = Member { person, organisation: link.organisation, role: link.role };
        return match tx.insert_member(&member).await {
            Ok(()) => Ok(member),
            Err(kinora_store::Error::AlreadyExists { .. }) => Err(Error::EmailTaken),
            Err(error) => Err(error.into()),
        };
    };
    let mut member = tx.member(id).await?.ok_or(Error::LinkNotFound)?;
    if member.person.name.is_none() && name.is_none() {
        return Err(Error::NameRequired);
    }
    member.person.name = name.or(member.person.name);
    member.person.password = Some(password.clone());
    tx.save_person(&member.person).await?;
    // The password is set, so the other links of the person have no purpose.
    tx.end_links_of_person(id, now).await?;
    Ok(member)
}

/// A new link for a person, not stored yet. `secret`: the hash of its secret.
pub(crate) fn for_member(
    member: &Member,
    secret: SecretHash,
    actor: &Actor,
    now: Timestamp,
    random: &dyn Random,
) -> OneTimeLink {
    let kind = if member.person.password.is_some() { LinkKind::Reset } else { LinkKind::Setup };
    OneTimeLink {
        id: OneTimeLinkId::new(now, random),
        secret,
        kind,
        organisation: member.organisation,
        person: Some(member.person.id),
        email: member.person.email.clone(),
        role: member.role,
        made_by: maker(actor),
        created_at: now,
        ends_at: now.plus_micros(kind.lifetime_us()),
        used_at: None,
    }
}

fn maker(actor: &Actor) -> Option<PersonId> {
    match actor.who {
        Who::Person { id, .. } => Some(id),
        _ => None,
    }
}

fn check_open(link: &OneTimeLink, now: Timestamp) -> Result<(), Error> {
    link.check(now).map_err(|closed| match closed {
        LinkClosed::Used => Error::LinkUsed(link.kind),
        LinkClosed::Ended => Error::LinkEnded(link.kind),
    })
}

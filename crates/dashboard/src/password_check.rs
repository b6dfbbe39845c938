//! Checks of passwords, throttled and admitted.

use kinora_domain::{Email, Member, Password, PasswordHash, Random};
use kinora_web::error::ApiError;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::request_origin::Client;
use crate::throttle::Attempt;

/// A password that was right.
pub(crate) struct Verified {
    /// The hash that it was compared with. The commit checks that it is still the stored one.
    pub(crate) stored: PasswordHash,
    /// The hash with present parameters, if the stored one has others.
    pub(crate) rehash: Option<PasswordHash>,
}

impl DashboardState {
    /// The person with this email address and this password. 401 for all causes, 429 and 503.
    ///
    /// An address without an account costs the same time as a wrong password.
    pub(crate) async fn check_sign_in(
        &self,
        email: &str,
        password: String,
        client: &Client,
    ) -> Result<(Member, Verified), ApiError> {
        let email = Email::parse(email).ok();
        // All texts that are no address share the limit of one account.
        let account = email.as_ref().map_or("", Email::key);
        let begun = self.throttle.begin_password(account, client.address, self.clock.now());
        let attempt = begun.map_err(error::too_early)?;
        let found = match &email {
            Some(email) => Box::pin(self.store.member_by_email(email)).await,
            None => Ok(None),
        };
        let member = match found {
            Ok(member) => member.filter(|member| member.person.can_sign_in()),
            Err(error) => {
                attempt.withdraw();
                return Err(error.into());
            }
        };
        let stored = member.as_ref().and_then(|member| member.person.password.clone());
        match (member, self.verify(attempt, stored, password).await?) {
            (Some(member), Some(verified)) => Ok((member, verified)),
            (Some(member), None) => {
                self.failures.count(member.person.id, client.origin.clone(), self.clock.now());
                Err(error::sign_in_failed())
            }
            (None, _) => Err(error::sign_in_failed()),
        }
    }

    /// Checks the password of a person who is signed in. 422 for a wrong one, 429 and 503.
    pub(crate) async fn check_own_password(
        &self,
        CurrentSession { session, member }: &CurrentSession,
        password: String,
        client: &Client,
    ) -> Result<Verified, ApiError> {
        let begun = self.throttle.begin_own_password(session.id, client.address, self.clock.now());
        let attempt = begun.map_err(error::too_early)?;
        let verified = self.verify(attempt, member.person.password.clone(), password).await?;
        verified.ok_or_else(|| {
            self.failures.count(member.person.id, client.origin.clone(), self.clock.now());
            error::wrong_password()
        })
    }

    /// Hashes a new password. 503 while too many passwords are hashed.
    pub(crate) async fn hash_password(&self, password: Password) -> Result<PasswordHash, ApiError> {
        let salt = salt(&*self.random);
        self.password_gate.run(move || password.hash(salt)).await
    }

    /// Compares a password with a stored hash, or spends the time of that. `None`: it is wrong.
    async fn verify(
        &self,
        attempt: Attempt<'_>,
        stored: Option<PasswordHash>,
        password: String,
    ) -> Result<Option<Verified>, ApiError> {
        let salt = salt(&*self.random);
        let work = move || {
            let Some(stored) = stored else {
                std::hint::black_box(PasswordHash::of(&password, salt));
                return None;
            };
            let rehash =
                |stored: &PasswordHash| stored.needs_rehash().then(|| PasswordHash::of(&password, salt));
            stored.verify(&password).then(|| Verified { rehash: rehash(&stored), stored })
        };
        let verified = match self.password_gate.run(work).await {
            Ok(verified) => verified,
            Err(busy) => {
                attempt.withdraw();
                return Err(busy);
            }
        };
        if verified.is_some() {
            attempt.succeed();
        }
        Ok(verified)
    }
}

fn salt(random: &dyn Random) -> [u8; 16] {
    let mut salt = [0; 16];
    random.fill(&mut salt);
    salt
}

//! Keys that seal are changed while processes run. At every start of a server all secrets are sealed with its
//! first key, so that the others can go; and no server starts without a key that a secret needs.
//! D-0094.

use kinora_domain::Random;

use crate::Error;
use crate::keyring::Keyring;
use crate::prune::BATCH_MAX;
use crate::sql::{Row, Session, Statement, Value, statements, values};
use crate::{content_key, kept_answer, webhook};

/// A column of sealed secrets. Its statements call `substr(column, 1, 11)` its *seal*: the part that names
/// the key.
pub(crate) struct SealedColumn {
    /// What lies there, for a person.
    pub(crate) what: &'static str,
    /// The seals that are in use: takes one, answers the next as `seal`.
    pub(crate) next_seal: Statement,
    /// A batch of rows: takes a seal, the key of the row in front, and how many. Answers what `read` reads,
    /// and `sealed`.
    pub(crate) page: Statement,
    /// Sets a secret in the place of an older one: takes the newer, the older, and the key of the row. One
    /// that was set meanwhile stays.
    pub(crate) set: Statement,
    /// The key in front of all rows.
    pub(crate) first: fn() -> Vec<Value>,
    /// Reads whose secret it is.
    pub(crate) read: fn(&Row) -> Result<Owner, Error>,
    /// What becomes of those whose key is not at hand.
    pub(crate) without_key: WithoutKey,
}

/// The key of a row, and what its secret is sealed for.
pub(crate) type Owner = (Vec<Value>, String);

/// What becomes of secrets whose key is not at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WithoutKey {
    /// No server starts: they would be lost.
    Refuse,
    /// They go: takes a seal and how many, answers the rows for [`kept_answer::count_out`]. Nobody could read
    /// them, and they would leave within a day.
    Drop(Statement),
}

const COLUMNS: [&SealedColumn; 4] =
    [&webhook::SECRETS, &webhook::PREVIOUS_SECRETS, &content_key::SECRETS, &kept_answer::BODIES];
/// Runs of one transaction that others stand in the way of.
const RUNS_MAX: u32 = 8;

statements! {
    BEGIN = "BEGIN IMMEDIATE", postgres: "BEGIN ISOLATION LEVEL READ COMMITTED";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
}

/// Seals with the first key what another one sealed, in small transactions; others may read and write
/// meanwhile, and begin another server. Reads indexes alone where nothing is to be done.
///
/// [`Error::KeyNotAtHand`], and nothing was changed, when a secret needs a key that is not at hand.
pub(crate) async fn reseal(
    session: &mut Session,
    keyring: &Keyring,
    random: &dyn Random,
) -> Result<(), Error> {
    let mut older = Vec::new();
    for column in COLUMNS {
        for seal in seals(session, column).await? {
            if !keyring.has(&seal) && matches!(column.without_key, WithoutKey::Refuse) {
                return Err(Error::KeyNotAtHand { what: column.what });
            }
            if seal != keyring.first_seal() {
                older.push((column, seal));
            }
        }
    }
    for (column, seal) in older {
        match column.without_key {
            WithoutKey::Drop(statement) if !keyring.has(&seal) => drop_all(session, statement, &seal).await?,
            _ => rewrite(session, column, &seal, keyring, random).await?,
        }
    }
    Ok(())
}

/// What the secrets of a column are sealed with: one or two, mostly.
async fn seals(session: &mut Session, column: &SealedColumn) -> Result<Vec<String>, Error> {
    let mut seals = Vec::new();
    let mut last = String::new();
    while let Some(row) = session.first(column.next_seal, values![last.as_str()]).await? {
        last = row.text("seal")?;
        seals.push(last.clone());
    }
    Ok(seals)
}

/// Walks once along the rows of a seal. A server whose first key is another may walk the other way meanwhile,
/// and both end.
async fn rewrite(
    session: &mut Session,
    column: &SealedColumn,
    seal: &str,
    keyring: &Keyring,
    random: &dyn Random,
) -> Result<(), Error> {
    let mut key = (column.first)();
    loop {
        let mut values = values![seal];
        values.append(&mut key);
        values.push(BATCH_MAX.into());
        let mut changes = Vec::new();
        for row in session.all(column.page, values).await? {
            let owner;
            (key, owner) = (column.read)(&row)?;
            let older = row.text("sealed")?;
            let newer = keyring.seal(&keyring.open(&older, &owner)?, &owner, random);
            changes.push([values![newer, older], key.clone()].concat());
        }
        if changes.is_empty() {
            return Ok(());
        }
        Batch::Set { statement: column.set, changes }.commit(session).await?;
    }
}

async fn drop_all(session: &mut Session, statement: Statement, seal: &str) -> Result<(), Error> {
    let batch = Batch::Drop { statement, seal };
    while batch.commit(session).await? > 0 {}
    Ok(())
}

/// One transaction.
enum Batch<'a> {
    /// Sets secrets.
    Set { statement: Statement, changes: Vec<Vec<Value>> },
    /// Removes answers.
    Drop { statement: Statement, seal: &'a str },
}

impl Batch<'_> {
    /// Runs again where somebody else stood in the way. Answers how many rows were looked at.
    async fn commit(&self, session: &mut Session) -> Result<usize, Error> {
        let mut runs = 1;
        loop {
            match self.once(session).await {
                Err(Error::Conflict) if runs < RUNS_MAX => runs += 1,
                done => return done,
            }
        }
    }

    async fn once(&self, session: &mut Session) -> Result<usize, Error> {
        session.execute(BEGIN, values![]).await?;
        let mut done = self.run(session).await;
        if done.is_ok()
            && let Err(error) = session.execute(COMMIT, values![]).await
        {
            done = Err(error);
        }
        if done.is_err() {
            // The first error is the one to tell.
            let _ = session.execute(ROLLBACK, values![]).await;
            session.take_error();
        }
        done
    }

    async fn run(&self, session: &mut Session) -> Result<usize, Error> {
        match self {
            Self::Set { statement, changes } => {
                for change in changes {
                    session.execute(*statement, change.clone()).await?;
                }
                Ok(changes.len())
            }
            Self::Drop { statement, seal } => {
                let rows = session.change(*statement, values![*seal, BATCH_MAX]).await?;
                kept_answer::count_out(session, &rows).await?;
                Ok(rows.len())
            }
        }
    }
}

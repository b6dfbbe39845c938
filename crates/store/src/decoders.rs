//! Which decoders the process has that started last. Processes of one installation should have the same: else
//! it depends on luck whether a source plays.

use crate::sql::{Row, statements, values};
use crate::{Error, Store, Tx};

statements! {
    READ = "SELECT value FROM setting WHERE key = 'decoders'";
    WRITE = "INSERT INTO setting (key, value) VALUES ('decoders', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

impl Store {
    /// The decoders of the process that noted them last, as it noted them; `None` in a new installation.
    pub async fn decoders(&self) -> Result<Option<String>, Error> {
        let row = self.reader().await?.first(READ, values![]).await?;
        row.map(|row: Row| row.text("value")).transpose()
    }
}

impl Tx {
    /// Notes the decoders of this process. May run twice.
    pub async fn note_decoders(&mut self, decoders: &str) -> Result<(), Error> {
        self.effects.rows = true;
        self.session.execute(WRITE, values![decoders]).await.map(drop)
    }
}

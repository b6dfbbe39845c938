//! The decoders of the process that started last. Processes of one installation should have the same
//! decoders. Otherwise a source plays on some processes only.

use crate::sql::{Row, statements, values};
use crate::{Error, Tx};

statements! {
    READ = "SELECT value FROM setting WHERE key = 'decoders'";
    WRITE = "INSERT INTO setting (key, value) VALUES ('decoders', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

impl Tx {
    /// Stores the decoders of this process and returns the ones stored before; `None` in a new
    /// installation. May run twice.
    pub async fn exchange_decoders(&mut self, own: &str) -> Result<Option<String>, Error> {
        let row = self.session.first(READ, values![]).await?;
        let before = row.map(|row: Row| row.text("value")).transpose()?;
        if before.as_deref() != Some(own) {
            self.signals.rows = true;
            self.session.execute(WRITE, values![own]).await?;
        }
        Ok(before)
    }
}

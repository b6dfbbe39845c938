//! Registration of direct uploads. The media is created with the first byte (C-6): `Upload::begin`.

use kinora_domain::{NewUpload, Upload};
use kinora_store::Tx;

use crate::media::check_title;
use crate::{Caller, Commit, Error, Service};

impl Service {
    /// Registers an upload: row, event, and the job that ends it at its deadline.
    ///
    /// `new.workspace` is replaced by the caller's. Errors: `TitleTooLong`.
    pub async fn create_upload<C: Commit<Upload>>(
        &self,
        caller: &Caller,
        new: NewUpload,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        check_title(&new.settings).map_err(C::reject)?;
        let caller = *caller;
        let new = NewUpload { workspace: caller.workspace, ..new };
        let (upload, event) = Upload::create(new, self.clock.now(), &*self.random);
        let work = async move |tx: &mut Tx| {
            caller.check_workspace(tx).await?;
            tx.register_upload(&upload, &event).await?;
            Ok::<_, Error>(upload.clone())
        };
        commit.commit(&self.store, work).await
    }
}

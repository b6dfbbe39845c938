//! Inserts the rows of new media, with event and job, in shared commits: the work of a server that creates
//! media, without HTTP.

use kinora_domain::{AccessPolicy, Clock as _, DEVELOPMENT, Media, MediaSettings, NewMedia, WorkspaceId};
use kinora_store::{Store, Tx};
use tokio::time::Instant;

use super::store::open;
use super::{SystemClock, SystemRandom, measure};
use crate::Error;

/// `database` is a folder, or an address that begins with `postgres://`.
pub(crate) async fn run(database: &str, writers: &str, seconds: &str) -> Result<(), Error> {
    let store = open(database).await?;
    let workspace = store.workspace_by_name(DEVELOPMENT).await?.ok_or("there is no workspace")?.id;
    measure(writers, seconds, |until| write(store.clone(), workspace, until)).await?;
    store.close().await;
    Ok(())
}

async fn write(store: Store, workspace: WorkspaceId, until: Instant) -> Result<u64, Error> {
    let mut made = 0;
    while Instant::now() < until {
        let new = NewMedia {
            clip_of: None,
            workspace,
            settings: MediaSettings { title: Some("A title".into()), ..MediaSettings::default() },
            url: "https://media.example/a.mp4".into(),
            policy: AccessPolicy::Public,
            restrictions: kinora_domain::AccessRestrictions::default(),
            encryption: kinora_domain::Encryption::None,
            tracks: Vec::new(),
        };
        let now = SystemClock.now();
        let (media, event) = Media::create(new, now, &SystemRandom);
        store.write(async move |tx: &mut Tx| tx.register_media(&media, &event, now).await).await?;
        made += 1;
    }
    Ok(made)
}

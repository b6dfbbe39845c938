//! From a source that is whole to a media that plays, however it came: what is not read where it lies is
//! brought into another container, and what does not play as a copy is begun. Its sound may be another one by
//! then.

pub(crate) mod first;
pub(crate) mod remux;
pub(crate) mod sink;
pub(crate) mod sound;

use kinora_intake::has_room;

use crate::Context;
use crate::error::JobError;

/// Whether `len` more bytes fit the store, and leave room for the database.
pub(crate) async fn check_room(context: &Context, len: u64) -> Result<(), JobError> {
    if has_room(&context.blob, len).await? { Ok(()) } else { Err(JobError::Full) }
}

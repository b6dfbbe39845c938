//! Operations that HTTP and the command line share: they map a caller and an input to an outcome, in one
//! transaction.
//!
//! `POST /on-demand` and `kinora media create` call the same function. Independent of HTTP and terminal:
//! the `api` crate maps [`Error`] to responses, the commands map it to sentences.
//!
//! Begin with [`Service`] and [`Caller`], then `media.rs`. Reads that need only one call of the store stay
//! in the store.

mod access_tokens;
mod audit;
mod caller;
mod commit;
mod error;
mod links;
mod media;
mod members;
mod people;
mod playback_ids;
mod playlists;
mod revoked_tokens;
mod service;
mod sessions;
mod shell;
mod signing_keys;
mod tracks;
mod uploads;
mod webhooks;
mod workspace_file;
mod workspaces;

pub use access_tokens::{CreatedAccessToken, NewAccessToken};
pub use caller::{Caller, Principal};
pub use commit::{Commit, CommitOnly};
pub use error::Error;
pub use links::{MadeLink, OpenLink, UseLink};
pub use media::RegisteredMedia;
pub use people::{CreatedPerson, MeChange, NewPerson, PersonChange};
pub use revoked_tokens::NewRevokedToken;
pub use service::Service;
pub use sessions::{ChangePassword, OpenedSession, SignIn};
pub use shell::shell_word;
pub use workspace_file::{NamedFile, WorkspaceFile};

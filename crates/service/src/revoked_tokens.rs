//! Playback tokens that are revoked before they expire.

use kinora_domain::{AuditAction, PlaybackId, Timestamp};
use kinora_store::{RevokedToken, Tx};

use crate::audit::CallerAudit;
use crate::{Caller, Commit, Error, Service};

/// A playback token to revoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRevokedToken {
    /// Its claim `jti`.
    pub jti: String,
    /// Its expiry. `None`: it stays revoked forever.
    pub expires_at: Option<Timestamp>,
    /// A playback ID of the caller's workspace.
    pub playback_id: Option<PlaybackId>,
    /// Whether players of that playback ID need the manifest again, with another token.
    pub end_playback: bool,
}

impl Service {
    /// Revokes a playback token in the caller's workspace. If it is revoked again, the later expiry applies.
    ///
    /// Errors: `PlaybackIdNotFound`.
    pub async fn revoke_token<C: Commit<RevokedToken>>(
        &self,
        caller: &Caller,
        new: NewRevokedToken,
        commit: C,
    ) -> Result<C::Output, C::Error> {
        let (caller, now) = (*caller, self.clock.now());
        let workspace = caller.workspace;
        let work = async move |tx: &mut Tx| {
            caller.check_workspace(tx).await?;
            if let Some(playback_id) = new.playback_id {
                let media = tx.media_of_playback(playback_id).await?;
                let media = media.filter(|media| media.workspace == workspace);
                let media = media.ok_or(Error::PlaybackIdNotFound)?;
                if new.end_playback {
                    let ended = media.revoke_signed_paths(playback_id).ok_or(Error::PlaybackIdNotFound)?;
                    tx.save_media(&ended).await?;
                }
            }
            let before = tx.revoked_token(workspace, &new.jti).await?;
            let revoked = tx.revoke_token(workspace, &new.jti, new.expires_at, now).await?;
            if new.end_playback || before != Some(revoked) {
                audit(&new).push(tx, &caller, now).await?;
            }
            Ok(revoked)
        };
        commit.commit(&self.store, work).await
    }
}

fn audit(new: &NewRevokedToken) -> CallerAudit {
    let row = CallerAudit::new(AuditAction::PlaybackTokenRevoked, "playback_token", &new.jti);
    match new.playback_id {
        Some(id) => row.with("playbackId", id).with("endPlayback", new.end_playback),
        None => row,
    }
}

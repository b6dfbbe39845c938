//! An unnamed temporary file for large data of a scan, or for an index.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use kinora_isobmff::BoxSpill;
use rustix::fs::fstatvfs;

use crate::{RESERVED_BYTES, SPACE_CHECK_EVERY_BYTES};

/// Empty, or the bytes of one box, of the tables of a movie, or of a whole scanner.
#[derive(Debug)]
pub(super) struct SpillFile {
    folder: Arc<Path>,
    file: Option<File>,
    len: u64,
    /// Length up to which the disk space was checked.
    space_checked_to: u64,
}

impl SpillFile {
    pub(super) fn new(folder: Arc<Path>) -> Self {
        Self { folder, file: None, len: 0, space_checked_to: 0 }
    }

    /// Bytes in the file.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads the whole content and empties the file.
    pub(super) fn read_and_clear(&mut self) -> io::Result<Vec<u8>> {
        let Some(mut file) = self.file.take() else { return Ok(Vec::new()) };
        let len = usize::try_from(std::mem::take(&mut self.len)).map_err(io::Error::other)?;
        self.space_checked_to = 0;
        let mut bytes = Vec::with_capacity(len);
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Passes the whole content to `consume` in pieces, and empties the file.
    pub(super) fn read_in_pieces<E: From<io::Error>>(
        &mut self,
        piece_len: usize,
        mut consume: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        (self.len, self.space_checked_to) = (0, 0);
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.rewind()?;
        let mut piece = vec![0; piece_len];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(()),
                len => consume(&piece[..len])?,
            }
        }
    }
}

impl BoxSpill for SpillFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let end = self.len + bytes.len() as u64;
        if end > self.space_checked_to {
            let volume = fstatvfs(&*file)?;
            // The database may be on the same disk.
            if volume.f_bavail.saturating_mul(volume.f_frsize) < bytes.len() as u64 + RESERVED_BYTES {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.space_checked_to = end + SPACE_CHECK_EVERY_BYTES;
        }
        file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spill_file_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = SpillFile::new(folder.path().into());
        assert_eq!(file.read_and_clear().unwrap(), b"");
        file.append(b"one, ").unwrap();
        file.append(b"two").unwrap();
        assert_eq!(file.read_and_clear().unwrap(), b"one, two");
        file.append(b"three").unwrap();
        assert_eq!(file.read_and_clear().unwrap(), b"three");
        file.append(b"four and five").unwrap();
        let mut pieces = Vec::new();
        let read = file.read_in_pieces(8, |piece| {
            pieces.push(piece.to_vec());
            Ok::<_, io::Error>(())
        });
        read.unwrap();
        assert_eq!((pieces, file.len()), (vec![b"four and".to_vec(), b" five".to_vec()], 0));
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "it has no name");
    }
}

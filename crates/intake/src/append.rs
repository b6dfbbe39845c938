//! A request that sends bytes, and the state of an upload after it.

use kinora_domain::{LengthRejected, Timestamp, Upload};

use crate::{CHECKED_BYTES_MAX, Checksum, IntakeError};

/// Bytes to append to an upload, as a request announced them.
///
/// `B` is a stream of `Result<Bytes, E>`; it is read to its end, or to the first fatal error.
#[derive(Debug)]
pub struct Append<B> {
    /// Offset of the first byte of the body in the file.
    pub start: u64,
    /// Whether the body may contain bytes that are stored already: they are skipped. Otherwise `start` must
    /// equal the offset of the upload.
    pub may_overlap: bool,
    /// Length of the whole file in bytes, if the request states it.
    pub length: Option<u64>,
    /// Whether the file ends with the body.
    pub is_last: bool,
    /// Length of the body in bytes, if the request states it. A body of another length is rejected or
    /// aborted.
    pub body_len: Option<u64>,
    /// Checksum of the body; on a mismatch none of it is stored.
    pub checksum: Option<Checksum>,
    /// The bytes.
    pub body: B,
}

/// How a request relates to the stored bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AcceptedBody {
    /// Bytes of the body that are stored already.
    pub(crate) skip: u64,
    /// Length of the whole file in bytes, if the request states it.
    pub(crate) length: Option<u64>,
}

impl<B> Append<B> {
    /// Whether an upload with `offset` stored bytes can receive the request.
    pub(crate) fn check_offset(&self, upload: &Upload, offset: u64) -> Result<AcceptedBody, IntakeError> {
        let end = self.body_len.map(|len| self.start.saturating_add(len));
        let length = self.length.or(end.filter(|_| self.is_last));
        if let Some(length) = length {
            upload.check_length(length, offset)?;
        }
        let file_length = length.or(upload.length);
        if let Some(length) = file_length.filter(|length| end.is_some_and(|end| end > *length)) {
            return Err(IntakeError::TooManyBytes { offset, length });
        }
        if let Some(max) = upload.size_max.filter(|max| end.is_some_and(|end| end > *max)) {
            return Err(LengthRejected::TooLarge { max }.into());
        }
        if self.start > offset || (self.start < offset && !self.may_overlap) {
            return Err(IntakeError::WrongOffset { offset, length: file_length });
        }
        if self.checksum.is_some() && self.body_len.is_some_and(|len| len > CHECKED_BYTES_MAX) {
            return Err(IntakeError::ChecksumTooLong { max: CHECKED_BYTES_MAX });
        }
        Ok(AcceptedBody { skip: offset - self.start, length })
    }
}

/// The state of an upload.
#[derive(Debug, Clone, PartialEq)]
pub struct UploadProgress {
    /// The upload, as its row was just read or written.
    pub upload: Upload,
    /// Number of stored bytes from the start; the offset of the next byte.
    pub offset: u64,
}

impl UploadProgress {
    /// Whether the whole file is stored.
    pub fn is_complete(&self) -> bool {
        matches!(self.upload.state, kinora_domain::UploadState::Completed { .. })
    }

    /// The deadline for the next byte; `None` when the upload accepts no more.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.upload.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{uploading, waiting};

    /// 10 bytes at offset 100.
    fn append() -> Append<()> {
        Append {
            start: 100,
            may_overlap: false,
            length: None,
            is_last: false,
            body_len: Some(10),
            checksum: None,
            body: (),
        }
    }

    fn upload(length: Option<u64>, size_max: Option<u64>) -> Upload {
        Upload { length, size_max, ..uploading(100, 1) }
    }

    #[track_caller]
    fn check_at(
        append: &Append<()>,
        upload: &Upload,
        offset: u64,
        expected: Result<AcceptedBody, IntakeError>,
    ) {
        // Errors do not implement equality; their text contains every value.
        let found = append.check_offset(upload, offset);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{append:?} {:?}", upload.length);
    }

    #[track_caller]
    fn check(append: &Append<()>, upload: &Upload, expected: Result<AcceptedBody, IntakeError>) {
        check_at(append, upload, 100, expected);
    }

    fn check_offset(skip: u64, length: Option<u64>) -> Result<AcceptedBody, IntakeError> {
        Ok(AcceptedBody { skip, length })
    }

    fn too_many(length: u64) -> Result<AcceptedBody, IntakeError> {
        Err(IntakeError::TooManyBytes { offset: 100, length })
    }

    #[test]
    fn append_is_accepted_at_the_offset_alone() {
        let wrong = |length| Err(IntakeError::WrongOffset { offset: 100, length });
        let any = upload(None, None);
        check(&append(), &any, check_offset(0, None));
        check(&Append { start: 99, ..append() }, &any, wrong(None));
        check(&Append { start: 101, ..append() }, &any, wrong(None));
        check(&Append { start: 0, ..append() }, &any, wrong(None));
        // The client learns the length, from any of its requests.
        check(&Append { start: 99, ..append() }, &upload(Some(500), None), wrong(Some(500)));
        check(&Append { start: 99, length: Some(600), ..append() }, &any, wrong(Some(600)));
        check_at(&Append { start: 0, ..append() }, &waiting(), 0, check_offset(0, None));
        let first = Err(IntakeError::WrongOffset { offset: 0, length: None });
        check_at(&append(), &waiting(), 0, first);
    }

    #[test]
    fn overlapping_append_skips_stored_bytes() {
        let overlapping = |start| Append { start, may_overlap: true, ..append() };
        let any = upload(None, None);
        check(&overlapping(100), &any, check_offset(0, None));
        check(&overlapping(95), &any, check_offset(5, None));
        check(&overlapping(0), &any, check_offset(100, None)); // all of the body and more
        check(&overlapping(101), &any, Err(IntakeError::WrongOffset { offset: 100, length: None }));
        check(&Append { body_len: None, ..overlapping(0) }, &any, check_offset(100, None));
    }

    #[test]
    fn body_beyond_the_announced_length_is_rejected() {
        check(&append(), &upload(Some(110), None), check_offset(0, None));
        check(&append(), &upload(Some(109), None), too_many(109));
        check(&Append { length: Some(110), ..append() }, &upload(None, None), check_offset(0, Some(110)));
        check(&Append { length: Some(109), ..append() }, &upload(None, None), too_many(109));
        check(&Append { body_len: None, ..append() }, &upload(Some(101), None), check_offset(0, None));
        check(&Append { body_len: Some(u64::MAX), ..append() }, &upload(Some(109), None), too_many(109));
        // The length is checked before the offset.
        check(&Append { start: 105, ..append() }, &upload(Some(109), None), too_many(109));
    }

    #[test]
    fn last_body_announces_where_the_file_ends() {
        let last = Append { is_last: true, ..append() };
        let any = upload(None, None);
        let rejected = |problem: LengthRejected| Err(IntakeError::Length(problem));
        check(&last, &any, check_offset(0, Some(110)));
        check(&Append { body_len: None, ..last }, &any, check_offset(0, None)); // known when it ends
        let last = Append { is_last: true, ..append() };
        check(&last, &upload(Some(110), None), check_offset(0, Some(110)));
        check(&last, &upload(Some(111), None), rejected(LengthRejected::Changed { announced: 111 }));
        let short = Append { start: 0, may_overlap: true, ..last };
        check(&short, &any, rejected(LengthRejected::BelowOffset { kept: 100 }));
    }

    #[test]
    fn announced_length_must_be_possible() {
        let of = |length| Append { length: Some(length), body_len: None, ..append() };
        let rejected = |problem: LengthRejected| Err(IntakeError::Length(problem));
        check(&of(100), &upload(None, None), check_offset(0, Some(100)));
        check(&of(99), &upload(None, None), rejected(LengthRejected::BelowOffset { kept: 100 }));
        check(&of(0), &upload(None, None), rejected(LengthRejected::Empty));
        check(&of(200), &upload(Some(200), None), check_offset(0, Some(200)));
        check(&of(201), &upload(Some(200), None), rejected(LengthRejected::Changed { announced: 200 }));
        check(&of(300), &upload(None, Some(300)), check_offset(0, Some(300)));
        check(&of(301), &upload(None, Some(300)), rejected(LengthRejected::TooLarge { max: 300 }));
    }

    #[test]
    fn body_beyond_the_size_limit_is_rejected() {
        let rejected = Err(IntakeError::Length(LengthRejected::TooLarge { max: 109 }));
        check(&append(), &upload(None, Some(110)), check_offset(0, None));
        check(&append(), &upload(None, Some(109)), rejected);
        check(&Append { body_len: None, ..append() }, &upload(None, Some(109)), check_offset(0, None));
    }

    #[test]
    fn body_with_checksum_is_limited_to_32_mib() {
        let of = |body_len| Append { body_len, checksum: Some(Checksum::Sha1([0; 20])), ..append() };
        let rejected = Err(IntakeError::ChecksumTooLong { max: 32 << 20 });
        let any = upload(None, None);
        check(&of(Some(32 << 20)), &any, check_offset(0, None));
        check(&of(Some((32 << 20) + 1)), &any, rejected);
        check(&of(None), &any, check_offset(0, None)); // counted as it comes
        check(&Append { checksum: None, ..of(Some((32 << 20) + 1)) }, &any, check_offset(0, None));
    }
}

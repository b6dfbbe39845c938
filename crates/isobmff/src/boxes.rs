//! Boxes inside a buffer: headers, children, and numbers of their bodies. ISO/IEC 14496-12, 4.2.

use std::fmt;

/// Four characters that name a box, a brand, a handler or a codec.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FourCc(pub [u8; 4]);

impl fmt::Display for FourCc {
    /// Prints `?` for characters that are not printable: the name is untrusted input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            let character = if byte.is_ascii_graphic() || byte == b' ' { byte } else { b'?' };
            write!(f, "{}", char::from(character))?;
        }
        Ok(())
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// One box inside a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxRef<'a> {
    /// Its type.
    pub kind: FourCc,
    /// The bytes after its header.
    pub body: &'a [u8],
}

impl<'a> BoxRef<'a> {
    /// The first child of this kind.
    pub fn child(&self, kind: &[u8; 4]) -> Option<BoxRef<'a>> {
        children(self.body).find(|child| &child.kind.0 == kind)
    }

    /// The first box at the end of a path of kinds: the first child of each kind.
    pub fn descend(&self, path: &[&[u8; 4]]) -> Option<BoxRef<'a>> {
        path.iter().try_fold(*self, |parent, kind| parent.child(kind))
    }
}

/// Iterates over the consecutive boxes in `bytes`.
///
/// Ends at the first invalid header: QuickTime ends lists with four zero bytes, and some writers leave
/// padding. A box that is longer than its parent is cut at the parent's end.
pub fn children(bytes: &[u8]) -> Children<'_> {
    Children { rest: bytes }
}

/// See [`children`].
#[derive(Debug, Clone)]
pub struct Children<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Children<'a> {
    type Item = BoxRef<'a>;

    fn next(&mut self) -> Option<BoxRef<'a>> {
        let mut fields = FieldReader::new(self.rest);
        let size = fields.u32()?;
        let kind = FourCc(fields.array()?);
        let size = match size {
            0 => self.rest.len(),
            1 => usize::try_from(fields.u64()?).ok()?,
            size => size as usize,
        };
        let head_len = self.rest.len() - fields.rest.len();
        let size = size.min(self.rest.len());
        let body = self.rest.get(head_len..size)?;
        self.rest = &self.rest[size..];
        Some(BoxRef { kind, body })
    }
}

/// Reads big-endian numbers from the front of a body; `None` past the end.
#[derive(Debug, Clone, Copy)]
pub struct FieldReader<'a> {
    /// The bytes that are not read yet.
    pub rest: &'a [u8],
}

impl<'a> FieldReader<'a> {
    /// Reads from the first byte of `body`.
    pub fn new(body: &'a [u8]) -> Self {
        FieldReader { rest: body }
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(head)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Option<()> {
        self.bytes(len).map(drop)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// The next 4 bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// The next 4 bytes, signed.
    pub fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// The next 8 bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// The next 8 bytes, signed.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// The version and the flags that begin a full box.
    pub fn version_and_flags(&mut self) -> Option<(u8, u32)> {
        let word = self.u32()?;
        Some(((word >> 24) as u8, word & 0x00ff_ffff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(bytes: &[u8]) -> Vec<(String, usize)> {
        children(bytes).map(|child| (child.kind.to_string(), child.body.len())).collect()
    }

    #[test]
    fn box_children_end_at_invalid_bytes() {
        let free = b"\0\0\0\x09freeX";
        assert_eq!(kinds(b""), []);
        assert_eq!(kinds(free), [("free".into(), 1)]);
        assert_eq!(kinds(&[&free[..], &[0; 4]].concat()), [("free".into(), 1)], "a QuickTime terminator");
        assert_eq!(
            kinds(&[&free[..], b"\0\0\0\x07badd"].concat()),
            [("free".into(), 1)],
            "shorter than its header"
        );
        assert_eq!(kinds(b"\0\0\0\0restabc"), [("rest".into(), 3)], "size 0 reaches to the end");
        assert_eq!(
            kinds(b"\0\0\0\x01long\0\0\0\0\0\0\0\x12ab\0\0\0\x08next"),
            [("long".into(), 2), ("next".into(), 0)]
        );
        assert_eq!(kinds(b"\0\0\0\x01long\xff\xff\xff\xff\xff\xff\xff\xffab"), [("long".into(), 2)]);
        assert_eq!(kinds(b"\0\0\0\x63cut!ab"), [("cut!".into(), 2)], "longer than its parent");
        assert_eq!(kinds(b"\0\0\0\x08\x01\xffa\n"), [("??a?".into(), 0)]);
    }
}

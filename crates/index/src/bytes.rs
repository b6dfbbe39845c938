//! Little-endian numbers, variable-length numbers and byte strings, written and read with checked lengths.

/// Longest variable-length number: 64 bits at 7 a byte.
const VARINT_LEN_MAX: u32 = 10;

/// Appends numbers and byte strings.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// 7 bits a byte, low bits first, the top bit set on all but the last.
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A signed number in zigzag encoding, so that small numbers of either sign stay short.
    pub(crate) fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    /// A length and the bytes.
    pub(crate) fn string(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

/// Encoded length of a number in bytes, see [`Writer::varint`].
pub(crate) fn varint_len(value: u64) -> u32 {
    (64 - (value | 1).leading_zeros()).div_ceil(7)
}

/// Reads numbers and byte strings from the front; `None` when too few bytes are left.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for position in 0..VARINT_LEN_MAX {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << (7 * position);
            if byte & 0x80 == 0 {
                // The tenth byte has only one bit of the number.
                return (position + 1 < VARINT_LEN_MAX || byte <= 1).then_some(value);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A variable-length number that must fit 32 bits.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?.try_into().ok()?;
        self.take(len)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn varints_round_trip(value: u64, signed: i64) {
            let mut writer = Writer::default();
            writer.varint(value);
            prop_assert_eq!(writer.bytes.len(), varint_len(value) as usize);
            writer.signed(signed);
            let mut reader = Reader::new(&writer.bytes);
            prop_assert_eq!(reader.varint(), Some(value));
            prop_assert_eq!(reader.signed(), Some(signed));
            prop_assert!(reader.is_empty());
        }
    }

    #[test]
    fn overlong_varint_is_rejected() {
        for bytes in [
            &[][..],
            &[0x80],
            &[0xff; 9],
            &[0xff; 11],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
        ] {
            assert_eq!(Reader::new(bytes).varint(), None, "{bytes:?}");
        }
        assert_eq!(Reader::new(&[3, 1, 2]).string(), None);
    }
}

//! One column of one block: up to 128 numbers in few bytes.
//!
//! Patched frame of reference: the smallest value is the base. Each other value is stored as its distance
//! from the base, divided by the greatest common divisor of all distances, in a fixed number of bits. The
//! few values that need more bits (a keyframe among small frames) have their upper bits in a list of
//! exceptions. So one large value does not make all of them wide.

use crate::bytes::{Reader, Writer, varint_len};

/// Samples of one block.
pub(super) const BLOCK_LEN: usize = 128;

/// The values of one column of one block.
pub(super) type Column = [i64; BLOCK_LEN];

/// Writes `values` unless they are all equal; returns whether it wrote them.
///
/// The caller records which columns are constant, and writes their single value itself.
pub(super) fn write_unless_constant(values: &[i64], writer: &mut Writer) -> bool {
    let base = values.iter().copied().min().unwrap_or(0);
    let mut divisor = 0;
    for &value in values {
        divisor = greatest_common_divisor(divisor, distance(value, base));
    }
    if divisor == 0 {
        return false;
    }

    let mut bit_lens = [0u32; 65];
    for &value in values {
        bit_lens[bit_len(distance(value, base) / divisor) as usize] += 1;
    }
    let width = cheapest_width(values.len() as u32, &bit_lens);
    let exceptions: u32 = bit_lens[width as usize + 1..].iter().sum();

    writer.u8(width as u8);
    // The base itself has distance 0, so at least one value of the 128 is no exception.
    writer.u8(exceptions as u8);
    writer.signed(base);
    writer.varint(divisor);

    let mut pending: u128 = 0;
    let mut pending_bits = 0;
    for &value in values {
        pending |= u128::from(low_bits(distance(value, base) / divisor, width)) << pending_bits;
        pending_bits += width;
        while pending_bits >= 8 {
            writer.u8(pending as u8);
            pending >>= 8;
            pending_bits -= 8;
        }
    }
    if pending_bits > 0 {
        writer.u8(pending as u8);
    }
    if exceptions > 0 {
        for (position, &value) in values.iter().enumerate() {
            let number = distance(value, base) / divisor;
            if bit_len(number) > width {
                writer.u8(position as u8);
                writer.varint(number >> width);
            }
        }
    }
    true
}

/// Reads `count` values that [`write_unless_constant`] wrote. `None` for invalid bytes.
pub(super) fn read(reader: &mut Reader<'_>, count: usize, values: &mut Column) -> Option<()> {
    let width = u32::from(reader.u8()?);
    let exceptions = reader.u8()?;
    let base = reader.signed()?;
    let divisor = reader.varint()?;
    if width > 64 {
        return None;
    }
    let packed = reader.take((count * width as usize).div_ceil(8))?;
    for (position, value) in values[..count].iter_mut().enumerate() {
        let number = bits_at(packed, position * width as usize, width);
        *value = base.wrapping_add_unsigned(number.wrapping_mul(divisor));
    }
    for _ in 0..exceptions {
        let position = usize::from(reader.u8()?);
        let upper = reader.varint()?;
        let value = values[..count].get_mut(position)?;
        let distance = upper.checked_shl(width)?.wrapping_mul(divisor);
        *value = value.wrapping_add_unsigned(distance);
    }
    Some(())
}

/// `width` bits starting at bit `at`, low bits first.
fn bits_at(packed: &[u8], at: usize, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (byte, shift) = (at / 8, (at % 8) as u32);
    let number = match packed[byte..].first_chunk::<8>() {
        Some(bytes) if shift + width <= 64 => u64::from_le_bytes(*bytes) >> shift,
        _ => {
            let mut bytes = [0; 16];
            let present = &packed[byte..packed.len().min(byte + 16)];
            bytes[..present.len()].copy_from_slice(present);
            (u128::from_le_bytes(bytes) >> shift) as u64
        }
    };
    low_bits(number, width)
}

/// The width with the smallest sum of packed values and exceptions.
fn cheapest_width(count: u32, bit_lens: &[u32; 65]) -> u32 {
    let widest = bit_lens.iter().rposition(|&n| n > 0).unwrap_or(0) as u32;
    let cost = |width: u32| {
        let exception_bytes: u32 = (width + 1..=widest)
            .map(|len| bit_lens[len as usize] * (1 + varint_len(1 << (len - width - 1))))
            .sum();
        count * width + 8 * exception_bytes
    };
    (0..=widest).min_by_key(|&width| cost(width)).unwrap_or(widest)
}

fn distance(value: i64, base: i64) -> u64 {
    value.wrapping_sub(base) as u64
}

fn bit_len(number: u64) -> u32 {
    64 - number.leading_zeros()
}

fn low_bits(number: u64, width: u32) -> u64 {
    if width >= 64 { number } else { number & ((1 << width) - 1) }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    // The usual cases: no divisor yet, equal values, or a divisor of 1.
    if a == 0 || b == 0 || a == 1 {
        return if a == 1 { 1 } else { a | b };
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed_len(values: &[i64]) -> usize {
        let mut writer = Writer::default();
        write_unless_constant(values, &mut writer);
        writer.bytes.len()
    }

    fn round_trip(values: &[i64]) {
        let mut writer = Writer::default();
        if !write_unless_constant(values, &mut writer) {
            assert!(values.iter().all(|&value| value == values[0]));
            assert!(writer.bytes.is_empty());
            return;
        }
        let mut column = [0; BLOCK_LEN];
        let mut reader = Reader::new(&writer.bytes);
        assert_eq!(read(&mut reader, values.len(), &mut column), Some(()));
        assert_eq!(&column[..values.len()], values);
        assert!(reader.is_empty());
    }

    #[test]
    fn chosen_values_round_trip() {
        round_trip(&[]);
        round_trip(&[7]);
        round_trip(&[5; 128]);
        round_trip(&[i64::MIN, i64::MAX]);
        round_trip(&[i64::MAX, i64::MIN, 0, -1]);
        round_trip(&std::array::from_fn::<i64, 128, _>(|n| 1 << (n % 63)));
    }

    #[test]
    fn one_large_value_does_not_make_the_others_wide() {
        let mut sizes = [0; 128];
        for (n, size) in sizes.iter_mut().enumerate() {
            *size = 900 + (n as i64 * 37) % 100;
        }
        let without = packed_len(&sizes);
        sizes[60] = 90_000;
        assert!(packed_len(&sizes) <= without + 5);
    }

    #[test]
    fn common_factor_is_divided_out() {
        let offsets = std::array::from_fn::<i64, 128, _>(|n| [1024, 2560, 1024, 0, 512][n % 5]);
        // 3 bits each instead of 12: 48 bytes and the head.
        assert!(packed_len(&offsets) <= 48 + 6, "{}", packed_len(&offsets));
    }

    proptest! {
        #[test]
        fn any_values_round_trip(values in prop::collection::vec(any::<i64>(), 0..=128)) {
            round_trip(&values);
        }

        #[test]
        fn small_values_round_trip(values in prop::collection::vec(-5000i64..70000, 0..=128)) {
            round_trip(&values);
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0..=128usize) {
            let _ = read(&mut Reader::new(&bytes), count, &mut [0; BLOCK_LEN]);
        }
    }
}

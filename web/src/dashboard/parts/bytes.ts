// Numbers of bytes in words, in decimal units as on the labels of disks.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** "3.1 GB". */
export function bytes(count: number): string {
  const { value, unit } = inUnit(count);
  return `${value} ${unit}`;
}

/** "1.9 of 3.1 GB": both in the unit of the whole. */
export function bytesOf(count: number, whole: number): string {
  const { power, value, unit } = inUnit(whole);
  return `${digits(count / 1000 ** power)} of ${value} ${unit}`;
}

function inUnit(count: number): { power: number; value: string; unit: string } {
  let power = 0;
  while (power < UNITS.length - 1 && count >= 999.5 * 1000 ** power) power += 1;
  return { power, value: digits(count / 1000 ** power, power), unit: UNITS[power] ?? "" };
}

/** Three digits where the number is small. Bytes have no fraction. */
function digits(value: number, power = 1): string {
  return value.toLocaleString("en-GB", { maximumFractionDigits: power === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2 });
}

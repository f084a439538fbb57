/** The keys of a cluster are in so many slots. */
export const SLOTS = 16_384;

/** A character that is more than one byte of UTF-8. */
const NO_ASCII = /[^\0-\x7f]/;

/**
 * Returns the slot of a key in a cluster, which is that of its hash tag. The tag is the text between the first brace and the next
 * closing one, or the whole key if that is empty. Its slot is a CRC-16 of the polynomial 0x1021 that begins at 0 (XMODEM).
 */
export function hashSlotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  // The tag as UTF-8. ASCII is read as it is, because each call has its slot computed several times.
  const bytes = NO_ASCII.test(tag) ? Buffer.from(tag).toString('latin1') : tag;
  let crc = 0;
  for (let at = 0; at < bytes.length; at += 1)
    crc = ((crc << 8) ^ (CRC_OF_BYTE[(crc >> 8) ^ bytes.charCodeAt(at)] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

const CRC_OF_BYTE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  return crc;
});

const tags: string[] = [];
let tried = 0;

/** The smallest number that, as a hash tag, puts a key into a slot. */
export function tagOfSlot(slot: number): string {
  for (; ; tried += 1) {
    const known = tags[slot];
    if (known !== undefined) return known;
    tags[hashSlotOf(String(tried))] ??= String(tried);
  }
}

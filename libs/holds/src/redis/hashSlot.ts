/** The keys of a cluster are in so many slots. */
export const SLOTS = 16_384;

/** The slot that a cluster has a key in: of its hash tag, where it has one. */
export function hashSlotOf(key: string): number {
  const hashed = /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key;
  return crc16(Buffer.from(hashed)) % SLOTS;
}

/** CRC-16 of the polynomial 0x1021 that begins at 0 (XMODEM). */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) ^ (CRC_OF_BYTE[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc;
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

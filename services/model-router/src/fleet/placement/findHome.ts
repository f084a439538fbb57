import { crc32 } from 'node:zlib';

/**
 * The engine that a weighted rendezvous hash names for a prefix: all routers that see the same engines agree without
 * talking, each engine is named in proportion to its weight, and one that leaves or joins moves only its own prefixes.
 */
export function findHome<Target extends { id: string; weight: number }>(
  targets: readonly Target[],
  leadingHash: number,
): Target | undefined {
  let home: Target | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const target of targets) {
    // Uniform between 0 and 1, both left out.
    const uniform = (mix(crc32(target.id) ^ leadingHash) + 0.5) / 0x1_0000_0000;
    const score = -target.weight / Math.log(uniform);
    if (score <= highest) continue;
    highest = score;
    home = target;
  }
  return home;
}

/** Spreads 32 bits over 32 bits (MurmurHash3's finalizer). A checksum alone is linear: some engines would win more often. */
function mix(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

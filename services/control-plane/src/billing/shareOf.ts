/** Returns the share of `whole` that belongs to `part` of `of`, rounded half up. */
export const shareOf = (whole: bigint, part: bigint, of: bigint): bigint => (whole * part * 2n + of) / (of * 2n);

import { once } from './once.ts';

const getFormat = once(() => new Intl.NumberFormat());

/** Formats a number with the separators of the reader's language. */
export const formatCount = (count: number | bigint): string => getFormat().format(count);

import { z } from 'zod';

/** A UTC month as `YYYY-MM`. */
export const monthSchema = z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month as YYYY-MM');

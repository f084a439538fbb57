import { PrismaPg } from '@prisma/adapter-pg';
import type { Pool } from 'pg';

/** How Prisma reaches Postgres: through this pool, which ends with the client. */
export const createPgAdapter = (pool: Pool): PrismaPg => new PrismaPg(pool, { disposeExternalPool: true });

import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/** The clock of the database: the one that all replicas go by, however their own are set. */
export async function readTime(db: Pick<Db, '$queryRaw'>): Promise<Date> {
  const [row] = await db.$queryRaw<{ now: Date }[]>(statements.readTime());
  if (!row) throw new Error('the database does not say what time it is');
  return row.now;
}

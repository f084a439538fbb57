import type { Queryable } from '@turnpike/postgres/database';
import { statements } from '../database/statements.ts';

/** The clock of the database: the one that all replicas go by, however their own are set. */
export async function readTime(db: Queryable, statement = statements.readTime()): Promise<Date> {
  const [row] = await db.query(statement);
  if (!row) throw new Error('the database does not say what time it is');
  return row.now;
}

/** The same, once the month that it is in has a partition. */
export const readTimeOfRecording = (db: Queryable): Promise<Date> => readTime(db, statements.readTimeOfRecording());

import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/**
 * Removes routers that have been silent for an hour, readers of the event log whose leases lapsed then, and every Redis that nobody
 * has seen for a day: who comes back is new.
 */
export async function forgetSilent(db: Db): Promise<void> {
  await db.execute(sql`DELETE FROM router WHERE heard_at < clock_timestamp() - INTERVAL '1 hour'`);
  await db.execute(sql`DELETE FROM event_reader WHERE lapses_at < clock_timestamp() - INTERVAL '1 hour'`);
  await db.execute(sql`DELETE FROM redis_server WHERE seen_at < clock_timestamp() - INTERVAL '1 day'`);
}

import { sql } from '@turnpike/postgres/sql';
import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/createDb.ts';

/** Measures the remaining credit of the region's workspaces, by the recorded calls, at every scrape. */
export function observeCredit(meter: Meter, db: Pick<Db, 'query'>): void {
  createAskedGauge(meter, {
    name: 'turnpike_credit_left_usd',
    description: 'Credit of all workspaces of the region that is not spent, in US dollars.',
    async ask() {
      const [row] = await db.query(sql<{ usd: number }>`
        SELECT (coalesce(sum(credited_nano_usd - charge_nano_usd), 0) / 1e9)::FLOAT8 AS usd FROM workspace_total`);
      return row?.usd ?? Number.NaN;
    },
  });
}

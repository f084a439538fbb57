import { sql } from '@turnpike/postgres/sql';
import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/openDatabase.ts';
import { monthOf } from './rates.ts';

/** Measures, at every scrape, whether the current UTC month has its euro rate. */
export function observeRates(meter: Meter, db: Pick<Db, 'query'>): void {
  createAskedGauge(meter, {
    name: 'turnpike_euro_rate_known',
    description: 'Whether the current UTC month has a rate of its own: 1, or 0.',
    async ask() {
      const [row] = await db.query(sql<{ count: number }>`
        SELECT count(*)::INTEGER AS count FROM rate_month WHERE month = ${monthOf(new Date())}`);
      return row?.count ?? Number.NaN;
    },
  });
}

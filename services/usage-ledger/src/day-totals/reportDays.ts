import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { Db } from '../database/createDb.ts';

const PAUSE_MS = 60_000;
const BACKOFF = { firstMs: 5_000, longestMs: PAUSE_MS };
/** Days of one report. */
const DAYS_AT_ONCE = 500;
/** Longest wait for the account layer, below the 5 s after which Postgres ends a waiting transaction. */
const ANSWER_TIMEOUT_MS = 3_000;

type AccountLayer = Pick<Client<typeof controlPlaneApi>, 'putDayTotals'>;

/**
 * Reports the changed sums of each workspace's day to the account layer. After an outage it continues behind the last
 * reported day. Calls and their recording do not wait for it.
 */
export function reportDays({
  url,
  internalHeaders,
  db,
  meter,
  log,
}: {
  /** The internal listener of the control plane. Undefined: the region reports nothing. */
  url: string | undefined;
  internalHeaders: InternalHeaders;
  db: Pick<Db, 'transaction'>;
  meter: Meter;
  log: Logger;
}): Repetition | undefined {
  if (url === undefined) return undefined;
  const account = createClient(controlPlaneApi, { url, internalHeaders, timeoutMs: ANSWER_TIMEOUT_MS });
  let reportedAt = performance.now();
  let isAside = false;
  meter
    .createObservableGauge('turnpike_day_totals_age_seconds', {
      description: 'Time since this process last told the account layer every changed day, or since it started.',
    })
    .addCallback((result) => result.observe((performance.now() - reportedAt) / 1_000));
  meter
    .createObservableGauge('turnpike_day_totals_aside', {
      description:
        'Whether the account layer keeps the days of this ledger aside until an operator confirms its epoch: 1 or 0.',
    })
    .addCallback((result) => result.observe(Number(isAside)));

  async function report(signal: AbortSignal): Promise<void> {
    let outcome: Outcome = 'more';
    while (outcome === 'more' && !signal.aborted) {
      outcome = await reportSome(db, account);
      if (outcome === 'restored')
        log.error(
          'ALERT the account layer has newer days than this ledger: it was restored, and reports in a new epoch',
        );
      if (outcome === 'restored') outcome = 'more';
    }
    if (outcome === 'more') return;
    isAside = outcome === 'aside';
    reportedAt = performance.now();
  }
  return repeat(report, {
    pauseMs: PAUSE_MS,
    backoff: BACKOFF,
    log,
    failing: 'days are not reported to the account layer, trying again: calls go on',
  });
}

/** `restored`: the ledger begins a new epoch. */
type Outcome = 'counted' | 'aside' | 'more' | 'restored';

interface ToldDay {
  workspace_id: string;
  day: string;
  spend_nano_usd: string;
  requests: number;
  seq: number;
}

/**
 * Reports one page of changed days, which may be empty, and notes it, in one transaction. One process reports at a
 * time, so that a sequence below the account layer's comes from a restored ledger.
 */
export async function reportSome(db: Pick<Db, 'transaction'>, account: AccountLayer): Promise<Outcome> {
  return db.transaction(async (tx) => {
    const [state] = await tx.query(sql<{ epoch: string; accountEpoch: string | null }>`
      SELECT epoch::TEXT AS epoch, account_epoch AS "accountEpoch" FROM day_report_state FOR UPDATE`);
    if (!state) throw new Error('the table day_report_state is empty');
    const totals = await readChangedDays(tx);
    const answer = await account.putDayTotals({ body: { epoch: state.epoch, totals } });
    if (answer.standing === 'outdated') {
      await tx.execute(sql`UPDATE day_report_state SET epoch = gen_random_uuid()`);
      await tx.execute(sql`DELETE FROM day_report`);
      return 'restored';
    }
    await tx.execute(sql`UPDATE day_report_state SET account_epoch = ${answer.account_epoch}`);
    if (state.accountEpoch !== null && state.accountEpoch !== answer.account_epoch) {
      // The account database was restored, and may lack days.
      await tx.execute(sql`DELETE FROM day_report`);
      return 'more';
    }
    await tx.execute(sql`
      INSERT INTO day_report SELECT DISTINCT ON (workspace_id) workspace_id, seq, day
      FROM json_to_recordset(${JSON.stringify(totals)}::JSON) AS told (workspace_id TEXT, seq BIGINT, day DATE)
      ORDER BY workspace_id, seq DESC, day DESC
      ON CONFLICT (workspace_id) DO UPDATE SET seq = excluded.seq, day = excluded.day`);
    return totals.length < DAYS_AT_ONCE ? answer.standing : 'more';
  });
}

/** Reads the days that changed since their report, in the order of (workspace, sequence, day). */
const readChangedDays = (tx: Queryable): Promise<ToldDay[]> =>
  tx.query(sql<ToldDay>`
    SELECT changed.workspace_id, changed.day::TEXT AS day, changed.charge_nano_usd::TEXT AS spend_nano_usd, changed.requests::FLOAT AS requests,
      changed.seq::FLOAT AS seq
    FROM workspace_total LEFT JOIN day_report AS told USING (workspace_id)
    CROSS JOIN LATERAL (
      SELECT * FROM workspace_day_total AS total
      WHERE total.workspace_id = workspace_total.workspace_id AND grouped_by = 'none'
        AND (total.seq, total.day) > (coalesce(told.seq, -1), coalesce(told.day, '-infinity'))
      ORDER BY total.seq, total.day LIMIT ${DAYS_AT_ONCE}
    ) AS changed
    ORDER BY changed.workspace_id, changed.seq, changed.day LIMIT ${DAYS_AT_ONCE}`);

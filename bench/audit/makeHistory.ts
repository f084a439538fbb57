import { createDb } from '../../services/usage-ledger/src/database/createDb.ts';
import type { TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';

const HOUR_MS = 3_600_000;
const DAYS = 30;
const KEYS = 500;
const WORKSPACES = 50;

/**
 * Fills a ledger with a month of recorded calls, of 500 keys of 50 workspaces, and with the totals and postings of recording in
 * batches. Writes by SQL in the order of time, as recording does, because `record_ended_calls` would take an hour.
 */
export async function makeHistory({ databaseUrl, ownerDb }: TestLedger, rows: number): Promise<void> {
  const [owner] = await ownerDb.$queryRaw<{ name: string }[]>`SELECT current_user::TEXT AS name`;
  const url = Object.assign(new URL(databaseUrl), { username: owner?.name }).href;
  const db = createDb({ databaseUrl: url, poolSize: 1, statementTimeoutMs: HOUR_MS });
  try {
    await fill((sql) => db.$executeRawUnsafe(sql), rows);
  } finally {
    await db.$disconnect();
  }
}

async function fill(run: (sql: string) => Promise<unknown>, rows: number): Promise<void> {
  await run(`SELECT ensure_usage_partition(month::DATE)
    FROM generate_series(now() - INTERVAL '${DAYS} days', now() + INTERVAL '31 days', INTERVAL '5 days') AS month`);
  await run(`INSERT INTO usage_request (call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status,
      reason, prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
      modality, billing_unit, is_stream, started_at, ended_at)
    SELECT overlay(first_call_id_at(begun)::TEXT PLACING regexp_replace(substr(md5(n::TEXT), 1, 16), '^(....)', '\\1-') FROM 20)::UUID,
      'key_' || n % ${KEYS}, 'ws_' || n % ${KEYS} % ${WORKSPACES}, 'us', 'chat', 'small-chat@engine-1', 'small-chat', 1 + n % 3,
      CASE WHEN n % 50 = 0 THEN 'failure' WHEN n % 1000 = 1 THEN 'unknown' ELSE 'success' END, NULL,
      1000 + n % 700, n % 300, 200 + n % 100, 0, CASE WHEN n % 50 = 0 OR n % 1000 = 1 THEN 0 ELSE charge END,
      CASE WHEN n % 50 = 0 OR n % 1000 = 1 THEN 0 ELSE charge END, 5000000, 'text', 'token', true, begun, begun + INTERVAL '2 seconds'
    FROM generate_series(0, ${rows - 1}) AS n,
      LATERAL (SELECT now() - INTERVAL '${DAYS} days' + n * INTERVAL '${DAYS} days' / ${rows} AS begun,
        (1000 + n % 700 - n % 300) * 150 + (n % 300) * 15 + (200 + n % 100) * 600 AS charge) AS call`);
  // Before the hours, whose trigger adds up the days of each key's workspace.
  await run(`INSERT INTO key_total
    SELECT key_id, 'ws_' || split_part(key_id, '_', 2)::INT % ${WORKSPACES}, count(*), sum(charge_nano_usd)
    FROM usage_request GROUP BY 1`);
  await run(`INSERT INTO key_hour_total
    SELECT key_id, date_trunc('hour', started_at, 'UTC'), canonical_model, modality, count(*),
      count(*) FILTER (WHERE status = 'success'), count(*) FILTER (WHERE status = 'failure'),
      count(*) FILTER (WHERE status = 'unknown'), sum(prompt_tokens), sum(cached_prompt_tokens), sum(completion_tokens),
      sum(charge_nano_usd)
    FROM usage_request GROUP BY 1, 2, 3, 4 ORDER BY 2`);
  // One posting for every ten calls of a key: recording makes one of each key and batch.
  await run(`INSERT INTO posting (kind, workspace_id, seq, key_id, source, wallet_nano_usd, counter_nano_usd, posted_at)
    SELECT 'usage', workspace_id, row_number() OVER (PARTITION BY workspace_id ORDER BY batch), key_id, 'history', -charge, charge, now()
    FROM (
      SELECT workspace_id, key_id, batch, sum(charge_nano_usd) AS charge FROM (
        SELECT workspace_id, key_id, charge_nano_usd, row_number() OVER (PARTITION BY key_id ORDER BY call_id) / 10 AS batch
        FROM usage_request
      ) AS call GROUP BY 1, 2, 3
    ) AS batch WHERE charge <> 0 ORDER BY batch`);
  await run(`INSERT INTO workspace_total (workspace_id, seq, charge_nano_usd)
    SELECT workspace_id, max(seq), sum(counter_nano_usd) FROM posting GROUP BY 1`);
  await run(`INSERT INTO workspace_month_total
    SELECT workspace_id, date_trunc('month', started_at AT TIME ZONE 'UTC')::DATE, sum(charge_nano_usd) FROM usage_request GROUP BY 1, 2`);
  // Autovacuum would have run in the meantime: index ranges are summed up, and the planner knows the sizes.
  await run('VACUUM ANALYZE');
}

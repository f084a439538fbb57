import type pg from 'pg';

/** A usage row, as the ledger's table has it. Amounts are nano-dollars. */
export interface LedgerRow {
  callId: string;
  keyId: string;
  workspaceId: string;
  modality: 'text' | 'image' | 'video' | 'audio';
  model: string;
  canonicalModel: string;
  priceVersion: number;
  status: 'success' | 'failure' | 'unknown';
  reason: string | null;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  /** The measured units of media; null for text. */
  units: number | null;
  charge: bigint;
  hold: bigint;
  /** `YYYY-MM` of its admission. */
  month: string;
  startedAtMs: number;
  endedAtMs: number;
}

/** The ledger's sums of some workspaces, by what they sum over. */
export interface LedgerTotals {
  byKey: Map<string, bigint>;
  byWorkspace: Map<string, bigint>;
  /** `<workspace> <YYYY-MM>` */
  byMonth: Map<string, bigint>;
  /** Requests in the hourly sums. */
  hourlyRequests: number;
  hourlyCharge: bigint;
  credited: Map<string, bigint>;
  /** Number of changes of each workspace's sums. */
  sequence: Map<string, bigint>;
}

type Text = Record<string, string>;

const toMap = (rows: Text[]): Map<string, bigint> =>
  new Map(rows.map(({ name = '', sum = '0' }) => [name, BigInt(sum)]));

/** Every row of some workspaces. */
export async function readRows(db: pg.Pool, workspaceIds: readonly string[]): Promise<LedgerRow[]> {
  const { rows } = await db.query(
    `SELECT call_id, key_id, workspace_id, modality, model, canonical_model, price_version, status, reason, prompt_tokens,
       cached_prompt_tokens, completion_tokens, units, charge_nano_usd, hold_nano_usd,
       to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM') AS month,
       (extract(epoch FROM started_at) * 1000)::BIGINT AS started_at_ms,
       (extract(epoch FROM ended_at) * 1000)::BIGINT AS ended_at_ms
     FROM usage_request WHERE workspace_id = ANY($1)`,
    [workspaceIds],
  );
  return rows.map((row) => ({
    callId: row.call_id,
    keyId: row.key_id,
    workspaceId: row.workspace_id,
    modality: row.modality,
    model: row.model,
    canonicalModel: row.canonical_model,
    priceVersion: row.price_version,
    status: row.status,
    reason: row.reason,
    promptTokens: row.prompt_tokens,
    cachedTokens: row.cached_prompt_tokens,
    completionTokens: row.completion_tokens,
    units: row.units,
    charge: BigInt(row.charge_nano_usd),
    hold: BigInt(row.hold_nano_usd),
    month: row.month,
    startedAtMs: Number(row.started_at_ms),
    endedAtMs: Number(row.ended_at_ms),
  }));
}

export async function readTotals(db: pg.Pool, workspaceIds: readonly string[]): Promise<LedgerTotals> {
  const ask = async (sql: string): Promise<Text[]> => (await db.query(sql, [workspaceIds])).rows;
  const byKey = await ask(
    'SELECT key_id AS name, charge_nano_usd::TEXT AS sum FROM key_total WHERE workspace_id = ANY($1)',
  );
  const byWorkspace = await ask(
    'SELECT workspace_id AS name, charge_nano_usd::TEXT AS sum FROM workspace_total WHERE workspace_id = ANY($1)',
  );
  const byMonth = await ask(
    `SELECT workspace_id || ' ' || to_char(month, 'YYYY-MM') AS name, charge_nano_usd::TEXT AS sum
     FROM workspace_month_total WHERE workspace_id = ANY($1)`,
  );
  const credited = await ask(
    'SELECT workspace_id AS name, sum(amount_nano_usd)::TEXT AS sum FROM credit WHERE workspace_id = ANY($1) GROUP BY 1',
  );
  const sequence = await ask(
    'SELECT workspace_id AS name, seq::TEXT AS sum FROM workspace_total WHERE workspace_id = ANY($1)',
  );
  const [hourly] = await ask(
    `SELECT coalesce(sum(requests), 0)::TEXT AS requests, coalesce(sum(charge_nano_usd), 0)::TEXT AS charge
     FROM key_hour_total WHERE key_id IN (SELECT key_id FROM key_total WHERE workspace_id = ANY($1))`,
  );
  return {
    byKey: toMap(byKey),
    byWorkspace: toMap(byWorkspace),
    byMonth: toMap(byMonth),
    hourlyRequests: Number(hourly?.requests),
    hourlyCharge: BigInt(hourly?.charge ?? 0),
    credited: toMap(credited),
    sequence: toMap(sequence),
  };
}

/** A credit, and when it was given. */
export interface GivenCredit {
  workspaceId: string;
  amount: bigint;
  atMs: number;
}

export async function readCredits(db: pg.Pool, workspaceIds: readonly string[]): Promise<GivenCredit[]> {
  const { rows } = await db.query(
    `SELECT workspace_id, amount_nano_usd, (extract(epoch FROM created_at) * 1000)::BIGINT AS at_ms
     FROM credit WHERE workspace_id = ANY($1)`,
    [workspaceIds],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    amount: BigInt(row.amount_nano_usd),
    atMs: Number(row.at_ms),
  }));
}

import type pg from 'pg';

/** A job, as the table of jobs has it. Amounts are nano-dollars. */
export interface JobRow {
  jobId: string;
  callId: string;
  operation: string;
  /** No client was told of it: a client waited for what it made. */
  isHidden: boolean;
  state: 'queued' | 'submitting' | 'running' | 'storing' | 'completed' | 'failed' | 'cancelled';
  errorCode: string | null;
  attempts: number;
  units: number | null;
  charge: bigint | null;
  hold: bigint;
  outputs: number;
  /** The SHA-256 of each. */
  hashes: string[];
  /** Replica of its last attempt, and the id of a clip there. */
  replica: string | null;
  backendId: string | null;
  /** Uploads that are still there. */
  inputs: number;
  isSettled: boolean;
}

/** Every job of some workspaces. */
export async function readJobs(db: pg.Pool, workspaceIds: readonly string[]): Promise<JobRow[]> {
  const { rows } = await db.query(
    `SELECT job_id, call_id, operation, is_hidden, state, error_code, attempts_counted, units, charge_nano_usd, hold_nano_usd,
       replica, backend_id, outputs, jsonb_array_length(inputs) AS inputs, settled_at
     FROM job WHERE workspace_id = ANY($1)`,
    [workspaceIds],
  );
  return rows.map((row) => ({
    jobId: row.job_id,
    callId: row.call_id,
    operation: row.operation,
    isHidden: row.is_hidden,
    state: row.state,
    errorCode: row.error_code,
    attempts: row.attempts_counted,
    units: row.units,
    charge: row.charge_nano_usd === null ? null : BigInt(row.charge_nano_usd),
    hold: BigInt(row.hold_nano_usd),
    outputs: row.outputs.length,
    hashes: row.outputs.map(({ sha256 }: { sha256: string }) => sha256),
    replica: row.replica,
    backendId: row.backend_id,
    inputs: row.inputs,
    isSettled: row.settled_at !== null,
  }));
}

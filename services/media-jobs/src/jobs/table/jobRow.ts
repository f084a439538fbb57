import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { Sql, sql } from '@turnpike/postgres/sql';
import type { MediaBillingUnit, Modality } from '@turnpike/public-api/modality';
import { z } from 'zod';
import type { JobErrorCode, JobParams, StoredOutput } from '../../terms/job.ts';
import type { MediaOperation } from '../../terms/mediaRequest.ts';

export type OpenState = 'queued' | 'submitting' | 'running' | 'storing';
export type FinalState = 'completed' | 'failed' | 'cancelled';
export type JobState = OpenState | FinalState;

/** An upload of a job in the object store. */
export interface StoredInput {
  key: string;
  bytes: number;
  type: string;
}

/** The row of a job. */
export interface JobRow {
  jobId: string;
  workspaceId: string;
  keyId: string;
  operation: MediaOperation;
  modality: Exclude<Modality, 'text'>;
  model: string;
  isHidden: boolean;
  params: JobParams;
  sealedTexts: Uint8Array | null;
  inputs: StoredInput[];
  state: JobState;
  version: number;
  dueAt: Date | null;
  deadlineAt: Date;
  progress: number;
  attempt: number;
  attemptsCounted: number;
  replica: string | null;
  backendId: string | null;
  sentAt: Date | null;
  begunAt: Date | null;
  missingSince: Date | null;
  owner: string;
  callId: string;
  hold: unknown;
  holdNanoUsd: bigint;
  priceVersion: number;
  billingUnit: MediaBillingUnit;
  unitPrice: string;
  unitsBound: number;
  units: number | null;
  chargeNanoUsd: bigint | null;
  event: unknown;
  settledAt: Date | null;
  errorCode: JobErrorCode | null;
  outputs: StoredOutput[];
  createdAt: Date;
  endedAt: Date | null;
  expiresAt: Date | null;
  removeAt: Date | null;
  backendClearedAt: Date | null;
  removedAt: Date | null;
  /** The database's clock as the row was read. */
  now: Date;
}

/** Selects all columns under the names above. */
export const JOB_COLUMNS = sql`
  job.job_id AS "jobId", job.workspace_id AS "workspaceId", job.key_id AS "keyId", job.operation, job.modality, job.model,
  job.is_hidden AS "isHidden", job.params, job.sealed_texts AS "sealedTexts", job.inputs, job.state, job.version,
  job.due_at AS "dueAt", job.deadline_at AS "deadlineAt", job.progress, job.attempt, job.attempts_counted AS "attemptsCounted",
  job.replica, job.backend_id AS "backendId", job.sent_at AS "sentAt", job.begun_at AS "begunAt",
  job.missing_since AS "missingSince", job.owner, job.call_id::TEXT AS "callId", job.hold, job.hold_nano_usd AS "holdNanoUsd",
  job.price_version AS "priceVersion", job.billing_unit AS "billingUnit", job.unit_price AS "unitPrice",
  job.units_bound AS "unitsBound", job.units, job.charge_nano_usd AS "chargeNanoUsd", job.event, job.settled_at AS "settledAt",
  job.error_code AS "errorCode", job.outputs, job.created_at AS "createdAt", job.ended_at AS "endedAt",
  job.expires_at AS "expiresAt", job.remove_at AS "removeAt", job.backend_cleared_at AS "backendClearedAt",
  job.removed_at AS "removedAt", clock_timestamp() AS "now"`;

export const isOpen = (state: JobState): state is OpenState => OPEN_STATES.has(state);
const OPEN_STATES: ReadonlySet<JobState> = new Set(['queued', 'submitting', 'running', 'storing']);

const holdSchema = z.object({
  callId: z.string(),
  keyId: z.string(),
  workspaceId: z.string(),
  holdNanoUsd: z.string().transform(BigInt),
  admittedAtMs: z.number(),
  session: z.string(),
  estimatedPromptTokens: z.number(),
  rpm: z.number(),
  tpm: z.number(),
  unknownEventJson: z.string(),
});

/** Converts a hold to the JSON of a row, whose amount is a text. */
export const toHoldJson = (hold: Hold): unknown => ({ ...hold, holdNanoUsd: hold.holdNanoUsd.toString() });
export const fromHoldJson = (json: unknown): Hold => holdSchema.parse(json);

/** Duration for SQL. */
export const interval = (ms: number): Sql => sql`make_interval(secs => ${ms / 1_000}::DOUBLE PRECISION)`;

/** Tests the state with constants, so that the statement can use the index of these states. */
export const isIn = (states: readonly JobState[]): Sql =>
  new Sql([`state IN (${states.map((state) => `'${state}'`).join(', ')})`], []);

/** Longest pause of a poll or retry, and more. */
const LONGEST_PAUSE_MS = 300_000;
/**
 * Tests whether a job is due: it waits, runs or has to be settled. A time further ahead than a lease or a pause was set
 * before a step back of the database's clock, and counts as due.
 */
export const isDue = (leaseMs: number): Sql =>
  sql`(due_at <= now() OR due_at > now() + ${interval(leaseMs + LONGEST_PAUSE_MS)})`;

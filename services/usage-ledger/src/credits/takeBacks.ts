import type { takeBackEntry } from '@turnpike/feed/feedPage';
import { FeedRefused } from '@turnpike/feed/followFeed';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import type { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { type Client, createClient } from '@turnpike/internal-api/transport/createClient';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { z } from 'zod';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

const PAUSE_MS = 2_000;
const BACKOFF = { firstMs: PAUSE_MS, longestMs: 30_000 };
const ANSWER_TIMEOUT_MS = 5_000;
/** Take-backs of one round. */
const AT_ONCE = 100;

interface TakeBackDependencies {
  db: Pick<Db, 'query' | 'transaction'>;
  router: Pick<Client<typeof modelRouterApi>, 'getCredit'>;
  /** Makes the gate count a workspace's present credits. Throws `gate_not_told`. */
  announceCredit: (workspaceId: string) => Promise<void>;
  account: Pick<Client<typeof controlPlaneApi>, 'putTakeBack'>;
}

interface TakeBack {
  id: string;
  workspaceId: string;
  wanted: NanoUsd;
  unit: NanoUsd;
  posted: NanoUsd | null;
  taken: NanoUsd | null;
}

/** Takes credit back for the account layer, and reports what was taken, until the account layer has it. */
export function takeBackCredit({
  url,
  internalHeaders,
  log,
  ...dependencies
}: Omit<TakeBackDependencies, 'account'> & {
  /** The internal listener of the control plane. Undefined: nothing is wanted back. */
  url: string | undefined;
  internalHeaders: InternalHeaders;
  log: Logger;
}): Repetition | undefined {
  if (url === undefined) return undefined;
  const account = createClient(controlPlaneApi, { url, internalHeaders, timeoutMs: ANSWER_TIMEOUT_MS });
  return repeat(() => workOffTakeBacks({ ...dependencies, account }), {
    ...{ pauseMs: PAUSE_MS, backoff: BACKOFF, log },
    failing: 'credit that the account layer wants back is not taken or not reported, trying again',
  });
}

/** Notes wanted credit once. Throws `FeedRefused` for a known id with other contents. */
export async function noteTakeBack(tx: Queryable, entry: z.output<typeof takeBackEntry>): Promise<void> {
  const { take_back_id: id, workspace_id: workspaceId, nano_usd: wanted, unit_nano_usd: unit } = entry;
  await tx.execute(sql`
    INSERT INTO take_back (take_back_id, workspace_id, wanted_nano_usd, unit_nano_usd)
    VALUES (${id}, ${workspaceId}, ${wanted}, ${unit}) ON CONFLICT DO NOTHING`);
  const [same] = await tx.query(sql`
    SELECT take_back_id FROM take_back
    WHERE take_back_id = ${id} AND workspace_id = ${workspaceId} AND wanted_nano_usd = ${wanted} AND unit_nano_usd = ${unit}`);
  if (!same) throw new FeedRefused(`the take-back ${id} of the feed is known with other contents`);
}

/** Works off every open take-back. Throws the first error after it has tried all of them. */
export async function workOffTakeBacks(dependencies: TakeBackDependencies): Promise<void> {
  const open = await dependencies.db.query(sql<TakeBack>`
    ${SELECT} WHERE told_at IS NULL ORDER BY take_back_id LIMIT ${AT_ONCE}`);
  const errors: unknown[] = [];
  for (const takeBack of open) await workOff(dependencies, takeBack).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

const SELECT = sql`
  SELECT take_back_id AS id, workspace_id AS "workspaceId", wanted_nano_usd AS wanted, unit_nano_usd AS unit,
    posted_nano_usd AS posted, taken_nano_usd AS taken
  FROM take_back`;

/**
 * Takes what the gate has free, makes the gate count without it, and gives back what calls took for themselves in between. From then on
 * the gate admits no call on it. Each step is kept, so that another process goes on behind it.
 */
async function workOff(dependencies: TakeBackDependencies, { id, workspaceId, ...known }: TakeBack): Promise<void> {
  const { db, announceCredit, account } = dependencies;
  if (known.posted === null) {
    const free = await readFree(dependencies, workspaceId);
    await change(db, id, async (tx, { wanted, unit, posted }) => {
      if (posted !== null) return;
      const amount = max(0n, (min(wanted, free) / unit) * unit);
      if (amount > 0n) await credit(tx, { creditId: id, workspaceId, amountNanoUsd: -amount });
      await tx.execute(sql`UPDATE take_back SET posted_nano_usd = ${amount} WHERE take_back_id = ${id}`);
    });
  }
  if (known.taken === null) {
    await announceCredit(workspaceId);
    const missing = max(0n, -(await readFree(dependencies, workspaceId)));
    await change(db, id, async (tx, { unit, posted, taken }) => {
      if (taken !== null || posted === null) return;
      const back = min(posted, ((missing + unit - 1n) / unit) * unit);
      if (back > 0n) await credit(tx, { creditId: `${id}_rest`, workspaceId, amountNanoUsd: back });
      await tx.execute(sql`UPDATE take_back SET taken_nano_usd = ${posted - back} WHERE take_back_id = ${id}`);
    });
  }
  const [decided] = await db.query(sql<TakeBack>`${SELECT} WHERE take_back_id = ${id}`);
  if (!decided || decided.taken === null) throw new Error(`the take-back ${id} is not decided`);
  const answer = await account.putTakeBack({
    params: { take_back_id: id },
    body: { taken_nano_usd: String(decided.taken) },
  });
  await change(db, id, async (tx, { taken }) => {
    // A restored ledger may take another amount than it had reported before.
    const difference = (taken ?? 0n) - answer.taken_nano_usd;
    if (difference !== 0n) await credit(tx, { creditId: `${id}_as_booked`, workspaceId, amountNanoUsd: difference });
    await tx.execute(sql`
      UPDATE take_back SET taken_nano_usd = ${answer.taken_nano_usd}, told_at = now() WHERE take_back_id = ${id}`);
  });
  if (decided.taken < answer.taken_nano_usd) await announceCredit(workspaceId);
}

/** Returns the credit that no call holds. */
async function readFree({ router }: TakeBackDependencies, workspaceId: string): Promise<NanoUsd> {
  const credited = await router.getCredit({ params: { workspace_id: workspaceId } });
  return credited.credit_nano_usd - credited.held_nano_usd;
}

/** Changes an open take-back under its lock. Does nothing where another process has reported it. */
const change = (
  db: TakeBackDependencies['db'],
  id: string,
  work: (tx: Queryable, takeBack: TakeBack) => Promise<void>,
): Promise<void> =>
  db.transaction(async (tx) => {
    const [takeBack] = await tx.query(
      sql<TakeBack>`${SELECT} WHERE take_back_id = ${id} AND told_at IS NULL FOR UPDATE`,
    );
    if (takeBack) await work(tx, takeBack);
  });

const credit = (tx: Queryable, fields: { creditId: string; workspaceId: string; amountNanoUsd: NanoUsd }) =>
  tx.execute(statements.addCredit({ ...fields, note: 'taken back for a refund' }));

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

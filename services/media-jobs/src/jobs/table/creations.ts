import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { interval } from './jobRow.ts';

/** A call that is to make a job. */
export interface Creating {
  keyId: string;
  /** SHA-256 of the parsed fields and files. */
  digest: Buffer;
  /** The number of the repeat, as its client counts; 0 for a call that is no repeat. */
  repeat: number;
}

/** The right to make the job of a call. Void once its row has another version, or its time has passed. */
export interface Claim {
  creationId: string;
  version: number;
  repeat: number;
}

/** A creation as repeats of its call see it. `isFree`: its claim has ended without a job. */
export interface Creation extends Claim {
  jobId: string | null;
  isFree: boolean;
}

const COLUMNS = sql`creation_id::TEXT AS "creationId", version, repeat, job_id AS "jobId",
  job_id IS NULL AND lives_until <= now() AS "isFree"`;

/** Claims a call. */
export async function claimCall(db: Queryable, { keyId, digest, repeat }: Creating, livesMs: number): Promise<Claim> {
  const [claim] = await db.query(sql<Creation>`
    INSERT INTO creation (key_id, digest, repeat, lives_until)
    VALUES (${keyId}, ${digest}, ${repeat}, now() + ${interval(livesMs)}) RETURNING ${COLUMNS}`);
  if (!claim) throw new Error('a row that was inserted did not come back');
  return claim;
}

/** Takes the creation that a call repeats, or claims the call (`isMine`) where there is none since then. */
export async function takeCreation(
  db: Queryable,
  { keyId, digest, repeat }: Creating,
  { sinceMs, livesMs }: { sinceMs: number; livesMs: number },
): Promise<Creation & { isMine: boolean }> {
  const [taken] = await db.query(sql<Creation & { isMine: boolean }>`
    SELECT * FROM take_creation(${keyId}, ${digest}, ${repeat}::INT, ${interval(sinceMs)}, ${interval(livesMs)})`);
  if (!taken) throw new Error('nothing was taken or claimed');
  return taken;
}

export const readCreations = (db: Queryable, creationIds: readonly string[]): Promise<Creation[]> =>
  db.query(sql<Creation>`SELECT ${COLUMNS} FROM creation WHERE creation_id = ANY(${creationIds}::UUID[])`);

/** Claims a free creation. Undefined where another repeat was first. */
export async function claimFreeOne(
  db: Queryable,
  { creationId, version }: Claim,
  livesMs: number,
): Promise<Claim | undefined> {
  const rows = await db.query(sql<Creation>`
    UPDATE creation SET version = version + 1, lives_until = now() + ${interval(livesMs)}
    WHERE creation_id = ${creationId}::UUID AND version = ${version} AND job_id IS NULL AND lives_until <= now()
    RETURNING ${COLUMNS}`);
  return rows[0];
}

/** Renews a claim, unless it has ended or another process has it. */
export const renewClaim = (db: Queryable, { creationId, version }: Claim, livesMs: number): Promise<number> =>
  db.execute(sql`
    UPDATE creation SET lives_until = now() + ${interval(livesMs)}
    WHERE creation_id = ${creationId}::UUID AND version = ${version} AND job_id IS NULL`);

/** Ends a claim under which no job was made, and none comes from here on. 0 where there is a job, or the claim was void. */
export const endClaim = (db: Queryable, { creationId, version }: Claim): Promise<number> =>
  db.execute(sql`
    UPDATE creation SET version = version + 1, lives_until = now()
    WHERE creation_id = ${creationId}::UUID AND version = ${version} AND job_id IS NULL`);

/** Ends a claim on a call that its client does not repeat. */
export const forgetClaim = (db: Queryable, { creationId, version }: Claim): Promise<number> =>
  db.execute(
    sql`DELETE FROM creation WHERE creation_id = ${creationId}::UUID AND version = ${version} AND job_id IS NULL`,
  );

/**
 * Frees a creation of its job, which will be cancelled, and ends its claim. Returns 0 if a repeat of the call has the
 * job.
 */
export const freeOfJob = (db: Queryable, { creationId, version, repeat }: Claim): Promise<number> =>
  db.execute(sql`
    UPDATE creation SET job_id = NULL, version = version + 1, lives_until = now()
    WHERE creation_id = ${creationId}::UUID AND version = ${version} AND repeat = ${repeat}`);

/** Removes creations that are too old for repeats. */
export const removeOldCreations = (db: Queryable, olderThanMs: number): Promise<number> =>
  db.execute(sql`DELETE FROM creation WHERE claimed_at < now() - ${interval(olderThanMs)}`);

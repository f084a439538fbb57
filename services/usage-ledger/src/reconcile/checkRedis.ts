import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import type { Client } from '@turnpike/internal-api/createClient';
import type { modelRouterApi, RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { Db } from '../database/createDb.ts';
import { findLag } from '../epoch/findLag.ts';
import type { Check } from './check.ts';
import { compareWithRedis } from './compareWithRedis.ts';
import { readCut } from './readCut.ts';

export interface RedisCheckDependencies {
  db: Db;
  consumer: Pick<EventLogConsumer, 'lag'>;
  router: Pick<Client<typeof modelRouterApi>, 'getCounters'>;
}

/** A difference is believed when it is found at so many instants. */
const INSTANTS = 3;
/** The longest wait for what was acknowledged before an instant: many times what a healthy log takes. */
const WAIT_MS = 3_000;
const PAUSE_MS = 100;

/**
 * Checks what Redis counts of a workspace against the ledger, while both go on. Redis is read at an instant; the ledger is
 * read until it agrees, or until the log has been read past that instant. Rejects while a router cannot say.
 */
export async function checkRedis(
  dependencies: RedisCheckDependencies,
  workspaceId: string,
): Promise<{ checks: Check[]; doubt: string | undefined }> {
  for (let instant = 1; ; instant += 1) {
    const counters = await dependencies.router.getCounters({ params: { workspace_id: workspaceId } });
    if (counters.next_after !== null)
      return { checks: [], doubt: 'more calls are open than can be read at one instant: try again when it is calmer' };
    const { checks, isLogRead } = await compareUntilRead(dependencies, workspaceId, counters);
    const isEqual = checks.every(({ verdict }) => verdict === 'equal');
    if (isEqual || (isLogRead && instant === INSTANTS)) return { checks, doubt: undefined };
    if (!isLogRead) {
      const undecided = checks.map((check) => (check.verdict === 'equal' ? check : toUndecided(check)));
      return { checks: undecided, doubt: `the event log was not read to its end within ${WAIT_MS / 1_000} s` };
    }
  }
}

async function compareUntilRead(
  { db, consumer }: RedisCheckDependencies,
  workspaceId: string,
  counters: RedisCounters,
): Promise<{ checks: Check[]; isLogRead: boolean }> {
  const giveUpAt = performance.now() + WAIT_MS;
  let isLogRead = false;
  for (;;) {
    const checks = compareWithRedis(counters, await readCut(db, workspaceId, counters));
    if (isLogRead || performance.now() > giveUpAt || checks.every(({ verdict }) => verdict === 'equal'))
      return { checks, isLogRead };
    await delay(PAUSE_MS);
    // Asked before the ledger is read once more: whatever was acknowledged by that instant is in it then.
    isLogRead = (await findLag(consumer)) === 0n;
  }
}

const toUndecided = (check: Check): Check => ({ ...check, verdict: 'undecided' });

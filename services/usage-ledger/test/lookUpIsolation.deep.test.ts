import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ConsoleRoute } from '@turnpike/console-api/console/consoleRoute';
import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded, usageRecorded } from '@turnpike/events/usageRecorded';
import { CONSOLE_CALLER_HEADER, signConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { startPostgres } from '@turnpike/test-support/startPostgres';
import { request } from 'undici';
import { aPartition, openTestLedger, type TestLedger } from './openTestLedger.ts';
import { startTestAuth, type TestAuth } from './startTestAuth.ts';
import { fleet, internalHeaders, startTestService, type TestService } from './startTestService.ts';

/** Allowances of look-ups. The next counts where a busy machine needed longer than one for all that must go on meanwhile. */
const TIMEOUTS_MS = [6_000, 24_000, 72_000];
/** Time that a busy machine takes for 200 answers. */
const BUSY_MS = 60_000;
const SLOW_LOOK_UPS = 200;

let auth: TestAuth;
let ledger: TestLedger;
let service: TestService;
let timeoutMs: number;
beforeAll(async () => {
  auth = await startTestAuth();
  ledger = await openTestLedger(await startPostgres());
  await startService();
});
/** Starts the service with the next longer allowance, in place of the one before. */
async function startService(): Promise<void> {
  await service?.close();
  timeoutMs = TIMEOUTS_MS.shift() ?? 0;
  service = await startTestService(ledger, { authUrl: auth.url, usageQueryTimeoutMs: timeoutMs });
}
afterAll(async () => {
  await service.close();
  await ledger.close();
  auth.close();
});

const as = (event: UsageRecorded) => ({ authorization: `Bearer ${auth.issueKey(event.keyId)}` });

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await request(url, { headers });
  await answer.body.dump();
  return answer.statusCode;
}
const sum = (headers: Record<string, string>) => statusOf(`${service.publicUrl}/v1/svc/usage`, headers);
const lookUp = ({ callId }: UsageRecorded, headers: Record<string, string>) =>
  statusOf(`${service.publicUrl}/v1/svc/usage/request/${callId}`, headers);

/** Calls a console route for a member of a call's workspace, as the edge does. */
async function callAsMember({ method, path }: ConsoleRoute, target: string, { workspaceId }: UsageRecorded) {
  const key = fleet.keyOf('edge');
  const route = `${method} ${path}`;
  const member = { userId: 'u1', organizationId: 'o1', workspaceId, role: 'owner' };
  return statusOf(`${service.internalUrl}${target}`, {
    ...((await createTokenIssuer({ key })('usage-ledger', route)) as Record<string, string>),
    [CONSOLE_CALLER_HEADER]: signConsoleCaller(member, route, { key }),
  });
}

/** Sends an event the way the router does, and waits until it is recorded. */
async function record(event: UsageRecorded): Promise<void> {
  const producer = createEmbeddedProducer({ url: service.internalUrl, internalHeaders });
  await producer.append(usageRecorded.topic, [{ key: event.keyId, value: toUsageRecordedJson(event) }]);
  await producer.close();
  while ((await service.consumer.lag()) > 0n) await delay(10);
}

/** Asks 200 times what takes longer than its allowance, and meanwhile does something else, which has to be done first. Its statuses are 200. */
async function whileSlow(ask: () => Promise<number>, meanwhile: () => Promise<number[]>): Promise<void> {
  while (!(await isDoneFirst(meanwhile, ask))) {
    // Work that is held up waits for as long as the slow look-ups may take, so that no allowance is long enough.
    expect(TIMEOUTS_MS).not.toEqual([]);
    await startService();
  }
}

async function isDoneFirst(work: () => Promise<number[]>, ask: () => Promise<number>): Promise<boolean> {
  const startedAt = performance.now();
  let answered = 0;
  const slow = Array.from({ length: SLOW_LOOK_UPS }, () =>
    ask().finally(() => {
      answered += 1;
    }),
  );
  await untilOneWaits();
  const statuses = await work();
  // The look-ups of the work have the same allowance as the slow ones.
  const isFirst = answered === 0 && !statuses.includes(504);
  expect(statuses.filter((status) => status !== 200 && status !== 504)).toEqual([]);

  expect(new Set(await Promise.all(slow))).toEqual(new Set([504]));
  // Waiting for a slot is part of the allowance: one after the other, 200 would take minutes.
  expect(performance.now() - startedAt).toBeLessThan(timeoutMs + BUSY_MS);
  return isFirst;
}

async function untilOneWaits(): Promise<void> {
  for (;;) {
    const [row] = await ledger.db.$queryRaw<{ n: bigint }[]>`
      SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND wait_event IN ('PgSleep', 'relation')`;
    if (row && row.n > 0n) return;
    await delay(10);
  }
}

it('slow sums of one key hold up neither another key’s, nor look-ups by id, nor the recording of calls', async () => {
  const [slow, mine, next] = [aUsageRecorded(), aUsageRecorded(), aUsageRecorded()];
  await aPartition(ledger.db).deliver([slow, mine]);
  // Only reading the slow key's hours takes long; nobody waits for a lock.
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE FUNCTION is_read(key TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$ BEGIN
      IF key = '${slow.keyId}' THEN PERFORM pg_sleep(60); END IF;
      RETURN TRUE;
    END $$`);
  await ledger.ownerDb.$executeRaw`ALTER TABLE key_hour_total RENAME TO stored_key_hour_total`;
  await ledger.ownerDb
    .$executeRaw`CREATE VIEW key_hour_total AS SELECT * FROM stored_key_hour_total WHERE is_read(key_id)`;
  await ledger.ownerDb.$executeRaw`GRANT SELECT ON key_hour_total TO PUBLIC`;
  const [slowKey, myKey] = [as(slow), as(mine)];

  await whileSlow(
    () => sum(slowKey),
    async () => {
      const statuses = [await sum(myKey), await lookUp(mine, myKey), await lookUp(slow, slowKey)];
      await record(next);
      return [...statuses, await lookUp(next, as(next)), await statusOf(`${service.internalUrl}/ready`)];
    },
  );
  expect(await sum(myKey)).toBe(200);

  const { listUsage, getCall } = usageConsoleApi.routes;
  const sumAsMember = (event: UsageRecorded) =>
    callAsMember(listUsage, '/console/usage?start=2026-01-01&end=2027-01-01', event);
  await whileSlow(
    () => sumAsMember(slow),
    async () => [await callAsMember(getCall, `/console/usage/calls/${slow.callId}`, slow), await lookUp(slow, slowKey)],
  );
});

it('slow look-ups by id hold up neither sums nor the recording of calls, whoever asks', async () => {
  const lastYear = Date.UTC(2025, 11, 5);
  const [slow, mine, next] = [aUsageRecorded({ startedAtMs: lastYear }), aUsageRecorded(), aUsageRecorded()];
  await aPartition(ledger.db).deliver([slow, mine]);
  const keys = [as(slow), ...Array.from({ length: 9 }, () => as(aUsageRecorded()))];
  let asked = 0;

  await ledger.ownerDb.$transaction(
    async (tx) => {
      // The session says nothing while look-ups are asked, for longer than one of the service may.
      await tx.$executeRaw`SET LOCAL idle_in_transaction_session_timeout = 0`;
      // The calls of that month alone cannot be read.
      await tx.$executeRaw`LOCK TABLE usage_request_2025_12 IN ACCESS EXCLUSIVE MODE`;
      await whileSlow(
        () => lookUp(slow, keys[asked++ % keys.length] ?? {}),
        async () => {
          const status = await sum(as(mine));
          await record(next);
          return [status, await statusOf(`${service.internalUrl}/ready`)];
        },
      );
    },
    { timeout: 280_000 },
  );
  expect(await lookUp(slow, as(slow))).toBe(200);
});

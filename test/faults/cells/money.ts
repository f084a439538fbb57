import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { readBalances } from '../books/readBalances.ts';
import { readRows, readTotals } from '../books/readLedger.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { countOutcomes } from '../load/callRecord.ts';
import { MODELS } from '../stack/faultCatalog.ts';

export const money: CellTable = {
  'last-cents': {
    breaks:
      '200 calls at once on a budget, in all or of a month, for ten worst cases, the engines held until all are decided; 20 times',
    holds: 'exactly 10 are admitted and 190 get 402, every time',
    eventLog: 'embedded',
    run: spendLastCents,
  },
  'top-ups': {
    breaks: 'calls on a workspace that is always nearly empty, topped up twelve times, each top-up told three times',
    holds: 'each top-up counts once and within a second; never is more spent than was given',
    eventLog: 'embedded',
    run: topUp,
  },
  'cap-changes': {
    breaks: 'the monthly cap is raised and lowered below what is spent while calls run',
    holds: 'running calls go on; what is spent and held never passes the highest cap; a raise works on the next call',
    eventLog: 'embedded',
    run: changeCap,
  },
};

const ROUNDS = 20;
const CALLS = 200;
const AFFORDABLE = 10;
/** Below the longest whole answer, so that those who were admitted wait. */
const DECIDED_WITHIN_MS = 8_000;
const TOKENS: [number, number] = [20, 20];
const EQUAL_CALLS = {
  model: MODELS[0],
  perSecond: Number.POSITIVE_INFINITY,
  openAtMost: CALLS,
  tokens: TOKENS,
  maxTokens: 20,
  streamShare: 0,
};

async function spendLastCents(context: CellContext): Promise<void> {
  const { simulators, operator } = context.stack;
  const { account } = context;
  const hold = await findHold(context);
  for (let round = 0; round < ROUNDS; round += 1) {
    const key = await operator.makeKey(account.workspaceId, {
      [round % 2 ? 'budgetNanoUsd' : 'budgetOfMonthNanoUsd']: hold * BigInt(AFFORDABLE),
    });
    account.keys.push(key);
    await Promise.all(simulators.map((simulator) => simulator.pause()));
    const exactly = context.random.between(0, 999);
    const load = context.startLoad({ ...EQUAL_CALLS, calls: CALLS, keys: [key], exactly });
    await load.untilSent(CALLS);
    const deadline = performance.now() + DECIDED_WITHIN_MS;
    while (load.open > AFFORDABLE && performance.now() < deadline) await pause(10);
    await Promise.all(simulators.map((simulator) => simulator.resume()));
    const counts = countOutcomes(await load.done);
    const [admitted, refused] = [counts.get('ok') ?? 0, counts.get('402') ?? 0];
    context.check(
      admitted === AFFORDABLE && refused === CALLS - AFFORDABLE,
      `${admitted} admitted and ${refused} refused in round ${round}`,
    );
  }
}

/** Returns the hold of one of the equal calls, by its row. */
async function findHold(context: CellContext): Promise<bigint> {
  const [record] = await context.startLoad({ ...EQUAL_CALLS, calls: 1, exactly: 0 }).done;
  let held: bigint | undefined;
  await context.until('the row of the first call', async () => {
    const rows = await readRows(context.stack.ledger, [context.account.workspaceId]);
    held = rows.find(({ callId }) => callId === record?.callId)?.hold;
    return held !== undefined;
  });
  return held ?? 0n;
}

const TOP_UP = 400_000n;
const TOP_UPS = 12;
/** From a top-up to the first call that it pays. */
const COUNTS_WITHIN_MS = 1_000;

async function topUp(context: CellContext): Promise<void> {
  const { operator, ledger } = context.stack;
  const { workspaceId, keys } = await context.openAccount({ creditNanoUsd: TOP_UP });
  const load = context.startLoad({ calls: context.calls, keys, tokens: [10, 60], maxTokens: 100 });
  for (let count = 0; count < TOP_UPS; count += 1) {
    await load.untilSent(Math.floor((context.calls * (count + 1)) / (TOP_UPS + 2)));
    const creditId = randomUUID();
    const told = [0, 1, 2].map(() => operator.addCredit(workspaceId, TOP_UP, creditId));
    await Promise.all(told);
    await context.until(
      'a top-up to count',
      async () => {
        const [record] = await context.startLoad({ calls: 1, keys, tokens: [1, 1], maxTokens: 1 }).done;
        await pause(50);
        return record?.outcome === 'ok';
      },
      COUNTS_WITHIN_MS,
    );
  }
  const calls = await load.done;
  context.checkOutcomes(calls, { ok: true, '402': true });
  context.check(
    calls.some(({ outcome }) => outcome === '402'),
    'the workspace never was empty',
  );
  const { credited } = await readTotals(ledger, [workspaceId]);
  const isOnce = credited.get(workspaceId) === TOP_UP * BigInt(TOP_UPS + 1);
  context.check(isOnce, 'a top-up counts more or less than once');
}

const CAPS = [20_000_000n, 2_000_000n, 40_000_000n, 1n, 60_000_000n];
const HIGHEST = 60_000_000n;

async function changeCap(context: CellContext): Promise<void> {
  const { operator, redis } = context.stack;
  const { workspaceId, keys } = await context.openAccount({ capNanoUsd: CAPS[0] ?? 0n });
  const load = context.startLoad({ calls: context.calls, keys, tokens: [10, 60], maxTokens: 100 });
  for (const [index, cap] of CAPS.entries()) {
    await load.untilSent(Math.floor((context.calls * (index + 1)) / (CAPS.length + 2)));
    await operator.setCap(workspaceId, cap);
    if (index % 2 === 0) {
      const [record] = await context.startLoad({ calls: 1, keys, tokens: [1, 1], maxTokens: 1 }).done;
      context.check(record?.outcome === 'ok', `a cap was raised, and the next call gets ${record?.outcome}`);
    }
    const { months } = await readBalances(redis, workspaceId, []);
    for (const { spent = 0n, held } of months.values())
      context.check(spent + held <= HIGHEST, `${spent} spent and ${held} held pass every cap there was`);
  }
  const calls = await load.done;
  context.checkOutcomes(calls, { ok: true, '402': true });
  context.check(
    calls.some(({ outcome }) => outcome === '402'),
    'no cap was ever reached',
  );
}

import { setTimeout as pause } from 'node:timers/promises';
import { readRows } from '../books/readLedger.ts';
import type { Cell } from '../cell.ts';
import { countOutcomes } from '../load/callRecord.ts';
import { MODELS } from '../stack/faultCatalog.ts';

const SEEDS = 20;
const CALLS = 200;
const AFFORDABLE = 10;
/** Below the longest whole answer, so that those who were admitted wait. */
const DECIDED_WITHIN_MS = 8_000;
const TOKENS: [number, number] = [20, 20];
const LOAD = {
  model: MODELS[0],
  perSecond: Number.POSITIVE_INFINITY,
  openAtMost: CALLS,
  tokens: TOKENS,
  maxTokens: 20,
  streamShare: 0,
};

export const cell: Cell = {
  name: 'last-cents',
  group: 'money',
  breaks: '200 calls at once on a budget for ten worst cases, the engines held until all are decided; 20 times',
  holds: 'exactly 10 are admitted and 190 get 402, every time',
  eventLog: 'embedded',
  async run(context) {
    const { simulators, ledger, operator } = context.stack;
    const { account } = context;
    const hold = await findHold();
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const key = await operator.makeKey(account.workspaceId, { budgetNanoUsd: hold * BigInt(AFFORDABLE) });
      account.keys.push(key);
      await Promise.all(simulators.map((simulator) => simulator.pause()));
      const load = context.startLoad({ ...LOAD, calls: CALLS, keys: [key], exactly: context.random.between(0, 999) });
      await load.untilSent(CALLS);
      const deadline = performance.now() + DECIDED_WITHIN_MS;
      while (load.open > AFFORDABLE && performance.now() < deadline) await pause(10);
      await Promise.all(simulators.map((simulator) => simulator.resume()));
      const counts = countOutcomes(await load.done);
      const [admitted, refused] = [counts.get('ok') ?? 0, counts.get('402') ?? 0];
      context.check(
        admitted === AFFORDABLE && refused === CALLS - AFFORDABLE,
        `${admitted} admitted and ${refused} refused in round ${seed}`,
      );
    }

    /** What a call of this load holds, as its row says. */
    async function findHold(): Promise<bigint> {
      const [record] = await context.startLoad({ ...LOAD, calls: 1, exactly: 0 }).done;
      let held: bigint | undefined;
      await context.until('the row of the first call', async () => {
        const rows = await readRows(ledger, [account.workspaceId]);
        held = rows.find(({ callId }) => callId === record?.callId)?.hold;
        return held !== undefined;
      });
      return held ?? 0n;
    }
  },
};

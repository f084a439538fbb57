import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

const LOOK_UPS = 40;
/** A usage look-up's allowance, and a little more. */
const LATEST_MS = 5_700;

export const cell: Cell = {
  name: 'postgres-slow',
  group: 'postgres',
  breaks: 'the usage table is locked for more than 5 s, with 40 look-ups waiting',
  holds: 'every call ends well; a look-up gets 504 usage_timeout at its allowance of 5 s, or 503 where too many wait',
  eventLog: 'kafka',
  async run(context) {
    const session = await context.stack.ledger.connect();
    let lookUps: Awaited<ReturnType<typeof context.ask>>[] = [];
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        await session.query('BEGIN');
        await session.query('LOCK TABLE usage_request IN ACCESS EXCLUSIVE MODE');
        const callId = context.records.find(({ outcome }) => outcome === 'ok')?.callId;
        const asked = Array.from({ length: LOOK_UPS }, () => context.ask(`/svc/usage/request/${callId}`));
        lookUps = await Promise.all(asked);
      },
      forMs: 500,
      repair: async () => {
        await session.query('ROLLBACK');
        session.release();
      },
    });
    context.checkOutcomes(calls, { ok: true });
    const timedOut = lookUps.filter(({ status, text }) => status === 504 && text.includes('usage_timeout'));
    context.check(timedOut.length > 0, `no look-up gets 504 usage_timeout, but for instance ${lookUps[0]?.status}`);
    const others = lookUps.filter(({ status }) => status !== 504 && status !== 503);
    context.check(others.length === 0, `a look-up gets ${others[0]?.status}: ${others[0]?.text}`);
    const slowestMs = Math.max(...lookUps.map(({ tookMs }) => tookMs));
    context.check(slowestMs < LATEST_MS, `a look-up took ${Math.round(slowestMs)} ms`);
  },
};

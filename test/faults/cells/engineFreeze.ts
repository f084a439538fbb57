import type { Cell } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';

/** As the fault stack's router is told. */
const FIRST_EVENT_MS = 6_000;
const BETWEEN_EVENTS_MS = 3_000;
const WHOLE_MS = 10_000;
/** Beyond a deadline, on a machine that has much to do. */
const SLACK_MS = 2_000;
/** Two checks of 2 s that are missed, one after the other, and one that may just have been answered. */
const OUT_WITHIN_MS = 12_000;
/** The breaker's pause, a check and a token. */
const BACK_WITHIN_MS = 10_000;
/** Engines of the process are named after it. */
const TARGET = /^engine-1\//;

/** Ways to lose an engine of which no connection tells. */
const WAYS = [
  {
    strike: async ({ stack }: CellContext) => stack.parts.freeze('engines-1'),
    repair: async ({ stack }: CellContext) => stack.parts.thaw('engines-1'),
  },
  {
    strike: ({ stack }: CellContext) => stack.links.become({ to: 'engines-1' }, { blackHole: true }),
    repair: async ({ stack: { links } }: CellContext) => {
      links.reset({ to: 'engines-1' });
      await links.become({ to: 'engines-1' }, {});
    },
  },
];

export const cell: Cell = {
  name: 'engine-freeze',
  group: 'engines',
  breaks: 'SIGSTOP of one of two engine processes under load; then its packets are lost, with no word of it',
  holds:
    'it is out within 12 s and back within 10; calls that heard nothing go elsewhere then, others end in an error event',
  eventLog: 'embedded',
  async run(context) {
    for (const way of WAYS) await loseEngine(context, way);
  },
};

/** Loses an engine under load until the router has noticed, and brings it back. */
async function loseEngine(context: CellContext, { strike, repair }: (typeof WAYS)[number]): Promise<void> {
  const load = context.startLoad({ calls: context.calls / 2, tokens: [1, 200] });
  await load.untilSent(Math.floor(context.calls * (0.1 + context.random.share() * 0.1)));
  const openAtStrike = load.open;
  await strike(context);
  await context.until('the engine to be out, its breaker open', () => areOut(context, true), OUT_WITHIN_MS);
  await repair(context);
  await context.until('the engine to be back', () => areOut(context, false), BACK_WITHIN_MS);
  await context.repaired();
  const calls = await load.done;

  // What had begun there cannot go elsewhere; nor can all that waits, where no retry is left.
  context.checkOutcomes(calls, { ok: true, error_event: openAtStrike, '500': true });
  context.check(
    calls.every(({ isStream, outcome }) => !isStream || outcome !== '500'),
    'a stream that had no event yet was failed, though another engine was there',
  );
  const boundMs = (isStream: boolean): number => (isStream ? FIRST_EVENT_MS + BETWEEN_EVENTS_MS : WHOLE_MS) + SLACK_MS;
  const late = calls.filter(({ isStream, startedAt, endedAt }) => endedAt - startedAt > boundMs(isStream));
  context.check(late.length === 0, `${late.length} calls ended more than ${SLACK_MS} ms after their deadline`);
}

/** Whether every engine of the process is left out, or every one of them takes calls. */
async function areOut({ stack }: CellContext, isOut: boolean): Promise<boolean> {
  const engines = (await stack.operator.listEngines()).filter(({ target }) => TARGET.test(target));
  return (
    engines.length > 0 &&
    engines.every(({ state, breaker, is_healthy: isHealthy }) =>
      isOut ? state === 'out' && breaker !== 'closed' && !isHealthy : state === 'ready' && isHealthy,
    )
  );
}

import type { Cell } from '../cell.ts';

const ORDER = ['usage-ledger', 'catalog', 'auth', 'model-router', 'edge'] as const;
/** Longer than anybody here keeps an idle connection, 4 s, and than a balancer takes to notice, 0.1 s. */
const SETTLING = { DRAIN_SETTLE_MS: '6000' };
/** Ten processes are replaced in about this time. */
const RELEASE_SECONDS = 100;

export const cell: Cell = {
  name: 'rolling-release',
  group: 'engines',
  breaks:
    'two replicas of every service behind load balancers, each process in turn ended by SIGTERM and started again',
  holds: 'no stream is cut and no call is refused',
  eventLog: 'embedded',
  replicas: 2,
  serviceSettings: {
    edge: SETTLING,
    auth: SETTLING,
    catalog: SETTLING,
    // Ten processes and their load on two cores are no auth that is away.
    'model-router': { ...SETTLING, AUTH_TIMEOUT_MS: '2000' },
    'usage-ledger': SETTLING,
  },
  async run(context) {
    const { parts } = context.stack;
    const perSecond = context.calls / RELEASE_SECONDS;
    // Without an end of its own: the release says when it is over.
    const load = context.startLoad({ calls: Number.MAX_SAFE_INTEGER, perSecond, tokens: [1, 300], interTokenMs: 10 });
    for (const part of ORDER.flatMap((service) => [service, `${service}-2`])) {
      await parts.end(part);
      await parts.restart(part);
      await load.untilSent(load.sent + Math.ceil(perSecond));
    }
    load.stop();
    context.checkOutcomes(await load.done, { ok: true });
  },
};

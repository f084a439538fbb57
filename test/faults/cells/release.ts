import { SERVICE_NAMES } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import type { Random } from '../load/random.ts';
import type { FaultStackOptions } from '../stack/startFaultStack.ts';

/** Longer than anybody here keeps an idle connection, 4 s, and than a balancer takes to notice, 0.1 s. */
const SETTLING = { DRAIN_SETTLE_MS: '6000' };
const SERVICE_SETTINGS: NonNullable<FaultStackOptions['serviceSettings']> = {
  edge: SETTLING,
  auth: SETTLING,
  catalog: SETTLING,
  // Ten processes and their load on two cores are no auth that is away.
  'model-router': { ...SETTLING, AUTH_TIMEOUT_MS: '2000' },
  'usage-ledger': SETTLING,
  'media-jobs': { ...SETTLING, AUTH_TIMEOUT_MS: '2000' },
};
/** Twelve processes are replaced in about this time. */
const RELEASE_SECONDS = 120;
const MEDIA_CALLS = 40;

export const release: CellTable = {
  'rolling-release': {
    breaks:
      'two replicas of every service behind load balancers, each process in turn ended by SIGTERM and started again',
    holds: 'no stream is cut and no call is refused',
    eventLog: 'embedded',
    replicas: 2,
    serviceSettings: SERVICE_SETTINGS,
    run: (context) => underLoad(context, () => replaceAll(context)),
  },
  'release-and-back': {
    breaks:
      'two replicas of every service of the release before: the databases are migrated, each process in turn is replaced by this code, and each by the release before again',
    holds: 'no stream is cut and no call is refused, whichever versions stand side by side',
    eventLog: 'embedded',
    replicas: 2,
    serviceSettings: SERVICE_SETTINGS,
    startsOnRelease: true,
    async run(context) {
      const { stack } = context;
      const before = await stack.codeRoot();
      await underLoad(context, async () => {
        await stack.runFrom(repositoryRoot);
        await stack.migrate();
        await replaceAll(context);
        await stack.runFrom(before);
        await replaceAll(context);
      });
    },
  },
};

/** Calls of all kinds go on while something is done, and each has to end well. */
async function underLoad(context: CellContext, work: () => Promise<void>): Promise<void> {
  const perSecond = context.calls / RELEASE_SECONDS;
  // Without an end of its own: the work says when it is over.
  const load = context.startLoad({ calls: Number.MAX_SAFE_INTEGER, perSecond, tokens: [1, 300], interTokenMs: 10 });
  const media = context.startMedia({ calls: MEDIA_CALLS, perSecond: MEDIA_CALLS / RELEASE_SECONDS });
  await load.untilSent(Math.ceil(perSecond));
  await work();
  load.stop();
  context.checkOutcomes(await load.done, { ok: true });
  context.checkMediaOutcomes(await media.done, { ok: true });
  await context.untilMediaIsOver();
}

/** Ends and starts every process, one replica of each service before the second of any, services in a drawn order. */
async function replaceAll({ stack, random }: CellContext): Promise<void> {
  const services = shuffle(SERVICE_NAMES, random);
  for (const part of [...services, ...services.map((service) => `${service}-2`)]) {
    await stack.parts.end(part);
    await stack.parts.restart(part);
  }
}

function shuffle<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.between(0, left.length - 1), 1));
}

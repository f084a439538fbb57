import { setTimeout as pause } from 'node:timers/promises';
import type { CellTable } from '../cell.ts';
import type { AllowedMediaOutcomes, AllowedOutcomes, CellContext } from '../cellContext.ts';
import { isOverloaded } from '../load/media/mediaRecord.ts';
import type { LinkChoice } from '../stack/links.ts';
import { type CutDirection, PacketFilter } from '../stack/packetFilter.ts';

interface CutLink extends Required<LinkChoice> {
  /** How chats may end meanwhile, beside well. */
  chats?: AllowedOutcomes;
  /** How media calls may end meanwhile, beside well; none are made where it is not given. */
  media?: AllowedMediaOutcomes;
  eventLog: 'kafka' | 'embedded';
}

const REFUSED = { '503': true } as const;
/** Keys are known for 30 s: only a longer cut refuses their calls. */
const REFUSED_LATER = REFUSED;

/** Each link between two parts of a region, and what fails while it is cut. All else ends well. */
const LINKS: readonly CutLink[] = [
  { from: 'model-router', to: 'redis', chats: REFUSED, eventLog: 'kafka' },
  { from: 'model-router', to: 'auth', chats: REFUSED_LATER, eventLog: 'embedded' },
  { from: 'model-router', to: 'catalog', eventLog: 'kafka' },
  { from: 'model-router', to: 'usage-ledger', eventLog: 'embedded' },
  { from: 'model-router', to: 'kafka', eventLog: 'kafka' },
  { from: 'usage-ledger', to: 'postgres', eventLog: 'embedded' },
  { from: 'usage-ledger', to: 'kafka', eventLog: 'kafka' },
  { from: 'usage-ledger', to: 'auth', eventLog: 'kafka' },
  { from: 'usage-ledger', to: 'catalog', eventLog: 'embedded' },
  { from: 'usage-ledger', to: 'model-router', eventLog: 'kafka' },
  { from: 'auth', to: 'postgres', chats: REFUSED_LATER, eventLog: 'kafka' },
  { from: 'auth', to: 'model-router', eventLog: 'embedded' },
  { from: 'catalog', to: 'postgres', eventLog: 'embedded' },
  { from: 'catalog', to: 'redis', eventLog: 'kafka' },
  { from: 'catalog', to: 'auth', eventLog: 'embedded' },
  { from: 'catalog', to: 'model-router', eventLog: 'kafka' },
  { from: 'catalog', to: 'media-jobs', media: {}, eventLog: 'embedded' },
  { from: 'media-jobs', to: 'postgres', media: REFUSED, eventLog: 'embedded' },
  { from: 'media-jobs', to: 'redis', media: REFUSED, eventLog: 'kafka' },
  { from: 'media-jobs', to: 'usage-ledger', media: {}, eventLog: 'embedded' },
  { from: 'media-jobs', to: 'kafka', media: {}, eventLog: 'kafka' },
  { from: 'media-jobs', to: 'auth', media: REFUSED_LATER, eventLog: 'kafka' },
  { from: 'media-jobs', to: 'catalog', media: {}, eventLog: 'embedded' },
];

/**
 * The duration of a cut, and the load from before the cut until some seconds after its end. The load is low, because a call that waits
 * for a core looks like a cut, and other stacks run beside it.
 */
interface Length {
  cutMs: number;
  chats: { calls: number; perSecond: number };
  mediaCalls: { calls: number; perSecond: number };
}
/** Longer than a lease of 5 s and the 3 s of a gate. */
const USUAL: Length = {
  cutMs: 8_000,
  chats: { calls: 334, perSecond: 20 },
  mediaCalls: { calls: 40, perSecond: 3 },
};
/** The cut of a run with `--full`. */
const LONG: Length = {
  cutMs: 60_000,
  chats: { calls: 540, perSecond: 6 },
  mediaCalls: { calls: 45, perSecond: 0.5 },
};
const FULL_CALLS = 10_000;
const SERVES_WITHIN_MS = 5_000;
/** How long a connection to Redis may answer nothing until its user gives it up. */
const REDIS_TIMEOUT_MS = 250;
const LOOK_EVERY_MS = 1_000;
/** Longest deadline of a read, and a little more on a busy machine. */
const READ_WITHIN_MS = 8_000;

const WHAT: Record<CutDirection, string> = {
  both: 'nothing arrives, either way',
  requests: 'requests do not arrive',
  answers: 'requests arrive, and answers do not',
};

/**
 * Cells `cut-<from>-<to>[-requests|-answers]`, which drop packets, and `swallow-…`, in which a proxy takes all and passes nothing on:
 * connections stay open and are acknowledged.
 */
export const cuts: CellTable = Object.fromEntries(
  LINKS.flatMap((link) =>
    (['both', 'requests', 'answers'] as const).flatMap((direction) =>
      (['cut', 'swallow'] as const).map((way) => {
        const name = `${way}-${link.from}-${link.to}${direction === 'both' ? '' : `-${direction}`}`;
        return [name, toCell(link, direction, way)];
      }),
    ),
  ),
);

function toCell(link: CutLink, direction: CutDirection, way: 'cut' | 'swallow'): CellTable[string] {
  const { from, to, chats, media, eventLog } = link;
  const refused = [...(chats ? ['chats'] : []), ...(Object.keys(media ?? {}).length > 0 ? ['media calls'] : [])];
  return {
    breaks: `from ${from} to ${to} ${WHAT[direction]}: ${way === 'cut' ? 'packets are dropped' : 'a proxy swallows them'}`,
    holds: `${refused.length > 0 ? `${refused.join(' and ')} get 503 at most; all` : 'all'} is admitted again within 5 s`,
    eventLog,
    ...(to === 'redis' && { notOnCluster: 'no proxy stands before the nodes of a cluster' }),
    // All packets of a cut are dropped by default, and a proxy swallows those of one direction.
    isDrawn: (seed) => (way === 'cut' ? direction === 'both' : direction === (seed % 2 ? 'answers' : 'requests')),
    run: (context) => cut(context, link, { direction, way }),
  };
}

const SWALLOWS = { both: { blackHole: true }, requests: { holdRequests: true }, answers: { holdReplies: true } };

async function cut(
  context: CellContext,
  { from, to, chats, media }: CutLink,
  { direction, way }: { direction: CutDirection; way: 'cut' | 'swallow' },
): Promise<void> {
  const { links } = context.stack;
  const length = context.calls >= FULL_CALLS ? LONG : USUAL;
  const filter = way === 'cut' ? await PacketFilter.open() : undefined;
  try {
    const load = context.startLoad({ ...length.chats, tokens: [1, 100] });
    const mediaLoad = media && context.startMedia(length.mediaCalls);
    await load.untilSent(Math.floor(length.chats.calls * (0.1 + context.random.share() * 0.1)));
    if (filter) await filter.drop(links.portsOf({ from, to }), direction);
    else await links.become({ from, to }, SWALLOWS[direction]);
    const cutAt = Date.now();
    await look(context, length.cutMs);
    // Open connections stay open, so the process that gave one up has to close it.
    if (filter) await filter.clear();
    else await links.become({ from, to }, {});
    const servesAgainAt = Date.now() + SERVES_WITHIN_MS;
    await context.repaired();
    context.checkRecovery(SERVES_WITHIN_MS);
    if (media) await untilMediaServes(context);
    const records = await load.done;
    // An admission whose answer is lost holds until its release arrives, and is swept if that is later than a lease.
    if (to === 'redis') context.allowUnknownAtStrikes(records, [cutAt, cutAt + REDIS_TIMEOUT_MS]);
    context.checkOutcomes(records, { ok: true, ...chats });
    context.checkOutcomes(
      records.filter(({ startedAt }) => startedAt > servesAgainAt),
      { ok: true },
    );
    if (!mediaLoad) return;
    const mediaRecords = await mediaLoad.done;
    context.checkMediaOutcomes(
      mediaRecords.filter((record) => !isOverloaded(record)),
      { ok: true, ...media },
    );
    await context.untilMediaIsOver();
  } finally {
    filter?.close();
  }
}

const READS: { path: (context: CellContext) => string; allowed: readonly number[] }[] = [
  { path: () => '/models', allowed: [200, 502, 503] },
  { path: () => '/svc/key', allowed: [200, 502, 503] },
  {
    path: ({ records }) => `/svc/usage/request/${records.find(({ outcome }) => outcome === 'ok')?.callId}`,
    allowed: [200, 404, 503, 504],
  },
];

/** Reads as a client does while it lasts: each read has an answer in time, and one that is in the contract. */
async function look(context: CellContext, forMs: number): Promise<void> {
  const until = performance.now() + forMs;
  const seen = new Map<string, number>();
  const reading = async ({ path, allowed }: (typeof READS)[number]): Promise<void> => {
    while (performance.now() < until) {
      const { status, tookMs } = await context.ask(path(context));
      const name = `${path(context).split('/')[2] ?? 'models'} ${status}`;
      seen.set(name, (seen.get(name) ?? 0) + 1);
      context.check(allowed.includes(status), `GET ${path(context)} answers ${status}`);
      context.check(tookMs < READ_WITHIN_MS, `GET ${path(context)} takes ${Math.round(tookMs)} ms`);
      await pause(LOOK_EVERY_MS);
    }
  };
  await Promise.all([pause(forMs), ...READS.map(reading)]);
  context.notes.push(`reads meanwhile: ${[...seen].map(([name, count]) => `${count} ${name}`).join(', ')}`);
}

async function untilMediaServes(context: CellContext): Promise<void> {
  const since = performance.now();
  const serves = async (): Promise<boolean> => {
    const [record] = await context.startMedia({ calls: 1, kinds: ['speech job'] }).done;
    // The time until a job is admitted counts, and not its render.
    if (record) admittedMs = record.startedAt - startedAt;
    return record?.outcome === 'ok';
  };
  const startedAt = Date.now();
  let admittedMs = 0;
  await context.until('a media call to be admitted', serves, 30_000);
  context.check(admittedMs <= SERVES_WITHIN_MS, `media calls are admitted only after ${admittedMs} ms`);
  context.notes.push(
    `media calls are admitted after ${(admittedMs / 1_000).toFixed(1)} s, and end well after ${((performance.now() - since) / 1_000).toFixed(1)} s`,
  );
}

import { REGIONS, type Region } from '@turnpike/config/region';
import { REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
import type { MediaKind } from '../../faults/load/media/mediaRecord.ts';
import type { Cell, RegionContext, Suite } from '../cell.ts';
import { restart } from '../region/rollout.ts';

/** In both regions together. */
const CALLS_PER_SECOND = 50;
const OPEN_STREAMS = 100;
/** Begun when the restart of a service begins. */
const MEDIA_JOBS = 20;
const UNBOUNDED = 1_000_000;
const JOB_KINDS: MediaKind[] = ['image job', 'video', 'speech job', 'transcript job'];
/** A stream of some twenty seconds. */
const STREAM = { tokens: [150, 250] as [number, number], interTokenMs: 100 };
/** Readers of events come before their writers, as in docs/operations.md. */
const ORDER: ServiceName[] = ['usage-ledger', 'auth', 'catalog', 'model-router', 'media-jobs', 'edge'];

/** Calls and long streams of a region until they are told to stop, and media jobs whenever some are begun. */
export function startTraffic(context: RegionContext, share: number) {
  const calls = context.startLoad({
    calls: UNBOUNDED,
    perSecond: CALLS_PER_SECOND * share,
    keepsPace: true,
    openAtMost: 200,
    streamShare: 0.5,
  });
  const streams = context.startLoad({
    calls: UNBOUNDED,
    perSecond: (OPEN_STREAMS * share) / 5,
    openAtMost: OPEN_STREAMS * share,
    streamShare: 1,
    ...STREAM,
  });
  const media: Promise<unknown>[] = [];
  return {
    calls,
    streams,
    beginMedia() {
      media.push(context.startMedia({ calls: MEDIA_JOBS * share, kinds: JOB_KINDS, perSecond: 1 }).done);
    },
    /** Resolves when what was sent has ended. */
    async stop() {
      calls.stop();
      streams.stop();
      await Promise.all([calls.done, streams.done, ...media]);
    },
  };
}

export const rollingUpdate: Cell = {
  name: 'rolling-update',
  does: `every service of both regions is restarted, one after the other, under ${CALLS_PER_SECOND} calls a second, ${OPEN_STREAMS} open streams and ${MEDIA_JOBS} media jobs each`,
  holds: 'no call fails, no stream is cut, every job ends well, and the books of both regions are exact',
  async run(suite) {
    const contexts = await Promise.all(REGIONS.map((region) => suite.openBooks(region)));
    const traffics = contexts.map((context) => startTraffic(context, 1 / contexts.length));
    await Promise.all(
      traffics.flatMap(({ calls, streams }) => [calls.untilSent(50), streams.untilSent(OPEN_STREAMS / 4)]),
    );
    for (const service of REGION_SERVICES.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))) {
      for (const traffic of traffics) traffic.beginMedia();
      await restartEverywhere(service, suite);
    }
    await Promise.all(traffics.map((traffic) => traffic.stop()));
    contexts.forEach(judge(suite));
  },
};

async function restartEverywhere(service: ServiceName, { doing, note }: Suite): Promise<void> {
  doing(`rolling-update: ${service}`);
  const took = await Promise.all(REGIONS.map((region: Region) => restart(region, service)));
  note(
    `${service} restarted in ${took.map((ms, index) => `${(ms / 1_000).toFixed(1)} s (${REGIONS[index]})`).join(', ')}`,
  );
}

/** All ended well; says how many there were, and at what pace. */
export const judge =
  ({ note }: Suite) =>
  (context: RegionContext): void => {
    context.checkOutcomes(context.records, { ok: true });
    context.checkMediaOutcomes(context.mediaRecords, { ok: true });
    const { records, mediaRecords } = context;
    const failed = records.filter(({ outcome }) => outcome !== 'ok');
    const cut = failed.filter(({ isStream, isAdmitted }) => isStream && isAdmitted);
    const [first = 0, last = 0] = [Math.min, Math.max].map((pick) =>
      pick(...records.map(({ startedAt }) => startedAt)),
    );
    const pace = records.length / Math.max((last - first) / 1_000, 1);
    const failedJobs = mediaRecords.filter(({ outcome }) => outcome !== 'ok');
    note(
      `${context.stack.region}: ${records.length} calls, ${pace.toFixed(0)} a second, ${failed.length} failed, ${cut.length} streams cut; ${mediaRecords.length} media jobs, ${failedJobs.length} failed`,
    );
  };

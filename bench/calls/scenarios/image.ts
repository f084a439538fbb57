import { NoFigure } from '../../figure.ts';
import { median, percentile } from '../../median.ts';
import { measureCost, toRequests } from '../measureCost.ts';
import { inRounds, print, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { toChatRequest, toImageRequest } from '../wire.ts';

const STREAMS = 200;
const PLAN = { tokens: 32, everyMs: 50 };
const streams = {
  kind: 'once',
  connections: STREAMS,
  seconds: 0,
  rate: 0,
  withinMs: 600,
  eventsEveryMs: PLAN.everyMs,
} as const;
/** One image after the other, for as long as the streams last. */
const imageOrder = { kind: 'open', connections: 1, seconds: 1.6, rate: 2, withinMs: 0 } as const;

/**
 * Measures the delay of chunks of 200 streams, with and without images of 5 MB on the same path. The path is edge and router. With
 * `isLong` it is also two byte copies, which show the delay of the machine itself.
 */
export const image: Scenario = {
  name: 'image',
  async run(targets, { rounds: count, isLong, progress }) {
    const { engine, edge, pipes } = targets;
    await engine.ask(PLAN);
    progress('streams with images, to warm up');
    await measureLateness(targets, edge, 'with');
    const rounds = await inRounds(count, isLong ? [edge, pipes] : [edge], async (target, round) => {
      const lateMs = { without: 0, with: 0 };
      for (const how of round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
        progress(`streams ${how} images, round ${round + 1} of ${count}: ${target.name}`);
        lateMs[how] = await measureLateness(targets, target, how);
      }
      return lateMs;
    });
    const ratio = (target: Target): number[] => rounds.of(target).map((lateMs) => lateMs.with / lateMs.without);
    const figure = toFigure(
      'chunk delay p99 beside 5 MB images ÷ without',
      { atMost: 1.3 },
      () => ratio(edge),
      isLong ? () => ratio(pipes) : undefined,
    );
    if (figure.refusal === undefined) {
      const middle = (how: 'with' | 'without') => median(rounds.of(edge).map((lateMs) => lateMs[how])).toFixed(1);
      print(`p99 of how late chunks come, ms: ${middle('without')}, beside images ${middle('with')}`);
    }
    print('');
    return [figure];
  },
};

/** The 99th percentile of how late chunks come, ms. */
async function measureLateness(targets: Targets, target: Target, how: 'with' | 'without'): Promise<number> {
  const images = {
    ...imageOrder,
    port: target.port,
    requests: toRequests({ ...target, apiKeys: target.apiKeys.slice(0, 1) }, toImageRequest()),
  };
  const beside = how === 'with' ? targets.otherLoad.ask(images) : undefined;
  const { report } = await measureCost(targets, { target, request: toChatRequest({ isStream: true }), order: streams });
  const others = (await beside)?.statuses ?? {};
  if (Object.keys(others).some((status) => status !== '200'))
    throw new NoFigure(`not every image was answered with 200: ${JSON.stringify(others)}`);
  return percentile(report.lateMs, 0.99);
}

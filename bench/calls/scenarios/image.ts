import { divideRounds } from '../../figure.ts';
import { median } from '../../median.ts';
import { NoFigure } from '../../noFigure.ts';
import { measureCost, toRequests } from '../measureCost.ts';
import { percentile } from '../percentile.ts';
import { print, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest, toImageRequest } from '../wire.ts';

const STREAMS = 200;
const PLAN = { tokens: 40, everyMs: 50 };
const streams = {
  kind: 'once',
  connections: STREAMS,
  seconds: 0,
  rate: 0,
  withinMs: 600,
  eventsEveryMs: PLAN.everyMs,
} as const;
/** One image after the other, for as long as the streams last. */
const imageOrder = { kind: 'open', connections: 1, seconds: 2, rate: 2, withinMs: 0 } as const;

/** How late the chunks of 200 streams come while images of 5 MB go the same way, and while none does. */
export const image: Scenario = {
  name: 'image',
  async run(targets, { rounds: count, progress }) {
    const { engine, otherLoad, edge } = targets;
    const images = {
      ...imageOrder,
      port: edge.port,
      requests: toRequests({ ...edge, apiKeys: edge.apiKeys.slice(0, 1) }, toImageRequest()),
    };
    const lateness: Record<'without' | 'with', number[]> = { without: [], with: [] };
    await engine.ask(PLAN);
    for (let round = 0; round <= count; round += 1) {
      // The first round warms up: no image came before.
      const both = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const);
      for (const how of round === 0 ? (['with'] as const) : both) {
        progress(`streams ${how} images, round ${round} of ${count}`);
        const beside = how === 'with' ? otherLoad.ask(images) : undefined;
        const request = toChatRequest({ isStream: true });
        const { report } = await measureCost(targets, { target: edge, request, order: streams });
        const others = (await beside)?.statuses ?? {};
        if (Object.keys(others).some((status) => status !== '200'))
          throw new NoFigure(`not every image was answered with 200: ${JSON.stringify(others)}`);
        if (round > 0) lateness[how].push(percentile(report.lateMs, 0.99));
      }
    }
    print(
      `p99 of how late chunks come, ms: ${median(lateness.without).toFixed(1)}, beside images ${median(lateness.with).toFixed(1)}\n`,
    );
    return [
      toFigure('chunk delay p99 beside 5 MB images ÷ without', { atMost: 1.3 }, () =>
        divideRounds(lateness.with, lateness.without),
      ),
    ];
  },
};

import { setTimeout as pause } from 'node:timers/promises';
import { NoFigure } from '../../figure.ts';
import { seededRandom } from '../../seededRandom.ts';
import { describe, watchBench } from '../measureCost.ts';
import type { Scenario } from '../scenario.ts';
import { toBytes, toChatRequest } from '../wire.ts';

const STREAMS = 1_000;
const PLAN = { tokens: 100, everyMs: 200 };
const BEGUN_WITHIN_MS = 3_000;
/** After its first byte. */
const CUT_WITHIN_MS = 2_000;
const WITHIN_MS = 100;
/** After the last cut, for what is late. */
const GRACE_MS = 1_000;

/** Whether the engine is told within 100 ms of each of 1,000 streams that are cut at random. */
export const cuts: Scenario = {
  name: 'cuts',
  async run({ engine, load, edge }, { seed, progress }) {
    progress('cutting streams');
    await engine.ask(PLAN);
    const requests = Array.from({ length: STREAMS }, (_, index) =>
      toBytes(toChatRequest({ isStream: true, name: `cut-${index}` }), {
        port: edge.port,
        apiKey: edge.apiKeys[index % edge.apiKeys.length] ?? '',
      }),
    );
    const order = { kind: 'once', seconds: 0, rate: 0, withinMs: BEGUN_WITHIN_MS } as const;
    const random = seededRandom(seed);
    const cutAfterMs = Array.from({ length: STREAMS }, () => random() * CUT_WITHIN_MS);
    const refuseBottleneck = watchBench({ load, engine });
    const report = await load.ask({ ...order, cutAfterMs, connections: STREAMS, port: edge.port, requests });
    refuseBottleneck('cuts');
    await pause(GRACE_MS);
    const closedAt = new Map((await engine.ask(PLAN)).closed);
    await edge.settled();
    const { cut = 0 } = report.statuses;
    if (cut !== STREAMS) throw new NoFigure(`only ${cut} of ${STREAMS} streams could be cut: ${describe(report)}`);
    const delays = report.cuts.map(([name, at]) => (closedAt.get(name) ?? Number.POSITIVE_INFINITY) - at);
    const inTime = delays.filter((ms) => ms <= WITHIN_MS).length;
    return [
      {
        name: `part of ${STREAMS} cut streams of which the engine is told within ${WITHIN_MS} ms`,
        rounds: [inTime / STREAMS],
        atLeast: 1,
      },
      { name: 'the latest of them', rounds: [Math.max(...delays)], unit: 'ms' },
    ];
  },
};

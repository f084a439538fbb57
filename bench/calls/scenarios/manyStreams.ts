import type { Figure } from '../../figure.ts';
import { describe, toRequests, watchBench } from '../measureCost.ts';
import type { EnginePlan } from '../processes/engine.ts';
import { print } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

interface Plan {
  streams: number;
  withinMs: number;
  plan: EnginePlan;
  /** Time after the first stream at which all are cut, if given: open streams were open at the same time. */
  cutAtMs?: number;
}

const BURST: Plan = { streams: 3_000, withinMs: 400, plan: { tokens: 3, everyMs: 1_000 } };
const OPEN: Plan = { streams: 5_000, withinMs: 10_000, plan: { tokens: 10, everyMs: 2_000 }, cutAtMs: 12_000 };

/** Whether every stream is answered to its end when 3,000 begin at once, and when 5,000 are open. */
export const manyStreams: Scenario = {
  name: 'streams',
  async run({ engine, load, edge }, { progress }) {
    const failed = async ({ streams, withinMs, plan, cutAtMs }: Plan): Promise<number> => {
      progress(`${streams} streams within ${withinMs / 1_000} s`);
      await engine.ask(plan);
      const order = { kind: 'once', connections: streams, seconds: 0, rate: 0, withinMs } as const;
      const requests = toRequests(edge, toChatRequest({ isStream: true }));
      const refuseBottleneck = watchBench({ load, engine });
      const cutAfterMs =
        cutAtMs && Array.from({ length: streams }, (_, index) => cutAtMs - (index / streams) * withinMs);
      const report = await load.ask({ ...order, port: edge.port, requests, ...(cutAfterMs && { cutAfterMs }) });
      refuseBottleneck(`${streams} streams`);
      await edge.settled();
      const { statuses, firstByteMs } = report;
      const { '200': ended = 0, cut = 0 } = statuses;
      print(
        `${streams} streams begun within ${withinMs / 1_000} s: ${describe(report)}, the last first token after ${(firstByteMs.at(-1) ?? 0).toFixed(0)} ms`,
      );
      return streams - (cutAtMs === undefined ? ended : cut);
    };
    const figure = async (name: string, how: Plan): Promise<Figure> => ({
      name,
      rounds: [await failed(how)],
      atMost: 0,
    });
    const figures = [
      await figure('refused or broken of 3,000 streams begun within 0.4 s', BURST),
      await figure('refused or broken of 5,000 open streams', OPEN),
    ];
    print('');
    return figures;
  },
};

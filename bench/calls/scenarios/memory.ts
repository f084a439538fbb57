import { setTimeout as pause } from 'node:timers/promises';
import { divideRounds, NoFigure } from '../../figure.ts';
import { describe, toRequests, watchBench } from '../measureCost.ts';
import type { LoadReport } from '../processes/load.ts';
import { readMemory } from '../readProcess.ts';
import { inRounds, partOf, printParts, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { sendWhole } from '../warmUp.ts';
import { toChatRequest } from '../wire.ts';

/** Streams of each target. They last until they are cut. */
const STREAMS = 3_000;
const PLAN = { tokens: 12, everyMs: 2_000 };
const BEGUN_WITHIN_MS = 7_000;
/** All have begun by then, and have had a chunk since. */
const LOOK_AT_MS = 10_500;
const CUT_AT_MS = 11_000;
const once = { kind: 'once', seconds: 0, rate: 0, withinMs: BEGUN_WITHIN_MS } as const;

/** So that what is compiled once is there before: few, as a process keeps the memory that it has had. */
const WARM_UP = { calls: 1_000, streams: 64, plan: { tokens: 20, everyMs: 20 } };

/**
 * Measures memory of an open stream: 3,000 streams of each target at the same time, with a chunk every 2 s. The router is the one behind
 * the edge. Each round has new processes, because a process keeps the memory that it has had.
 */
export const memory: Scenario = {
  name: 'memory',
  async run(targets, { rounds: count, progress }) {
    const { nginx, pipes, edge } = targets;
    const all: Target = { ...edge, name: 'at the same time', parts: {} };
    const rounds = await inRounds(count, [all], async (_target, round) => {
      progress(`memory of open streams, round ${round + 1} of ${count}`);
      await Promise.all([nginx, pipes, edge].map((target) => target.renew?.()));
      await warmUp(targets);
      const { edge: edgePid = 0, router = 0 } = edge.parts;
      const { pipe = 0, behind = 0 } = pipes.parts;
      all.parts = { nginx: nginx.parts.nginx ?? 0, pipe, behind, edge: edgePid, router };
      return measure(targets, all.parts);
    });
    printParts('memory of an open stream, KiB', rounds);
    const sum = (...parts: string[]) => {
      const [first = [], ...others] = parts.map((part) => partOf(rounds, all, part));
      return first.map((value, at) => others.reduce((total, other) => total + (other[at] ?? Number.NaN), value));
    };
    return [
      toFigure(
        'memory of an open stream: router ÷ nginx',
        { atMost: 2.5 },
        () => divideRounds(sum('router'), sum('nginx')),
        () => divideRounds(sum('pipe'), sum('nginx')),
      ),
      toFigure('memory of an open stream: edge + router ÷ bare Node pipe twice', { atMost: 1.3 }, () =>
        divideRounds(sum('edge', 'router'), sum('pipe', 'behind')),
      ),
    ];
  },
};

async function warmUp({ engine, load, otherLoad, nginx, pipes, edge }: Targets): Promise<void> {
  await engine.ask(WARM_UP.plan);
  const by = async (loader: typeof load, target: Target): Promise<void> => {
    await sendWhole({ load: loader }, target, WARM_UP.calls);
    const requests = toRequests(target, toChatRequest({ isStream: true }));
    await loader.ask({ ...once, connections: WARM_UP.streams, withinMs: 100, port: target.port, requests });
  };
  await Promise.all([by(load, edge), by(otherLoad, pipes).then(() => by(otherLoad, nginx))]);
  await edge.settled();
}

/** KiB a stream of each part. */
async function measure(
  { engine, load, otherLoad, nginx, pipes, edge }: Targets,
  parts: Record<string, number>,
): Promise<Record<string, number>> {
  await engine.ask(PLAN);
  const before = readAll(parts);
  const refuseBottleneck = watchBench({ load, engine });
  const request = toChatRequest({ isStream: true });
  // So that all are cut at once.
  const toCuts = (count: number) =>
    Array.from({ length: count }, (_, index) => CUT_AT_MS - (index / count) * BEGUN_WITHIN_MS);
  const order = { ...once, port: edge.port, connections: STREAMS, cutAfterMs: toCuts(STREAMS) };
  const ended = load.ask({ ...order, requests: toRequests(edge, request) });
  const baselines = { ports: [nginx.port, pipes.port], connections: 2 * STREAMS, cutAfterMs: toCuts(2 * STREAMS) };
  const baselinesEnded = otherLoad.ask({ ...order, ...baselines, requests: toRequests(nginx, request) });
  await pause(LOOK_AT_MS);
  const during = readAll(parts);
  const [report, ofBaselines] = [await ended, await baselinesEnded];
  refuseBottleneck('open streams');
  await edge.settled();
  refuseUnlessOpen('edge + router', report, STREAMS);
  refuseUnlessOpen('nginx and the pipes', ofBaselines, 2 * STREAMS);
  return Object.fromEntries(
    Object.keys(parts).map((part) => [part, ((during[part] ?? 0) - (before[part] ?? 0)) / STREAMS / 1_024]),
  );
}

function refuseUnlessOpen(name: string, report: LoadReport, streams: number): void {
  if (report.statuses.cut !== streams) throw new NoFigure(`not every stream of ${name} was open: ${describe(report)}`);
  const lastMs = report.firstByteMs.at(-1) ?? 0;
  if (lastMs > LOOK_AT_MS - BEGUN_WITHIN_MS)
    throw new NoFigure(`${name} took ${(lastMs / 1_000).toFixed(1)} s to begin a stream`);
}

const readAll = (parts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(parts).map(([part, pid]) => [part, readMemory(pid)]));

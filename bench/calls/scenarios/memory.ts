import { setTimeout as pause } from 'node:timers/promises';
import { divideRounds } from '../../figure.ts';
import { describe, NoFigure, toRequests, watchBench } from '../measureCost.ts';
import { readMemory } from '../readProcess.ts';
import { inRounds, printParts, sumOf, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { sendWhole } from '../warmUp.ts';
import { toChatRequest } from '../wire.ts';

const STREAMS = 3_000;
const PLAN = { tokens: 5, everyMs: 2_000 };
const BEGUN_WITHIN_MS = 5_000;
/** All have begun by then, and none has ended. */
const LOOK_AT_MS = 8_500;

/** So that what is compiled once is there before: few, as a process keeps the memory that it has had. */
const WARM_UP = { calls: 1_000, streams: 64, plan: { tokens: 20, everyMs: 20 } };

/**
 * Memory of an open stream: 3,000 of them with a chunk every 2 s; the router's is that behind the edge. Each round has fresh processes:
 * one keeps the memory that it has had.
 */
export const memory: Scenario = {
  name: 'memory',
  async run(targets, { rounds: count, progress }) {
    const { engine, load, nginx, pipes, edge } = targets;
    const rounds = await inRounds(count, [nginx, pipes, edge], async (target, round) => {
      progress(`memory of open streams, round ${round + 1} of ${count}: ${target.name}`);
      await target.renew?.();
      await sendWhole(targets, target, WARM_UP.calls);
      await engine.ask(WARM_UP.plan);
      const requests = toRequests(target, toChatRequest({ isStream: true }));
      const once = { kind: 'once', seconds: 0, rate: 0, withinMs: BEGUN_WITHIN_MS } as const;
      await load.ask({ ...once, connections: WARM_UP.streams, withinMs: 100, port: target.port, requests });
      await engine.ask(PLAN);
      await target.settled();
      const before = readAll(target.parts);
      const refuseBottleneck = watchBench({ load, engine });
      const ended = load.ask({ ...once, connections: STREAMS, port: target.port, requests });
      await pause(LOOK_AT_MS);
      const during = readAll(target.parts);
      const report = await ended;
      const { statuses, firstByteMs } = report;
      refuseBottleneck(target.name);
      await target.settled();
      if (statuses['200'] !== STREAMS)
        throw new NoFigure(`not every stream of ${target.name} was answered with 200: ${describe(report)}`);
      if ((firstByteMs.at(-1) ?? 0) > LOOK_AT_MS - BEGUN_WITHIN_MS)
        throw new NoFigure(`${target.name} took ${((firstByteMs.at(-1) ?? 0) / 1_000).toFixed(1)} s to begin a stream`);
      return Object.fromEntries(
        Object.keys(target.parts).map((part) => [part, ((during[part] ?? 0) - (before[part] ?? 0)) / STREAMS / 1_024]),
      );
    });
    printParts('memory of an open stream, KiB', rounds);
    const ofEdgeAndRouter = () => rounds.of(edge).map((parts) => (parts.edge ?? 0) + (parts.router ?? 0));
    const ofRouter = () => rounds.of(edge).map((parts) => parts.router ?? Number.NaN);
    const total = (target: typeof nginx) => rounds.of(target).map(sumOf);
    return [
      toFigure('memory of an open stream: router ÷ nginx', { atMost: 2.5 }, () =>
        divideRounds(ofRouter(), total(nginx)),
      ),
      toFigure('memory of an open stream: edge + router ÷ bare Node pipe twice', { atMost: 1.3 }, () =>
        divideRounds(ofEdgeAndRouter(), total(pipes)),
      ),
    ];
  },
};

const readAll = (parts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(parts).map(([part, pid]) => [part, readMemory(pid)]));

import { setTimeout as pause } from 'node:timers/promises';
import { describe, NoFigure, watchBench } from '../../calls/measureCost.ts';
import { readMemory, readProcessorTime } from '../../calls/readProcess.ts';
import { endService, startAgain } from '../../calls/restartService.ts';
import { sendWhole } from '../../calls/warmUp.ts';
import { toChatRequest } from '../../calls/wire.ts';
import type { Curve } from '../curve.ts';
import { toAll } from '../measureCalls.ts';
import { DOES_NOT_BEND, type Line } from '../plot.ts';
import type { GrowthStack } from '../startGrowthStack.ts';

const SIZES = [100, 1_000, 2_500, 5_000];
/** At every size as many chunks a second: the more streams, the further apart are those of one. */
const CHUNKS_PER_SECOND = 2_500;
const BEGUN_PER_SECOND = 500;
const SETTLE_MS = 2_000;
const WINDOW_MS = 4_000;
const WARM_UP_CALLS = 2_000;
const PARTS = ['router', 'edge'] as const;

type ByPart = Record<(typeof PARTS)[number], number>;
interface Look {
  us: ByPart;
  bytes: ByPart;
}

/** Streams that are open: processor time of a chunk, and memory of a stream beyond the size before, as a process keeps what it has had. */
export const streams: Curve = {
  name: 'streams',
  async measure({ rounds, progress, startStack }) {
    const stack = await startStack();
    const times: Line[] = PARTS.map((name) => ({ name, unit: 'µs', atMost: DOES_NOT_BEND, points: toPoints(SIZES) }));
    const memory: Line[] = PARTS.map((name) => ({
      name,
      unit: 'KiB',
      atMost: DOES_NOT_BEND,
      points: toPoints(SIZES.slice(2)),
    }));
    for (let round = 0; round < rounds; round += 1) {
      progress(`open streams, round ${round + 1} of ${rounds}: starting router and edge again`);
      const pids = await startBothAgain(stack);
      let before: { size: number; bytes: ByPart } | undefined;
      for (const size of SIZES) {
        progress(`${size} open streams, round ${round + 1} of ${rounds}`);
        const { us, bytes } = await measureOpen(stack, pids, size);
        for (const line of times) {
          const part = line.name as keyof ByPart;
          pointOf(line, size)?.rounds.push(us[part] / ((CHUNKS_PER_SECOND * WINDOW_MS) / 1_000));
        }
        for (const line of memory) {
          const part = line.name as keyof ByPart;
          if (before)
            pointOf(line, size)?.rounds.push((bytes[part] - before.bytes[part]) / (size - before.size) / 1_024);
        }
        before = { size, bytes };
      }
    }
    return [
      {
        name: 'streams',
        title: 'Processor time of a chunk by open streams, 2,500 chunks a second',
        along: 'streams',
        isRelative: true,
        lines: times,
      },
      {
        name: 'stream-memory',
        title: 'Memory of each stream beyond the size before, KiB',
        along: 'streams',
        isRelative: false,
        lines: memory,
      },
    ];
  },
};

const toPoints = (sizes: number[]) => sizes.map((size) => ({ size, rounds: [] as number[] }));
const pointOf = ({ points }: Line, size: number) => points.find((point) => point.size === size);

async function startBothAgain({ running, load, ports, apiKeys, behind, settled }: GrowthStack): Promise<ByPart> {
  await endService(running, 'model-router');
  behind.router = await startAgain(running, 'model-router');
  await endService(running, 'edge');
  const pids = { router: behind.router, edge: await startAgain(running, 'edge') };
  await sendWhole({ load }, { name: 'edge', port: ports.edge, apiKeys, parts: pids, settled }, WARM_UP_CALLS);
  return pids;
}

/** What the parts needed in a window in which all streams are open, and the memory that they have at its end. */
async function measureOpen(stack: GrowthStack, pids: ByPart, size: number): Promise<Look> {
  const { engine, load, ports, apiKeys } = stack;
  const everyMs = (size / CHUNKS_PER_SECOND) * 1_000;
  const beginMs = (size / BEGUN_PER_SECOND) * 1_000;
  const lastsMs = beginMs + SETTLE_MS + WINDOW_MS + SETTLE_MS;
  await engine.ask({ tokens: Math.ceil(lastsMs / everyMs), everyMs });
  const requests = toAll(apiKeys, toChatRequest({ isStream: true }));
  const order = { kind: 'once', connections: size, seconds: 0, rate: 0, withinMs: beginMs } as const;
  const ended = load.ask({ ...order, port: ports.edge, requests });
  await pause(beginMs + SETTLE_MS);
  const refuseBottleneck = watchBench(stack);
  const before = read(pids, readProcessorTime);
  await pause(WINDOW_MS);
  const after = read(pids, readProcessorTime);
  const bytes = read(pids, readMemory);
  refuseBottleneck(`${size} streams`);
  const report = await ended;
  if (report.statuses['200'] !== size)
    throw new NoFigure(`not every one of ${size} streams was answered with 200: ${describe(report)}`);
  if ((report.firstByteMs.at(-1) ?? 0) > SETTLE_MS) throw new NoFigure(`not all of ${size} streams had begun in time`);
  return { us: { router: after.router - before.router, edge: after.edge - before.edge }, bytes };
}

const read = (pids: ByPart, of: (pid: number) => number): ByPart => ({ router: of(pids.router), edge: of(pids.edge) });

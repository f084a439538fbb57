import { setTimeout as pause } from 'node:timers/promises';
import { describe, watchBench } from '../../calls/measureCost.ts';
import { readMemory, readProcessorTime } from '../../calls/readProcess.ts';
import { endService, startAgain } from '../../calls/restartService.ts';
import { sendWhole } from '../../calls/warmUp.ts';
import { toChatRequest } from '../../calls/wire.ts';
import { NoFigure } from '../../figure.ts';
import { type Curve, toLine } from '../curve.ts';
import { toAll } from '../measureCalls.ts';
import type { GrowthStack } from '../startGrowthStack.ts';

const SIZES = [100, 5_000];
const LONG_SIZES = [100, 1_000, 2_500, 5_000];
/** At every size as many chunks a second: the more streams, the further apart are those of one. */
const CHUNKS_PER_SECOND = 2_500;
const BEGUN_PER_SECOND = 600;
const SETTLE_MS = 1_500;
const WINDOW_MS = 1_500;
/** After the last window. */
const CUT_AFTER_MS = 500;
const WARM_UP_CALLS = 2_000;
const PARTS = ['router', 'edge'] as const;

type ByPart = Record<(typeof PARTS)[number], number>;
interface Look {
  us: ByPart;
  bytes: ByPart;
}

/** Open streams: CPU time of a chunk, and memory of each stream beyond the previous size, because a process keeps its memory. */
export const streams: Curve = {
  name: 'streams',
  title:
    'Processor time of a chunk by open streams, 2,500 chunks a second, and memory of each stream beyond the size before',
  async measure({ rounds, isLong, progress, startStack }) {
    const stack = await startStack();
    const sizes = isLong ? LONG_SIZES : SIZES;
    // With enough time each round has fresh processes. Otherwise all windows measure the same streams, one after the other.
    const [turns, windows] = isLong ? [rounds, 1] : [1, rounds];
    const measured = new Map(sizes.map((size) => [size, [] as Look[]]));
    for (let turn = 0; turn < turns; turn += 1) {
      progress(`open streams, round ${turn + 1} of ${turns}: starting router and edge again`);
      const pids = await startBothAgain(stack);
      for (const size of sizes) {
        progress(`${size} open streams, round ${turn + 1} of ${turns}`);
        measured.get(size)?.push(...(await measureOpen(stack, pids, { size, windows })));
      }
    }
    const times = PARTS.map((part) =>
      toLine(part, measured, ({ us }) => us[part] / ((CHUNKS_PER_SECOND * WINDOW_MS) / 1_000)),
    );
    // With two sizes there is one point, which `calls/memory` tells better.
    if (!isLong) return times;
    const memory = PARTS.map((part) => {
      const ofMore = new Map([...measured].slice(1));
      const read = ({ bytes }: Look, size: number, round: number): number => {
        const less = sizes[sizes.indexOf(size) - 1] ?? 0;
        const before = measured.get(less)?.[round]?.bytes[part] ?? Number.NaN;
        return (bytes[part] - before) / (size - less) / 1_024;
      };
      return toLine(`memory of ${part}`, ofMore, read, { unit: 'KiB' });
    });
    return [...times, ...memory];
  },
};

async function startBothAgain({ running, load, ports, apiKeys, behind, settled }: GrowthStack): Promise<ByPart> {
  await endService(running, 'model-router');
  behind.router = await startAgain(running, 'model-router');
  await endService(running, 'edge');
  const pids = { router: behind.router, edge: await startAgain(running, 'edge') };
  await sendWhole({ load }, { name: 'edge', port: ports.edge, apiKeys, parts: pids, settled }, WARM_UP_CALLS);
  return pids;
}

/** Measures the need of the parts in each window with all streams open, and their memory at its end. */
async function measureOpen(
  stack: GrowthStack,
  pids: ByPart,
  { size, windows }: { size: number; windows: number },
): Promise<Look[]> {
  const { engine, load, ports, apiKeys } = stack;
  const everyMs = (size / CHUNKS_PER_SECOND) * 1_000;
  const beginMs = (size / BEGUN_PER_SECOND) * 1_000;
  const overMs = beginMs + SETTLE_MS + windows * WINDOW_MS + CUT_AFTER_MS;
  await engine.ask({ tokens: Math.ceil(overMs / everyMs) + 1, everyMs });
  const requests = toAll(apiKeys, toChatRequest({ isStream: true }));
  const order = { kind: 'once', connections: size, seconds: 0, rate: 0, withinMs: beginMs } as const;
  const cutAfterMs = Array.from({ length: size }, (_, index) => overMs - (index / size) * beginMs);
  const ended = load.ask({ ...order, cutAfterMs, port: ports.edge, requests });
  await pause(beginMs + SETTLE_MS);
  const refuseBottleneck = watchBench(stack);
  const looks: Look[] = [];
  for (let before = read(pids, readProcessorTime); looks.length < windows; ) {
    await pause(WINDOW_MS);
    const after = read(pids, readProcessorTime);
    const us = { router: after.router - before.router, edge: after.edge - before.edge };
    looks.push({ us, bytes: read(pids, readMemory) });
    before = after;
  }
  refuseBottleneck(`${size} streams`);
  const report = await ended;
  await stack.settled();
  if (report.statuses.cut !== size)
    throw new NoFigure(`not every one of ${size} streams was open: ${describe(report)}`);
  if ((report.firstByteMs.at(-1) ?? 0) > SETTLE_MS) throw new NoFigure(`not all of ${size} streams had begun in time`);
  return looks;
}

const read = (pids: ByPart, of: (pid: number) => number): ByPart => ({ router: of(pids.router), edge: of(pids.edge) });

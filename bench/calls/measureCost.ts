import { NoFigure } from '../figure.ts';
import type { LoadOrder, LoadReport } from './processes/load.ts';
import { readProcessorTime } from './readProcess.ts';
import type { Target } from './target.ts';
import type { Targets } from './targets.ts';
import { type ClientRequest, toBytes } from './wire.ts';

export interface CostOptions {
  target: Target;
  /** One that each of the target's keys sends, or requests as they are. */
  request: ClientRequest | string[];
  order: Omit<LoadOrder, 'port' | 'requests'>;
  /** The status that every call must have. Default: 200. */
  status?: number;
}

export interface Cost {
  /** Processor time of each part, µs, with what the calls left behind. */
  costs: Record<string, number>;
  /** The same of one call. */
  perCall: Record<string, number>;
  calls: number;
  report: LoadReport;
}

/** The bench’s own processes: who asks, and whom all targets ask. */
interface Bench {
  load: Targets['load'];
  engine: { pid: number };
}

/** The part of a core that the load generator or the engine may use, so that neither is what is measured. */
const MOST_OF_A_CORE = 0.9;

/**
 * Sends calls to a target and returns the CPU time of each of its parts, including work after the calls. The target is idle
 * before and after. Throws `NoFigure` if a call failed, or if the bench itself was the bottleneck.
 */
export async function measureCost(
  { load, engine }: Bench,
  { target, request, order, status = 200 }: CostOptions,
): Promise<Cost> {
  const before = readTimes(target.parts);
  const refuseBottleneck = watchBench({ load, engine });
  const requests = Array.isArray(request) ? request : toRequests(target, request);
  const report = await load.ask({ ...order, port: target.port, requests });
  try {
    const others = Object.keys(report.statuses).filter((each) => each !== String(status));
    if (others.length > 0)
      throw new NoFigure(`not every call of ${target.name} was answered with ${status}: ${describe(report)}`);
    refuseBottleneck(target.name);
  } finally {
    await target.settled();
  }
  const after = readTimes(target.parts);
  const calls = report.statuses[status] ?? 0;
  const costs = Object.fromEntries(
    Object.keys(target.parts).map((part) => [part, (after[part] ?? 0) - (before[part] ?? 0)]),
  );
  return { costs, perCall: divideParts(costs, calls), calls, report };
}

/** Returns the need of each part for one of so many. */
export const divideParts = (costs: Record<string, number>, count: number): Record<string, number> =>
  Object.fromEntries(Object.entries(costs).map(([part, us]) => [part, us / count]));

/** Watches the bench's own processes from now on: the result throws `NoFigure` when one of them was what was measured. */
export function watchBench({ load, engine }: Record<keyof Bench, { pid: number }>): (what: string) => void {
  const pids = { 'load generator': load.pid, engine: engine.pid };
  const before = readTimes(pids);
  const startedAt = performance.now();
  return (what) => {
    const us = (performance.now() - startedAt) * 1_000;
    for (const [part, time] of Object.entries(readTimes(pids))) {
      const share = (time - (before[part] ?? 0)) / us;
      if (share > MOST_OF_A_CORE)
        throw new NoFigure(
          `${what}: the ${part} used ${(share * 100).toFixed(0)} % of a core, so it was the bottleneck`,
        );
    }
  };
}

/** How calls were answered, and what the first of each status said. */
export const describe = ({ statuses, bodies }: LoadReport): string =>
  [JSON.stringify(statuses), ...Object.entries(bodies).map(([status, body]) => `${status}: ${body}`)].join('; ');

/** A request by each of a target's keys. */
export const toRequests = ({ port, apiKeys, headers }: Target, request: ClientRequest): string[] =>
  apiKeys.map((apiKey) => toBytes(request, { port, apiKey, headers }));

const readTimes = (pids: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(pids).map(([part, pid]) => [part, readProcessorTime(pid)]));

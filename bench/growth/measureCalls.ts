import { setTimeout as pause } from 'node:timers/promises';
import { measureCost } from '../calls/measureCost.ts';
import { readProcessorTime } from '../calls/readProcess.ts';
import { untilIdle } from '../calls/untilIdle.ts';
import { type ClientRequest, toBytes } from '../calls/wire.ts';
import type { GrowthStack } from './startGrowthStack.ts';

/** Calls a second: by the clock, so that what services do at rest is the same part of each call at every size. */
const RATE = 300;
const SECONDS = 1;
const CONNECTIONS = 32;
const REST_SECONDS = 1;
/** Time until services are at rest after the previous work. */
const BEFORE_REST_MS = 300;
/** Calls have no more after-effects if services need this share of a core more than at rest, or less. */
const BEYOND_REST = 0.1;

export interface CallsOptions {
  /** Requests, which all connections take in turn. */
  requests: string[];
  /** The processes whose time counts, by what they are. */
  parts: Record<string, number>;
  /** Ports that calls go to in turn. Default: the router. */
  ports?: number[];
  rate?: number;
  /** The need of the parts at rest, if it was read before at the same size. */
  atRest?: Record<string, number>;
  /** For how long that is read; longer where some of it comes round every few seconds. */
  restSeconds?: number;
}

export interface CallCosts {
  /** Processor time of a call, with what it leaves behind and what is done at rest, µs. */
  perCall: Record<string, number>;
  /** The same without what is done at rest. */
  beyondRest: Record<string, number>;
  /** Processor time at rest, µs in a second. */
  atRest: Record<string, number>;
}

/** Measures the cost of calls for each part. Throws `NoFigure` if one failed or the bench itself was the bottleneck. */
export async function measureCalls(
  { load, engine, ports: own }: GrowthStack,
  { requests, parts, ports = [own.router], rate = RATE, atRest: known, restSeconds }: CallsOptions,
): Promise<CallCosts> {
  const atRest = known ?? (await readRest(parts, restSeconds));
  const worked = Object.keys(parts).filter((part) => !['redis', 'auth', 'broker'].includes(part));
  const mostShare = worked.reduce((sum, part) => sum + (atRest[part] ?? 0), 0) / 1e6 + BEYOND_REST;
  const settled = () =>
    untilIdle(
      worked.map((part) => parts[part] ?? 0),
      mostShare,
    );
  const target = { name: 'calls', port: ports[0] ?? own.router, apiKeys: [], parts, settled };
  const order = {
    kind: 'open',
    connections: CONNECTIONS,
    seconds: SECONDS,
    rate,
    withinMs: 0,
    ports,
    isInTurn: true,
  } as const;
  const { perCall } = await measureCost({ load, engine }, { target, request: requests, order });
  const beyondRest = Object.fromEntries(
    Object.entries(perCall).map(([part, us]) => [part, us - (atRest[part] ?? 0) / rate]),
  );
  return { perCall, beyondRest, atRest };
}

/** Processor time of parts while no call comes, µs in a second. */
export async function readRest(parts: Record<string, number>, seconds = REST_SECONDS): Promise<Record<string, number>> {
  await pause(BEFORE_REST_MS);
  const read = () => Object.entries(parts).map(([part, pid]) => [part, readProcessorTime(pid)] as const);
  const before = Object.fromEntries(read());
  await pause(seconds * 1_000);
  return Object.fromEntries(read().map(([part, us]) => [part, (us - (before[part] ?? 0)) / seconds]));
}

/** A request by each of some keys. */
export const toAll = (apiKeys: string[], request: ClientRequest): string[] =>
  apiKeys.map((apiKey) => toBytes(request, { port: 80, apiKey }));

/** More than go within half a second: all of 100,000 would be handed to the load generator anew each time. */
const MOST_AT_ONCE = 2_000;

/** Sends requests as fast as they go, so often in all: what failed is nobody's business. */
export async function sendAll({ load, ports }: GrowthStack, requests: string[], seconds: number): Promise<void> {
  const order = { kind: 'closed', connections: CONNECTIONS, rate: 0, withinMs: 0, isInTurn: true } as const;
  let sent = 0;
  while (sent < requests.length) {
    const report = await load.ask({
      ...order,
      seconds,
      port: ports.router,
      requests: requests.slice(sent, sent + MOST_AT_ONCE),
    });
    sent += Math.max(1, report.wholeMs.length);
  }
}

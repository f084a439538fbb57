import { join } from 'node:path';
import type { RunningStack } from '@turnpike/local-stack/startStack';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { type Child, startChild } from '../calls/child.ts';
import { divideParts, measureCost } from '../calls/measureCost.ts';
import type { LoadOrder, LoadReport } from '../calls/processes/load.ts';
import { readMemory } from '../calls/readProcess.ts';
import { endService, startAgain } from '../calls/restartService.ts';
import { inRounds, printParts, type Rounds, toFigure, toRatio } from '../calls/rounds.ts';
import { startNginx } from '../calls/startNginx.ts';
import { OPEN_LIMITS } from '../calls/startOpenStack.ts';
import { type Target, toBaseline } from '../calls/target.ts';
import { untilIdle } from '../calls/untilIdle.ts';
import { type Figure, NoFigure } from '../figure.ts';
import { operatorOf, portOf, storePid } from '../region.ts';
import { setKnobs } from './setKnobs.ts';
import { toUpload } from './toUpload.ts';

const MODEL = 'whisper-large-v3';
const PATH = '/v1/audio/transcriptions';
const ROUNDS = 3;
/** A minute of speech is 2 MB. */
const SECONDS = 60;
/** Five minutes are 10 MB. */
const LARGE_SECONDS = 300;
const LOOK_MS = 10;
/** At a fixed rate, one at a time: the backend has one slot. */
const order = { kind: 'open', connections: 1, seconds: 1.5, rate: 2, withinMs: 0 } as const;
const one = { kind: 'once', connections: 1, seconds: 0, rate: 0, withinMs: 0 } as const;

interface Uploads {
  load: Child<LoadOrder, LoadReport>;
  /** The backend, which decodes what comes. */
  engine: { pid: number };
  nginx: Target;
  bare: Target;
  edge: Target;
}

/**
 * The cost of an uploaded recording for edge and media-jobs, which decode it to know its seconds, and memory. The baselines only
 * take it or pass it on.
 */
export async function measureUpload(
  running: RunningStack,
  { dir, isLong, progress }: { dir: string; isLong: boolean; progress: (text: string) => void },
): Promise<Figure[]> {
  const stops: (() => unknown)[] = [];
  try {
    const uploads = await openUploads(running, dir, stops);
    const costs = toCostFigures(uploads, await measureCosts(uploads, progress));
    return isLong ? [...costs, ...toMemoryFigures(uploads, await measureMemory(uploads, progress))] : costs;
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function openUploads(running: RunningStack, dir: string, stops: (() => unknown)[]): Promise<Uploads> {
  const { services, media_backends: backends } = running.stack.regions.us;
  const backend = backends.find(({ model }) => model === MODEL);
  if (!backend) throw new Error(`the stack has no backend of ${MODEL}`);
  await setKnobs(backend, { renderBaseMs: 0 });
  const apiKey = await (await operatorOf(running)).makeFundedKey(OPEN_LIMITS);
  const load = await startChild<LoadOrder, LoadReport>('load');
  stops.push(load.stop);
  const nginx = await startNginx(join(dir, 'nginx'), {
    port: await findFreePort(),
    upstreamPort: portOf(backend.url),
  });
  stops.push(() => nginx.stop());
  const startBare = () => startChild('bareServer', { ANSWER_STATUS: '200' });
  let bare = await startBare();
  stops.push(() => bare.stop());
  const parts: Record<string, number> = {
    edge: services.edge.pid,
    'media-jobs': services['media-jobs'].pid,
    auth: services.auth.pid,
    ledger: services['usage-ledger'].pid,
    redis: storePid(running, 'redis'),
    postgres: storePid(running, 'postgres'),
  };
  const worked = () => ['media-jobs', 'ledger', 'postgres'].map((part) => parts[part] ?? 0);
  const bareTarget: Target = {
    ...toBaseline('bare node:http', Number(bare.hello), { bare: bare.pid }),
    async renew() {
      bare.stop();
      bare = await startBare();
      bareTarget.port = Number(bare.hello);
      bareTarget.parts.bare = bare.pid;
    },
  };
  return {
    load,
    engine: { pid: running.parts.media?.pid ?? 0 },
    nginx: toBaseline('nginx', nginx.port, { nginx: nginx.pid }),
    bare: bareTarget,
    edge: {
      name: 'edge + media-jobs',
      port: portOf(services.edge.url),
      apiKeys: [apiKey],
      parts,
      settled: () => untilIdle(worked()),
      async renew() {
        const again = async (service: 'edge' | 'media-jobs'): Promise<void> => {
          await endService(running, service);
          parts[service] = await startAgain(running, service);
        };
        await Promise.all([again('edge'), again('media-jobs')]);
      },
    },
  };
}

/** The most memory that a large upload takes at any moment, MiB; of processes that have had a small one only. */
function measureMemory(
  { load, bare, edge }: Uploads,
  progress: (text: string) => void,
): Promise<Rounds<Record<string, number>>> {
  return inRounds(ROUNDS, [bare, edge], async (target, round) => {
    progress(`memory of an upload, round ${round + 1} of ${ROUNDS}: ${target.name}`);
    await target.renew?.();
    const upload = async (seconds: number): Promise<void> => {
      const { statuses, bodies } = await load.ask({
        ...one,
        port: target.port,
        requests: [toRequest(target, seconds)],
      });
      if (statuses['200'] !== 1) throw new NoFigure(`${target.name} refused an upload: ${JSON.stringify(bodies)}`);
    };
    await upload(SECONDS);
    await target.settled();
    const read = () => Object.entries(target.parts).map(([part, pid]) => [part, readMemory(pid)] as const);
    const before = Object.fromEntries(read());
    const most: Record<string, number> = {};
    const timer = setInterval(() => {
      for (const [part, bytes] of read())
        most[part] = Math.max(most[part] ?? 0, (bytes - (before[part] ?? 0)) / 1_048_576);
    }, LOOK_MS);
    try {
      await upload(LARGE_SECONDS);
    } finally {
      clearInterval(timer);
    }
    await target.settled();
    return most;
  });
}

/** Processor time of an upload, ms. */
function measureCosts(
  { load, engine, nginx, bare, edge }: Uploads,
  progress: (text: string) => void,
): Promise<Rounds<Record<string, number>>> {
  return inRounds(ROUNDS, [nginx, bare, edge], async (target, round) => {
    progress(`uploads, round ${round + 1} of ${ROUNDS}: ${target.name}`);
    const request = [toRequest(target, SECONDS)];
    const { perCall } = await measureCost({ load, engine }, { target, request, order });
    return divideParts(perCall, 1_000);
  });
}

const toRequest = ({ port, apiKeys: [apiKey = ''] }: Target, seconds: number): string =>
  toUpload({ model: MODEL, path: PATH, seconds }, { port, apiKey });

const oursOf = (rounds: Rounds<Record<string, number>>, edge: Target): number[] =>
  rounds.of(edge).map((parts) => (parts.edge ?? Number.NaN) + (parts['media-jobs'] ?? Number.NaN));

function toCostFigures({ nginx, bare, edge }: Uploads, costs: Rounds<Record<string, number>>): Figure[] {
  printParts('processor time of an upload of a minute, 2 MB, ms', costs, 2);
  return [nginx, bare].map((divisor) =>
    toRatio(`upload of a minute of speech: edge + media-jobs ÷ ${divisor.name}`, { rounds: costs, divisor }, () =>
      oursOf(costs, edge),
    ),
  );
}

function toMemoryFigures({ bare, edge }: Uploads, memory: Rounds<Record<string, number>>): Figure[] {
  printParts('memory of an upload of five minutes, 10 MB, at its most, MiB', memory);
  const what = 'upload of five minutes of speech, 10 MB: memory of edge + media-jobs';
  return [
    toFigure(what, { unit: 'MiB' }, () => oursOf(memory, edge)),
    toRatio(`${what} ÷ bare node:http`, { rounds: memory, divisor: bare }, () => oursOf(memory, edge)),
  ];
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningStack } from '@turnpike/local-stack/startStack';
import { hasCommand, installDebianPackages } from '@turnpike/local-stack/tools/installDebianPackages';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import type { Operator } from '../../test/support/operator.ts';
import { portOf } from '../region.ts';
import { startReplica } from '../startReplica.ts';
import { toCatalogFile } from './catalogFile.ts';
import { type Child, startChild } from './child.ts';
import { type Peers, startPeers } from './peers/startPeers.ts';
import type { EnginePlan, EngineReport } from './processes/engine.ts';
import type { LoadOrder, LoadReport } from './processes/load.ts';
import { endService, startAgain } from './restartService.ts';
import { startNginx } from './startNginx.ts';
import { OPEN_LIMITS, startOpenStack } from './startOpenStack.ts';
import { type Target, toBaseline } from './target.ts';

/** The targets of the bench. */
export interface Targets extends Peers {
  engine: Child<EnginePlan, EngineReport>;
  load: Child<LoadOrder, LoadReport>;
  /** For what comes beside the load. */
  otherLoad: Child<LoadOrder, LoadReport>;
  direct: Target;
  nginx: Target;
  nginxTwice: Target;
  pipes: Target;
  /** A `node:http` server that refuses everything; the same behind a pipe; and one that asks Redis first what admission has to know. */
  bare: Target;
  bareBehindPipe: Target;
  bareAsking: Target;
  router: Target;
  edge: Target;
  /** The same behind edges that have no call traced, and every call. */
  untracedEdge: Target;
  tracedEdge: Target;
  /** Keys whose calls are refused, by the status. */
  refusedKeys: Record<401 | 402 | 429, string>;
  running: RunningStack;
  stop(): Promise<void>;
}

const KEYS = 64;
const WORKSPACES = 8;

/** Starts the engine, the load generators, the baselines, the peers where `withPeers`, and a whole stack with nothing bounded that one client would meet. */
export async function startTargets(
  dir: string,
  { progress, withPeers }: { progress: (text: string) => void; withPeers: boolean },
): Promise<Targets> {
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops.reverse()) await each();
  };
  async function child<Order = never, Report = never>(program: string, env: Record<string, string> = {}) {
    const started = await startChild<Order, Report>(program, env);
    stops.push(started.stop);
    return started;
  }
  try {
    if (!hasCommand('nginx')) await installDebianPackages(['nginx-light'], 'nginx', progress);
    progress('starting the engine and the baselines');
    const engine = await child<EnginePlan, EngineReport>('engine');
    const enginePort = Number(engine.hello);
    const [load, otherLoad] = [await child<LoadOrder, LoadReport>('load'), await child<LoadOrder, LoadReport>('load')];
    const noPeers: Peers = { portkey: undefined, litellm: undefined };
    // They take long, and wait for each other no more than for what comes below.
    const startedPeers = withPeers ? startPeers({ dir, enginePort, progress, stops }) : Promise.resolve(noPeers);
    startedPeers.catch(() => undefined);
    const startFirst = (port: number) => startNginx(join(dir, 'nginx-1'), { port, upstreamPort: enginePort });
    let first = await startFirst(await findFreePort());
    stops.push(() => first.stop());
    const second = await startNginx(join(dir, 'nginx-2'), { port: await findFreePort(), upstreamPort: first.port });
    stops.push(() => second.stop());
    const startPipes = async () => {
      const pipe = await child('bareProxy', { UPSTREAM_PORT: String(enginePort) });
      return { pipe, second: await child('bareProxy', { UPSTREAM_PORT: String(pipe.hello) }) };
    };
    let pipes = await startPipes();
    const bare = await child('bareServer', { ANSWER_STATUS: '401' });
    const collector = await child('bareServer', { ANSWER_STATUS: '200' });

    progress('starting a stack');
    const catalogFile = join(dir, 'catalog.json');
    await writeFile(catalogFile, toCatalogFile());
    const { running, behind, operator, settled } = await startOpenStack({
      stateDir: join(dir, 'stack'),
      catalogFile,
      enginePort,
      observation: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.hello}` },
    });
    stops.push(() => running.stop());
    const bareBehindPipe = await child('bareProxy', { UPSTREAM_PORT: String(bare.hello) });
    const bareAsking = await child('bareAsking', { REDIS_URL: running.stack.regions.us.redis_url });
    const accounts = await openAccounts(operator);
    const { services } = running.stack.regions.us;
    const ours = { apiKeys: accounts.apiKeys, settled };
    const anotherEdge = async (name: string, ratio: string): Promise<Target> => {
      const env = { CONSOLE_PORT: String(await findFreePort()), TRACE_SAMPLE_RATIO: ratio };
      const { port, pid } = await startReplica(running, 'edge', { name: `edge-${ratio}`, env });
      return { name, port, parts: { edge: pid, ...behind }, ...ours };
    };
    const nginxTarget: Target = {
      ...toBaseline('nginx', first.port, { nginx: first.pid }),
      async renew() {
        await first.stop();
        first = await startFirst(first.port);
        nginxTarget.parts.nginx = first.pid;
      },
    };
    const toPipes = () =>
      toBaseline('bare Node pipe twice', Number(pipes.second.hello), {
        pipe: pipes.second.pid,
        behind: pipes.pipe.pid,
      });
    const pipesTarget: Target = {
      ...toPipes(),
      async renew() {
        pipes.second.stop();
        pipes.pipe.stop();
        pipes = await startPipes();
        const { port, parts } = toPipes();
        Object.assign(pipesTarget, { port, parts });
      },
    };
    const routerTarget: Target = {
      name: 'router',
      port: portOf(services['model-router'].url),
      parts: behind,
      ...ours,
      async renew() {
        await endService(running, 'model-router');
        behind.router = await startAgain(running, 'model-router');
        edgeTarget.parts.router = behind.router;
      },
    };
    const edgeTarget: Target = {
      name: 'edge + router',
      port: portOf(services.edge.url),
      parts: { edge: services.edge.pid, ...behind },
      ...ours,
      async renew() {
        const renewEdge = async () => {
          await endService(running, 'edge');
          edgeTarget.parts.edge = await startAgain(running, 'edge');
        };
        await Promise.all([routerTarget.renew?.(), renewEdge()]);
      },
    };
    return {
      ...(await startedPeers),
      engine,
      load,
      otherLoad,
      direct: toBaseline('the engine itself', enginePort, {}),
      nginx: nginxTarget,
      nginxTwice: toBaseline('nginx twice', second.port, { nginx: second.pid, behind: first.pid }),
      pipes: pipesTarget,
      bare: toBaseline('bare node:http', Number(bare.hello), { bare: bare.pid }),
      bareBehindPipe: toBaseline('bare Node pipe, bare node:http', Number(bareBehindPipe.hello), {
        pipe: bareBehindPipe.pid,
        bare: bare.pid,
      }),
      bareAsking: toBaseline('bare node:http that asks Redis', Number(bareAsking.hello), {
        bare: bareAsking.pid,
        redis: behind.redis,
      }),
      router: routerTarget,
      edge: edgeTarget,
      untracedEdge: await anotherEdge('no call traced', '0'),
      tracedEdge: await anotherEdge('every call traced', '1'),
      refusedKeys: accounts.refusedKeys,
      running,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes keys that no limit stops, and one for each refusal. */
async function openAccounts(operator: Operator): Promise<Pick<Targets, 'refusedKeys'> & { apiKeys: string[] }> {
  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACES }, () => operator.makeWorkspace({ creditUsd: '1000000' })),
  );
  const apiKeys = await Promise.all(
    Array.from({ length: KEYS }, (_, index) => operator.makeKey(workspaces[index % WORKSPACES] ?? '', OPEN_LIMITS)),
  );
  const revoked = await operator.makeKey(workspaces[0] ?? '', OPEN_LIMITS);
  await operator.changeKey(revoked, 'revoke');
  return {
    apiKeys,
    refusedKeys: {
      401: revoked,
      402: await operator.makeKey(await operator.makeWorkspace({ creditUsd: '0.000000001' }), OPEN_LIMITS),
      429: await operator.makeKey(workspaces[0] ?? '', { ...OPEN_LIMITS, rpm: 1 }),
    },
  };
}

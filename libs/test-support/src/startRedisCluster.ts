import { execFile } from 'node:child_process';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { findFreePort } from './findFreePort.ts';
import { removeServerFolder } from './folders.ts';
import { type BoundProcess, spawnBound } from './spawnBound.ts';
import { until } from './until.ts';

/** A node of a cluster. */
export interface ClusterNode {
  port: number;
  url: string;
  /** Runs a command on it and gives what it answers as text, a list by lines; its words where it refuses. */
  run(...command: string[]): Promise<string>;
  kill(): Promise<void>;
  /** Freezes the process: connections stay open and nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** Starts it again with its data, or with none but its place in the cluster. */
  restart(options?: { empty: boolean }): Promise<void>;
}

/** A private Redis Cluster: three masters, which serve a third of the slots each, in their order, and a replica of each. */
export interface TestRedisCluster {
  masters: [ClusterNode, ClusterNode, ClusterNode];
  /** Replicas, each at the index of its master. */
  replicas: [ClusterNode, ClusterNode, ClusterNode];
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
/** A master that is silent for so long is failed over: longer than a busy machine keeps one from its turn. */
const NODE_TIMEOUT_MS = 3_000;

/** A node, and the port of its cluster bus. */
type StartedNode = ClusterNode & { busPort: number; stop(): Promise<void> };

async function startNode(folder: string): Promise<StartedNode> {
  const port = await findFreePort();
  // Redis itself would choose a bus port among those of tests' stacks.
  const busPort = await findFreePort();
  const dir = join(folder, String(port));
  await mkdir(dir);
  const args = Object.entries({
    port,
    bind: '127.0.0.1',
    dir,
    appendonly: 'yes',
    // Data of a test need not survive the machine, so that no node waits for the disk.
    appendfsync: 'no',
    save: '',
    'cluster-enabled': 'yes',
    'cluster-port': busPort,
    'cluster-node-timeout': NODE_TIMEOUT_MS,
    // A shard that is lost closes no other.
    'cluster-require-full-coverage': 'no',
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  let server: BoundProcess | undefined;
  async function start(): Promise<void> {
    server = spawnBound('redis-server', args, { asNobody: false, cwd: dir });
    await server.untilOutput('Ready to accept connections', START_TIMEOUT_MS);
  }
  await start();
  const kill = async (): Promise<void> => server?.end('SIGKILL');
  return {
    port,
    busPort,
    url: `redis://127.0.0.1:${port}`,
    run: (...command) => ask(port, command),
    kill,
    freeze: () => server?.signal('SIGSTOP'),
    thaw: () => server?.signal('SIGCONT'),
    async restart({ empty } = { empty: false }) {
      if (empty) await removeServerFolder(join(dir, 'appendonlydir'));
      await start();
    },
    stop: kill,
  };
}

/** On a connection of its own: while a cluster forms its nodes are asked many times, and a process for each takes longer. */
async function ask(port: number, [name = '', ...args]: string[]): Promise<string> {
  const redis = new Redis({ port, lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null });
  // The caller gets the error as the rejection.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const answer = await redis.call(name, ...args);
    return (Array.isArray(answer) ? answer.join('\n') : String(answer)).trim();
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return error.message;
    throw error;
  } finally {
    redis.disconnect();
  }
}

async function redisCli(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('redis-cli', args);
  return stdout.trim();
}

/** Starts a cluster of `redis-server` 7, with append-only files, on free ports; gone with the test process. */
export async function startRedisCluster(): Promise<TestRedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-redis-cluster-'));
  const nodes = await Promise.all(Array.from({ length: 6 }, () => startNode(folder)));
  const [first, second, third, ...others] = nodes;
  const [ofFirst, ofSecond, ofThird] = others;
  if (!first || !second || !third || !ofFirst || !ofSecond || !ofThird) throw new Error('a cluster has six nodes');
  const masters: [StartedNode, StartedNode, StartedNode] = [first, second, third];
  const replicas: TestRedisCluster['replicas'] = [ofFirst, ofSecond, ofThird];
  const addresses = masters.map(({ port, busPort }) => `127.0.0.1:${port}@${busPort}`);
  await redisCli('--cluster', 'create', ...addresses, '--cluster-yes');
  const settled = async (node: ClusterNode) => (await node.run('cluster', 'info')).includes('cluster_state:ok');
  for (const [nth, replica] of replicas.entries()) {
    const master = masters[nth] as ClusterNode;
    await replica.run('cluster', 'meet', '127.0.0.1', String(first.port), String(first.busPort));
    const masterId = await master.run('cluster', 'myid');
    await until('the replica to know its master', async () =>
      (await replica.run('cluster', 'replicate', masterId)).startsWith('OK'),
    );
  }
  for (const node of nodes) await until('the cluster to be whole', () => settled(node));
  for (const replica of replicas)
    await until('the replica to be in step', async () =>
      (await replica.run('info', 'replication')).includes('master_link_status:up'),
    );
  return {
    masters,
    replicas,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      await removeServerFolder(folder);
    },
  };
}

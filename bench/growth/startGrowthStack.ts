import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toCatalogFile } from '../calls/catalogFile.ts';
import { type Child, startChild } from '../calls/child.ts';
import type { EnginePlan, EngineReport } from '../calls/processes/engine.ts';
import type { LoadOrder, LoadReport } from '../calls/processes/load.ts';
import { OPEN_LIMITS, type OpenStack, startOpenStack } from '../calls/startOpenStack.ts';
import { sendWhole } from '../calls/warmUp.ts';
import { portOf } from '../region.ts';

/** A stack in front of the raw engine, with the load generator. */
export interface GrowthStack extends OpenStack {
  engine: Child<EnginePlan, EngineReport>;
  load: Child<LoadOrder, LoadReport>;
  enginePort: number;
  /** Folder of what the stack keeps. */
  stateDir: string;
  /** The file of the catalog. The catalog reads it again when it changes. */
  catalogFile: string;
  apiKeys: string[];
  ports: { edge: number; router: number };
  stop(): Promise<void>;
}

/** Addresses of the one engine: those that no router is told of cost nothing. */
export const MOST_ENGINES = 500;
const KEYS = 64;
const WARM_UP_CALLS = 5_000;

export async function startGrowthStack({
  kafka,
  progress,
}: {
  kafka: boolean;
  progress: (text: string) => void;
}): Promise<GrowthStack> {
  const stops: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const each of stops.reverse()) await each();
  };
  const dir = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
  stops.push(() => rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  try {
    progress(kafka ? 'starting a stack with Kafka' : 'starting a stack');
    const engine = await startChild<EnginePlan, EngineReport>('engine', {
      ADDRESSES: String(MOST_ENGINES),
    });
    stops.push(engine.stop);
    const load = await startChild<LoadOrder, LoadReport>('load');
    stops.push(load.stop);
    const enginePort = Number(engine.hello);
    const [stateDir, catalogFile] = [join(dir, 'stack'), join(dir, 'catalog.json')];
    await writeFile(catalogFile, toCatalogFile());
    const stack = await startOpenStack({ stateDir, catalogFile, enginePort, kafka });
    stops.push(() => stack.running.stop());
    const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '1000000' });
    const apiKeys = await Promise.all(
      Array.from({ length: KEYS }, () => stack.operator.makeKey(workspaceId, OPEN_LIMITS)),
    );
    const { services } = stack.running.stack.regions.us;
    const ports = { edge: portOf(services.edge.url), router: portOf(services['model-router'].url) };
    const { behind: parts, settled } = stack;
    progress('warming up');
    await sendWhole({ load }, { name: 'edge', port: ports.edge, apiKeys, parts, settled }, WARM_UP_CALLS);
    return { ...stack, engine, load, enginePort, stateDir, catalogFile, apiKeys, ports, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

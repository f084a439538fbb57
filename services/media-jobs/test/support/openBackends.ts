import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@turnpike/logging/createLogger';
import { MODEL, startTestReplica, type TestReplica } from '@turnpike/media-simulator/test/support/testReplica';
import { until } from '@turnpike/test-support/until';
import { type Backends, createBackends } from '../../src/backends/createBackends.ts';
import type { Dialect, EngineName, Replica } from '../../src/terms/backend.ts';

type PersonalityName = Parameters<typeof startTestReplica>[0];
type Knobs = Parameters<typeof startTestReplica>[1];

const engineOf = (personality: PersonalityName): EngineName =>
  personality === 'vllm-omni-2026' || personality === 'vllm-omni-early' ? 'vllm-omni' : personality;

/** A backends file in a folder of its own. */
export interface BackendsFile {
  path: string;
  /** Writes it anew. */
  list(entries: readonly object[]): Promise<void>;
  write(text: string): Promise<void>;
  remove(): Promise<void>;
}

export async function aBackendsFile(entries: readonly object[]): Promise<BackendsFile> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-backends-'));
  const path = join(folder, 'backends.json');
  const write = (text: string): Promise<void> => writeFile(path, text);
  const list = (backends: readonly object[]): Promise<void> => write(JSON.stringify({ backends }));
  await list(entries);
  return { path, list, write, remove: () => rm(folder, { recursive: true }) };
}

/** One simulated replica and the backends of this service that know it alone, once it is in. */
export interface TestBackend {
  simulator: TestReplica;
  backends: Backends;
  replica: Replica;
  dialect: Required<Dialect>;
  alerts: string[];
  file: BackendsFile;
  close(): Promise<void>;
}

export const silentLog = createLogger({ service: 'media-jobs', level: 'silent' });

export async function openBackend(
  personality: PersonalityName,
  knobs: Knobs = {},
  nowMs?: () => number,
): Promise<TestBackend> {
  const simulator = await startTestReplica(personality, knobs);
  const entry = { id: 'replica-1', url: simulator.url, engine: engineOf(personality), model: MODEL };
  const file = await aBackendsFile([entry]);
  const alerts: string[] = [];
  const metrics = { alerted: (kind: string) => void alerts.push(kind) };
  const backends = createBackends({ file: file.path, metrics, log: silentLog, ...(nowMs && { nowMs }) });
  const replica = await until('the replica', () => backends.replicasFor(MODEL)[0]);
  return {
    simulator,
    backends,
    replica,
    // A test asks only for what the engine has.
    dialect: backends.dialectOf(replica) as Required<Dialect>,
    alerts,
    file,
    async close() {
      await backends.close();
      await simulator.close();
      await file.remove();
    },
  };
}

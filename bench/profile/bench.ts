import { mkdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench } from '../bench.ts';
import { toRequests } from '../calls/measureCost.ts';
import { startTargets } from '../calls/targets.ts';
import { toChatRequest } from '../calls/wire.ts';
import { type CpuProfile, drawFlameGraph } from './drawFlameGraph.ts';

const RESULTS = new URL('../results/', import.meta.url);
const PROFILED = ['edge', 'model-router', 'usage-ledger'] as const;
const LOAD = { kind: 'closed', connections: 32, seconds: 20, rate: 0, withinMs: 0 } as const;

/** No figure: a picture of each service, by Node's own sampling profiler, from its start to its end. */
export const bench: Bench = {
  isOnRequest: true,
  measures: `where the time of ${PROFILED.join(', ')} goes under whole answers, as flame graphs in bench/results`,
  async run({ progress }) {
    const dir = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
    try {
      const profileDir = join(dir, 'profiles');
      const targets = await startTargets(dir, { progress, withPeers: false, profileDir });
      try {
        progress('calls, for their profile');
        const requests = toRequests(targets.edge, toChatRequest());
        await targets.load.ask({ ...LOAD, port: targets.edge.port, requests });
      } finally {
        await targets.stop();
      }
      mkdirSync(RESULTS, { recursive: true });
      for (const service of PROFILED) {
        const file = fileURLToPath(new URL(`profile-${service}.svg`, RESULTS));
        await writeFile(file, drawFlameGraph(await readProfile(join(profileDir, service)), service));
        process.stdout.write(`  ${file}\n`);
      }
      return [];
    } finally {
      await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  },
};

/** The largest of a folder: processes that ended soon have written some as well. */
async function readProfile(dir: string): Promise<CpuProfile> {
  const texts = await Promise.all((await readdir(dir)).map((name) => readFile(join(dir, name), 'utf8')));
  const [largest] = texts.sort((a, b) => b.length - a.length);
  if (largest === undefined) throw new Error(`nothing was profiled in ${dir}`);
  return JSON.parse(largest) as CpuProfile;
}

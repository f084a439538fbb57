import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '@turnpike/local-stack/process/runToEnd';
import { stringify } from 'yaml';

/** Throws with what Prometheus says where it cannot read one of these files of rules. */
export const checkRules = (files: string[]): Promise<void> =>
  runToEnd('promtool check rules', { command: 'promtool', args: ['check', 'rules', ...files] });

/** Throws with what Prometheus says where it cannot read one of these queries. */
export const checkQueries = (queries: string[]): Promise<void> =>
  inTemporaryFolder(async (folder) => {
    const rules = queries.map((expr, index) => ({ record: `query_${index}`, expr }));
    const file = join(folder, 'queries.yaml');
    await writeFile(file, stringify({ groups: [{ name: 'queries', rules }] }));
    await checkRules([file]);
  });

/** Hands out a folder of its own, and removes it. */
export async function inTemporaryFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-rules-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

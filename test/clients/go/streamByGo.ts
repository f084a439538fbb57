import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The releases of openai-go that read streams, by their module files. 3.42.0 takes each blank line for the end of an event. */
const MODULE_FILES = { 'openai-go 3.42.0': 'old.mod', 'openai-go 3.43.0': 'go.mod' } as const;
type Release = keyof typeof MODULE_FILES;
export const goReleases = Object.keys(MODULE_FILES) as Release[];

/** Returns what a release of openai-go showed of a streamed chat. Rejects with its error, or where the module proxy is out of reach. */
export async function streamByGo(
  release: Release,
  { baseUrl, apiKey }: { baseUrl: string; apiKey: string },
  { model, prompt }: { model: string; prompt: string },
): Promise<{ text: string; finishReason: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-go-'));
  try {
    const program = join(folder, 'stream');
    const how = { cwd: import.meta.dirname, env: { ...process.env, CGO_ENABLED: '0' } };
    await run('go', ['build', `-modfile=${MODULE_FILES[release]}`, '-o', program, '.'], how);
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: prompt }], stream: true });
    const { stdout } = await run(program, [`${baseUrl}/chat/completions`, apiKey, body]);
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}

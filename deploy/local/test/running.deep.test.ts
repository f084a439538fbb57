import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../src/repositoryRoot.ts';
import type { StackRegion } from '../src/stackFile.ts';
import { waitFor } from '../src/waitFor.ts';
import { findFreePortBase } from './findFreePortBase.ts';
import { findSurvivors, listDescendants, runStart, type StartCommand } from './startCommand.ts';

const TIMEOUT_MS = 240_000;
const LAST_LINE = 'Ctrl-C stops everything.';

let portBase: number;
let stateDir: string;
beforeAll(async () => {
  portBase = await findFreePortBase(25_000);
  stateDir = join(repositoryRoot, '.turnpike', String(portBase));
});
afterAll(() => rm(stateDir, { recursive: true, force: true }));

const run = (): StartCommand => runStart([], { PORT_BASE: String(portBase) });
const readStackFile = () => readFile(join(stateDir, 'stack.json'), 'utf8');
const readRegion = async (): Promise<StackRegion> => JSON.parse(await readStackFile()).regions.us;
/** Sends a request until it is served: with the deadlines that users have, a busy machine refuses the first ones. */
async function untilServed(url: string, request: RequestInit): Promise<Response> {
  const ask = async () => {
    const answer = await fetch(url, request);
    if (answer.ok) return answer;
    await answer.text();
    return undefined;
  };
  const served = await waitFor(ask, { timeoutMs: 45_000, intervalMs: 500 });
  if (!served) throw new Error(`${url} served nothing`);
  return served;
}
const pidsBelow = (start: StartCommand) => listDescendants(start.pid).map(({ pid }) => pid);

describe('a stack that runs', () => {
  let start: StartCommand;
  let region: StackRegion;
  beforeAll(async () => {
    start = run();
    await start.untilPrinted(LAST_LINE);
    region = await readRegion();
  }, TIMEOUT_MS);
  afterAll(async () => {
    start.signal('SIGTERM');
    await start.exited;
  }, TIMEOUT_MS);

  it('answers a call made with the address and key that it printed', async () => {
    const [, url = '', apiKey = '', body = ''] =
      /curl -N (\S+) \\\n.*Bearer (sk-\w+)' \\\n.*\n.*-d '(.*)'/.exec(start.output()) ?? [];

    const answer = await untilServed(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body,
    });

    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(/^data: \{[\s\S]*\ndata: \[DONE\]\n\n$/);
    expect(apiKey).toBe(region.api_key);
  });

  it('is not disturbed by a second start on the same ports, which is refused with what can be done', async () => {
    const second = run();

    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`A stack already runs on port ${portBase}: pid ${start.pid}, since `);
    expect(await readRegion()).toEqual(region);
    expect(pidsBelow(start)).toContain(region.services.edge.pid);
  });

  it('says at once when a part dies, and goes on with the rest', async () => {
    process.kill(region.services.auth.pid, 'SIGKILL');

    await start.untilPrinted('auth was ended by SIGKILL.');
    await start.untilPrinted('The other parts go on running.');
    await start.untilPrinted(`To start it again: PORT_BASE=${portBase} npm start -- --restart auth`);
    expect(pidsBelow(start)).toContain(region.services.edge.pid);
  });

  it('starts a part again at the word of another process, and names the parts to one that mistypes', async () => {
    const restart = async (part: string) => {
      const command = runStart(['--restart', part], { PORT_BASE: String(portBase) });
      return { code: await command.exited, output: command.output() };
    };
    expect(await restart('auth')).toMatchObject({ code: 0, output: expect.stringMatching(/^auth runs again after/) });
    expect(await restart('outh')).toMatchObject({ code: 1, output: expect.stringContaining('The parts are auth, ') });
    const headers = { authorization: `Bearer ${region.api_key}` };
    expect((await untilServed(`${region.base_url}/svc/key`, { headers })).status).toBe(200);
  });

  it(
    'leaves no process behind, killed or stopped with Ctrl-C, and has the same key and the logs of before when it runs again',
    async () => {
      const processesOfKilled = listDescendants(start.pid);
      expect(processesOfKilled.length).toBeGreaterThan(8);

      start.signal('SIGKILL');
      const areGone = async () => (findSurvivors(processesOfKilled).length === 0 ? true : undefined);
      await waitFor(areGone, { timeoutMs: 60_000 });
      expect(findSurvivors(processesOfKilled)).toEqual([]);
      expect(existsSync(join(stateDir, 'stack.json'))).toBe(false);

      const readEdgeLog = (folder: string) => readFile(join(stateDir, folder, 'edge.log'), 'utf8');
      const logOfKilled = await readEdgeLog('logs');

      const stopped = run();
      await stopped.untilPrinted(LAST_LINE);
      expect((await readRegion()).api_key).toBe(region.api_key);
      expect(await readEdgeLog('logs-before')).toBe(logOfKilled);
      const processesOfStopped = listDescendants(stopped.pid);

      stopped.signal('SIGINT');
      expect(await stopped.exited).toBe(0);
      expect(stopped.output()).toContain('\nStopped.\n');
      expect(findSurvivors(processesOfStopped)).toEqual([]);
      expect(existsSync(join(stateDir, 'stack.json'))).toBe(false);
    },
    TIMEOUT_MS,
  );
});

it(
  'waits for an open stream when it is told to stop, says so, and stops at once when Ctrl-C comes again',
  async () => {
    const start = run();
    await start.untilPrinted(LAST_LINE);
    const { base_url: baseUrl, api_key: apiKey } = await readRegion();
    const processes = listDescendants(start.pid);
    const content = 'Talk for minutes. [[sim: tokens=4000 itl_ms=50]]';
    const answer = await untilServed(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'llama-3.3-70b-instruct', stream: true, messages: [{ role: 'user', content }] }),
    });
    const toldAt = performance.now();
    const cutAfterMs = expect(answer.text())
      .rejects.toThrow('terminated')
      .then(() => performance.now() - toldAt);
    for (let sender = 1; sender <= 3; sender += 1) start.signal('SIGINT'); // one Ctrl-C: the terminal's, npm's, the bootstrap's
    await start.untilPrinted('Stopping: waiting up to 15 s for open streams; Ctrl-C again stops at once.');
    const again = setInterval(() => start.signal('SIGINT'), 100);
    const code = await start.exited;
    clearInterval(again);
    const tookMs = performance.now() - toldAt;

    expect(code).toBe(0);
    expect(tookMs).toBeGreaterThan(1_000);
    // The end of all other processes takes a busy machine longer.
    expect(await cutAfterMs).toBeLessThan(15_000);
    expect(findSurvivors(processes)).toEqual([]);
  },
  TIMEOUT_MS,
);

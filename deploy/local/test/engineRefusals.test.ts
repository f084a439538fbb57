import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { findBusyPort } from '../src/findFreePorts.ts';
import { repositoryRoot } from '../src/repositoryRoot.ts';
import { listPorts, toStackPorts } from '../src/stackPorts.ts';
import { aModelList, answering, type FakeEngine, startFakeEngine } from './fakeEngine.ts';
import { findFreePortBase } from './findFreePortBase.ts';
import { runStart } from './startCommand.ts';

let portBase: number;
let stateDir: string;
let nonsense: FakeEngine;
let good: FakeEngine;
beforeEach(async () => {
  portBase = await findFreePortBase(27_500);
  stateDir = join(repositoryRoot, '.turnpike', String(portBase));
  nonsense = await startFakeEngine(answering({ models: '<html>Welcome to nginx!</html>' }));
  good = await startFakeEngine(answering({ models: aModelList({ id: 'm' }) }));
});
afterEach(async () => {
  await Promise.all([nonsense.close(), good.close(), rm(stateDir, { recursive: true, force: true })]);
});

it('refuses to start when one of its engines answers nonsense, and leaves nothing running', async () => {
  const start = runStart(['--engine', good.url, '--engine', nonsense.url], { PORT_BASE: String(portBase) });

  expect(await start.exited).toBe(1);
  const [, ...lines] = start.output().trimEnd().split('\n');
  expect(lines).toEqual([
    `The engine at ${nonsense.url} answered GET /v1/models with what is no JSON (text/html). Start it or mend the address, then start again.`,
  ]);
  expect(existsSync(join(stateDir, 'logs'))).toBe(false);
  expect(existsSync(join(stateDir, 'launcher.json'))).toBe(false);
  const ports = toStackPorts(portBase, { simulatedModels: 0, mediaModels: 0 });
  expect(await findBusyPort(listPorts(ports, { kafka: false, s3: false }))).toBeUndefined();
});

it('refuses the same engine twice', async () => {
  const start = runStart(['--engine', good.url, '--engine', `${good.url}/v1`], { PORT_BASE: String(portBase) });

  expect(await start.exited).toBe(1);
  expect(start.output()).toContain(`--engine ${good.url} stands twice. Name each engine once.`);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { findFreePort } from './findFreePort.ts';

const PROCESSES = 3;
const PORTS = 20;
/** All processes begin with the same port. */
const PROGRAM = `
  Math.random = () => 0;
  const { findFreePort } = await import(process.argv[1]);
  const ports = [];
  while (ports.length < ${PORTS}) ports.push(await findFreePort());
  console.log(JSON.stringify(ports));
  process.stdin.resume();
`;

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});

/** The ports that a process of another test run finds, which runs on until the test ends. */
async function findElsewhere(): Promise<number[]> {
  const file = new URL('findFreePort.ts', import.meta.url).href;
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  ending.push(() => child.stdin.end());
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return JSON.parse(line) as number[];
}

it('finds each port for one process alone, of however many test runs beside each other', async () => {
  const found = (await Promise.all(Array.from({ length: PROCESSES }, findElsewhere))).flat();
  expect(found).toHaveLength(PROCESSES * PORTS);
  expect(new Set(found).size).toBe(found.length);
});

it('finds a port that a listener can take', async () => {
  const server = createServer().listen(await findFreePort(), '127.0.0.1');
  await once(server, 'listening');
  server.close();
});

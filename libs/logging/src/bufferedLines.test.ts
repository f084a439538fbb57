import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

/** A process that writes as many lines as it is told to, each of a KiB, and says how many were left out. */
const PROGRAM = `
  import { BufferedLines } from '${new URL('./bufferedLines.ts', import.meta.url).href}';
  import { createLogger } from '${new URL('./createLogger.ts', import.meta.url).href}';
  const fields = { service: 'test', scope: 'us' };
  const lines = new BufferedLines(fields, 'access');
  const log = createLogger(fields);
  let nth = 0;
  process.on('message', ({ count, logEvery }) => {
    let leftOut = 0;
    for (const end = nth + count; nth < end; nth += 1) {
      if (!lines.write({ nth, filler: 'x'.repeat(900) })) leftOut += 1;
      if (nth % logEvery === 0) log.info({ nth, filler: 'x'.repeat(400) }, 'ordinary');
    }
    process.send({ leftOut });
  });
  process.on('SIGTERM', () => lines.flush().then(() => process.exit(0)));
  process.send({});
`;

let folder: string;
let readEnd: number;
let child: ChildProcess;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lines-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  readEnd = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(pipe, 'w');
  child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', writeEnd, 'inherit', 'ipc'],
  });
  closeSync(writeEnd);
  await once(child, 'message');
});
afterEach(() => {
  child.kill('SIGKILL');
  closeSync(readEnd);
  rmSync(folder, { recursive: true });
});

/** Orders lines of the process, and returns how many it left out. */
async function write(order: { count: number; logEvery?: number }): Promise<number> {
  child.send(order);
  const [{ leftOut }] = await once(child, 'message');
  return leftOut;
}

interface Line {
  msg: string;
  nth: number;
}

/** Reads so many lines from the pipe. */
const read = (count: number): Promise<Line[]> => readTo((_, nth) => nth === count);

/** Reads to the last line in small pieces, so that the pipe stays full and has room for parts of a write. */
async function readTo(isLast: (line: Line, nth: number) => boolean): Promise<Line[]> {
  const piece = Buffer.alloc(3_000);
  const lines: Line[] = [];
  for (let rest = ''; ; await setImmediate()) {
    const whole = `${rest}${piece.toString('latin1', 0, readSome(piece))}`.split('\n');
    rest = whole.pop() ?? '';
    for (const text of whole) {
      const line: Line = JSON.parse(text);
      lines.push(line);
      if (isLast(line, lines.length)) return lines;
    }
  }
}

/** Returns how many bytes there were; 0 where nothing waits. */
function readSome(piece: Buffer): number {
  try {
    return readSync(readEnd, piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}

it('serves on beside a reader that does not read, in bounded memory, and gives it whole lines later', async () => {
  const leftOut: number[] = [];
  for (let turn = 0; turn < 8; turn += 1) leftOut.push(await write({ count: 1_000 }));
  // The first turns fill the pipe, and the MiB that may wait.
  expect(leftOut[0]).toBe(0);
  expect(leftOut.slice(2)).toEqual(Array(6).fill(1_000));

  const taken = 8_000 - leftOut.reduce((sum, count) => sum + count);
  const reading = read(taken + 1);
  while ((await write({ count: 1 })) !== 0);
  const lines = await reading;
  expect(lines.slice(0, taken).map(({ nth }) => nth)).toEqual([...Array(taken).keys()]);
  expect(lines[taken]).toMatchObject({
    level: 'info',
    service: 'test',
    scope: 'us',
    msg: 'access',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
});

it('ends beside a reader that does not read', async () => {
  await write({ count: 2_000 });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('keeps a MiB of ordinary lines for a reader that does not read, and drops further ones', async () => {
  for (let turn = 0; turn < 8; turn += 1) await write({ count: 1_000, logEvery: 1 });
  let isRead = false;
  const reading = readTo(({ msg, nth }) => msg === 'ordinary' && nth >= 8_000).finally(() => (isRead = true));
  while (!isRead) await write({ count: 1, logEvery: 1 });

  const ordinary = (await reading).filter(({ msg }) => msg === 'ordinary').map(({ nth }) => nth);
  const kept = ordinary.length - 1;
  expect(ordinary.slice(0, kept)).toEqual([...Array(kept).keys()]);
  // A line has half a KiB.
  expect(kept).toBeGreaterThan(1_500);
  expect(kept).toBeLessThan(2_500);
});

it('writes no line within one of the logger', async () => {
  // The pipe is full when somebody begins to read, and the logger has more to write than it takes as one.
  await write({ count: 400, logEvery: 1 });
  const reading = read(1_600);
  await write({ count: 400, logEvery: 1 });
  const lines = await reading;
  for (const kind of ['access', 'ordinary'])
    expect(lines.filter(({ msg }) => msg === kind).map(({ nth }) => nth)).toEqual([...Array(800).keys()]);
});

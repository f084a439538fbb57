import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Importing a client takes 4 s; on a busy machine, of files never read before, more than a minute. */
const START_TIMEOUT_MS = 150_000;
/** Less than a test may take, so that the test says which program it was that did not answer. */
const ANSWER_TIMEOUT_MS = 45_000;
const STDERR_LIMIT = 4_000;

/** A program that answers a line with a line. What it does not do in time ends it. */
export interface PythonProcess {
  /** Rejects where the program cannot begin. */
  ready: Promise<unknown>;
  /** Sends `order` as JSON; the answer as it came. One at a time. */
  ask(order: object): Promise<string>;
  close(): Promise<void>;
}

/** Starts a program of this folder, which says a first line once it can take orders. */
export function startPython(script: string): PythonProcess {
  const child: ChildProcessWithoutNullStreams = spawn(
    pythonOf(process.env),
    ['-X', 'utf8', `${import.meta.dirname}/${script}`],
    { env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' } },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-STDERR_LIMIT);
  });
  child.stdin.on('error', () => undefined); // the process has ended, which the missing answer shows
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  /** Kills the program unless `promise` settles in time. */
  function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
    const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    return promise.finally(() => clearTimeout(late));
  }
  async function readLine(timeoutMs: number): Promise<string> {
    const { value, done } = await within(timeoutMs, lines.next());
    if (done) throw new Error(`${script} ended, or took ${timeoutMs} ms, without an answer: ${said}`);
    return value;
  }

  const ready = readLine(START_TIMEOUT_MS);
  ready.catch(() => undefined); // told to whom it concerns, who asks
  return {
    ready,
    async ask(order) {
      await ready;
      child.stdin.write(`${JSON.stringify(order)}\n`);
      return readLine(ANSWER_TIMEOUT_MS);
    },
    async close() {
      child.stdin.end();
      await within(ANSWER_TIMEOUT_MS, ended);
    },
  };
}

/** The interpreter that `npm test` made ready, whose packages are those of requirements.txt. */
function pythonOf({ TURNPIKE_TEST_PYTHON: python }: NodeJS.ProcessEnv): string {
  if (!python) throw new Error('TURNPIKE_TEST_PYTHON names no interpreter');
  return python;
}

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from './repositoryRoot.ts';
import { StackError } from './stackError.ts';
import { startTestBroker, type TestBroker } from './startTestBroker.ts';
import { ensureFfmpeg } from './tools/ensureFfmpeg.ts';
import { ensurePythonPackages } from './tools/ensurePythonPackages.ts';
import { ensureRedisServer } from './tools/ensureRedisServer.ts';

/**
 * `npm test`: gets what the tests run against (Redis and ffmpeg; a Kafka broker and Python clients where they can be had)
 * and runs Jest with the given arguments. Jest's summary is the last thing printed.
 */
async function main(): Promise<number> {
  await ensureRedisServer(say);
  await ensureFfmpeg(say);
  const python = await findPythonIfPossible();
  const broker = await startBrokerIfPossible();
  try {
    const code = await runJest({
      TURNPIKE_TEST_KAFKA: broker ? 'available' : 'absent',
      ...(broker && { KAFKA_BROKERS: broker.brokers }),
      ...(python && { TURNPIKE_TEST_PYTHON: python }),
    });
    const { REQUIRE_KAFKA, REQUIRE_PYTHON } = process.env;
    const isSomethingMissing = (!broker && REQUIRE_KAFKA === '1') || (!python && REQUIRE_PYTHON === '1');
    return code === 0 && isSomethingMissing ? 1 : code;
  } finally {
    await broker?.stop();
  }
}

/** A broker that somebody named in KAFKA_BROKERS is used as it is. */
async function startBrokerIfPossible(): Promise<TestBroker | undefined> {
  const { KAFKA_BROKERS: brokers, REQUIRE_KAFKA } = process.env;
  if (brokers) return { brokers, stop: async () => undefined };
  try {
    return await startTestBroker(say);
  } catch (error) {
    if (!(error instanceof StackError)) throw error;
    const consequence =
      REQUIRE_KAFKA === '1'
        ? 'REQUIRE_KAFKA=1 IS SET, SO THIS RUN FAILS'
        : 'THE KAFKA TESTS ARE SKIPPED (REQUIRE_KAFKA=1 makes this a failure)';
    say(`\n*** NO KAFKA BROKER: ${consequence}. ***\n${error.message}\n`);
    return undefined;
  }
}

/** An interpreter with the Python clients. */
async function findPythonIfPossible(): Promise<string | undefined> {
  try {
    return await ensurePythonPackages(say);
  } catch (error) {
    if (!(error instanceof StackError)) throw error;
    const consequence =
      process.env.REQUIRE_PYTHON === '1'
        ? 'REQUIRE_PYTHON=1 IS SET, SO THIS RUN FAILS'
        : 'THE PYTHON CLIENTS ARE NOT TESTED (REQUIRE_PYTHON=1 makes this a failure)';
    say(`\n*** NO PYTHON PACKAGES: ${consequence}. ***\n${error.message}\n`);
    return undefined;
  }
}

function runJest(settings: Record<string, string>): Promise<number> {
  const jest = join(repositoryRoot, 'node_modules/jest/bin/jest.js');
  const child = spawn(process.execPath, [jest, ...process.argv.slice(2)], {
    cwd: repositoryRoot,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...settings,
      // Jest's ES modules need the first. The others keep two warnings out of every test file's output: the one that
      // comes with it, and the Kafka client's of a timer that it computed below zero, which does no harm.
      NODE_OPTIONS:
        '--experimental-vm-modules --disable-warning=ExperimentalWarning --disable-warning=TimeoutNegativeWarning',
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.on('disconnect', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof StackError ? error.message : (error as Error)?.stack}\n`);
    process.exit(1);
  },
);

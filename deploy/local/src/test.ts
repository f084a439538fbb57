import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { weighSession } from './process/weighSession.ts';
import { repositoryRoot } from './repositoryRoot.ts';
import { runCommand } from './runCommand.ts';
import { StackError } from './stackError.ts';
import { startTestBroker, type TestBroker } from './startTestServers.ts';
import { ensureAgents } from './tools/ensureAgents.ts';
import { ensureJars } from './tools/ensureJars.ts';
import { ensureManifestTools } from './tools/ensureManifestTools.ts';
import { ensurePythonPackages } from './tools/ensurePythonPackages.ts';
import { ensureFfmpeg, ensurePromtool, ensureRedisServer, hasCommand } from './tools/installDebianPackages.ts';

/**
 * Weight of the session with Jest's workers and their clients, which are four processes or more. Each stack has some
 * fifteen parts with sessions of their own. With the weight of one part the workers had a tenth of the machine, and
 * their timers came seconds late.
 */
const WEIGHT = -8;

/**
 * `npm test`: installs the tools that the tests need and runs Jest with the given arguments. Redis, ffmpeg and promtool
 * are required. A Kafka broker, an S3 server, Python and Go clients and kustomize are used if they can be installed.
 * After Jest's summary only the untested parts are printed. Files named `*.deep.test.ts`, which search, are excluded;
 * `--all` adds them, and `--rest` runs only them.
 */
async function main(): Promise<number> {
  await ensureRedisServer(say);
  await ensureFfmpeg(say);
  await ensurePromtool(say);
  // An interpreter with the Python clients.
  const python = await getIfPossible('CLIENTS', 'PYTHON PACKAGES', () => ensurePythonPackages(say));
  // The compiler of the Go client.
  const go = await getIfPossible('CLIENTS', 'GO', findGo);
  // The coding agents that speak the API.
  const agents = await getIfPossible('AGENTS', 'CODING AGENTS', () => ensureAgents(say, isRequired('AGENTS')));
  // The tests that need an S3 server start it.
  const s3Jars = await getIfPossible('S3', 'S3 SERVER', () => ensureJars('s3proxy', say));
  // The browser in which the dashboard's pages are tried.
  const browser = await getIfPossible('BROWSER', 'BROWSER', findChromium);
  // Kustomize and the schemas that manifests are held against.
  const manifestTools = await getIfPossible('KUSTOMIZE', 'KUSTOMIZE', () => ensureManifestTools(say));
  const broker = await getIfPossible('KAFKA', 'KAFKA BROKER', startBroker);
  await weighSession(WEIGHT);
  try {
    const code = await runJest({
      TURNPIKE_TEST_KAFKA: broker ? 'available' : 'absent',
      TURNPIKE_TEST_S3: s3Jars ? 'available' : 'absent',
      ...(broker && { KAFKA_BROKERS: broker.brokers }),
      TURNPIKE_TEST_GO: go ? 'available' : 'absent',
      ...(browser && { TURNPIKE_TEST_BROWSER: browser }),
      ...(python && { TURNPIKE_TEST_PYTHON: python }),
      ...(agents && { TURNPIKE_TEST_AGENTS: agents }),
      ...(manifestTools && { TURNPIKE_TEST_MANIFEST_TOOLS: manifestTools }),
    });
    for (const { words } of missing) say(`NOT TESTED: there is no ${words.toLowerCase()}, as said above.`);
    return code === 0 && missing.some(({ name }) => isRequired(name)) ? 1 : code;
  } finally {
    await weighSession(0);
    await broker?.stop();
  }
}

async function findGo(): Promise<true> {
  if (!hasCommand('go'))
    throw new StackError(
      'Go 1.24 or later is missing, which compiles the client openai-go: install it from https://go.dev/dl.',
    );
  return true;
}

async function findChromium(): Promise<string> {
  if (!hasCommand('chromium'))
    throw new StackError(
      'Chromium is missing, in which the pages of the dashboard are tried: apt-get install -y chromium.',
    );
  return 'chromium';
}

const missing: { name: Requirement; words: string }[] = [];

/** Gets a tool that tests can run without. Prints which tests are skipped if it is missing. */
async function getIfPossible<Tool>(
  name: Requirement,
  words: string,
  get: () => Promise<Tool>,
): Promise<Tool | undefined> {
  try {
    return await get();
  } catch (error) {
    if (!(error instanceof StackError)) throw error;
    missing.push({ name, words });
    const consequence = isRequired(name)
      ? `REQUIRE_${name}=1 IS SET, SO THIS RUN FAILS`
      : `ITS TESTS ARE SKIPPED (REQUIRE_${name}=1 makes this a failure)`;
    say(`\n*** NO ${words}: ${consequence}. ***\n${error.message}\n`);
    return undefined;
  }
}

type Requirement = 'AGENTS' | 'BROWSER' | 'CLIENTS' | 'KAFKA' | 'KUSTOMIZE' | 'S3';
const isRequired = (name: Requirement): boolean => process.env[`REQUIRE_${name}`] === '1';

/** Returns the broker of KAFKA_BROKERS unchanged, or starts one. */
async function startBroker(): Promise<TestBroker> {
  const { KAFKA_BROKERS: brokers } = process.env;
  return brokers ? { brokers, stop: async () => undefined } : startTestBroker(say);
}

/** Returns whether an argument names a run of jest.config.mjs other than `quick`. */
const isRun = (argument: string): boolean => ['--all', '--rest'].includes(argument);

function runJest(settings: Record<string, string>): Promise<number> {
  const jest = join(repositoryRoot, 'node_modules/jest/bin/jest.js');
  const given = process.argv.slice(2);
  const child = spawn(process.execPath, [jest, ...given.filter((argument) => !isRun(argument))], {
    cwd: repositoryRoot,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...settings,
      TURNPIKE_TEST_RUN: given.findLast(isRun)?.slice(2) ?? 'quick',
      // Jest's ES modules need the first option. The others hide two warnings in the output of every test file. One is
      // about that option. The other is about a negative timer of the Kafka client, which is harmless.
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

runCommand(main);

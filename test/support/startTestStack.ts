import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StackError } from '@turnpike/local-stack/stackError';
import { type RunningStack, type StackOptions, startStack } from '@turnpike/local-stack/startStack';
import { createOperator, type Operator } from './operator.ts';

/** A whole stack of one test file: its own ports, data and secrets. */
export interface TestStack {
  running: RunningStack;
  baseUrl: string;
  apiKey: string;
  /** The folder of all that the stack keeps. */
  stateDir: string;
  /** The stack's description, as the operator's command line reads it. */
  stackFile: string;
  operator: Operator;
  stop(): Promise<void>;
}

const FIRST_BASE = 12_000;
const LAST_BASE = 31_000;
const PORTS_PER_STACK = 100;
const ATTEMPTS = 10;

/** Starts a stack as `npm start` does, in a temporary folder. Waits for nothing but the stack itself. */
export async function startTestStack(
  options: Pick<StackOptions, 'kafka' | 'engines' | 'observation'>,
): Promise<TestStack> {
  const stateDir = await mkdtemp(join(tmpdir(), 'turnpike-stack-'));
  const removeStateDir = () => rm(stateDir, { recursive: true, force: true });
  try {
    const running = await startSomewhere({ ...options, stateDir });
    const { base_url: baseUrl, api_key: apiKey, services } = running.stack.regions.us;
    const secrets = JSON.parse(await readFile(join(stateDir, 'secrets.json'), 'utf8')) as { internalTokenKeys: string };
    return {
      running,
      baseUrl,
      apiKey,
      stateDir,
      stackFile: join(stateDir, 'stack.json'),
      operator: createOperator({ services, internalTokenKeys: secrets.internalTokenKeys }),
      async stop() {
        await running.stop();
        await removeStateDir();
      },
    };
  } catch (error) {
    await removeStateDir();
    throw error;
  }
}

/** Other test files choose ports at the same time: a taken range is given up for another. */
async function startSomewhere(options: Omit<StackOptions, 'portBase'>): Promise<RunningStack> {
  for (let attempt = 1; ; attempt += 1) {
    const slots = (LAST_BASE - FIRST_BASE) / PORTS_PER_STACK;
    const portBase = FIRST_BASE + PORTS_PER_STACK * Math.floor(Math.random() * slots);
    try {
      return await startStack({ ...options, portBase });
    } catch (error) {
      const isPortTaken = error instanceof StackError && error.message.includes('in use');
      if (!isPortTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

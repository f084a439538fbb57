import { createServer } from 'node:net';
import { StackError } from './stackError.ts';
import { type RunningStack, type StackOptions, startStack } from './startStack.ts';

/** Below the ports that the system gives to clients, and below those that tests of the launcher itself choose. */
const FIRST_BASE = 12_000;
const LAST_BASE = 25_000;
const PORTS_PER_STACK = 100;
const ATTEMPTS = 20;

/**
 * `startStack` on ports of its own choice. Others choose at the same time, and most ports are taken only seconds later:
 * so a range is claimed by its last port, which no part uses, for as long as the stack runs.
 */
export async function startStackSomewhere(options: Omit<StackOptions, 'portBase'>): Promise<RunningStack> {
  for (let attempt = 1; ; attempt += 1) {
    const slots = (LAST_BASE - FIRST_BASE) / PORTS_PER_STACK;
    const portBase = FIRST_BASE + PORTS_PER_STACK * Math.floor(Math.random() * slots);
    const giveBack = await claimPort(portBase + PORTS_PER_STACK - 1);
    try {
      if (!giveBack) throw new StackError(`The ports from ${portBase} on are in use by another stack.`);
      const running = await startStack({ ...options, portBase });
      return { ...running, stop: (hurry) => running.stop(hurry).finally(giveBack) };
    } catch (error) {
      giveBack?.();
      const isPortTaken = error instanceof StackError && error.message.includes('in use');
      if (!isPortTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Holds a port until the result is called; undefined where somebody has it. Keeps no process alive. */
function claimPort(port: number): Promise<(() => void) | undefined> {
  return new Promise((resolve) => {
    const claim = createServer().unref();
    claim.once('error', () => resolve(undefined));
    claim.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(() => void claim.close()));
  });
}

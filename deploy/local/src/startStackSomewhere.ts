import { StackError } from './stackError.ts';
import { type RunningStack, type StackOptions, startStack } from './startStack.ts';

/** Below the ports that the system gives to clients. */
const FIRST_BASE = 12_000;
const LAST_BASE = 31_000;
const PORTS_PER_STACK = 100;
const ATTEMPTS = 10;

/** `startStack` on ports of its own choice. Others choose at the same time: a taken range is given up for another. */
export async function startStackSomewhere(options: Omit<StackOptions, 'portBase'>): Promise<RunningStack> {
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

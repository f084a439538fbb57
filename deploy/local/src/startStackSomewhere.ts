import { createServer } from 'node:net';
import type { Region } from '@turnpike/config/region';
import { StackError } from './stackError.ts';
import { PORTS_PER_REGION } from './stackPorts.ts';
import { type RunningStack, type StackOptions, startStack } from './startStack.ts';

/**
 * Range of the first port: below the ports that the system gives to clients, and below those that tests of the launcher
 * choose.
 */
const FIRST_BASE = 12_000;
const LAST_BASE = 25_000;
const ATTEMPTS = 20;

/**
 * Runs `startStack` on free ports. Other stacks choose at the same time, and most ports are in use only seconds later.
 * So the stack claims the range of each region while it runs, by the range's last port, which no part uses.
 */
export async function startStackSomewhere<Name extends Region = 'us'>(
  options: Omit<StackOptions<Name>, 'portBase'>,
): Promise<RunningStack<Name>> {
  const ranges = options.regions?.length ?? 1;
  for (let attempt = 1; ; attempt += 1) {
    const slots = (LAST_BASE - FIRST_BASE) / PORTS_PER_REGION - ranges + 1;
    const portBase = FIRST_BASE + PORTS_PER_REGION * Math.floor(Math.random() * slots);
    const lastPorts = Array.from({ length: ranges }, (_, index) => portBase + PORTS_PER_REGION * (index + 1) - 1);
    const claims = await Promise.all(lastPorts.map(claimPort));
    const giveBack = () => {
      for (const claim of claims) claim?.();
    };
    try {
      if (claims.includes(undefined))
        throw new StackError(`The ports from ${portBase} on are in use by another stack.`);
      const running = await startStack({ ...options, portBase });
      return { ...running, stop: (hurry) => running.stop(hurry).finally(giveBack) };
    } catch (error) {
      giveBack();
      const isPortTaken = error instanceof StackError && error.message.includes('in use');
      if (!isPortTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

/**
 * Claims a port until the returned function is called. Resolves undefined if the port is in use. Keeps no process
 * alive.
 */
function claimPort(port: number): Promise<(() => void) | undefined> {
  return new Promise((resolve) => {
    const claim = createServer().unref();
    claim.once('error', () => resolve(undefined));
    claim.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(() => void claim.close()));
  });
}

import { setTimeout as pause } from 'node:timers/promises';
import type { ServiceName } from '@turnpike/config/services';
import type { RunningStack } from '@turnpike/local-stack/startStack';

/** The latest process of each service that was started again. */
const latest = new WeakMap<RunningStack, Map<ServiceName, number>>();

/** Asks a service to end and waits until it has. */
export const endService = (running: RunningStack, name: ServiceName): Promise<void> =>
  endProcess(latest.get(running)?.get(name) ?? running.parts.services[name].pid);

/** Starts a service that has ended again, and resolves with its process when it is ready. */
export async function startAgain(running: RunningStack, name: ServiceName): Promise<number> {
  const { pid } = await running.restart(name);
  const ofStack = latest.get(running) ?? new Map<ServiceName, number>();
  latest.set(running, ofStack.set(name, pid));
  return pid;
}

/** Asks a process to end and waits until it has. */
async function endProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM');
  for (let isAlive = true; isAlive; await pause(20)) {
    try {
      process.kill(pid, 0);
    } catch {
      isAlive = false;
    }
  }
}

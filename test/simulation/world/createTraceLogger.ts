import type { Logger } from '@turnpike/logging/createLogger';
import type { World } from './world.ts';

/** Interval of messages about repeated attempts, ms. */
const REPEATED_MS = 1_000;

/** A logger whose lines are steps of the trace. */
export function createTraceLogger(world: World): Logger {
  const saidAt = new Map<string, number>();
  const write = (level: string) => (fields: unknown, words?: string) => {
    const { err, callId } = (typeof fields === 'object' ? fields : {}) as { err?: Error; callId?: string };
    const details = [callId && `(${callId.slice(-4)})`, err && `[${err.message}]`].filter(Boolean).join(' ');
    const what = `${world.current.name} ${words} ${callId}`;
    if (world.now - (saidAt.get(what) ?? -REPEATED_MS) < REPEATED_MS) return;
    saidAt.set(what, world.now);
    world.note(`${level}: ${words ?? String(fields)} ${details}`);
  };
  const silent = (): void => {};
  return {
    debug: silent,
    trace: silent,
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  } as unknown as Logger;
}

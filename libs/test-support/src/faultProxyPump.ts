import { type EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Direction, isHeld, type LinkBehaviour } from './faultProxyBehaviour.ts';

/** Waiting bytes of one direction beyond which its source is not read on. */
const QUEUE_LIMIT_BYTES = 1024 * 1024;

export interface PumpOptions {
  from: Socket;
  to: Socket;
  direction: Direction;
  /** The link's present behaviour. */
  behaviour: () => LinkBehaviour;
  /** Emits `change` whenever that changes. */
  changes: EventEmitter;
  /** Resets both sides of the connection. */
  reset: () => void;
  /** Aborted when the connection is gone. */
  signal: AbortSignal;
}

/** Carries bytes one way, as the link's behaviour at each moment says, and resolves when there is nothing more to carry. */
export async function pump(options: PumpOptions): Promise<void> {
  const { from, to, direction, behaviour, changes, reset, signal } = options;
  const queue: { bytes: Buffer; at: number }[] = [];
  let queuedBytes = 0;
  let hasEnded = false;
  let passedBytes = 0;
  let arrived = Promise.withResolvers<void>();

  from.on('data', (bytes) => {
    queue.push({ bytes, at: performance.now() });
    queuedBytes += bytes.length;
    if (queuedBytes > QUEUE_LIMIT_BYTES) from.pause();
    arrived.resolve();
  });
  from.once('end', () => {
    hasEnded = true;
    arrived.resolve();
  });
  signal.addEventListener('abort', () => arrived.resolve(), { once: true });
  changes.on('change', forgetPassed);
  signal.addEventListener('abort', () => changes.off('change', forgetPassed), { once: true });
  function forgetPassed(): void {
    passedBytes = 0;
  }

  /** Waits while the link holds this direction; a change of behaviour ends the wait. */
  async function untilOpen(): Promise<void> {
    while (isHeld(behaviour(), direction)) await once(changes, 'change', { signal });
  }

  async function write(bytes: Buffer): Promise<void> {
    const { bytesPerSecond } = behaviour();
    if (!to.write(bytes)) await once(to, 'drain', { signal });
    if (bytesPerSecond !== undefined) await pause((bytes.length / bytesPerSecond) * 1_000, undefined, { signal });
  }

  async function pass({ bytes, at }: { bytes: Buffer; at: number }): Promise<void> {
    const { delayMs = 0 } = behaviour();
    const waitMs = at + delayMs - performance.now();
    if (waitMs > 0) await pause(waitMs, undefined, { signal });
    let rest = bytes;
    while (rest.length > 0) {
      await untilOpen();
      const { sliceBytes = rest.length, resetAfterBytes } = behaviour();
      const limit = direction === 'reply' ? resetAfterBytes : undefined;
      const size = Math.min(sliceBytes, rest.length, (limit ?? Number.POSITIVE_INFINITY) - passedBytes);
      if (size > 0) await write(rest.subarray(0, size));
      passedBytes += Math.max(size, 0);
      rest = rest.subarray(Math.max(size, 0));
      if (limit !== undefined && passedBytes >= limit) {
        reset();
        return;
      }
      // A slice of its own only if the kernel has taken it before the next one comes.
      if (behaviour().sliceBytes !== undefined && rest.length > 0) await pause(0, undefined, { signal });
    }
  }

  async function end(): Promise<void> {
    await untilOpen();
    const { closeDelayMs = 0 } = behaviour();
    if (closeDelayMs > 0) await pause(closeDelayMs, undefined, { signal });
    to.end();
  }

  while (!signal.aborted) {
    const next = queue.shift();
    if (next) {
      await pass(next);
      queuedBytes -= next.bytes.length;
      if (from.isPaused() && queuedBytes <= QUEUE_LIMIT_BYTES) from.resume();
    } else if (hasEnded) {
      return end();
    } else {
      arrived = Promise.withResolvers<void>();
      await arrived.promise;
    }
  }
}

import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Redis } from 'ioredis';
import { type CallAddress, endingKeysOf, redisKeys } from './redisKeys.ts';
import { defineScript } from './redisScript.ts';

/** How long a released or swept call is remembered: longer than the event log keeps events a router could bring back. */
const TOMBSTONE_MS = 7 * 24 * 3_600_000;
/** A released admission can only still arrive while its command is under way. */
const RELEASED_MS = 600_000;

/** The ways a call leaves Redis. Each may run any number of times; only the first that applies changes a balance. */
export interface CallEndings {
  /** Turns the hold into the charge. With `isSafe` the event log has the event, and nothing of the call stays behind. */
  settle(event: UsageRecorded, eventJson: string, options: { isSafe: boolean; keepMs: number }): Promise<void>;
  /** Takes back an admission whose answer came too late. */
  release(address: CallAddress): Promise<void>;
  /** False when the call is no longer held: it was swept, and must end in an error. */
  renewLease(address: CallAddress, leaseMs: number): Promise<boolean>;
  /** Takes a call whose lease has ended; undefined if there is nothing to take. */
  sweep(address: CallAddress, leaseMs: number): Promise<SweptCall | undefined>;
  /** Ends what `sweep` began, once the event log has the event of that state. */
  forgetSwept(address: CallAddress, state: SweptCall['state']): Promise<void>;
}

/** A call that lost its router, or whose event was not acknowledged in time. */
export interface SweptCall {
  /** `swept` ended as unknown; `settled` had ended before, and its kept event is the true one. */
  state: 'swept' | 'settled';
  /** Whether the hold was released just now. */
  wasHeld: boolean;
  /** Admission, by Redis' clock. */
  admittedAtMs: number;
  eventJson: string;
}

export function createCallEndings(redis: Redis): CallEndings {
  const settle = defineScript(redis, 'settle');
  const release = defineScript(redis, 'release');
  const renewLease = defineScript(redis, 'renewLease');
  const sweepCall = defineScript(redis, 'sweepCall');
  const forgetSwept = defineScript(redis, 'forgetSwept');
  return {
    async settle(event, eventJson, { isSafe, keepMs }) {
      const tokens = event.promptTokens + event.completionTokens;
      await settle(endingKeysOf(event), [
        event.callId,
        event.chargeNanoUsd.toString(),
        tokens,
        eventJson,
        isSafe ? 1 : 0,
        keepMs,
      ]);
    },
    async release(address) {
      await release(endingKeysOf(address), [address.callId, RELEASED_MS]);
    },
    async renewLease({ callId, workspaceId }, leaseMs) {
      const keys = [redisKeys.call(workspaceId, callId), redisKeys.calls(workspaceId)];
      return (await renewLease(keys, [callId, leaseMs])) === 1;
    },
    async sweep(address, leaseMs) {
      const [stateBefore, eventJson, admittedAtMs] = (await sweepCall(endingKeysOf(address), [
        address.callId,
        leaseMs,
      ])) as string[];
      if (eventJson === undefined) return undefined;
      return {
        state: stateBefore === 'settled' ? 'settled' : 'swept',
        wasHeld: stateBefore === 'held',
        admittedAtMs: Number(admittedAtMs),
        eventJson,
      };
    },
    async forgetSwept({ callId, workspaceId }, state) {
      const keys = [redisKeys.call(workspaceId, callId), redisKeys.calls(workspaceId)];
      await forgetSwept(keys, [callId, TOMBSTONE_MS, state]);
    },
  };
}

import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import { type CallAddress, endingKeysOf, redisKeys } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';

/** How long a swept call is remembered: longer than the event log keeps events a router could bring back. */
const TOMBSTONE_MS = 7 * 24 * 3_600_000;
/** A released admission can only still arrive while its command is under way. */
const RELEASED_MS = 600_000;
/**
 * How long the record of a call that is over and acknowledged is kept: no message about it can be under way for longer.
 */
const DONE_MS = 60_000;

/**
 * The state in which `settle` found the call. `held` and `swept` are charged now, the next three were over before.
 * `other_epoch`: the call has no hold in the balances in force. `none`: Redis does not know the call.
 */
const settledSchema = z.enum(['held', 'swept', 'settled', 'done', 'released', 'other_epoch', 'none']);
export type Settlement = z.output<typeof settledSchema>;

/** `lost`: the call was swept and must end in an error. `other_epoch`: it has yet to be asserted. `none`: see `Settlement`. */
const leaseSchema = z.enum(['held', 'lost', 'other_epoch', 'none']);
export type Lease = z.output<typeof leaseSchema>;

const callIdsSchema = z.array(z.string());

/** The ways a call leaves Redis. Each may run any number of times; only the first that applies changes a balance. */
export interface CallEndings {
  /** Turns the hold into the charge. With `isSafe` the event log has the event, and nothing of the call stays behind. */
  settle(event: UsageRecorded, eventJson: string, options: { isSafe: boolean; keepMs: number }): Promise<Settlement>;
  /** Takes back an admission whose answer came too late: hold, request and tokens. */
  release(address: CallAddress): Promise<void>;
  renewLease(address: CallAddress, leaseMs: number): Promise<Lease>;
  /**
   * Calls of a workspace whose lease has ended, `most` of them after passing over some. A workspace that has no call at all is
   * found no more by `scanWorkspaces`, until it has one.
   */
  findEndedLeases(workspaceId: string, range: { passOver: number; most: number }): Promise<string[]>;
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

/** `epoch` is that of the balances this router counts in. */
export function createCallEndings(redis: Redis, { epoch }: { epoch: Pick<RedisEpoch, 'stamp'> }): CallEndings {
  const settle = defineScript(redis, new URL('./settle.lua', import.meta.url));
  const release = defineScript(redis, new URL('./release.lua', import.meta.url));
  const renewLease = defineScript(redis, new URL('./renewLease.lua', import.meta.url));
  const findEndedLeases = defineScript(redis, new URL('./findEndedLeases.lua', import.meta.url));
  const sweepCall = defineScript(redis, new URL('./sweepCall.lua', import.meta.url));
  const forgetSwept = defineScript(redis, new URL('./forgetSwept.lua', import.meta.url));
  return {
    async settle(event, eventJson, { isSafe, keepMs }) {
      const tokens = event.promptTokens + event.completionTokens;
      const answer = await settle(endingKeysOf(event), [
        event.callId,
        event.chargeNanoUsd.toString(),
        tokens,
        eventJson,
        isSafe ? 1 : 0,
        keepMs,
        epoch.stamp.number,
        DONE_MS,
        event.workspaceId,
      ]);
      return settledSchema.parse(answer);
    },
    async release(address) {
      await release(endingKeysOf(address), [address.callId, RELEASED_MS]);
    },
    async renewLease({ callId, workspaceId }, leaseMs) {
      const keys = [redisKeys.call(workspaceId, callId), redisKeys.calls(workspaceId)];
      return leaseSchema.parse(await renewLease(keys, [callId, leaseMs, epoch.stamp.number]));
    },
    async findEndedLeases(workspaceId, { passOver, most }) {
      const keys = [redisKeys.calls(workspaceId), redisKeys.workspaces];
      return callIdsSchema.parse(await findEndedLeases(keys, [workspaceId, passOver, most]));
    },
    async sweep(address, leaseMs) {
      const [stateBefore, eventJson, admittedAtMs] = (await sweepCall(endingKeysOf(address), [
        address.callId,
        leaseMs,
        epoch.stamp.number,
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
      await forgetSwept(keys, [callId, TOMBSTONE_MS, state, DONE_MS]);
    },
  };
}

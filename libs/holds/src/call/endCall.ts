import { sendAhead } from '@turnpike/redis-connection/connectRedis';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type CallAddress, headOf } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';
import type { EndingEvent } from './pendingCalls.ts';

/** A released admission can only still arrive while its command is under way. */
const RELEASED_MS = 600_000;

/**
 * What `settle` found the call to be. `held`: it is charged now. `unlisted`: it is as well, and the list of the workspace's calls had
 * lost it. `none`: it is not pending.
 */
const settledSchema = z.enum(['held', 'unlisted', 'ended', 'released', 'none']);
export type Settlement = z.output<typeof settledSchema>;

/** The ways a call's hold ends. Each may run any number of times; only the first that applies changes a balance. */
export interface CallEndings {
  /** Turns the hold into the charge, and keeps the event beside it until the call is recorded. The rate takes `maxTokens` at most. */
  settle(event: EndingEvent, eventJson: string, maxTokens?: number): Promise<Settlement>;
  /** Takes back an admission whose answer came too late: hold, request and tokens. */
  release(address: CallAddress): Promise<void>;
}

export function createCallEndings(redis: Redis): CallEndings {
  const settle = defineScript(redis, 'settle');
  const release = defineScript(redis, 'release');
  return {
    async settle(event, eventJson, maxTokens = Number.POSITIVE_INFINITY) {
      // Where nobody counted, the prompt may have been computed all the same.
      const tokens = event.status === 'unknown' ? '' : Math.min(event.promptTokens + event.completionTokens, maxTokens);
      const { keys, args } = headOf(event.workspaceId, '');
      // Where this process is lost with its disk, what Redis was sent is all that is left of a call whose client has seen its end.
      const answer = await sendAhead(() =>
        settle(keys, [...args, event.callId, event.chargeNanoUsd.toString(), tokens, eventJson]),
      );
      return settledSchema.parse(answer);
    },
    async release({ workspaceId, callId }) {
      const { keys, args } = headOf(workspaceId, '');
      await release(keys, [...args, callId, RELEASED_MS]);
    },
  };
}

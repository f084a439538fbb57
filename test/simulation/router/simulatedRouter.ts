import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import type { EventLogProducer } from '@turnpike/event-log/eventLog';
import { ShardAbsorber } from '@turnpike/holds/balances/absorb';
import { PendingCalls } from '@turnpike/holds/call/pendingCalls';
import { recoverSpool } from '@turnpike/holds/call/recoverSpool';
import { createLedgerReports } from '@turnpike/holds/follow/reportToLedger';
import { createRaiseGeneration, createSetBackGeneration } from '@turnpike/holds/gate/keyGeneration';
import { Holds } from '@turnpike/holds/holds';
import { SessionState } from '@turnpike/holds/redis/sessionState';
import type { Spool } from '@turnpike/holds/spool/spool';
import { aShard, shardsOf } from '@turnpike/holds/test/aShard';
import type { BudgetPeriod } from '@turnpike/internal-api/budgetPeriod';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { noSpan } from '@turnpike/telemetry/callSpan';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import type { Redis } from 'ioredis';
import {
  type AdmittedCall,
  OpenCall,
  OpenCalls,
  toUnknownEventJson,
} from '../../../services/model-router/src/money/call/openCalls.ts';
import type { UsageBound } from '../../../services/model-router/src/money/gate/admitCall.ts';
import { admitCall } from '../../../services/model-router/src/money/gate/admitCall.ts';
import { CHAT } from '../../../services/model-router/src/request/chatRequest.ts';
import type { InferenceRequest } from '../../../services/model-router/src/request/inferenceRequest.ts';
import { aPricedModel } from '../../../services/model-router/test/aPricedModel.ts';
import { currentWorld } from '../world/currentWorld.ts';

export const MODEL = aPricedModel();

const RECORD_GRACE_MS = 5_000;

export interface SimulatedRouterOptions {
  owner: string;
  redis: Redis;
  ledgerUrl: string;
  spoolDir: string;
  leaseMs: number;
  authenticate: (keyId: string) => KeyRecord;
  log: Logger;
  /** Makes a mutant of the parts. */
  mutate: (parts: RouterParts) => RouterParts;
}

/** The parts of a router that a mutant may change. */
export interface RouterParts {
  redis: Redis;
  sessionState: SessionState;
  pending: PendingCalls;
  spool: Spool;
  eventLog: EventLogProducer;
}

/** The result for an admitted call. */
export interface LetIn {
  call: OpenCall;
  holdNanoUsd: bigint;
  /** Instead of the end: it never ran. */
  release(): Promise<void>;
}

export type SimulatedRouter = Awaited<ReturnType<typeof startSimulatedRouter>>;

/** A router's money side, put together as its `main` does, on whatever stands in for Redis, disk and network here. */
export async function startSimulatedRouter(options: SimulatedRouterOptions) {
  const { owner, ledgerUrl, spoolDir, leaseMs, log } = options;
  const internalHeaders = () => ({});
  const pending = new PendingCalls();
  const taken = await recoverSpool({ dir: spoolDir, maxBytes: 1_048_576, metrics: noMetrics, log });
  const parts = options.mutate({
    redis: options.redis,
    sessionState: new SessionState(),
    pending,
    spool: taken.spool,
    eventLog: createEmbeddedProducer({ url: ledgerUrl, internalHeaders }),
  });
  const { redis, sessionState, spool } = parts;
  const absorber = new ShardAbsorber({ redis, ledgerUrl, internalHeaders, sessionState });
  const reports = createLedgerReports({ ledgerUrl, internalHeaders, owner });
  const { left } = taken;
  const shards = shardsOf(aShard(redis, sessionState));
  const holds = new Holds({ ...parts, shards, owner, leaseMs, left, absorber, reports, metrics: noMetrics, log });
  const openCalls = new OpenCalls({ holds, metrics: noMetrics, log });
  const authenticator: Pick<Authenticator, 'authenticate' | 'forget'> = {
    authenticate: async () => options.authenticate(''),
    forget: () => {},
  };
  const admission = {
    holds,
    setBackGeneration: createSetBackGeneration(redis),
    shards,
    absorber,
    authenticator,
    countPromptTokens: async () => undefined,
    refusedCounts: { check: () => undefined, take: () => () => undefined },
    metrics: noMetrics,
    log,
  };
  const world = currentWorld();
  const { current: self } = world;
  return {
    raiseGeneration: createRaiseGeneration(redis),
    load: (workspaceId: string, keyId?: string, period?: BudgetPeriod) =>
      absorber.load(workspaceId, keyId, undefined, period),
    /** Ends in order, as its `main` does. True where it has left nothing behind. */
    async close(): Promise<boolean> {
      await holds.close(RECORD_GRACE_MS);
      const isDone = pending.isEmpty && spool.isEmpty;
      if (isDone) await reports.leave().catch(() => {});
      await spool.close();
      return isDone;
    },
    reload: (workspaceId: string) => absorber.reload(workspaceId),
    isQuiet: () => world.lookAs(self, () => sessionState.isOpen) && pending.isEmpty && spool.isEmpty,
    isEmpty: () => pending.isEmpty && spool.isEmpty,
    session: () => world.lookAs(self, () => sessionState.session?.token),
    /** Says what keeps it from being quiet, for the trace. */
    describe: () =>
      `${world.lookAs(self, () => sessionState.session) ? 'with' : 'without'} a session, ${world.lookAs(self, () => sessionState.isOpen) ? 'open' : 'closed'}, ${pending.size} pending, spool ${spool.isEmpty ? 'empty' : 'not empty'}`,
    /** Admits a call with the most it could cost, as `createInference` does; undefined where it is refused. */
    async admit(callId: string, key: KeyRecord, outputTokens: number): Promise<LetIn | undefined> {
      if (spool.isFull) return undefined;
      const toCall = (bound: UsageBound): AdmittedCall => ({
        callId,
        keyId: key.keyId,
        workspaceId: key.workspace.workspaceId,
        region: 'us',
        operation: 'chat',
        model: MODEL,
        priceVersion: 7,
        images: 0,
        holdNanoUsd: bound.worstCaseNanoUsd,
        maxTokens: bound.promptTokens + bound.outputTokens,
        isStream: true,
        span: noSpan,
      });
      try {
        const { bound, hold } = await admitCall(admission, {
          callId,
          key,
          authenticateAgain: async () => options.authenticate(key.keyId),
          request: aRequest(outputTokens),
          model: MODEL,
          unknownEventJson: (bound) => toUnknownEventJson(toCall(bound)),
        });
        return {
          call: new OpenCall(toCall(bound), openCalls, hold),
          holdNanoUsd: bound.worstCaseNanoUsd,
          release: () => holds.release(hold),
        };
      } catch (error) {
        if (error instanceof ApiError) return undefined;
        throw error;
      }
    },
  };
}

/** A streamed chat of one short message. */
const aRequest = (outputTokens: number): InferenceRequest =>
  ({
    operation: CHAT,
    model: MODEL.id,
    isStream: true,
    requestedOutputTokens: outputTokens,
    prompt: { textMembers: ['messages'], templateMembers: [], parts: 1, images: 0, imageBytes: 0 },
    body: { bytes: Buffer.alloc(40), members: [{ key: 'messages', valueStart: 0, end: 40 }] },
  }) as unknown as InferenceRequest;

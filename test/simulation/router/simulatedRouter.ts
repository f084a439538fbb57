import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { noSpan } from '@turnpike/telemetry/callSpan';
import type { Redis } from 'ioredis';
import { createBalanceLoader } from '../../../services/model-router/src/money/balances/loadBalances.ts';
import { createCallEndings } from '../../../services/model-router/src/money/call/endCall.ts';
import { type EndedCall, HeldCalls } from '../../../services/model-router/src/money/call/heldCalls.ts';
import { createOpenCalls, type OpenCall } from '../../../services/model-router/src/money/call/openCalls.ts';
import { publishEvents } from '../../../services/model-router/src/money/call/publishEvents.ts';
import { retryReleases } from '../../../services/model-router/src/money/call/retryReleases.ts';
import { sweepCalls } from '../../../services/model-router/src/money/call/sweepCalls.ts';
import { type AdmittedCall, toUnknownEventJson } from '../../../services/model-router/src/money/call/toEvent.ts';
import { createAssertCall } from '../../../services/model-router/src/money/epoch/assertCall.ts';
import { createEpochMark, type EpochMark } from '../../../services/model-router/src/money/epoch/epochMark.ts';
import { followEpoch } from '../../../services/model-router/src/money/epoch/followEpoch.ts';
import { publishKeptEvents } from '../../../services/model-router/src/money/epoch/publishKeptEvents.ts';
import { createLedgerReports } from '../../../services/model-router/src/money/epoch/reportToLedger.ts';
import { createAdmit, createRaiseGeneration } from '../../../services/model-router/src/money/gate/admit.ts';
import { admitCall } from '../../../services/model-router/src/money/gate/admitCall.ts';
import { RedisEpoch } from '../../../services/model-router/src/money/redis/redisEpoch.ts';
import { Spool } from '../../../services/model-router/src/money/spool/spool.ts';
import { CHAT } from '../../../services/model-router/src/request/chatRequest.ts';
import type { InferenceRequest } from '../../../services/model-router/src/request/inferenceRequest.ts';
import { aPricedModel } from '../../../services/model-router/test/aPricedModel.ts';
import { noMetrics } from '../../../services/model-router/test/noMetrics.ts';

export const MODEL = aPricedModel();

export interface SimulatedRouterOptions {
  routerId: string;
  processId: string;
  redis: Redis;
  ledgerUrl: string;
  spoolDir: string;
  leaseMs: number;
  authenticate: (keyId: string) => KeyRecord;
  log: Logger;
  /** Makes a mutant of the parts. */
  mutate: (parts: RouterParts) => RouterParts;
}

/** What a mutant may change of a router. */
export interface RouterParts {
  epoch: RedisEpoch;
  /** What the publisher asks which calls wait to be settled. */
  waitingCalls: Pick<HeldCalls, 'has'>;
  spool: Spool;
  isCaughtUp: (publisher: { isCaughtUp: boolean }) => boolean;
  mark: EpochMark;
  assertCall: ReturnType<typeof createAssertCall>;
  publishKept: (unspooled: EndedCall[]) => Promise<void>;
}

/** What a call gets when it was let in. */
export interface LetIn {
  call: OpenCall;
  holdNanoUsd: bigint;
}

export type SimulatedRouter = Awaited<ReturnType<typeof startSimulatedRouter>>;

/** A router's money side, put together as its `main` does, on whatever stands in for Redis, disk and network here. */
export async function startSimulatedRouter(options: SimulatedRouterOptions) {
  const { routerId, processId, redis, ledgerUrl, spoolDir, leaseMs, log } = options;
  const internalHeaders = () => ({});
  const epoch = new RedisEpoch();
  const eventLog = createEmbeddedProducer({ url: ledgerUrl, internalHeaders });
  const heldCalls = new HeldCalls();
  const { waitingCalls, spool, isCaughtUp, mark, assertCall, publishKept } = options.mutate({
    epoch,
    waitingCalls: heldCalls,
    spool: await Spool.open({ dir: spoolDir, maxBytes: 1_048_576, log }),
    isCaughtUp: (publisher) => publisher.isCaughtUp,
    mark: createEpochMark(redis),
    assertCall: createAssertCall(redis, { routerId, leaseMs }),
    publishKept: (unspooled) => publishKeptEvents({ redis, eventLog, unspooled }),
  });
  const endings = retryReleases(createCallEndings(redis, { epoch }), { leaseMs });
  const balances = createBalanceLoader({ redis, ledgerUrl, internalHeaders, epoch });
  const reports = createLedgerReports({ ledgerUrl, internalHeaders, routerId, processId });
  const publisher = publishEvents({
    spool,
    eventLog,
    endings,
    heldCalls: waitingCalls,
    epoch,
    metrics: noMetrics,
    log,
  });
  sweepCalls({ redis, endings, balances, epoch, eventLog, metrics: noMetrics, log, leaseMs });
  const openCalls = createOpenCalls({ endings, spool, heldCalls, epoch, metrics: noMetrics, log, leaseMs });
  followEpoch({
    redis,
    epoch,
    reports,
    heldCalls,
    mark,
    balances,
    assertCall,
    publishKept,
    isCaughtUp: () => isCaughtUp(publisher),
    hasUnread: () => spool.hasUnread,
    log,
  });
  const authenticator: Authenticator = { authenticate: async () => options.authenticate(''), forget: () => {} };
  const admission = {
    admit: createAdmit(redis, { epoch, routerId }),
    epoch,
    endings,
    balances,
    authenticator,
    countPromptTokens: async () => undefined,
    refusedCounts: { check: () => undefined, take: () => () => undefined },
    leaseMs,
    metrics: noMetrics,
    log,
  };
  return {
    epoch,
    raiseGeneration: createRaiseGeneration(redis),
    load: (workspaceId: string) => balances.load(workspaceId),
    isQuiet: () => epoch.isOpen && heldCalls.size === 0 && !spool.hasUnread && openCalls.size === 0,
    /** Says what keeps it from being quiet, for the trace. */
    describe: () =>
      `epoch ${epoch.stamp.number} ${epoch.isOpen ? 'open' : 'closed'}, ${heldCalls.size} waiting, ${openCalls.size} open calls, spool ${spool.hasUnread ? 'unread' : 'read'}`,
    /** Admits a call with the most it could cost, as `createInference` does; undefined where it is refused. */
    async admit(callId: string, key: KeyRecord, outputTokens: number): Promise<LetIn | undefined> {
      if (spool.isFull) return undefined;
      const toCall = (holdNanoUsd: bigint): AdmittedCall => ({
        callId,
        keyId: key.keyId,
        workspaceId: key.workspace.workspaceId,
        region: 'us',
        operation: 'chat',
        model: MODEL,
        priceVersion: 7,
        images: 0,
        holdNanoUsd,
        isStream: true,
        span: noSpan,
      });
      try {
        const { bound, terms } = await admitCall(admission, {
          callId,
          key,
          authenticateAgain: async () => options.authenticate(key.keyId),
          request: aRequest(outputTokens),
          model: MODEL,
          unknownEventJson: ({ worstCaseNanoUsd }) => toUnknownEventJson(toCall(worstCaseNanoUsd)),
        });
        const holdNanoUsd = bound.worstCaseNanoUsd;
        return { call: openCalls.open(toCall(holdNanoUsd), terms), holdNanoUsd };
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

import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { callingKey } from '@turnpike/authentication/keyGuard';
import type { CallBook, EndCall } from '@turnpike/holds/call/pendingCalls';
import { noteCall, requestIdOf, spanOf } from '@turnpike/http-service/observeRequests';
import type { CatalogFollower } from '@turnpike/internal-api/transport/followCatalog';
import { ApiError } from '@turnpike/public-api/apiError';
import { toRateLimitHeaders } from '@turnpike/public-api/headers';
import type { FairSlots } from '@turnpike/request-reading/shares/fairSlots';
import type { KeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import type { Request, Response } from 'express';
import type { Backends } from '../backends/createBackends.ts';
import type { ReplicaTurns } from '../backends/replicaTurns.ts';
import { getMediaModel, type MediaCatalog, type ResolvedModel } from '../catalog/mediaCatalog.ts';
import type { Jobs } from '../jobs/openJobs.ts';
import type { Media } from '../media/createMedia.ts';
import { type AdmitMediaDependencies, type AdmittedMedia, admitMedia } from '../money/admitMedia.ts';
import { boundUnits } from '../money/mediaCall.ts';
import type { Money } from '../money/openMoney.ts';
import { type MediaEnding, toMediaEvent } from '../money/toMediaEvent.ts';
import type { MediaDraft } from '../request/mediaDraft.ts';
import type { Requests } from '../request/openRequests.ts';
import type { MediaRequest } from '../terms/mediaRequest.ts';

/** Parts of the process that media calls use. */
export interface CallDependencies {
  catalog: Pick<CatalogFollower<MediaCatalog>, 'current'>;
  backends: Pick<Backends, 'isConfigured' | 'replicasFor' | 'list' | 'fileFault'>;
  replicas: ReplicaTurns;
  requests: Requests;
  media: Pick<Media, 'prepareRecording' | 'convertSpeech' | 'copyAudio'>;
  authenticator: Pick<Authenticator, 'authenticate' | 'assertMayCall'>;
  admission: AdmitMediaDependencies;
  findShortage: Money['findShortage'];
  /** Allowance, by key, of CPU time for decoding uploads that are then refused. */
  refusedDecoding: KeyAllowance;
  callBook: Pick<CallBook, 'open'>;
  jobs: Pick<Jobs, 'obtain' | 'keepClaim' | 'takeRoom' | 'giveUp' | 'make' | 'giveBack' | 'keepAnswer' | 'content'>;
  /** Allowance, by key, of engine time for jobs that are then cancelled. */
  cancelledRuns: KeyAllowance;
  /** Counts a read request of a key. Throws `look_ups_exceeded`. */
  countLookUp(keyId: string): void;
  /** Outputs that clients read at once. */
  contents: FairSlots;
  /** Address of the region for clients. */
  publicUrl: string;
}

export interface Exchange {
  req: Request;
  res: Response;
}

/** A request that its model can serve. */
export interface ResolvedRequest<Request extends MediaRequest> {
  request: Request;
  resolved: ResolvedModel;
}

/**
 * The gate of the model: the model exists, the key may call it, and it can serve the request. Throws a `ModelFault` or
 * `invalid_request`.
 */
export function resolve<Request extends MediaRequest>(
  draft: Pick<MediaDraft<Request>, 'model' | 'forModel'>,
  { catalog, backends, authenticator }: Pick<CallDependencies, 'catalog' | 'backends' | 'authenticator'>,
  res: Response,
): ResolvedRequest<Request> {
  const resolved = getMediaModel(catalog.current, draft.model, backends);
  authenticator.assertMayCall(callingKey(res), resolved.model.id);
  noteCall(res, { model: resolved.model.id });
  return { request: draft.forModel(resolved.model), resolved };
}

/** The last gate (`admitMedia`). The response then has the key's limits. */
export async function admit(
  { admission, authenticator }: Pick<CallDependencies, 'admission' | 'authenticator'>,
  { req, res }: Exchange,
  { request, resolved, heardSeconds, isStream }: ToAdmit,
): Promise<AdmittedMedia> {
  const { authorization } = req.headers;
  try {
    const admitted = await admitMedia(admission, {
      key: callingKey(res),
      async authenticateAgain() {
        const newer = await authenticator.authenticate(authorization);
        authenticator.assertMayCall(newer, resolved.model.id);
        return newer;
      },
      operation: request.operation,
      resolved,
      unitsBound: boundUnits(request, heardSeconds === undefined ? {} : { heardSeconds }),
      isStream,
      traceparent: spanOf(res).traceparent,
      requestId: requestIdOf(res),
    });
    res.setHeaders(new Map(Object.entries(toRateLimitHeaders(admitted.rateLimit))));
    noteCall(res, { callId: admitted.call.callId });
    return admitted;
  } catch (error) {
    // Another process may admit calls. The client reconnects and reaches a process that is ready.
    if (error instanceof ApiError && NOT_HERE.has(error.fault.kind)) res.shouldKeepAlive = false;
    throw error;
  }
}
/** Faults that concern this process only. */
const NOT_HERE: ReadonlySet<string> = new Set(['admission_unavailable', 'spool_unavailable']);

interface ToAdmit extends ResolvedRequest<MediaRequest> {
  /** Decoded seconds of a recording. */
  heardSeconds?: number;
  isStream: boolean;
}

/** Opens the book on a call that is answered as it runs. From here on the call has to be ended in every case. */
export function openCall(
  { admission: { region }, callBook }: Pick<CallDependencies, 'admission' | 'callBook'>,
  res: Response,
  { admitted: { call, hold }, isStream }: { admitted: AdmittedMedia; isStream: boolean },
): EndCall<MediaEnding> {
  const span = spanOf(res);
  const { traceparent } = span;
  const requestId = requestIdOf(res);
  const toEvent = (ending: MediaEnding, instants: { admittedAtMs: number; endedAtMs: number }) => {
    const ended = toMediaEvent(call, ending, { region, isStream, traceparent, requestId, ...instants });
    noteCall(res, { call: { ended } });
    return ended;
  };
  return callBook.open({ span, toEvent }, hold);
}

import type { Region } from '@turnpike/config/region';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { admitInRounds, type GateDependencies } from '@turnpike/holds/gate/admit';
import type { Spool } from '@turnpike/holds/spool/spool';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { AdmissionFault } from '../api/mediaFault.ts';
import { priceOf, type ResolvedModel } from '../catalog/mediaCatalog.ts';
import type { MediaOperation } from '../terms/mediaRequest.ts';
import { chargeOf, type MediaCall } from './mediaCall.ts';
import { toUnknownEventJson } from './toMediaEvent.ts';

export interface AdmitMediaDependencies extends GateDependencies {
  region: Region;
  spool: Pick<Spool, 'isFull'>;
}

export interface MediaToAdmit {
  key: KeyRecord;
  /** Authenticates the key again, after its record was found to have changed. */
  authenticateAgain: () => Promise<KeyRecord>;
  operation: MediaOperation;
  resolved: ResolvedModel;
  /** The most that can be measured of it (`boundUnits`). */
  unitsBound: number;
  isStream: boolean;
  traceparent?: string | undefined;
  requestId?: string | undefined;
}

export interface AdmittedMedia {
  call: MediaCall;
  hold: Hold;
  rateLimit: RateLimitState;
}

/**
 * The last gate: requests per minute, billing status, and what the call can cost at most against every balance, all or nothing. Throws
 * `pricing_unavailable`, or an `AdmissionFault`; what is refused has consumed nothing.
 */
export async function admitMedia(dependencies: AdmitMediaDependencies, asked: MediaToAdmit): Promise<AdmittedMedia> {
  const { key, authenticateAgain, operation, resolved, unitsBound, isStream, traceparent, requestId } = asked;
  const { model, priceVersion } = resolved;
  const price = priceOf(model, operation);
  if (dependencies.spool.isFull) throw refuse({ kind: 'spool_unavailable' });
  const call: MediaCall = {
    callId: newUuidV7(),
    workspaceId: key.workspace.workspaceId,
    keyId: key.keyId,
    operation,
    model: model.id,
    priceVersion,
    ...price,
    unitsBound,
    holdNanoUsd: chargeOf(unitsBound, price),
  };
  const decision = await admitInRounds(dependencies, {
    callId: call.callId,
    key,
    authenticateAgain,
    wanted: {
      holdNanoUsd: call.holdNanoUsd,
      estimatedPromptTokens: 0,
      unknownEventJson: toUnknownEventJson(call, { region: dependencies.region, isStream, traceparent, requestId }),
    },
  });
  if (decision.outcome === 'insufficient') throw refuse({ kind: 'insufficient_balance', ...decision.shortfall });
  return { call, hold: decision.hold, rateLimit: decision.rateLimit };
}

const refuse = (fault: AdmissionFault): ApiError<AdmissionFault> => new ApiError(fault);

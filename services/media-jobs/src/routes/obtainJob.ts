import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/keyBoundFault';
import { toMediaJobBody } from '../answer/jobs/jobBodies.ts';
import { toPollHeaders } from '../answer/jobs/pollHeaders.ts';
import type { LookUpFault } from '../api/mediaFault.ts';
import type { Queue } from '../jobs/table/findJobs.ts';
import { readRepeat } from '../request/callerHeaders.ts';
import type { ShownJob } from '../terms/job.ts';
import type { MediaRequest } from '../terms/mediaRequest.ts';
import { admit, type Exchange, type MediaHouse, type ResolvedRequest } from './mediaHouse.ts';

export interface JobWanted<Request extends MediaRequest> extends ResolvedRequest<Request> {
  digest: Buffer;
  /** Whether its client waits for it and is told no job. */
  isHidden: boolean;
  /** Of a recording, as it was decoded. */
  heardSeconds?: number;
  /** Gets what the request lacks, once the call is let in; where that fails, what is held is given back. */
  complete?(request: Request): Promise<Request>;
}

/** A queue that is full empties by one job after the other. */
const ROOM_RETRY_AFTER_SECONDS = 10;

type JobHouse = Pick<MediaHouse, 'admission' | 'authenticator' | 'jobs' | 'countLookUp'>;

/** Refusals after which the usual clients do not send a call again. */
const FINAL_FAULTS = new Set([
  'insufficient_balance',
  'spend_cap_reached',
  'account_on_hold',
  'billing_not_provisioned',
  'invalid_request',
]);

/**
 * Claims a call, has it admitted and makes a job of it. A call that its client sends again waits for what comes of the one before, and
 * gets its job; it counts as a look-up of the key. Throws a `look_ups_exceeded` beyond these, and what `admit` throws.
 */
export async function obtainJob<Request extends MediaRequest>(
  house: JobHouse,
  exchange: Exchange,
  { digest, isHidden, complete, ...wanted }: JobWanted<Request>,
): Promise<ShownJob> {
  const { jobs } = house;
  const { keyId, workspace } = callingKey(exchange.res);
  const repeat = readRepeat(exchange.req);
  // A repeat that gets the job of the call before it passes no gate.
  if (repeat > 0) house.countLookUp(keyId);
  const leaving = abortOnClose(exchange.res);
  const obtained = await jobs.obtain({ keyId, digest, repeat }, leaving.signal).catch(refuse).finally(leaving.forget);
  if ('job' in obtained) return obtained.job;
  const { claim } = obtained;
  const giveUp = (error: unknown): never => {
    jobs.giveUp(claim, { isRepeated: !(error instanceof ApiError && FINAL_FAULTS.has(error.fault.kind)) });
    throw error;
  };
  const leaveRoom = await takeRoom(jobs, {
    model: wanted.request.model,
    workspaceId: workspace.workspaceId,
    keyId,
  }).catch(giveUp);
  try {
    const { call, hold } = await admit(house, exchange, { ...wanted, isStream: false }).catch(giveUp);
    const request = complete
      ? await complete(wanted.request).catch(async (error: unknown) => {
          await jobs.giveBack(hold);
          return giveUp(error);
        })
      : wanted.request;
    return await jobs.make({ ...call, request, digest, isHidden, hold, claim }).catch(refuse);
  } finally {
    leaveRoom();
  }
}

/** Throws `key_bound_reached` where the key has as many jobs of the model in the queue as it may have. */
async function takeRoom(jobs: JobHouse['jobs'], queue: Queue): Promise<() => void> {
  const leaveRoom = await jobs.takeRoom(queue).catch(refuse);
  if (leaveRoom) return leaveRoom;
  throw new ApiError<KeyBoundFault>({
    kind: 'key_bound_reached',
    bound: 'queued_jobs',
    retryAfterSeconds: ROOM_RETRY_AFTER_SECONDS,
  });
}

/** Answers with a job of images or audio that is under way. */
export function sendJob({ publicUrl }: Pick<MediaHouse, 'publicUrl'>, { res }: Exchange, job: ShownJob): void {
  res.setHeaders(new Map(Object.entries(toPollHeaders(job))));
  res.status(202).json(toMediaJobBody(job, { publicUrl }));
}

/** Neither database nor store is the client's to hear of. */
function refuse(error: unknown): never {
  throw error instanceof ApiError ? error : new ApiError<LookUpFault>({ kind: 'jobs_unavailable' }, { cause: error });
}

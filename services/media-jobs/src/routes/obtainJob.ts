import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import { toMediaJobBody, toPollHeaders } from '../answer/jobs/jobBodies.ts';
import type { LookUpFault } from '../api/mediaFault.ts';
import type { Claim } from '../jobs/table/creations.ts';
import type { Queue } from '../jobs/table/findJobs.ts';
import { readRepeat } from '../request/readQuery.ts';
import type { ShownJob } from '../terms/job.ts';
import type { MediaRequest } from '../terms/mediaRequest.ts';
import { admit, type CallDependencies, type Exchange, type ResolvedRequest } from './gates.ts';

export interface JobWanted<Request extends MediaRequest> extends ResolvedRequest<Request> {
  digest: Buffer;
  /** Whether the client waits for the result and gets no job. */
  isHidden: boolean;
  /** Decoded seconds of a recording. */
  heardSeconds?: number;
  /** Throws if the client would wait too long. A retry that gets the job of its call is not judged. */
  assertInTime?(): Promise<void>;
  /** Completes the request after the call is admitted. The hold is released if that fails. */
  complete?(request: Request): Promise<Request>;
}

/** A full queue empties by one job after the other. */
const ROOM_RETRY_AFTER_SECONDS = 10;

type JobCallDependencies = Pick<
  CallDependencies,
  'admission' | 'authenticator' | 'jobs' | 'countLookUp' | 'cancelledRuns'
>;

/** Refusals after which usual clients do not retry a call. */
const FINAL_FAULTS = new Set([
  'insufficient_balance',
  'spend_cap_reached',
  'account_on_hold',
  'billing_not_provisioned',
  'invalid_request',
  'model_not_allowed',
]);

/**
 * Claims a call before anything is decoded, admitted or stored for it. A retry waits for the result of the call before
 * and gets its job. It counts as a read request of the key; throws `look_ups_exceeded` above their limit.
 */
export async function claimCall(
  { jobs, countLookUp }: Pick<CallDependencies, 'jobs' | 'countLookUp'>,
  { req, res }: Exchange,
  digest: Buffer,
): ReturnType<CallDependencies['jobs']['obtain']> {
  const { keyId } = callingKey(res);
  const repeat = readRepeat(req);
  // A retry that gets an existing job passes no gate.
  if (repeat > 0) countLookUp(keyId);
  const leaving = abortOnClose(res);
  return jobs.obtain({ keyId, digest, repeat }, leaving.signal).catch(refuse).finally(leaving.forget);
}

/** Runs work under a claim and renews the claim meanwhile. Ends the claim if the work fails. */
export async function underClaim<Result>(
  { jobs }: Pick<CallDependencies, 'jobs'>,
  claim: Claim,
  work: () => Promise<Result>,
): Promise<Result> {
  const kept = jobs.keepClaim(claim);
  try {
    return await work();
  } catch (error) {
    jobs.giveUp(claim, { isRepeated: !(error instanceof ApiError && FINAL_FAULTS.has(error.fault.kind)) });
    throw error;
  } finally {
    void kept.close();
  }
}

/**
 * Claims a call and makes a job of it, or returns the job of the call that it repeats. Throws the faults of
 * `makeClaimedJob`.
 */
export async function obtainJob<Request extends MediaRequest>(
  dependencies: JobCallDependencies,
  exchange: Exchange,
  wanted: JobWanted<Request>,
): Promise<ShownJob> {
  const obtained = await claimCall(dependencies, exchange, wanted.digest);
  return 'job' in obtained
    ? obtained.job
    : makeClaimedJob(dependencies, exchange, { ...wanted, claim: obtained.claim });
}

/**
 * Admits a claimed call and makes a job of it. Throws `key_bound_reached` if the key has too many jobs in the queue, or
 * cancelled too much running work. Throws the faults of `admit`.
 */
export async function makeClaimedJob<Request extends MediaRequest>(
  dependencies: JobCallDependencies,
  exchange: Exchange,
  { digest, isHidden, claim, assertInTime, complete, ...wanted }: JobWanted<Request> & { claim: Claim },
): Promise<ShownJob> {
  const { jobs } = dependencies;
  const { keyId, workspace } = callingKey(exchange.res);
  const queue = { model: wanted.request.model, workspaceId: workspace.workspaceId, keyId };
  let leaveRoom = (): void => {};
  try {
    const { call, hold, request } = await underClaim(dependencies, claim, async () => {
      await assertInTime?.();
      dependencies.cancelledRuns.check(keyId);
      leaveRoom = await takeRoom(jobs, queue);
      const admitted = await admit(dependencies, exchange, { ...wanted, isStream: false });
      try {
        return { ...admitted, request: (await complete?.(wanted.request)) ?? wanted.request };
      } catch (error) {
        await jobs.giveBack(admitted.hold);
        throw error;
      }
    });
    return await jobs.make({ ...call, request, digest, isHidden, hold, claim }).catch(refuse);
  } finally {
    leaveRoom();
  }
}

/** Throws `key_bound_reached` if the key has its most jobs of the model in the queue. */
async function takeRoom(jobs: JobCallDependencies['jobs'], queue: Queue): Promise<() => void> {
  const { leave, limit } = await jobs.takeRoom(queue).catch(refuse);
  if (leave) return leave;
  throw new ApiError<KeyBoundFault>({
    kind: 'key_bound_reached',
    bound: 'queued_jobs',
    limit,
    retryAfterSeconds: ROOM_RETRY_AFTER_SECONDS,
  });
}

/** Answers with an open job of images or audio. */
export function sendJob({ publicUrl }: Pick<CallDependencies, 'publicUrl'>, { res }: Exchange, job: ShownJob): void {
  res.setHeaders(new Map(Object.entries(toPollHeaders(job))));
  res.status(202).json(toMediaJobBody(job, { publicUrl }));
}

/** Throws `jobs_unavailable` for an error of the database or of the store. */
function refuse(error: unknown): never {
  throw error instanceof ApiError ? error : new ApiError<LookUpFault>({ kind: 'jobs_unavailable' }, { cause: error });
}

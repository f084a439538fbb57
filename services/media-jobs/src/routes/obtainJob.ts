import { callingKey } from '@turnpike/authentication/keyGuard';
import { ApiError } from '@turnpike/public-api/apiError';
import { toMediaJobBody } from '../answer/jobs/jobBodies.ts';
import { toPollHeaders } from '../answer/jobs/pollHeaders.ts';
import type { LookUpFault } from '../api/mediaFault.ts';
import { isSentAgain } from '../request/callerHeaders.ts';
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

type JobHouse = Pick<MediaHouse, 'admission' | 'authenticator' | 'jobs'>;

/** Has a call admitted and makes a job of it; a call that its client sends again gets the job that it already made. */
export async function obtainJob<Request extends MediaRequest>(
  house: JobHouse,
  exchange: Exchange,
  { digest, isHidden, complete, ...wanted }: JobWanted<Request>,
): Promise<ShownJob> {
  const { jobs } = house;
  const { keyId } = callingKey(exchange.res);
  if (isSentAgain(exchange.req)) {
    const made = await jobs.findRetried({ keyId, digest }).catch(refuse);
    if (made) return made;
  }
  const { call, hold } = await admit(house, exchange, { ...wanted, isStream: false });
  const request = complete
    ? await complete(wanted.request).catch(async (error: unknown) => {
        await jobs.giveBack(hold);
        throw error;
      })
    : wanted.request;
  return jobs.make({ ...call, request, digest, isHidden, hold }).catch(refuse);
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

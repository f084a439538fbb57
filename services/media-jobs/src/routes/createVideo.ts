import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { RequestHandler } from 'express';
import { toVideoBody } from '../answer/jobs/jobBodies.ts';
import { toPollHeaders } from '../answer/jobs/pollHeaders.ts';
import type { JobHouse } from './jobHouse.ts';
import { resolve } from './mediaHouse.ts';
import { obtainJob } from './obtainJob.ts';

/** POST /v1/videos: a clip is always a job. */
export function createVideo(house: JobHouse): RequestHandler {
  return async (req, res) => {
    const { keyId, workspace } = callingKey(res);
    const draft = await house.requests.readVideoRequest({ req, res }, keyId);
    const leaving = abortOnClose(res);
    try {
      const asked = resolve(draft, house);
      const caller = { keyId, workspaceId: workspace.workspaceId };
      const job = await obtainJob(
        house,
        { req, res },
        {
          ...asked,
          digest: draft.digest,
          isHidden: false,
          // An image that lies elsewhere is fetched once the call is let in, so that nobody has that for nothing.
          complete: (request) => draft.fetchReference(request, caller, leaving.signal),
        },
      );
      res.setHeaders(new Map(Object.entries(toPollHeaders(job))));
      res.status(200).json(toVideoBody(job));
    } finally {
      leaving.forget();
      await draft.discard();
    }
  };
}

import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { RequestHandler } from 'express';
import { toPollHeaders, toVideoBody } from '../answer/jobs/jobBodies.ts';
import { underDraft } from '../request/mediaDraft.ts';
import { resolve } from './gates.ts';
import type { LookUpDependencies } from './lookUp.ts';
import { obtainJob } from './obtainJob.ts';

/** POST /v1/videos: a clip is always a job. */
export function createVideo(dependencies: LookUpDependencies): RequestHandler {
  return async (req, res) => {
    const { keyId, workspace } = callingKey(res);
    const draft = await dependencies.requests.readVideoRequest({ req, res }, keyId);
    const leaving = abortOnClose(res);
    await underDraft(draft, async () => {
      const asked = resolve(draft, dependencies, res);
      const caller = { keyId, workspaceId: workspace.workspaceId };
      const job = await obtainJob(
        dependencies,
        { req, res },
        {
          ...asked,
          digest: draft.digest,
          isHidden: false,
          // An image at an address is fetched after the call is admitted, so that no client gets fetches for nothing.
          complete: (request) => draft.fetchReference(request, caller, leaving.signal),
        },
      );
      res.setHeaders(new Map(Object.entries(toPollHeaders(job))));
      res.status(200).json(toVideoBody(job));
    }).finally(leaving.forget);
  };
}

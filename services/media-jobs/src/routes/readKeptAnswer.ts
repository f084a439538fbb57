import type { Readable } from 'node:stream';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Response } from 'express';
import type { LookUpFault } from '../api/mediaFault.ts';
import type { ShownJob, StoredOutput } from '../terms/job.ts';
import type { CallDependencies } from './gates.ts';
import { openContent } from './lookUp.ts';

/** An answer that was kept for retries of its call, and its cost. */
interface KeptAnswer {
  output: StoredOutput;
  content: Readable;
  usage: NonNullable<ShownJob['usage']>;
}

/** Opens the answer of a call that is repeated. Throws `jobs_unavailable` where the answer is gone. */
export async function readKeptAnswer(
  dependencies: Pick<CallDependencies, 'jobs' | 'contents'>,
  res: Response,
  { outputs: [output], usage }: ShownJob,
): Promise<KeptAnswer> {
  if (!output || usage === null) throw new ApiError<LookUpFault>({ kind: 'jobs_unavailable' });
  return { output, content: await openContent(dependencies, res, output), usage };
}

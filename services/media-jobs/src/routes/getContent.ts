import { text } from 'node:stream/consumers';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler, Response } from 'express';
import { toTranscriptAnswer } from '../answer/audio/transcriptAnswer.ts';
import { OF_ONE_KEY, sendContent } from '../answer/content/sendContent.ts';
import type { LookUpFault } from '../api/mediaFault.ts';
import { checkContentVariant, readContentIndex } from '../request/readQuery.ts';
import type { StoredOutput } from '../terms/job.ts';
import type { TranscriptRequest } from '../terms/mediaRequest.ts';
import type { Transcript } from '../terms/transcript.ts';
import { findJob, type JobKind, type LookUpDependencies, openContent, whereOutputsAre } from './lookUp.ts';

/** GET …/content of a job: returns an output or a part of it. The bytes are streamed from the store. */
export function getContent(
  kind: JobKind,
  dependencies: Pick<LookUpDependencies, 'jobs' | 'lookUps' | 'contents'>,
): RequestHandler {
  return async (req, res) => {
    if (kind === 'video') checkContentVariant(req.query);
    const index = kind === 'image' ? readContentIndex(req.query) : 0;
    const { id, params, outputs, usage } = await findJob(kind, dependencies, { req, res });
    const output = outputs[index];
    if (!output) throw new ApiError<LookUpFault>({ kind: 'content_not_there' });
    if (params.operation === 'audio.transcriptions' || params.operation === 'audio.translations')
      return sendTranscript(dependencies, res, { output, params, chargeNanoUsd: usage?.chargeNanoUsd ?? 0n });
    const name = outputs.length > 1 ? `${id}-${index}` : id;
    await sendContent(req, res, {
      ...output,
      name,
      open: (range) => openContent(dependencies, res, output, range),
    });
  };
}

/** Sends a transcript. It is stored as text with times, and written in the format of the original request. */
async function sendTranscript(
  { jobs }: Pick<LookUpDependencies, 'jobs'>,
  res: Response,
  {
    output,
    params,
    chargeNanoUsd,
  }: { output: StoredOutput; chargeNanoUsd: NanoUsd; params: Omit<TranscriptRequest, 'file' | 'prompt'> },
): Promise<void> {
  const { content } = await whereOutputsAre(jobs.content(output));
  const transcript: Transcript = JSON.parse(await whereOutputsAre(text(content)));
  const { type, body } = toTranscriptAnswer(transcript, params, { seconds: output.seconds ?? 0, chargeNanoUsd });
  res
    .status(200)
    .set({ ...OF_ONE_KEY, 'content-type': type })
    .send(body);
}

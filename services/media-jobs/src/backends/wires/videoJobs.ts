import type { FormData } from 'undici';
import { z } from 'zod';
import { BackendFault, type BackendJob, type ClipSettings, type Dialect } from '../../terms/backend.ts';
import type { VideoRequest } from '../../terms/mediaRequest.ts';
import type { Answer, Question } from '../exchange/askBackend.ts';
import { contentStream, readBytes } from '../exchange/contentStream.ts';
import { parseJson, readText } from '../exchange/readText.ts';
import {
  JOB_ANSWER_MS,
  MAX_JOB_BYTES,
  MAX_LIST_BYTES,
  MAX_LIST_PAGES,
  MAX_VIDEO_BYTES,
  UPLOAD_ANSWER_MS,
} from '../limits.ts';
import { isSafetyRefusal } from '../verdict/toBackendFault.ts';
import { askForSuccess, drawSeed, isSuccess, type Wire } from './wire.ts';

/** In what the engines differ. */
export interface VideoEngine {
  toBody(request: VideoRequest, about: ClipSettings & { model: string }): object | FormData;
  /** Jobs that a page of its list has at most; an engine without pages lists all of them. */
  pageSize?: number;
}

/** Name that all engines use. */
export const clipFields = (
  { prompt, seconds, size }: VideoRequest,
  { model, fps, steps }: ClipSettings & { model: string },
) => ({
  model,
  prompt,
  seconds,
  size: `${size.width}x${size.height}`,
  fps,
  num_inference_steps: steps,
  seed: drawSeed(),
});

type VideoOperations = Required<
  Pick<Dialect, 'createVideo' | 'getVideo' | 'listVideos' | 'videoContent' | 'deleteVideo'>
>;

const PATH = '/v1/videos';
/** Statuses of a clip that does not exist and will not. */
const NO_CONTENT = new Set([400, 404, 409, 410, 422]);

/** Video jobs on every engine: the same paths, and the same shapes within the limits of `readJob`. */
export function videoJobs(wire: Wire, { toBody, pageSize }: VideoEngine): VideoOperations {
  const look = (path: string, signal: AbortSignal): Question => ({
    method: 'GET',
    path,
    begins: 'nothing',
    answerWithinMs: JOB_ANSWER_MS,
    signal,
  });

  return {
    async createVideo(replica, request, { fps, steps, signal }) {
      const answer = await askForSuccess(wire, replica, {
        method: 'POST',
        path: PATH,
        body: toBody(request, { model: wire.servedNameOf(replica), fps, steps }),
        begins: 'job',
        answerWithinMs: request.inputReference ? UPLOAD_ANSWER_MS : JOB_ANSWER_MS,
        signal,
      });
      const job = readJob(parseJson(await readText(answer, MAX_JOB_BYTES)));
      if (!job) throw answer.broken(new Error('the answer is no job'));
      return job;
    },

    async getVideo(replica, id, signal) {
      const answer = await wire.ask(replica, look(pathOf(id), signal));
      const text = await readText(answer, MAX_JOB_BYTES);
      const body = parseJson(text);
      // The body decides first, because a failed job may have the status of its error.
      const job = readJob(body);
      if (job?.id === id) return job;
      if (isSuccess(answer)) throw answer.broken(new Error('the answer is not that job'));
      // Engines answer 404 in JSON. A proxy may answer 404 to anything.
      if (answer.status === 404 && body !== undefined) return 'missing';
      throw await wire.refusalOf(replica, { answer, text, begins: 'nothing' });
    },

    async *listVideos(replica, signal) {
      let after: string | undefined;
      for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
        const query = pageSize ? `?limit=${pageSize}${after ? `&after=${encodeURIComponent(after)}` : ''}` : '';
        const answer = await askForSuccess(wire, replica, look(PATH + query, signal));
        const { jobs, last, hasMore } = await readList(answer);
        yield* jobs;
        if (!hasMore || last === undefined || last === after) return;
        after = last;
      }
    },

    async videoContent(replica, id, signal) {
      const answer = await wire.ask(replica, { ...look(`${pathOf(id)}/content`, signal), begins: 'content' });
      if (isSuccess(answer)) return contentStream(answer, readBytes(answer, { maxBytes: MAX_VIDEO_BYTES }));
      const fault = await wire.refusalOf(replica, { answer, begins: 'content' });
      if (!NO_CONTENT.has(answer.status)) throw fault;
      throw new BackendFault('failed', { cause: fault });
    },

    async deleteVideo(replica, id, signal) {
      const answer = await wire.ask(replica, { ...look(pathOf(id), signal), method: 'DELETE' });
      const text = await readText(answer, MAX_JOB_BYTES);
      if (isSuccess(answer) || answer.status === 404) return;
      throw await wire.refusalOf(replica, { answer, text, begins: 'nothing' });
    },
  };
}

/** Ids become part of a path. */
const idSchema = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._:-]{0,199}$/);
const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

const jobSchema = z.object({
  id: idSchema,
  status: z.string(),
  // Engines write null, texts and numbers out of range here.
  progress: z.number().min(0).catch(Number.NaN),
  error: z
    .union([z.string(), z.object({ message: z.string() })])
    .nullish()
    .catch(null),
});

const STATUSES = new Set<string>(['queued', 'in_progress', 'completed', 'failed'] satisfies BackendJob['status'][]);
const isStatus = (status: string): status is BackendJob['status'] => STATUSES.has(status);

/** Reads a job of any engine. Returns undefined if the body is none. A job with an unknown status still runs. */
function readJob(body: unknown): BackendJob | undefined {
  const { success, data } = jobSchema.safeParse(body);
  if (!success) return undefined;
  const { id, progress, error } = data;
  const status = isStatus(data.status) ? data.status : 'in_progress';
  const message = typeof error === 'string' ? error : (error?.message ?? '');
  return {
    id,
    status,
    progress: Number.isNaN(progress) ? null : Math.min(progress, 100),
    ...(status === 'failed' && { failure: isSafetyRefusal(message) ? 'content_refused' : 'generation_failed' }),
  };
}

const listSchema = z.object({ data: z.array(z.unknown()), has_more: z.boolean().nullish().catch(null) });

/** A page of a list; entries that are no jobs are dropped. */
async function readList(answer: Answer): Promise<{ jobs: BackendJob[]; last: string | undefined; hasMore: boolean }> {
  const { success, data: list } = listSchema.safeParse(parseJson(await readText(answer, MAX_LIST_BYTES)));
  if (!success) throw answer.broken(new Error('the answer is no list'));
  const jobs = list.data.flatMap((entry) => readJob(entry) ?? []);
  return { jobs, last: jobs.at(-1)?.id, hasMore: list.has_more ?? false };
}

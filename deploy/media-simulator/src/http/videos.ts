import { bendOutput } from '../faults/bendOutput.ts';
import { encodeClip } from '../outputs/encodeClip.ts';
import type { VideoDialect, VideoRequest } from '../personalities/personality.ts';
import type { VideoJob } from '../replica/jobRecords.ts';
import type { Render } from '../replica/renderQueue.ts';
import type { Replica } from '../replica/replica.ts';
import { type Answer, bytesAnswer, jsonAnswer } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { type Call, dialectOf, readContext } from './call.ts';

const MAX_LIST_LIMIT = 100;

/** POST /v1/videos: the job, before anything of it is made. */
export async function createVideo(call: Call): Promise<Answer> {
  const dialect = dialectOf(call.replica.personality.videos);
  const request = dialect.read(call.body, readContext(call));
  const job = beginJob(call, request, dialect);
  return jsonAnswer(dialect.toBody(toView(call.replica, job)), dialect.createdStatus);
}

/** GET /v1/videos/{id}. A job that failed may be answered with the status of its error, and is the body all the same. */
export async function getVideo(call: Call): Promise<Answer> {
  const { replica } = call;
  const dialect = dialectOf(replica.personality.videos);
  const job = findJob(call, dialect);
  const isError = job.error !== null && replica.knobs.failedJobStatus === 'error';
  return jsonAnswer(dialect.toBody(toView(replica, job)), isError ? job.error?.status : 200);
}

/** GET /v1/videos, newest first unless told otherwise; `after` names the last job of the page before. */
export async function listVideos({ replica, query }: Call): Promise<Answer> {
  const dialect = dialectOf(replica.personality.videos);
  const order = query.get('order') ?? 'desc';
  const limit = Number(query.get('limit') ?? Number.NaN);
  if (limit < 0 || limit > MAX_LIST_LIMIT) {
    const issue = {
      type: 'less_than_equal',
      loc: ['query', 'limit'],
      msg: 'Input should be from 0 to 100',
      input: limit,
    };
    throw new EngineError(422, issue.msg, { issues: [issue] });
  }
  const jobs = order === 'asc' ? replica.records.list() : replica.records.list().toReversed();
  const after = query.get('after');
  const position = jobs.findIndex(({ id }) => id === after);
  const rest = after === null ? jobs : position === -1 ? [] : jobs.slice(position + 1);
  const page = Number.isNaN(limit) ? rest : rest.slice(0, limit);
  const bodies = page.map((job) => dialect.toBody(toView(replica, job)));
  return jsonAnswer(dialect.toList(bodies, { hasMore: page.length < rest.length }));
}

/** GET /v1/videos/{id}/content. */
export async function getVideoContent(call: Call): Promise<Answer> {
  const { replica, fault } = call;
  const dialect = dialectOf(replica.personality.videos);
  const job = findJob(call, dialect);
  if (job.status === 'failed') throw refusal(dialect, 'failed', job);
  if (job.status !== 'completed') throw refusal(dialect, 'unfinished', job);
  if (job.fileName && fault?.kind === 'file_vanished') replica.files.remove(job.fileName);
  const bytes = job.fileName ? await replica.files.read(job.fileName) : undefined;
  if (!bytes) throw refusal(dialect, 'noFile', job);
  return bytesAnswer(bytes, 'video/mp4', {
    'content-disposition': `attachment; filename="${job.fileName}"`,
  });
}

/**
 * DELETE /v1/videos/{id}. Where the engine stops renders it is 409 when it knows of no render to stop. Where it does not, the
 * record goes and the render stays.
 */
export async function deleteVideo(call: Call): Promise<Answer> {
  const { replica } = call;
  const dialect = dialectOf(replica.personality.videos);
  const job = findJob(call, dialect);
  const view = toView(replica, job);
  const render = replica.renders.get(job.id);
  if (job.status === 'completed' || job.status === 'failed') {
    if (job.fileName && replica.knobs.deleteRemovesFile) replica.files.remove(job.fileName);
  } else if (replica.knobs.deleteAborts) {
    if (!render) throw new EngineError(409, 'Video output not yet available. Please try again later.');
    replica.queue.abort(render);
  } else if (render?.renderMs === Number.POSITIVE_INFINITY) {
    replica.queue.abort(render); // one that is stuck would keep its slot for ever
  }
  replica.records.remove(job.id);
  return jsonAnswer(dialect.toDeleted(view));
}

function findJob({ replica, id }: Call, dialect: VideoDialect): VideoJob {
  const job = replica.records.get(id);
  if (!job) throw refusal(dialect, 'noJob', { id, status: '' });
  return job;
}

function refusal(
  { refusals }: VideoDialect,
  kind: keyof VideoDialect['refusals'],
  job: { id: string; status: string },
): EngineError {
  const [status, message] = refusals[kind](job);
  return new EngineError(status, message);
}

/** Writes the record and puts its render on the line. */
function beginJob(call: Call, request: VideoRequest, dialect: VideoDialect): VideoJob {
  const { replica, entry, fault } = call;
  const { prompt, model, seconds, size, width, height, fps, seed, steps } = request;
  const { defaultFrames, waitingStatus, runningStatus } = replica.knobs;
  const frames = toModelFrames(request.frames ?? defaultFrames);
  const job: VideoJob = {
    ...{ id: dialect.newId(replica.newId()), model, prompt, seconds, size, width, height, fps, frames },
    ...{ status: waitingStatus, progress: 0, createdAt: replica.clock.unixMs(), completedAt: null },
    ...{ error: null, fileName: null, renderSeconds: null },
  };
  replica.records.put(job);

  const fileName = `${job.id}.mp4`;
  const isOther = fault?.kind === 'output_other_size';
  const shape = { width, height, fps, frames: isOther ? Math.ceil(frames / 2) : frames };
  const clip = encodeClip(JSON.stringify([replica.model, prompt, seed, size, job.id]), shape);
  clip.catch(() => {}); // seen when it is wanted
  const render: Render = replica.render({
    request: entry,
    fault,
    operation: 'video',
    prompt,
    jobId: job.id,
    units: { frames, fps, width, height, steps },
    ...{ frames, steps },
    async produce() {
      const bytes = bendOutput(await clip, fault?.kind, { prompt });
      if (fault?.kind !== 'completed_without_file') await replica.files.save(fileName, bytes);
      if (render.hasEnded) replica.files.remove(fileName); // stopped meanwhile
      return [bytes];
    },
  });
  replica.renders.set(job.id, render);
  void follow(replica, { job, render, fileName, runningStatus });
  return job;
}

/** Keeps a job's record in step with its render. */
async function follow(
  replica: Replica,
  {
    job,
    render,
    fileName,
    runningStatus,
  }: { job: VideoJob; render: Render; fileName: string; runningStatus: VideoJob['status'] },
): Promise<void> {
  await render.started.promise;
  if (!render.hasEnded) replica.records.update(job, { status: runningStatus });
  const state = await render.ended.promise;
  replica.renders.delete(job.id);
  const { startedAt, endedAt } = render.entry;
  const times = {
    completedAt: endedAt,
    renderSeconds: startedAt === null || endedAt === null ? null : (endedAt - startedAt) / 1_000,
  };
  if (state === 'finished') replica.records.update(job, { status: 'completed', progress: 100, fileName, ...times });
  if (state === 'failed') replica.records.update(job, { status: 'failed', error: toJobError(render.error), ...times });
}

function toJobError(error: Error | undefined): { status: number; message: string } {
  return { status: error instanceof EngineError ? error.status : 500, message: error?.message ?? 'failed' };
}

/** A model makes the next number of frames of the form 4k+1, whatever was asked. */
export const toModelFrames = (frames: number): number => Math.ceil((frames - 1) / 4) * 4 + 1;

/** The job as it is shown: with the progress of the moment. */
function toView(replica: Replica, job: VideoJob): VideoJob {
  const { progress } = replica.knobs;
  const render = replica.renders.get(job.id);
  const { steps = 1 } = render?.entry.units ?? {};
  const isShown = progress === 'steps' && render && !render.hasEnded;
  return {
    ...job,
    progress: isShown ? Math.floor((Math.floor(replica.queue.progressOf(render) * steps) / steps) * 100) : job.progress,
  };
}

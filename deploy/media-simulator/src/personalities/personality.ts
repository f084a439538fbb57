import type { RequestBody } from '../http/readBody.ts';
import type { Knobs } from '../knobs.ts';
import type { ImageFormat } from '../outputs/drawImage.ts';
import type { VideoJob } from '../replica/jobRecords.ts';
import type { ErrorForm } from '../wire/engineError.ts';

/** What becomes of work when its client has left. */
export type WhenClientLeaves = 'aborts' | 'goes_on';

export interface ImageRequest {
  prompt: string;
  count: number;
  width: number;
  height: number;
  steps: number;
  seed: number | null;
  format: ImageFormat;
  /** `file` is the bytes themselves, `url` a path of the replica. */
  delivery: 'b64_json' | 'url' | 'file';
}

export interface DrawnImage {
  bytes: Buffer;
  format: ImageFormat;
  path: string;
}

export interface VideoRequest {
  prompt: string;
  /** As its answer repeats it. */
  model: string;
  seconds: string | null;
  size: string | null;
  width: number;
  height: number;
  fps: number;
  /** Null where the request names no length. */
  frames: number | null;
  steps: number;
  seed: number | null;
}

/** What a request is read against. */
export interface ReadContext {
  model: string;
  knobs: Knobs;
}

interface Dialect<Request> {
  errorForm: ErrorForm;
  whenClientLeaves: WhenClientLeaves;
  /** Throws what the engine answers to a request that it does not take. */
  read: (body: RequestBody, context: ReadContext) => Request;
}

export interface ImageDialect extends Dialect<ImageRequest> {
  toBody: (images: readonly DrawnImage[], request: ImageRequest, about: { id: string; created: number }) => object;
}

/** A job as it is shown: with the status and progress of the moment. */
export interface JobView extends VideoJob {
  expiresAt: number | null;
}

export interface VideoDialect extends Omit<Dialect<VideoRequest>, 'whenClientLeaves'> {
  newId: (id: string) => string;
  createdStatus: 200 | 202;
  toBody: (job: JobView) => object;
  /** The status of an answer to GET of a job that failed, which its body goes with. */
  toList: (jobs: readonly object[], page: { hasMore: boolean }) => object;
  toDeleted: (job: JobView) => object;
  /** What the engine says of a job that is not there, of content that is not yet or no more. */
  refusals: Record<
    'noJob' | 'unfinished' | 'failed' | 'noFile',
    (job: { id: string; status: string }) => [number, string]
  >;
}

/** One engine: what it serves, and how each of it looks on the wire. */
export interface Personality {
  /** What differs from a quick replica that does nothing wrong. */
  knobs: Partial<Knobs>;
  images?: ImageDialect;
  videos?: VideoDialect;
  /** Who it says owns its models. */
  owner: string;
}

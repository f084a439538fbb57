import type { ImageAnswer, ImageEvent } from '@turnpike/public-api/imageAnswer';
import type { JobParams, ShownJob } from '../../terms/job.ts';
import { toImageLinks, toSizeText, toUnixTime, toUsageBody } from '../jobs/jobBodies.ts';

/** Reads one output of a job from the store, piece by piece. */
export type ReadOutput = (index: number) => AsyncIterable<Buffer>;

/** A job of images that is completed. */
export interface FinishedImages extends Pick<ShownJob, 'id' | 'createdAt' | 'outputs'> {
  params: Extract<JobParams, { operation: 'images.generations' }>;
  usage: NonNullable<ShownJob['usage']>;
}

const toHead = ({ createdAt, params }: FinishedImages) => ({
  created: toUnixTime(createdAt),
  size: toSizeText(params.size),
  output_format: params.outputFormat,
});

/** The whole answer with addresses in place of images. */
export const toImageLinksBody = (job: FinishedImages, { publicUrl }: { publicUrl: string }): ImageAnswer => ({
  ...toHead(job),
  data: toImageLinks(job, publicUrl),
  usage: toUsageBody(job.usage),
});

/** The whole answer with its images, written as they are read: it is never one text, and no image is whole in memory. */
export async function* writeImageAnswer(job: FinishedImages, read: ReadOutput): AsyncGenerator<string> {
  yield `${JSON.stringify(toHead(job)).slice(0, -1)},"data":[`;
  for (const [index] of job.outputs.entries()) {
    yield `${index === 0 ? '' : ','}{"b64_json":"`;
    yield* toBase64(read(index));
    yield '"}';
  }
  yield `],"usage":${JSON.stringify(toUsageBody(job.usage))}}`;
}

/** How many bytes that is: it is known before any image is read. */
export function lengthOfImageAnswer(job: FinishedImages): number {
  const withoutImages: ImageAnswer = {
    ...toHead(job),
    data: job.outputs.map(() => ({ b64_json: '' })),
    usage: toUsageBody(job.usage),
  };
  const images = job.outputs.reduce((sum, { bytes }) => sum + Math.ceil(bytes / 3) * 4, 0);
  return Buffer.byteLength(JSON.stringify(withoutImages)) + images;
}

/** The answer as server-sent events, one for each image; the last one has the usage. */
export async function* writeImageEvents(job: FinishedImages, read: ReadOutput): AsyncGenerator<string> {
  const { created, ...head } = toHead(job);
  for (const [index] of job.outputs.entries()) {
    const event: Omit<ImageEvent, 'b64_json'> = {
      type: 'image_generation.completed',
      created_at: created,
      ...head,
      ...(index === job.outputs.length - 1 && { usage: toUsageBody(job.usage) }),
    };
    yield `data: ${JSON.stringify(event).slice(0, -1)},"b64_json":"`;
    yield* toBase64(read(index));
    yield '"}\n\n';
  }
}

/** Bytes that come in pieces as the base64 of all of them together. */
async function* toBase64(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    // Three bytes are four letters: what is left over waits for the next piece.
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
  }
  if (rest.length > 0) yield rest.toString('base64');
}

import type { ServerResponse } from 'node:http';
import { UNBUFFERED } from '@turnpike/public-api/headers';
import { OF_ONE_KEY } from '../content/sendContent.ts';
import { type Delivery, EVENT_STREAM, writeToClient } from '../writeToClient.ts';
import {
  type FinishedImages,
  lengthOfImageAnswer,
  type ReadOutput,
  toImageLinksBody,
  writeImageAnswer,
  writeImageEvents,
} from './imageAnswer.ts';

/**
 * Sends the images of a job in the requested form: complete, as addresses, or as events. `open` is called only if the
 * images are read. Its error is thrown before anything is sent.
 */
export async function sendImages(
  res: ServerResponse,
  job: FinishedImages,
  { publicUrl, open }: { publicUrl: string; open: () => Promise<ReadOutput> },
): Promise<Delivery> {
  const { isStream, responseFormat } = job.params;
  if (isStream) {
    const read = await open();
    res.writeHead(200, { ...EVENT_STREAM, ...UNBUFFERED });
    return writeToClient(res, writeImageEvents(job, read));
  }
  const json = { ...OF_ONE_KEY, 'content-type': 'application/json; charset=utf-8' };
  if (responseFormat === 'url') {
    const body = Buffer.from(JSON.stringify(toImageLinksBody(job, { publicUrl })));
    res.writeHead(200, { ...json, 'content-length': body.length });
    return writeToClient(res, once(body));
  }
  const read = await open();
  res.writeHead(200, { ...json, 'content-length': lengthOfImageAnswer(job) });
  return writeToClient(res, writeImageAnswer(job, read));
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}

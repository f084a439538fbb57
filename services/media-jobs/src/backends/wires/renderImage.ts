import type { Dialect } from '../../terms/backend.ts';
import { begunStream } from '../exchange/contentStream.ts';
import { readImage } from '../exchange/readImage.ts';
import { WORK_ANSWER_MS } from '../limits.ts';
import { askForSuccess, drawSeed, type Wire } from './wire.ts';

/**
 * Renders images on every image engine. Always asks for PNG, which is lossless; the client's format is made here, in
 * the same way for all engines.
 */
export const renderImage =
  (wire: Wire): NonNullable<Dialect['image']> =>
  async (replica, { prompt, size }, signal) => {
    const body = {
      model: wire.servedNameOf(replica),
      prompt,
      n: 1,
      size: `${size.width}x${size.height}`,
      response_format: 'b64_json',
      output_format: 'png',
      seed: drawSeed(),
    };
    const answer = await askForSuccess(wire, replica, {
      method: 'POST',
      path: '/v1/images/generations',
      body,
      begins: 'work',
      answerWithinMs: WORK_ANSWER_MS,
      signal,
    });
    return begunStream(answer, readImage(answer));
  };

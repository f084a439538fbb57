import type { Dialect } from '../../terms/backend.ts';
import { begunStream } from '../exchange/contentStream.ts';
import { readImage } from '../exchange/readImage.ts';
import { WORK_ANSWER_MS } from '../limits.ts';
import { askForSuccess, drawSeed, type Wire } from './wire.ts';

/**
 * Images of all engines that make them. A PNG is asked for whatever the client wants: it loses nothing, and what the client wants is
 * made of it by us, alike for all engines.
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

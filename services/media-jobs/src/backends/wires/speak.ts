import type { Dialect } from '../../terms/backend.ts';
import type { SpeechFormat, SpeechRequest } from '../../terms/mediaRequest.ts';
import { begunStream, readBytes } from '../exchange/contentStream.ts';
import { isSpeech, leastBytesOf } from '../exchange/isSpeech.ts';
import { readSpeechEvents } from '../exchange/readSpeechEvents.ts';
import { MAX_AUDIO_BYTES, WORK_ANSWER_MS } from '../limits.ts';
import { askForSuccess, type Wire } from './wire.ts';

/** In what the engines differ. */
export interface SpeechEngine {
  formats: readonly SpeechFormat[];
  /** Fields of the body beside model, input, voice, format and speed. */
  furtherFields(request: SpeechRequest, format: SpeechFormat): object;
}

/** Speech of all engines that speak, as it comes: whole, piece by piece or as events. A format that an engine lacks becomes WAV. */
export const speak =
  (wire: Wire, { formats, furtherFields }: SpeechEngine): NonNullable<Dialect['speech']> =>
  async (replica, request, signal) => {
    const format = formats.includes(request.responseFormat) ? request.responseFormat : 'wav';
    const { input, voice, speed } = request;
    const model = wire.servedNameOf(replica);
    const answer = await askForSuccess(wire, replica, {
      method: 'POST',
      path: '/v1/audio/speech',
      body: { model, input, voice, response_format: format, speed, ...furtherFields(request, format) },
      begins: 'work',
      answerWithinMs: WORK_ANSWER_MS,
      signal,
    });
    const { contentType } = answer;
    const chunks = contentType.startsWith('text/event-stream')
      ? readSpeechEvents(answer)
      : readBytes(answer, { maxBytes: MAX_AUDIO_BYTES });
    const audio = await begunStream(answer, chunks, {
      leastBytes: leastBytesOf(format),
      isGood: (head) => isSpeech(head, { format, contentType }),
    });
    return { audio, format };
  };

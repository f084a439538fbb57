import type { ServerResponse } from 'node:http';
import { type NanoUsd, toUsdText } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { SpeechEvent } from '@turnpike/public-api/audioAnswer';
import { UNBUFFERED } from '@turnpike/public-api/headers';
import type { MediaUsage } from '@turnpike/public-api/mediaJob';
import type { BackendFault } from '../../api/mediaFault.ts';
import { SPEECH_TYPES, type SpeechRequest } from '../../terms/mediaRequest.ts';
import { OF_ONE_KEY } from '../content/sendContent.ts';
import { type Delivery, EVENT_STREAM, toEvent, writeToClient } from '../writeToClient.ts';

export interface SpokenAudio {
  audio: AsyncIterable<Buffer>;
  /** Called before the first byte goes out: from there on the call is charged. */
  onBegin(): void;
  /** The charge of the whole text, whose characters were counted before. */
  chargeNanoUsd: NanoUsd;
  /** Returns the cost of the call, once all of it is sent. */
  usage(): Promise<MediaUsage>;
}

/**
 * Sends speech as it comes. Until the first byte is there nothing is sent, so that a failure has its status; what fails after it cuts the
 * connection. Throws `backend_failed` for audio without a byte.
 */
export async function sendSpeech(
  res: ServerResponse,
  { responseFormat, streamFormat }: Pick<SpeechRequest, 'responseFormat' | 'streamFormat'>,
  { audio, onBegin, chargeNanoUsd, usage }: SpokenAudio,
): Promise<Delivery> {
  const isStream = streamFormat === 'sse';
  async function* begin(): AsyncGenerator<Buffer> {
    for await (const bytes of audio) {
      if (bytes.length === 0) continue;
      if (!res.headersSent && !res.destroyed) {
        const headers = isStream ? EVENT_STREAM : { ...OF_ONE_KEY, 'content-type': SPEECH_TYPES[responseFormat] };
        res.writeHead(200, { ...headers, ...UNBUFFERED, 'x-total-spend': toUsdText(chargeNanoUsd) });
        onBegin();
      }
      yield bytes;
    }
    if (!res.headersSent && !res.destroyed) throw new ApiError<BackendFault>({ kind: 'backend_failed' });
  }
  return writeToClient(res, isStream ? toSpeechEvents(begin(), usage) : begin());
}

/** A part of the audio in each event as it comes, and at the end what it cost. */
async function* toSpeechEvents(audio: AsyncIterable<Buffer>, usage: SpokenAudio['usage']): AsyncGenerator<string> {
  for await (const bytes of audio)
    yield toEvent({ type: 'speech.audio.delta', audio: bytes.toString('base64') } satisfies SpeechEvent);
  yield toEvent({ type: 'speech.audio.done', usage: await usage() } satisfies SpeechEvent);
}

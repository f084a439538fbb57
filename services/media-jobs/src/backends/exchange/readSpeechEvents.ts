import { z } from 'zod';
import { BackendFault } from '../../terms/backend.ts';
import { MAX_AUDIO_BYTES, MAX_EVENT_CHARACTERS } from '../limits.ts';
import type { Answer } from './askBackend.ts';
import { readBytes } from './contentStream.ts';
import { parseJson } from './readText.ts';

/** Base64 grows by a third. */
const MAX_ANSWER_BYTES = MAX_AUDIO_BYTES * 1.5;

const eventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('speech.audio.delta'), audio: z.base64() }),
  z.object({ type: z.literal('speech.audio.done') }),
  z.object({ type: z.literal('speech.audio.error') }),
]);

/** Yields the audio within server-sent events. Throws `failed` for an error event, or if the final event is missing. */
export async function* readSpeechEvents(answer: Answer): AsyncGenerator<Buffer> {
  for await (const data of readEvents(answer)) {
    const { success, data: event } = eventSchema.safeParse(parseJson(data));
    if (!success) continue;
    if (event.type === 'speech.audio.done') return;
    if (event.type === 'speech.audio.error') throw new BackendFault('failed');
    const audio = Buffer.from(event.audio, 'base64');
    if (audio.length > 0) yield audio;
  }
  throw answer.broken(new Error('the stream ended without its last event'));
}

/** The data of each event, whose last line has come. */
async function* readEvents(answer: Answer): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let line = '';
  let data = '';
  for await (const chunk of readBytes(answer, { maxBytes: MAX_ANSWER_BYTES })) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    line += first;
    for (const next of others) {
      const text = line.endsWith('\r') ? line.slice(0, -1) : line;
      line = next;
      if (text.startsWith('data:')) data += text.slice('data:'.length).trimStart();
      if (text !== '' || data === '') continue;
      yield data;
      data = '';
    }
    if (line.length + data.length > MAX_EVENT_CHARACTERS) throw new BackendFault('failed');
  }
}

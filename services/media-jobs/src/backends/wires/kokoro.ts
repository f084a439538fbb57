import type { Dialect } from '../../terms/backend.ts';
import { speak } from './speak.ts';
import type { Wire } from './wire.ts';

/** Kokoro-FastAPI: speech in all formats, streamed; a failure breaks the body of a 200. */
export const kokoro = (wire: Wire): Dialect => ({
  speech: speak(wire, {
    formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    furtherFields: () => ({ stream: true }),
  }),
});

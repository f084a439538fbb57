import type { Dialect } from '../../terms/backend.ts';
import { hear } from './hear.ts';
import { speak } from './speak.ts';
import type { Wire } from './wire.ts';

/** Speaches: faster-whisper, with words, and speech in all formats as events, whose last one says that it is whole. */
export const speaches = (wire: Wire): Dialect => ({
  transcribe: hear(wire, { hasWords: true, timesCostText: false }),
  speech: speak(wire, {
    formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    furtherFields: () => ({ stream_format: 'sse' }),
  }),
});

import { z } from 'zod';
import { mediaUsageSchema } from './mediaJob.ts';
import { usdAmount } from './usdAmount.ts';

const seconds = z.number().min(0);
const start = seconds.meta({ description: 'Seconds from the beginning.' });
const end = seconds;

/** Billed length of a recording: the decoded seconds, rounded up. */
const durationSchema = z.strictObject({
  type: z.literal('duration'),
  seconds: z.int().min(0),
  total_spend: usdAmount.meta({ description: 'USD, exact to the nano-dollar.', note: 'Not in the public API.' }),
});

/** `json`. */
export const transcriptionSchema = z
  .strictObject({ text: z.string(), usage: durationSchema.optional() })
  .meta({ title: 'Transcription', description: 'What was said.' });

const segmentSchema = z.strictObject({
  id: z.int().min(0),
  seek: z.int().min(0),
  start,
  end,
  text: z.string(),
  tokens: z.array(z.int().min(0)).meta({ description: 'Empty if the engine does not report them.' }),
  temperature: z.number().meta({ description: '0 if the engine does not report it, like the three below.' }),
  avg_logprob: z.number(),
  compression_ratio: z.number(),
  no_speech_prob: z.number(),
});

/** `verbose_json`. */
export const verboseTranscriptionSchema = z
  .strictObject({
    task: z.enum(['transcribe', 'translate']),
    language: z.string().meta({
      description:
        'The spoken language by its English name: `german`. `english` for a translation; empty if it is unknown.',
    }),
    duration: seconds.meta({ description: 'Seconds, as decoded.' }),
    text: z.string(),
    segments: z.array(segmentSchema).optional(),
    words: z.array(z.strictObject({ word: z.string(), start, end })).optional(),
    usage: durationSchema.optional(),
  })
  .meta({ title: 'Verbose transcription', description: 'What was said, and when.' });

/** Whichever of the two was asked for. */
export const anyTranscriptionSchema = z
  .union([transcriptionSchema, verboseTranscriptionSchema])
  .meta({ title: 'Transcription of either form', description: '`json` or `verbose_json`.' });

/** An event of a streamed transcription. */
export const transcriptEventSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('transcript.text.delta'), delta: z.string() }),
    z.strictObject({ type: z.literal('transcript.text.done'), text: z.string(), usage: durationSchema }),
  ])
  .meta({ title: 'Transcript event', description: 'A part of what was said, and at the end all of it.' });

/** An event of speech with `stream_format` `sse`. */
export const speechEventSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('speech.audio.delta'), audio: z.string().meta({ contentEncoding: 'base64' }) }),
    z.strictObject({ type: z.literal('speech.audio.done'), usage: mediaUsageSchema }),
  ])
  .meta({ title: 'Speech event', description: 'A part of the audio, and at the end what it cost.' });

export type Transcription = z.infer<typeof transcriptionSchema>;
export type VerboseTranscription = z.infer<typeof verboseTranscriptionSchema>;
export type TranscriptEvent = z.infer<typeof transcriptEventSchema>;
export type SpeechEvent = z.infer<typeof speechEventSchema>;

import type { FaultKind } from '../faults/fault.ts';
import { HEARING_RATE, hearAudio } from '../outputs/runFfmpeg.ts';
import { toSegments, writeText } from '../outputs/writeTranscript.ts';
import type { Transcript, TranscriptionDialect } from '../personalities/personality.ts';
import { type Answer, jsonAnswer, streamAnswer, textAnswer } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { type Call, dialectOf, readContext, stopWhenLeft, untilRendered } from './call.ts';

const HUGE_TEXT_BYTES = 30_000_000;

/** POST /v1/audio/transcriptions and /translations: hears all of the file, then says what it heard. */
export async function transcribe(call: Call, operation: 'transcription' | 'translation'): Promise<Answer> {
  const { replica, entry, fault, body } = call;
  const dialect = dialectOf(replica.personality.transcriptions);
  const request = dialect.read(body, readContext(call));
  const samples = await hear(request.audio, dialect);
  const seconds = samples.length / HEARING_RATE;
  const text = writeText(samples);
  const render = replica.render({
    request: entry,
    fault,
    operation,
    prompt: request.prompt,
    units: { seconds, bytes: request.audio.length },
    audioSeconds: seconds,
    produce: async () => [Buffer.from(text)],
  });
  if (dialect.whenClientLeaves === 'aborts') stopWhenLeft(call, render);
  await untilRendered(render);

  const transcript = bendTranscript(
    {
      id: replica.newId(),
      task: operation === 'translation' ? 'translate' : 'transcribe',
      text,
      language: operation === 'translation' ? 'en' : (request.language ?? 'en'),
      seconds,
      segments: toSegments(text, seconds),
      created: replica.unixSeconds(),
    },
    fault?.kind,
  );
  const answer = dialect.toAnswer(transcript, request, readContext(call));
  if ('events' in answer) return streamAnswer(toStream(answer.events), 'text/event-stream; charset=utf-8');
  return 'json' in answer ? jsonAnswer(answer.json) : textAnswer(answer.text, answer.contentType);
}

async function hear(audio: Buffer, { notAudio: [status, message] }: TranscriptionDialect): Promise<Int16Array> {
  return hearAudio(audio).catch((error: unknown) => {
    throw new EngineError(status, message, { cause: error });
  });
}

function bendTranscript(transcript: Transcript, kind: FaultKind | undefined): Transcript {
  if (kind === 'segments_out_of_order') return { ...transcript, segments: transcript.segments.toReversed() };
  if (kind !== 'transcript_of_30_mb') return transcript;
  const text = 'very '.repeat(HUGE_TEXT_BYTES / 5);
  return { ...transcript, text, segments: [{ start: 0, end: transcript.seconds, text }] };
}

async function* toStream(events: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* events;
}

import { Readable } from 'node:stream';
import type { Media } from '../media/createMedia.ts';
import { MediaFault } from '../media/mediaFault.ts';
import { createPrivateFile } from '../media/privateFile.ts';
import { BackendFault } from '../terms/backend.ts';
import type { SpeechFormat } from '../terms/mediaRequest.ts';
import type { Transcript } from '../terms/transcript.ts';
import { InvalidOutput, type TranscriptForm, type Workshop } from './work/workshop.ts';

export interface WorkshopOptions {
  /** Private to this process. */
  folder: string;
  /** The media types of speech. */
  audioTypes: Readonly<Record<SpeechFormat, string>>;
  /** Whether a transcript is without times that it is to be shown with. */
  lacksTimes(transcript: Transcript, form: TranscriptForm): boolean;
}

/** What jobs need of the room of media. */
export function toWorkshop(media: Media, { folder, audioTypes, lacksTimes }: WorkshopOptions): Workshop {
  return {
    async image(source, request, signal) {
      const { width, height } = request.size;
      return { ...(await judged(media.takeImage(source, request, signal))), width, height };
    },
    async clip(source, { size }, signal) {
      const clip = await judged(media.takeClip(source, signal));
      if (clip.width === size.width && clip.height === size.height) return clip;
      await clip.discard();
      throw new InvalidOutput('a clip of another size than was asked for');
    },
    async speech(source, format, { responseFormat }, signal) {
      const isAsAsked = format === responseFormat;
      if (!isAsAsked && format !== 'wav' && format !== 'pcm') throw new BackendFault('misconfigured');
      const audio = isAsAsked
        ? source
        : await judged(media.convertSpeech(source, { from: format as 'wav' | 'pcm', to: responseFormat, signal }));
      return judged(media.takeSpeech(audio, { format: responseFormat, type: audioTypes[responseFormat], signal }));
    },
    async recording(source, { workspaceId, keyId, unitsBound }, signal) {
      const owner = { workspaceId, keyId };
      const file = await createPrivateFile(folder);
      try {
        await file.fill(source, signal);
        return await judged(media.prepareRecording(file, { owner, isPatient: true, maxSeconds: unitsBound, signal }));
      } finally {
        await file.discard();
      }
    },
    transcript(transcript, form) {
      if (lacksTimes(transcript, form)) throw new InvalidOutput('a transcript without the times of its format');
      const json = Buffer.from(JSON.stringify(transcript));
      return { type: 'application/json', read: () => Readable.from([json]) };
    },
  };
}

/** What is no doing of the engine's is tried again: there is too much to do here. */
async function judged<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof MediaFault)) throw error;
    if (error.kind === 'overloaded') throw new BackendFault('busy', { cause: error });
    throw new InvalidOutput('what came cannot be used', { cause: error });
  }
}

export interface Size {
  width: number;
  height: number;
}

/** A file part on this disk, private and already unlinked from its name where possible. */
export interface Upload {
  path: string;
  bytes: number;
  sha256: string;
  discard(): Promise<void>;
}

export interface ImageRequest {
  operation: 'images.generations';
  model: string;
  prompt: string;
  n: number;
  size: Size;
  outputFormat: 'png' | 'jpeg' | 'webp';
  outputCompression?: number;
  responseFormat: 'b64_json' | 'url';
  quality?: string;
  style?: string;
  background?: string;
  isAsync: boolean;
  isStream: boolean;
}

export interface VideoRequest {
  operation: 'videos';
  model: string;
  prompt: string;
  seconds: number;
  size: Size;
  /** Bytes of a PNG, JPEG or WebP. `type` is their detected type, whatever the client named. */
  inputReference?: { bytes: Buffer; type: string };
}

export type SpeechFormat = 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';

/** Media types of speech. */
export const SPEECH_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

export interface SpeechRequest {
  operation: 'audio.speech';
  model: string;
  input: string;
  /** Code points of `input`. */
  characters: number;
  voice: string;
  instructions?: string;
  responseFormat: SpeechFormat;
  speed: number;
  streamFormat: 'audio' | 'sse';
  isAsync: boolean;
}

export type TranscriptFormat = 'json' | 'text' | 'srt' | 'vtt' | 'verbose_json';

export interface TranscriptRequest {
  operation: 'audio.transcriptions' | 'audio.translations';
  model: string;
  file: Upload;
  language?: string;
  prompt?: string;
  temperature?: number;
  responseFormat: TranscriptFormat;
  granularities: ('segment' | 'word')[];
  isStream: boolean;
  isAsync: boolean;
}

export type MediaRequest = ImageRequest | VideoRequest | SpeechRequest | TranscriptRequest;
export type MediaOperation = MediaRequest['operation'];
